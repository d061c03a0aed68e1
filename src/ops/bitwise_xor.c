/* SPDX-License-Identifier: Apache-2.0 */
/* bitwise_xor.c - exclusive or of every bit. */
#include "ops/op.h"

const hone_op hn_op_bitwise_xor = {
    HN_ELEMENTWISE("bitwise_xor", "exclusive or of every bit", "bit_xor(a, b)"),
    .traits = HONE_ELEMENTWISE | HONE_COMMUTES,
    .in = {{"a", 'T', HONE_TYPES_INT}, {"b", 'T', HONE_TYPES_INT}},
    .out = {{"c", 'T'}},
    .onnx = {{"BitwiseXor", 18, HONE_LATEST}},
};
