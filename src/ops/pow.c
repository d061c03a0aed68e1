/* SPDX-License-Identifier: Apache-2.0 */
/* pow.c - x to the power y. */
#include "ops/op.h"

const hone_op hn_op_pow = {
    HN_ELEMENTWISE("pow", "x to the power y", "pow(x, y)"),
    .traits = HONE_ELEMENTWISE,
    .in = {{"x", 'T', HONE_TYPES_NUMBER}, {"y", 'P', HONE_TYPES_NUMBER}},
    .out = {{"z", 'T'}},
    .onnx = {{"Pow", 1, 6, .drop = "consumed_inputs", .adapt = "legacy_broadcast"}, {"Pow", 7, HONE_LATEST}},
};
