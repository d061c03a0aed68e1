/* SPDX-License-Identifier: Apache-2.0 */
/* celu.c - max(x, 0) + min(alpha * (exp(x / alpha) - 1), 0). */
#include "ops/op.h"

const hone_op hn_op_celu = {
    HN_ELEMENTWISE("celu", "max(x, 0) + min(alpha * (exp(x / alpha) - 1), 0)",
                   "add(max(x, 0), min(mul($alpha, sub(exp(div(x, $alpha)), 1)), 0))"),
    .traits = HONE_ELEMENTWISE,
    .in = {{"x", 'T', HONE_TYPES_FLOAT}},
    .out = {{"y", 'T'}},
    .attr = {HONE_FLOAT_ATTR("alpha", 1.0)},
    .report_class = "Activation",
    .onnx = {{"Celu", 12, HONE_LATEST}},
};
