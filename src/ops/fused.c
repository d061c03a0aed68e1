/* SPDX-License-Identifier: Apache-2.0 */
/* fused.c - a chain of elementwise operations as one: the attribute holds the expression over x0, x1, ...
 * Made by the grouper; it has no ONNX form. Inputs and output have one float type. */
#include "ops/op.h"

static hone_status infer(hone_infer *infer) {
  hn_expr expr;
  HN_TRY(hn_expr_of_op(infer->diagnostics, infer->op, infer->attrs, infer->in_count, &expr));
  return hn_infer_broadcast(infer);
}

const hone_op hn_op_fused = {
    .struct_size = sizeof(hone_op),
    .name = "fused",
    .doc = "a chain of elementwise operations as one expression",
    .in = {{"x", 'T', HONE_TYPES_FLOAT, HONE_PORT_VARIADIC}},
    .out = {{"y", 'T'}},
    .attr = {HONE_NEEDED_ATTR("expr", HONE_ATTR_STRING)},
    .traits = HONE_ELEMENTWISE,
    .expr = "$expr",
    .infer = infer,
    .eval = hn_eval_expr,
    .cost = hn_cost_elementwise,
};
