/* SPDX-License-Identifier: Apache-2.0 */
/* hard_swish.c - x * (x / 6 + 0.5 clamped to 0..1). */
#include "ops/op.h"

const hone_op hn_op_hard_swish = {
    HN_ELEMENTWISE("hard_swish", "x * (x / 6 + 0.5 clamped to 0..1)",
                   "mul(x, max(0, min(1, add(mul(x, 0.16666666666666666), 0.5))))"),
    .traits = HONE_ELEMENTWISE,
    .in = {{"x", 'T', HONE_TYPES_FLOAT}},
    .out = {{"y", 'T'}},
    .report_class = "Activation",
    .onnx = {{"HardSwish", 14, HONE_LATEST}},
};
