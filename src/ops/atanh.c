/* SPDX-License-Identifier: Apache-2.0 */
/* atanh.c - inverse hyperbolic tangent. */
#include "ops/op.h"

const hone_op hn_op_atanh = {
    HN_ELEMENTWISE("atanh", "inverse hyperbolic tangent", "atanh(input)"),
    .traits = HONE_ELEMENTWISE,
    .in = {{"input", 'T', HONE_TYPES_FLOAT}},
    .out = {{"output", 'T'}},
    .onnx = {{"Atanh", 9, HONE_LATEST}},
};
