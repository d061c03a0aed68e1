/* SPDX-License-Identifier: Apache-2.0 */
/* isnan.c - whether an element is not a number. */
#include "ops/op.h"

const hone_op hn_op_isnan = {
    HN_ELEMENTWISE("isnan", "whether an element is not a number", "isnan(x)"),
    .traits = HONE_ELEMENTWISE,
    .in = {{"x", 0, HONE_TYPES_FLOAT | HONE_TYPES_F8}},
    .out = {{"y", 0, HONE_TYPES_BOOL}},
    .onnx = {{"IsNaN", 9, HONE_LATEST}},
};
