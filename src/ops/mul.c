/* SPDX-License-Identifier: Apache-2.0 */
/* mul.c - a * b. */
#include "ops/op.h"

const hone_op hn_op_mul = {
    HN_ELEMENTWISE("mul", "a * b", "mul(a, b)"),
    .traits = HONE_ELEMENTWISE | HONE_COMMUTES,
    .in = {{"a", 'T', HONE_TYPES_NUMBER}, {"b", 'T', HONE_TYPES_NUMBER}},
    .out = {{"c", 'T'}},
    .onnx = {{"Mul", 1, 6, .drop = "consumed_inputs", .adapt = "legacy_broadcast"},
             {"Mul", 7, HONE_LATEST},
             {"Scaler", 1, HONE_LATEST, "ai.onnx.ml", .adapt = "ml_scaler", .alias = true},
             {"BiasSplitGelu", 1, HONE_LATEST, "com.microsoft", .adapt = "ort_bias_split_gelu", .alias = true},
             {"ComplexMul", 1, HONE_LATEST, "com.microsoft", .adapt = "ort_complex_mul", .alias = true},
             {"ComplexMulConj", 1, HONE_LATEST, "com.microsoft", .adapt = "ort_complex_mul", .alias = true}},
};
