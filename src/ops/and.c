/* SPDX-License-Identifier: Apache-2.0 */
/* and.c - logical and. */
#include "ops/op.h"

const hone_op hn_op_and = {
    HN_ELEMENTWISE("and", "logical and", "and(a, b)"),
    .traits = HONE_ELEMENTWISE | HONE_COMMUTES,
    .in = {{"a", 'T', HONE_TYPES_BOOL}, {"b", 'T', HONE_TYPES_BOOL}},
    .out = {{"c", 'T'}},
    .onnx = {{"And", 1, 6, .drop = "consumed_inputs", .adapt = "legacy_broadcast"}, {"And", 7, HONE_LATEST}},
};
