/* SPDX-License-Identifier: Apache-2.0 */
/* flatten.c - a matrix: the extents before the axis, times those from it on. */
#include "ops/common_move.h"

static hone_status infer(hone_infer *infer) {
  const int rank = hn_in_rank(infer, 0);
  const int64_t given = hn_attr_int(infer->attrs, "axis");
  if (rank < 0) return hn_out_after_run(infer, 0, 2, INT64_MAX);
  if (given < -rank || given > rank)
    return HN_INFER_FAIL(infer, "axis is %lld; it must be in [%d, %d]", (long long)given, -rank, rank);
  const int axis = (int)(given < 0 ? given + rank : given);
  const int64_t *from = hn_in_shape(infer, 0)->dim;
  const int64_t dims[2] = {hn_dim_product(infer->dims, axis, from),
                           hn_dim_product(infer->dims, rank - axis, from + axis)};
  hn_out_shape(infer, 0, 2, dims);
  hn_infer_keep_value(infer, 0, 0);
  return HONE_OK;
}

const hone_op hn_op_flatten = {
    .struct_size = sizeof(hone_op),
    .name = "flatten",
    .doc = "reshapes to a matrix whose columns begin at the axis",
    .in = {{"input", 'T', HONE_TYPES_ANY}},
    .out = {{"output", 'T'}},
    .attr = {HONE_INT_ATTR("axis", 1)},
    .traits = HONE_MOVES | HONE_ALIASES,
    .infer = infer,
    .eval = hn_eval_same_bytes,
    .cost = hn_cost_copy,
    .onnx = {{"Flatten", 1, HONE_LATEST}},
};
