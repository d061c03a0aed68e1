/* SPDX-License-Identifier: Apache-2.0 */
/* leaky_relu.c - x, or alpha * x when negative. */
#include "ops/op.h"

const hone_op hn_op_leaky_relu = {
    HN_ELEMENTWISE("leaky_relu", "x, or alpha * x when negative", "select(lt(x, 0), mul($alpha, x), x)"),
    .traits = HONE_ELEMENTWISE,
    .in = {{"x", 'T', HONE_TYPES_FLOAT}},
    .out = {{"y", 'T'}},
    .attr = {HONE_FLOAT_ATTR("alpha", 0.01f)},
    .report_class = "Activation",
    .onnx = {{"LeakyRelu", 1, HONE_LATEST, .drop = "consumed_inputs"},
             {"QLinearLeakyRelu", 1, HONE_LATEST, "com.microsoft", .adapt = "ort_qlinear_unary", .alias = true}},
};
