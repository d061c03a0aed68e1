/* SPDX-License-Identifier: Apache-2.0 */
/* max.c - the larger of two. The adapter turns ONNX's list of inputs into a chain, so that every
 * link is an operation that fuses. */
#include "ops/op.h"

const hone_op hn_op_max = {
    HN_ELEMENTWISE("max", "the larger of two", "max(a, b)"),
    .traits = HONE_ELEMENTWISE | HONE_COMMUTES,
    .in = {{"a", 'T', HONE_TYPES_NUMBER}, {"b", 'T', HONE_TYPES_NUMBER}},
    .out = {{"c", 'T'}},
    .onnx = {{"Max", 1, HONE_LATEST, .drop = "consumed_inputs", .adapt = "chain"}},
};
