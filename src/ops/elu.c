/* SPDX-License-Identifier: Apache-2.0 */
/* elu.c - x, or alpha * (exp(x) - 1) when negative. */
#include "ops/op.h"

const hone_op hn_op_elu = {
    HN_ELEMENTWISE("elu", "x, or alpha * (exp(x) - 1) when negative",
                   "select(lt(x, 0), mul($alpha, sub(exp(x), 1)), x)"),
    .traits = HONE_ELEMENTWISE,
    .in = {{"x", 'T', HONE_TYPES_FLOAT}},
    .out = {{"y", 'T'}},
    .attr = {HONE_FLOAT_ATTR("alpha", 1.0)},
    .report_class = "Activation",
    .onnx = {{"Elu", 1, HONE_LATEST, .drop = "consumed_inputs"}},
};
