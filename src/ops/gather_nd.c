/* SPDX-License-Identifier: Apache-2.0 */
/* gather_nd.c - slices of data at positions: the last axis of indices holds the first coordinates after batch_dims. */
#include "ops/common_move.h"

static hone_status infer(hone_infer *infer) {
  const int rank = hn_in_rank(infer, 0), index_rank = hn_in_rank(infer, 1);
  const int64_t batch = hn_attr_int(infer->attrs, "batch_dims");
  int64_t dims[2 * HONE_MAX_RANK];
  int out_rank = 0;
  if (rank < 0 || index_rank < 0) return HONE_OK;
  const hone_shape *data = hn_in_shape(infer, 0), *indices = hn_in_shape(infer, 1);
  if (batch < 0 || batch >= rank || batch >= index_rank)
    return HN_INFER_FAIL(infer, "batch_dims is %lld; it must be in [0, %d)", (long long)batch,
                         rank < index_rank ? rank : index_rank);
  const int64_t depth = indices->dim[index_rank - 1];
  if (HONE_SYMBOLIC(depth)) return HONE_OK;
  if (depth < 1 || depth > rank - batch)
    return HN_INFER_FAIL(infer, "indices' last extent is %lld; it must be in [1, %lld]", (long long)depth,
                         (long long)(rank - batch));
  for (int d = 0; d < index_rank - 1; ++d) {
    dims[d] = indices->dim[d];
    if (d < batch) HN_TRY(hn_infer_same_dim(infer, data->dim[d], indices->dim[d], "batch axis", &dims[d]));
  }
  out_rank = index_rank - 1;
  for (int d = (int)(batch + depth); d < rank; ++d) dims[out_rank++] = data->dim[d];
  if (out_rank > HONE_MAX_RANK)
    return HN_INFER_UNSUPPORTED(infer, "rank %d; the largest is %d", out_rank, HONE_MAX_RANK);
  hn_out_shape(infer, 0, out_rank, dims);
  return HONE_OK;
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  HN_TRY(hn_eval_sized(eval));
  const hone_shape *data = &eval->in[0].type.shape, *indices = &eval->in[1].type.shape;
  const int batch = (int)hn_attr_int(eval->attrs, "batch_dims");
  int64_t strides[HONE_MAX_RANK], first, last, tuples_a_batch = 1, batches = 1, slice = 1;
  if (indices->rank < 1 || batch >= indices->rank || batch >= data->rank)
    return HN_FAIL(eval->diagnostics, HONE_INVALID, "batch_dims is not below the ranks");
  const int64_t depth = indices->dim[indices->rank - 1];
  if (depth < 1 || depth > data->rank - batch)
    return HN_FAIL(eval->diagnostics, HONE_INVALID, "indices' last extent is %lld", (long long)depth);
  for (int d = 0; d < indices->rank - 1; ++d) {
    if (d < batch && data->dim[d] != indices->dim[d])
      return HN_FAIL(eval->diagnostics, HONE_INVALID, "data and indices differ along batch axis %d", d);
    *(d < batch ? &batches : &tuples_a_batch) *= indices->dim[d];
  }
  for (int d = batch + (int)depth; d < data->rank; ++d) slice *= data->dim[d];
  if (batches * tuples_a_batch * slice != hn_elems(&eval->out[0].type.shape))
    return HN_FAIL(eval->diagnostics, HONE_INVALID, "the output's extents do not fit data and indices");
  hn_strides(data, strides);
  hn_window_range(eval, window, 0, &first, &last);
  if (first >= last) return HONE_OK;
  for (int64_t tuple = first / slice; tuple <= (last - 1) / slice; ++tuple) {
    int64_t from = batch > 0 ? tuple / tuples_a_batch * strides[batch - 1] : 0;
    for (int64_t i = 0; i < depth; ++i) {
      int64_t index;
      HN_TRY(hn_eval_index(eval, &eval->in[1], tuple * depth + i, data->dim[batch + i], &index));
      from += index * strides[batch + i];
    }
    hn_copy_run(eval, &eval->out[0], tuple * slice, &eval->in[0], from, slice);
  }
  return HONE_OK;
}

const hone_op hn_op_gather_nd = {
    .struct_size = sizeof(hone_op),
    .name = "gather_nd",
    .doc = "slices at positions given by coordinates",
    .in = {{"data", 'T', HONE_TYPES_ANY}, {"indices", 0, HONE_BIT(HONE_I64)}},
    .out = {{"output", 'T'}},
    .attr = {HONE_INT_ATTR("batch_dims", 0)},
    .traits = HONE_MOVES | HONE_WINDOWED,
    .infer = infer,
    .eval = eval,
    .cost = hn_cost_select,
    .report_class = "Data movement",
    .onnx = {{"GatherND", 11, HONE_LATEST}, {"GatherND", 1, HONE_LATEST, "com.microsoft", .alias = true}},
};
