/* SPDX-License-Identifier: Apache-2.0 */
/* prelu.c - x, or slope * x when negative. The slope is broadcast to x, never the reverse.
 * Before opset 7 a slope of C elements lay along axis 1, which is legacy broadcasting with axis 1. */
#include "ops/common_elementwise.h"

static hone_status infer(hone_infer *infer) {
  HN_TRY(hn_infer_broadcast_given(infer));
  const int rank = hn_in_rank(infer, 0);
  if (rank < 0 || hn_in_rank(infer, 1) < 0) return HONE_OK;
  const hone_shape *x = hn_in_shape(infer, 0);
  const hone_shape *y = &infer->out[0].type.shape;
  bool same = y->rank == rank;
  for (int axis = 0; same && axis < rank; ++axis)
    same = y->dim[axis] == x->dim[axis] || HONE_SYMBOLIC(x->dim[axis]) || HONE_SYMBOLIC(y->dim[axis]);
  if (!same) return HN_INFER_FAIL(infer, "slope does not broadcast to the shape of x");
  hn_out_shape(infer, 0, rank, x->dim);
  return HONE_OK;
}

const hone_op hn_op_prelu = {
    .struct_size = sizeof(hone_op),
    .name = "prelu",
    .doc = "x, or slope * x when negative",
    .in = {{"x", 'T', HONE_TYPES_NUMBER}, {"slope", 'T', HONE_TYPES_NUMBER}},
    .out = {{"y", 'T'}},
    .traits = HONE_ELEMENTWISE,
    .expr = "select(lt(x, 0), mul(slope, x), x)",
    .infer = infer,
    .eval = hn_eval_expr,
    .cost = hn_cost_elementwise,
    .report_class = "Activation",
    .onnx = {{"PRelu", 1, 6, .set = "axis=1 broadcast=1", .drop = "consumed_inputs", .adapt = "legacy_broadcast"},
             {"PRelu", 7, HONE_LATEST}},
};
