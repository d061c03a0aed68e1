/* SPDX-License-Identifier: Apache-2.0 */
/* sign.c - -1, 0 or 1. */
#include "ops/op.h"

const hone_op hn_op_sign = {
    HN_ELEMENTWISE("sign", "-1, 0 or 1", "sign(input)"),
    .traits = HONE_ELEMENTWISE,
    .in = {{"input", 'T', HONE_TYPES_NUMBER}},
    .out = {{"output", 'T'}},
    .onnx = {{"Sign", 9, HONE_LATEST}},
};
