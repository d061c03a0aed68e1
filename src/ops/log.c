/* SPDX-License-Identifier: Apache-2.0 */
/* log.c - natural logarithm. */
#include "ops/op.h"

const hone_op hn_op_log = {
    HN_ELEMENTWISE("log", "natural logarithm", "log(input)"),
    .traits = HONE_ELEMENTWISE,
    .in = {{"input", 'T', HONE_TYPES_FLOAT}},
    .out = {{"output", 'T'}},
    .onnx = {{"Log", 1, HONE_LATEST, .drop = "consumed_inputs"}},
};
