/* SPDX-License-Identifier: Apache-2.0 */
/* shrink.c - x + bias below -lambd, x - bias above lambd, else 0. */
#include "ops/op.h"

const hone_op hn_op_shrink = {
    HN_ELEMENTWISE(
        "shrink", "x + bias below -lambd, x - bias above lambd, else 0",
        "select(lt(input, neg($lambd)), add(input, $bias), select(gt(input, $lambd), sub(input, $bias), 0))"),
    .traits = HONE_ELEMENTWISE,
    .in = {{"input", 'T', HONE_TYPES_FLOAT}},
    .out = {{"output", 'T'}},
    .attr = {HONE_FLOAT_ATTR("bias", 0.0), HONE_FLOAT_ATTR("lambd", 0.5)},
    .report_class = "Activation",
    .onnx = {{"Shrink", 9, HONE_LATEST}},
};
