/* SPDX-License-Identifier: Apache-2.0 */
/* relu.c - max(x, 0). */
#include "ops/op.h"

const hone_op hn_op_relu = {
    HN_ELEMENTWISE("relu", "max(x, 0)", "max(x, 0)"),
    .traits = HONE_ELEMENTWISE,
    .in = {{"x", 'T', HONE_TYPES_FLOAT | HONE_TYPES_SIGNED}},
    .out = {{"y", 'T'}},
    .report_class = "Activation",
    .onnx = {{"Relu", 1, HONE_LATEST, .drop = "consumed_inputs"}},
};
