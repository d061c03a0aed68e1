/* SPDX-License-Identifier: Apache-2.0 */
/* bitwise_not.c - every bit inverted. */
#include "ops/op.h"

const hone_op hn_op_bitwise_not = {
    HN_ELEMENTWISE("bitwise_not", "every bit inverted", "bit_not(x)"),
    .traits = HONE_ELEMENTWISE,
    .in = {{"x", 'T', HONE_TYPES_INT}},
    .out = {{"y", 'T'}},
    .onnx = {{"BitwiseNot", 18, HONE_LATEST}},
};
