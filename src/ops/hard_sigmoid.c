/* SPDX-License-Identifier: Apache-2.0 */
/* hard_sigmoid.c - alpha * x + beta, clamped to 0..1. */
#include "ops/op.h"

const hone_op hn_op_hard_sigmoid = {
    HN_ELEMENTWISE("hard_sigmoid", "alpha * x + beta, clamped to 0..1", "max(0, min(1, add(mul($alpha, x), $beta)))"),
    .traits = HONE_ELEMENTWISE,
    .in = {{"x", 'T', HONE_TYPES_FLOAT}},
    .out = {{"y", 'T'}},
    .attr = {HONE_FLOAT_ATTR("alpha", 0.2f), HONE_FLOAT_ATTR("beta", 0.5)},
    .report_class = "Activation",
    .onnx = {{"HardSigmoid", 1, HONE_LATEST, .drop = "consumed_inputs"}},
};
