/* SPDX-License-Identifier: Apache-2.0 */
/* div.c - a / b, toward zero for integers. */
#include "ops/op.h"

const hone_op hn_op_div = {
    HN_ELEMENTWISE("div", "a / b, toward zero for integers", "div(a, b)"),
    .traits = HONE_ELEMENTWISE,
    .in = {{"a", 'T', HONE_TYPES_NUMBER}, {"b", 'T', HONE_TYPES_NUMBER}},
    .out = {{"c", 'T'}},
    .onnx = {{"Div", 1, 6, .drop = "consumed_inputs", .adapt = "legacy_broadcast"},
             {"Div", 7, HONE_LATEST},
             {"Normalizer", 1, HONE_LATEST, "ai.onnx.ml", .adapt = "ml_normalizer", .alias = true}},
};
