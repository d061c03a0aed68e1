/* SPDX-License-Identifier: Apache-2.0 */
/* min.c - the smaller of two. The adapter turns ONNX's list of inputs into a chain, so that every
 * link is an operation that fuses. */
#include "ops/op.h"

const hone_op hn_op_min = {
    HN_ELEMENTWISE("min", "the smaller of two", "min(a, b)"),
    .traits = HONE_ELEMENTWISE | HONE_COMMUTES,
    .in = {{"a", 'T', HONE_TYPES_NUMBER}, {"b", 'T', HONE_TYPES_NUMBER}},
    .out = {{"c", 'T'}},
    .onnx = {{"Min", 1, HONE_LATEST, .drop = "consumed_inputs", .adapt = "chain"}},
};
