/* SPDX-License-Identifier: Apache-2.0 */
/* acosh.c - inverse hyperbolic cosine. */
#include "ops/op.h"

const hone_op hn_op_acosh = {
    HN_ELEMENTWISE("acosh", "inverse hyperbolic cosine", "acosh(input)"),
    .traits = HONE_ELEMENTWISE,
    .in = {{"input", 'T', HONE_TYPES_FLOAT}},
    .out = {{"output", 'T'}},
    .onnx = {{"Acosh", 9, HONE_LATEST}},
};
