/* SPDX-License-Identifier: Apache-2.0 */
/* sum.c - the sum of any number of tensors, broadcast together. The expression joins two; the rest follow from left to
 * right. */
#include "ops/op.h"

const hone_op hn_op_sum = {
    HN_ELEMENTWISE("sum", "the sum of any number of tensors", "add(x0, x1)"),
    .traits = HONE_ELEMENTWISE | HONE_COMMUTES,
    .in = {{"data_0", 'T', HONE_TYPES_FLOAT, HONE_PORT_VARIADIC}},
    .out = {{"sum", 'T'}},
    .onnx = {{"Sum", 1, HONE_LATEST, .drop = "consumed_inputs", .adapt = "many_inputs"}},
};
