/* SPDX-License-Identifier: Apache-2.0 */
/* sigmoid.c - 1 / (1 + exp(-x)). */
#include "ops/op.h"

const hone_op hn_op_sigmoid = {
    HN_ELEMENTWISE("sigmoid", "1 / (1 + exp(-x))", "sigmoid(x)"),
    .traits = HONE_ELEMENTWISE,
    .in = {{"x", 'T', HONE_TYPES_FLOAT}},
    .out = {{"y", 'T'}},
    .report_class = "Activation",
    .onnx = {{"Sigmoid", 1, HONE_LATEST, .drop = "consumed_inputs"},
             {"QLinearSigmoid", 1, HONE_LATEST, "com.microsoft", .adapt = "ort_qlinear_unary", .alias = true}},
};
