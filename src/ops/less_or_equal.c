/* SPDX-License-Identifier: Apache-2.0 */
/* less_or_equal.c - a <= b. */
#include "ops/op.h"

const hone_op hn_op_less_or_equal = {
    HN_ELEMENTWISE("less_or_equal", "a <= b", "le(a, b)"),
    .traits = HONE_ELEMENTWISE,
    .in = {{"a", 'T', HONE_TYPES_NUMBER}, {"b", 'T', HONE_TYPES_NUMBER}},
    .out = {{"c", 0, HONE_TYPES_BOOL}},
    .onnx = {{"LessOrEqual", 12, HONE_LATEST}},
};
