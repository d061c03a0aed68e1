/* SPDX-License-Identifier: Apache-2.0 */
/* mish.c - x * tanh(softplus(x)). softplus is written so that exp cannot overflow. */
#include "ops/op.h"

const hone_op hn_op_mish = {
    HN_ELEMENTWISE("mish", "x * tanh(softplus(x))", "mul(x, tanh(add(max(x, 0), log(add(1, exp(neg(abs(x))))))))"),
    .traits = HONE_ELEMENTWISE,
    .in = {{"x", 'T', HONE_TYPES_FLOAT}},
    .out = {{"y", 'T'}},
    .report_class = "Activation",
    .onnx = {{"Mish", 18, HONE_LATEST}},
};
