/* SPDX-License-Identifier: Apache-2.0 */
/* neg.c - -x. */
#include "ops/op.h"

const hone_op hn_op_neg = {
    HN_ELEMENTWISE("neg", "-x", "neg(x)"),
    .traits = HONE_ELEMENTWISE,
    .in = {{"x", 'T', HONE_TYPES_FLOAT | HONE_TYPES_SIGNED}},
    .out = {{"y", 'T'}},
    .onnx = {{"Neg", 1, HONE_LATEST, .drop = "consumed_inputs"}},
};
