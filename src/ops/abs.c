/* SPDX-License-Identifier: Apache-2.0 */
/* abs.c - |x|. */
#include "ops/op.h"

const hone_op hn_op_abs = {
    HN_ELEMENTWISE("abs", "|x|", "abs(x)"),
    .traits = HONE_ELEMENTWISE,
    .in = {{"x", 'T', HONE_TYPES_NUMBER}},
    .out = {{"y", 'T'}},
    .onnx = {{"Abs", 1, HONE_LATEST, .drop = "consumed_inputs"}},
};
