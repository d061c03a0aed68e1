/* SPDX-License-Identifier: Apache-2.0 */
/* greater.c - a > b. */
#include "ops/op.h"

const hone_op hn_op_greater = {
    HN_ELEMENTWISE("greater", "a > b", "gt(a, b)"),
    .traits = HONE_ELEMENTWISE,
    .in = {{"a", 'T', HONE_TYPES_NUMBER}, {"b", 'T', HONE_TYPES_NUMBER}},
    .out = {{"c", 0, HONE_TYPES_BOOL}},
    .onnx = {{"Greater", 1, 6, .drop = "consumed_inputs", .adapt = "legacy_broadcast"},
             {"Greater", 7, HONE_LATEST},
             {"Binarizer", 1, HONE_LATEST, "ai.onnx.ml", .adapt = "ml_binarizer", .alias = true}},
};
