/* SPDX-License-Identifier: Apache-2.0 */
/* gather_elements.c - output[..i..] = data[..indices[..i..]..] along one axis. */
#include "ops/common_move.h"

static hone_status infer(hone_infer *infer) {
  const int rank = hn_in_rank(infer, 0), index_rank = hn_in_rank(infer, 1);
  int axis;
  if (rank >= 0) HN_TRY(hn_infer_axis(infer, hn_attr_int(infer->attrs, "axis"), rank, &axis));
  if (index_rank < 0) return HONE_OK;
  if (rank >= 0 && rank != index_rank)
    return HN_INFER_FAIL(infer, "indices have rank %d, but data has rank %d", index_rank, rank);
  hn_out_shape(infer, 0, index_rank, hn_in_shape(infer, 1)->dim);
  return HONE_OK;
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  HN_TRY(hn_eval_sized(eval));
  const hone_shape *data = &eval->in[0].type.shape, *shape = &eval->in[1].type.shape;
  int64_t strides[HONE_MAX_RANK], at_index[HONE_MAX_RANK], first, last;
  int axis;
  HN_TRY(hn_eval_axis(eval, hn_attr_int(eval->attrs, "axis"), data->rank, &axis));
  bool fits = data->rank == shape->rank;
  for (int d = 0; fits && d < data->rank; ++d) fits = d == axis || shape->dim[d] <= data->dim[d];
  if (!fits) return HN_FAIL(eval->diagnostics, HONE_INVALID, "indices are larger than data beside the axis");
  HN_TRY(hn_eval_expect(eval, 0, shape->rank, shape->dim));
  hn_strides(data, strides);
  hn_window_range(eval, window, 0, &first, &last);
  for (int64_t at = first; at < last; ++at) {
    hn_unflatten(shape, at, at_index);
    HN_TRY(hn_eval_index(eval, &eval->in[1], at, data->dim[axis], &at_index[axis]));
    hn_copy_element(&eval->out[0], at, &eval->in[0], hn_flatten(data->rank, at_index, strides));
  }
  return HONE_OK;
}

const hone_op hn_op_gather_elements = {
    .struct_size = sizeof(hone_op),
    .name = "gather_elements",
    .doc = "one element for each index, along one axis",
    .in = {{"data", 'T', HONE_TYPES_ANY}, {"indices", 0, HONE_TYPES_INDEX}},
    .out = {{"output", 'T'}},
    .attr = {HONE_INT_ATTR("axis", 0)},
    .traits = HONE_MOVES | HONE_WINDOWED,
    .infer = infer,
    .eval = eval,
    .cost = hn_cost_select,
    .report_class = "Data movement",
    .onnx = {{"GatherElements", 11, HONE_LATEST}},
};
