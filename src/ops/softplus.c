/* SPDX-License-Identifier: Apache-2.0 */
/* softplus.c - log(1 + exp(x)). Written as max(x, 0) + log(1 + exp(-|x|)) so that exp cannot overflow. */
#include "ops/op.h"

const hone_op hn_op_softplus = {
    HN_ELEMENTWISE("softplus", "log(1 + exp(x))", "add(max(x, 0), log(add(1, exp(neg(abs(x))))))"),
    .traits = HONE_ELEMENTWISE,
    .in = {{"x", 'T', HONE_TYPES_FLOAT}},
    .out = {{"y", 'T'}},
    .report_class = "Activation",
    .onnx = {{"Softplus", 1, HONE_LATEST},
             {"ParametricSoftplus", 1, HONE_LATEST, .adapt = "experimental_scaled", .alias = true}},
};
