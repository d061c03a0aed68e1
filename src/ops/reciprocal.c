/* SPDX-License-Identifier: Apache-2.0 */
/* reciprocal.c - 1 / x. */
#include "ops/op.h"

const hone_op hn_op_reciprocal = {
    HN_ELEMENTWISE("reciprocal", "1 / x", "recip(x)"),
    .traits = HONE_ELEMENTWISE,
    .in = {{"x", 'T', HONE_TYPES_FLOAT}},
    .out = {{"y", 'T'}},
    .onnx = {{"Reciprocal", 1, HONE_LATEST, .drop = "consumed_inputs"}},
};
