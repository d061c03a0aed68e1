/* SPDX-License-Identifier: Apache-2.0 */
/* softmax.c - exp(x - max) / sum along one axis.
 * Source: ONNX operator Softmax of opset 13; before, it flattened its input to two axes, which the importer does. */
#include "ops/common_nn.h"

const hone_op hn_op_softmax = {
    .struct_size = sizeof(hone_op),
    .name = "softmax",
    .doc = "exp(x - max) / sum along one axis",
    .in = {{"input", 't', HONE_TYPES_FLOAT, 0}},
    .out = {{"output", 't', 0, 0}},
    .attr = {HONE_INT_ATTR("axis", -1)},
    .infer = hn_infer_along_axis,
    .eval = hn_eval_softmax,
    .cost = hn_cost_softmax,
    .details = &(const bool){false},
    .report_class = "Softmax",
    .onnx = {{.name = "Softmax", .first = 13, .last = HONE_LATEST},
             {.name = "Softmax", .first = 1, .last = 12, .adapt = "legacy_softmax"},
             {"BiasSoftmax", 1, HONE_LATEST, "com.microsoft", .adapt = "ort_bias_softmax", .alias = true},
             {"QLinearSoftmax", 1, HONE_LATEST, "com.microsoft", .adapt = "ort_qlinear_softmax", .alias = true}},
};
