/* SPDX-License-Identifier: Apache-2.0 */
/* tan.c - tangent. */
#include "ops/op.h"

const hone_op hn_op_tan = {
    HN_ELEMENTWISE("tan", "tangent", "tan(input)"),
    .traits = HONE_ELEMENTWISE,
    .in = {{"input", 'T', HONE_TYPES_FLOAT}},
    .out = {{"output", 'T'}},
    .onnx = {{"Tan", 7, HONE_LATEST}},
};
