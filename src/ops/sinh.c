/* SPDX-License-Identifier: Apache-2.0 */
/* sinh.c - hyperbolic sine. */
#include "ops/op.h"

const hone_op hn_op_sinh = {
    HN_ELEMENTWISE("sinh", "hyperbolic sine", "sinh(input)"),
    .traits = HONE_ELEMENTWISE,
    .in = {{"input", 'T', HONE_TYPES_FLOAT}},
    .out = {{"output", 'T'}},
    .onnx = {{"Sinh", 9, HONE_LATEST}},
};
