/* SPDX-License-Identifier: Apache-2.0 */
/* scatter_nd.c - a copy of data with slices of updates written at positions. */
#include "ops/common_move.h"

static hone_status infer(hone_infer *infer) {
  const int rank = hn_in_rank(infer, 0), index_rank = hn_in_rank(infer, 1), update_rank = hn_in_rank(infer, 2);
  int64_t same;
  if (rank == 0) return HN_INFER_FAIL(infer, "data must not be a scalar");
  if (index_rank == 0) return HN_INFER_FAIL(infer, "indices must not be a scalar");
  if (rank > 0 && index_rank > 0) {
    const hone_shape *data = hn_in_shape(infer, 0), *indices = hn_in_shape(infer, 1), *updates = hn_in_shape(infer, 2);
    const int64_t depth = indices->dim[index_rank - 1];
    if (!HONE_SYMBOLIC(depth) && (depth < 0 || depth > rank))
      return HN_INFER_FAIL(infer, "indices' last extent is %lld; it must be in [0, %d]", (long long)depth, rank);
    if (!HONE_SYMBOLIC(depth) && update_rank >= 0) {
      if (update_rank != index_rank - 1 + rank - (int)depth)
        return HN_INFER_FAIL(infer, "updates have rank %d; it must be %d", update_rank,
                             index_rank - 1 + rank - (int)depth);
      for (int d = 0; d < update_rank; ++d)
        HN_TRY(hn_infer_same_dim(infer, updates->dim[d],
                                 d < index_rank - 1 ? indices->dim[d] : data->dim[d - (index_rank - 1) + depth],
                                 "updates against indices and data", &same));
    }
  }
  return hn_infer_scatter(infer);
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  HN_TRY(hn_eval_same_bytes(eval, window));
  const hone_shape *data = &eval->in[0].type.shape, *indices = &eval->in[1].type.shape;
  const char *reduction = hn_attr_text(eval->attrs, "reduction");
  int64_t strides[HONE_MAX_RANK], tuples = 1, slice = 1;
  const int64_t depth = indices->rank > 0 ? indices->dim[indices->rank - 1] : -1;
  if (depth < 0 || depth > data->rank)
    return HN_FAIL(eval->diagnostics, HONE_INVALID, "indices' last extent is %lld", (long long)depth);
  for (int d = 0; d < indices->rank - 1; ++d) tuples *= indices->dim[d];
  for (int d = (int)depth; d < data->rank; ++d) slice *= data->dim[d];
  if (tuples * slice != hn_elems(&eval->in[2].type.shape))
    return HN_FAIL(eval->diagnostics, HONE_INVALID, "updates do not fit indices and data");
  hn_strides(data, strides);
  for (int64_t tuple = 0; tuple < tuples; ++tuple) {
    int64_t to = 0, index;
    for (int64_t i = 0; i < depth; ++i) {
      HN_TRY(hn_eval_index(eval, &eval->in[1], tuple * depth + i, data->dim[i], &index));
      to += index * strides[i];
    }
    for (int64_t i = 0; i < slice && !hn_eval_ends(eval, tuple * slice + i); ++i)
      hn_scatter_element(eval, reduction, to + i, &eval->in[2], tuple * slice + i);
  }
  return HONE_OK;
}

const hone_op hn_op_scatter_nd = {
    .struct_size = sizeof(hone_op),
    .name = "scatter_nd",
    .doc = "a copy of data with slices of updates written at positions",
    .in = {{"data", 'T', HONE_TYPES_ANY}, {"indices", 0, HONE_BIT(HONE_I64)}, {"updates", 'T', HONE_TYPES_ANY}},
    .out = {{"output", 'T'}},
    .attr = {HONE_STRING_ATTR("reduction", "none")},
    .infer = infer,
    .eval = eval,
    .cost = hn_cost_copy,
    .report_class = "Data movement",
    .onnx = {{"ScatterND", 11, HONE_LATEST}},
};
