/* SPDX-License-Identifier: Apache-2.0 */
/* thresholded_relu.c - x, or 0 when not above alpha. */
#include "ops/op.h"

const hone_op hn_op_thresholded_relu = {
    HN_ELEMENTWISE("thresholded_relu", "x, or 0 when not above alpha", "select(gt(x, $alpha), x, 0)"),
    .traits = HONE_ELEMENTWISE,
    .in = {{"x", 'T', HONE_TYPES_FLOAT}},
    .out = {{"y", 'T'}},
    .attr = {HONE_FLOAT_ATTR("alpha", 1.0)},
    .report_class = "Activation",
    .onnx = {{"ThresholdedRelu", 10, HONE_LATEST}, {"ThresholdedRelu", 1, 9, .alias = true}},
};
