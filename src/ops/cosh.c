/* SPDX-License-Identifier: Apache-2.0 */
/* cosh.c - hyperbolic cosine. */
#include "ops/op.h"

const hone_op hn_op_cosh = {
    HN_ELEMENTWISE("cosh", "hyperbolic cosine", "cosh(input)"),
    .traits = HONE_ELEMENTWISE,
    .in = {{"input", 'T', HONE_TYPES_FLOAT}},
    .out = {{"output", 'T'}},
    .onnx = {{"Cosh", 9, HONE_LATEST}},
};
