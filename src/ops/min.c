/* SPDX-License-Identifier: Apache-2.0 */
/* min.c - the smallest of any number of tensors, broadcast together. The expression joins two; the rest follow from
 * left to right. */
#include "ops/op.h"

const hone_op hn_op_min = {
    HN_ELEMENTWISE("min", "the smallest of any number of tensors", "min(x0, x1)"),
    .traits = HONE_ELEMENTWISE | HONE_COMMUTES,
    .in = {{"data_0", 'T', HONE_TYPES_NUMBER, HONE_PORT_VARIADIC}},
    .out = {{"min", 'T'}},
    .onnx = {{"Min", 1, HONE_LATEST, .drop = "consumed_inputs", .adapt = "many_inputs"}},
};
