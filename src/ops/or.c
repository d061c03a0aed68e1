/* SPDX-License-Identifier: Apache-2.0 */
/* or.c - logical or. */
#include "ops/op.h"

const hone_op hn_op_or = {
    HN_ELEMENTWISE("or", "logical or", "or(a, b)"),
    .traits = HONE_ELEMENTWISE | HONE_COMMUTES,
    .in = {{"a", 'T', HONE_TYPES_BOOL}, {"b", 'T', HONE_TYPES_BOOL}},
    .out = {{"c", 'T'}},
    .onnx = {{"Or", 1, 6, .drop = "consumed_inputs", .adapt = "legacy_broadcast"}, {"Or", 7, HONE_LATEST}},
};
