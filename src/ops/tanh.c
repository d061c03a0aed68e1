/* SPDX-License-Identifier: Apache-2.0 */
/* tanh.c - hyperbolic tangent. */
#include "ops/op.h"

const hone_op hn_op_tanh = {
    HN_ELEMENTWISE("tanh", "hyperbolic tangent", "tanh(input)"),
    .traits = HONE_ELEMENTWISE,
    .in = {{"input", 'T', HONE_TYPES_FLOAT}},
    .out = {{"output", 'T'}},
    .report_class = "Activation",
    .onnx = {{"Tanh", 1, HONE_LATEST, .drop = "consumed_inputs"},
             {"ScaledTanh", 1, HONE_LATEST, .adapt = "experimental_scaled", .alias = true}},
};
