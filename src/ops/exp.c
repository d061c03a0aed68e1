/* SPDX-License-Identifier: Apache-2.0 */
/* exp.c - e to the power x. */
#include "ops/op.h"

const hone_op hn_op_exp = {
    HN_ELEMENTWISE("exp", "e to the power x", "exp(input)"),
    .traits = HONE_ELEMENTWISE,
    .in = {{"input", 'T', HONE_TYPES_FLOAT}},
    .out = {{"output", 'T'}},
    .onnx = {{"Exp", 1, HONE_LATEST, .drop = "consumed_inputs"}},
};
