/* SPDX-License-Identifier: Apache-2.0 */
/* bitwise_or.c - or of every bit. */
#include "ops/op.h"

const hone_op hn_op_bitwise_or = {
    HN_ELEMENTWISE("bitwise_or", "or of every bit", "bit_or(a, b)"),
    .traits = HONE_ELEMENTWISE | HONE_COMMUTES,
    .in = {{"a", 'T', HONE_TYPES_INT}, {"b", 'T', HONE_TYPES_INT}},
    .out = {{"c", 'T'}},
    .onnx = {{"BitwiseOr", 18, HONE_LATEST}},
};
