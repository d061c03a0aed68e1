/* SPDX-License-Identifier: Apache-2.0 */
/* atan.c - arc tangent. */
#include "ops/op.h"

const hone_op hn_op_atan = {
    HN_ELEMENTWISE("atan", "arc tangent", "atan(input)"),
    .traits = HONE_ELEMENTWISE,
    .in = {{"input", 'T', HONE_TYPES_FLOAT}},
    .out = {{"output", 'T'}},
    .onnx = {{"Atan", 7, HONE_LATEST}},
};
