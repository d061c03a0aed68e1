/* SPDX-License-Identifier: Apache-2.0 */
/* log_softmax.c - x - max - log(sum of exp(x - max)) along one axis.
 * Source: ONNX operator LogSoftmax of opset 13; before, it flattened its input to two axes, which the importer does. */
#include "ops/common_nn.h"

const hone_op hn_op_log_softmax = {
    .struct_size = sizeof(hone_op),
    .name = "log_softmax",
    .doc = "x - max - log(sum of exp(x - max)) along one axis",
    .in = {{"input", 't', HONE_TYPES_FLOAT, 0}},
    .out = {{"output", 't', 0, 0}},
    .attr = {HONE_INT_ATTR("axis", -1)},
    .infer = hn_infer_along_axis,
    .eval = hn_eval_softmax,
    .cost = hn_cost_softmax,
    .details = &(const bool){true},
    .report_class = "Softmax",
    .onnx = {{.name = "LogSoftmax", .first = 13, .last = HONE_LATEST},
             {.name = "LogSoftmax", .first = 1, .last = 12, .adapt = "legacy_softmax"}},
};
