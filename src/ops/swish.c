/* SPDX-License-Identifier: Apache-2.0 */
/* swish.c - x * sigmoid(alpha * x); alpha 1 is SiLU. */
#include "ops/op.h"

const hone_op hn_op_swish = {
    HN_ELEMENTWISE("swish", "x * sigmoid(alpha * x); alpha 1 is SiLU", "mul(x, sigmoid(mul($alpha, x)))"),
    .traits = HONE_ELEMENTWISE,
    .in = {{"x", 'T', HONE_TYPES_FLOAT}},
    .out = {{"y", 'T'}},
    .attr = {HONE_FLOAT_ATTR("alpha", 1.0)},
    .report_class = "Activation",
    .onnx = {{"Swish", 24, HONE_LATEST},
             {"QuickGelu", 1, HONE_LATEST, "com.microsoft", .adapt = "ort_quick_gelu", .alias = true}},
};
