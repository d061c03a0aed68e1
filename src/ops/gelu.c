/* SPDX-License-Identifier: Apache-2.0 */
/* gelu.c - x * Phi(x) with the Gauss error function. Phi is the normal distribution.
 * The adapter puts gelu_tanh in its place when the model asks for the approximation. */
#include "ops/op.h"

const hone_op hn_op_gelu = {
    HN_ELEMENTWISE("gelu", "x * Phi(x) with the Gauss error function",
                   "mul(mul(0.5, x), add(1, erf(mul(x, 0.7071067811865475244))))"),
    .traits = HONE_ELEMENTWISE,
    .in = {{"x", 'T', HONE_TYPES_FLOAT}},
    .out = {{"y", 'T'}},
    .report_class = "Activation",
    .onnx = {{"Gelu", 20, HONE_LATEST, .adapt = "gelu"},
             {"Gelu", 1, HONE_LATEST, "com.microsoft", .alias = true},
             {"BiasGelu", 1, HONE_LATEST, "com.microsoft", .adapt = "ort_bias_gelu", .alias = true}},
};
