/* SPDX-License-Identifier: Apache-2.0 */
/* equal.c - a == b, for strings too. */
#include "ops/op.h"

const hone_op hn_op_equal = {
    HN_ELEMENTWISE("equal", "a == b", "eq(a, b)"),
    .traits = HONE_ELEMENTWISE | HONE_COMMUTES,
    .in = {{"a", 'T', HONE_TYPES_NUMBER | HONE_TYPES_BOOL | HONE_BIT(HONE_STRING)},
           {"b", 'T', HONE_TYPES_NUMBER | HONE_TYPES_BOOL | HONE_BIT(HONE_STRING)}},
    .out = {{"c", 0, HONE_TYPES_BOOL}},
    .onnx = {{"Equal", 1, 6, .drop = "consumed_inputs", .adapt = "legacy_broadcast"},
             {"Equal", 7, HONE_LATEST},
             {"OneHotEncoder", 1, HONE_LATEST, "ai.onnx.ml", .adapt = "ml_one_hot", .alias = true}},
};
