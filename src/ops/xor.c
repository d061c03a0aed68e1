/* SPDX-License-Identifier: Apache-2.0 */
/* xor.c - logical exclusive or. */
#include "ops/op.h"

const hone_op hn_op_xor = {
    HN_ELEMENTWISE("xor", "logical exclusive or", "xor(a, b)"),
    .traits = HONE_ELEMENTWISE | HONE_COMMUTES,
    .in = {{"a", 'T', HONE_TYPES_BOOL}, {"b", 'T', HONE_TYPES_BOOL}},
    .out = {{"c", 'T'}},
    .onnx = {{"Xor", 1, 6, .drop = "consumed_inputs", .adapt = "legacy_broadcast"}, {"Xor", 7, HONE_LATEST}},
};
