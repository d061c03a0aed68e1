/* SPDX-License-Identifier: Apache-2.0 */
/* less.c - a < b. */
#include "ops/op.h"

const hone_op hn_op_less = {
    HN_ELEMENTWISE("less", "a < b", "lt(a, b)"),
    .traits = HONE_ELEMENTWISE,
    .in = {{"a", 'T', HONE_TYPES_NUMBER}, {"b", 'T', HONE_TYPES_NUMBER}},
    .out = {{"c", 0, HONE_TYPES_BOOL}},
    .onnx = {{"Less", 1, 6, .drop = "consumed_inputs", .adapt = "legacy_broadcast"}, {"Less", 7, HONE_LATEST}},
};
