/* SPDX-License-Identifier: Apache-2.0 */
/* gelu_tanh.c - gelu by its tanh approximation. Hendrycks and Gimpel, arXiv:1606.08415.
 * Made by the adapter of Gelu. */
#include "ops/op.h"

const hone_op hn_op_gelu_tanh = {
    HN_ELEMENTWISE(
        "gelu_tanh", "gelu by its tanh approximation",
        "mul(mul(0.5, x), add(1, tanh(mul(0.7978845608028653559, add(x, mul(0.044715, mul(x, mul(x, x))))))))"),
    .traits = HONE_ELEMENTWISE,
    .in = {{"x", 'T', HONE_TYPES_FLOAT}},
    .out = {{"y", 'T'}},
    .report_class = "Activation",
    .onnx = {{"FastGelu", 1, HONE_LATEST, "com.microsoft", .adapt = "ort_bias_gelu", .alias = true},
             {"GemmFastGelu", 1, HONE_LATEST, "com.microsoft", .adapt = "ort_gemm_fast_gelu", .alias = true}},
};
