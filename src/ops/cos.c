/* SPDX-License-Identifier: Apache-2.0 */
/* cos.c - cosine. */
#include "ops/op.h"

const hone_op hn_op_cos = {
    HN_ELEMENTWISE("cos", "cosine", "cos(input)"),
    .traits = HONE_ELEMENTWISE,
    .in = {{"input", 'T', HONE_TYPES_FLOAT}},
    .out = {{"output", 'T'}},
    .onnx = {{"Cos", 7, HONE_LATEST}},
};
