/* SPDX-License-Identifier: Apache-2.0 */
/* scatter_elements.c - a copy of data with updates written at indices along one axis. */
#include "ops/common_move.h"

static hone_status infer(hone_infer *infer) {
  const int rank = hn_in_rank(infer, 0), index_rank = hn_in_rank(infer, 1), update_rank = hn_in_rank(infer, 2);
  int axis;
  int64_t same;
  if (rank >= 0) HN_TRY(hn_infer_axis(infer, hn_attr_int(infer->attrs, "axis"), rank, &axis));
  if (rank >= 0 && ((index_rank >= 0 && index_rank != rank) || (update_rank >= 0 && update_rank != rank)))
    return HN_INFER_FAIL(infer, "data, indices and updates have ranks %d, %d and %d; they must be equal", rank,
                         index_rank, update_rank);
  for (int d = 0; rank >= 0 && index_rank == rank && update_rank == rank && d < rank; ++d)
    HN_TRY(hn_infer_same_dim(infer, hn_in_shape(infer, 1)->dim[d], hn_in_shape(infer, 2)->dim[d], "indices and updates",
                             &same));
  return hn_infer_scatter(infer);
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  HN_TRY(hn_eval_same_bytes(eval, window));
  const hone_shape *data = &eval->in[0].type.shape, *shape = &eval->in[1].type.shape;
  const char *reduction = hn_attr_text(eval->attrs, "reduction");
  int64_t strides[HONE_MAX_RANK], index[HONE_MAX_RANK];
  int axis;
  HN_TRY(hn_eval_axis(eval, hn_attr_int(eval->attrs, "axis"), data->rank, &axis));
  bool fits = data->rank == shape->rank && hn_shape_equal(shape, &eval->in[2].type.shape);
  for (int d = 0; fits && d < data->rank; ++d) fits = d == axis || shape->dim[d] <= data->dim[d];
  if (!fits) return HN_FAIL(eval->diagnostics, HONE_INVALID, "indices and updates do not fit data");
  hn_strides(data, strides);
  const int64_t count = hn_elems(shape);
  for (int64_t at = 0; at < count && !hn_eval_ends(eval, at); ++at) {
    hn_unflatten(shape, at, index);
    HN_TRY(hn_eval_index(eval, &eval->in[1], at, data->dim[axis], &index[axis]));
    hn_scatter_element(eval, reduction, hn_flatten(data->rank, index, strides), &eval->in[2], at);
  }
  return HONE_OK;
}

const hone_op hn_op_scatter_elements = {
    .struct_size = sizeof(hone_op),
    .name = "scatter_elements",
    .doc = "a copy of data with updates written at indices along one axis",
    .in = {{"data", 'T', HONE_TYPES_ANY}, {"indices", 0, HONE_TYPES_INDEX}, {"updates", 'T', HONE_TYPES_ANY}},
    .out = {{"output", 'T'}},
    .attr = {HONE_INT_ATTR("axis", 0), HONE_STRING_ATTR("reduction", "none")},
    .infer = infer,
    .eval = eval,
    .cost = hn_cost_copy,
    .report_class = "Data movement",
    .onnx = {{"ScatterElements", 11, HONE_LATEST}, {"Scatter", 9, HONE_LATEST}},
};
