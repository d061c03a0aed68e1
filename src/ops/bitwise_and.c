/* SPDX-License-Identifier: Apache-2.0 */
/* bitwise_and.c - and of every bit. */
#include "ops/op.h"

const hone_op hn_op_bitwise_and = {
    HN_ELEMENTWISE("bitwise_and", "and of every bit", "bit_and(a, b)"),
    .traits = HONE_ELEMENTWISE | HONE_COMMUTES,
    .in = {{"a", 'T', HONE_TYPES_INT}, {"b", 'T', HONE_TYPES_INT}},
    .out = {{"c", 'T'}},
    .onnx = {{"BitwiseAnd", 18, HONE_LATEST}},
};
