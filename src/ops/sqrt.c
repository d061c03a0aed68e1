/* SPDX-License-Identifier: Apache-2.0 */
/* sqrt.c - square root. */
#include "ops/op.h"

const hone_op hn_op_sqrt = {
    HN_ELEMENTWISE("sqrt", "square root", "sqrt(x)"),
    .traits = HONE_ELEMENTWISE,
    .in = {{"x", 'T', HONE_TYPES_FLOAT}},
    .out = {{"y", 'T'}},
    .onnx = {{"Sqrt", 1, HONE_LATEST, .drop = "consumed_inputs"},
             {"CDist", 1, HONE_LATEST, "com.microsoft", .adapt = "ort_distances", .alias = true}},
};
