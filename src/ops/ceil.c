/* SPDX-License-Identifier: Apache-2.0 */
/* ceil.c - smallest integer not below x. */
#include "ops/op.h"

const hone_op hn_op_ceil = {
    HN_ELEMENTWISE("ceil", "smallest integer not below x", "ceil(x)"),
    .traits = HONE_ELEMENTWISE,
    .in = {{"x", 'T', HONE_TYPES_FLOAT}},
    .out = {{"y", 'T'}},
    .onnx = {{"Ceil", 1, HONE_LATEST, .drop = "consumed_inputs"}},
};
