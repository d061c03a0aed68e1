/* SPDX-License-Identifier: Apache-2.0 */
/* asinh.c - inverse hyperbolic sine. */
#include "ops/op.h"

const hone_op hn_op_asinh = {
    HN_ELEMENTWISE("asinh", "inverse hyperbolic sine", "asinh(input)"),
    .traits = HONE_ELEMENTWISE,
    .in = {{"input", 'T', HONE_TYPES_FLOAT}},
    .out = {{"output", 'T'}},
    .onnx = {{"Asinh", 9, HONE_LATEST}},
};
