/* SPDX-License-Identifier: Apache-2.0 */
/* floor.c - largest integer not above x. */
#include "ops/op.h"

const hone_op hn_op_floor = {
    HN_ELEMENTWISE("floor", "largest integer not above x", "floor(x)"),
    .traits = HONE_ELEMENTWISE,
    .in = {{"x", 'T', HONE_TYPES_FLOAT}},
    .out = {{"y", 'T'}},
    .onnx = {{"Floor", 1, HONE_LATEST, .drop = "consumed_inputs"}},
};
