/* SPDX-License-Identifier: Apache-2.0 */
/* gather.c - slices of data along one axis, chosen by indices of any shape. */
#include "ops/common_move.h"

static void keep_values(hone_infer *infer) {
  int64_t data_count, count;
  const int64_t *data = hn_in_value(infer, 0, &data_count), *indices = hn_in_value(infer, 1, &count);
  if (!data || !indices || hn_in_rank(infer, 0) != 1) return;
  for (int64_t i = 0; i < count; ++i)
    if (HONE_SYMBOLIC(indices[i]) || indices[i] < -data_count || indices[i] >= data_count) return;
  int64_t *to = hn_infer_value(infer, 0, count);
  for (int64_t i = 0; to && i < count; ++i) to[i] = data[indices[i] < 0 ? indices[i] + data_count : indices[i]];
}

static hone_status infer(hone_infer *infer) {
  const int rank = hn_in_rank(infer, 0), index_rank = hn_in_rank(infer, 1);
  int axis, out_rank = 0;
  int64_t dims[HONE_MAX_RANK], count;
  if (rank < 0) return HONE_OK;
  HN_TRY(hn_infer_axis(infer, hn_attr_int(infer->attrs, "axis"), rank, &axis));
  if (index_rank < 0) return HONE_OK;
  if (rank - 1 + index_rank > HONE_MAX_RANK)
    return HN_INFER_UNSUPPORTED(infer, "rank %d; the largest is %d", rank - 1 + index_rank, HONE_MAX_RANK);
  const hone_shape *data = hn_in_shape(infer, 0);
  const int64_t *indices = hn_in_value(infer, 1, &count), extent = data->dim[axis];
  for (int64_t i = 0; indices && !HONE_SYMBOLIC(extent) && i < count; ++i)
    if (!HONE_SYMBOLIC(indices[i]) && (indices[i] < -extent || indices[i] >= extent))
      return HN_INFER_FAIL(infer, "index %lld, but axis %d has extent %lld", (long long)indices[i], axis,
                           (long long)extent);
  for (int d = 0; d < axis; ++d) dims[out_rank++] = data->dim[d];
  for (int d = 0; d < index_rank; ++d) dims[out_rank++] = hn_in_shape(infer, 1)->dim[d];
  for (int d = axis + 1; d < rank; ++d) dims[out_rank++] = data->dim[d];
  hn_out_shape(infer, 0, out_rank, dims);
  keep_values(infer);
  return HONE_OK;
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  HN_TRY(hn_eval_sized(eval));
  const hone_tensor *indices = &eval->in[1];
  const hn_rows rows = hn_rows_along(&eval->in[0].type.shape, hn_attr_int(eval->attrs, "axis"));
  const int64_t count = hn_elems(&indices->type.shape), total = rows.outer * count;
  int64_t first, last, index;
  hn_window_range(eval, window, 0, &first, &last);
  if (total * rows.inner != hn_elems(&eval->out[0].type.shape))
    return HN_FAIL(eval->diagnostics, HONE_INVALID, "the output's extents do not fit data and indices");
  if (first >= last) return HONE_OK;
  for (int64_t run = first / rows.inner; run <= (last - 1) / rows.inner; ++run) {
    HN_TRY(hn_eval_index(eval, indices, run % count, rows.len, &index));
    hn_copy_run(eval, &eval->out[0], run * rows.inner, &eval->in[0], (run / count * rows.len + index) * rows.inner,
                rows.inner);
  }
  return HONE_OK;
}

const hone_op hn_op_gather = {
    .struct_size = sizeof(hone_op),
    .name = "gather",
    .doc = "slices along one axis, chosen by indices",
    .in = {{"data", 'T', HONE_TYPES_ANY}, {"indices", 0, HONE_TYPES_INDEX}},
    .out = {{"output", 'T'}},
    .attr = {HONE_INT_ATTR("axis", 0)},
    .traits = HONE_MOVES | HONE_WINDOWED,
    .infer = infer,
    .eval = eval,
    .cost = hn_cost_select,
    .report_class = "Data movement",
    .onnx = {{"Gather", 1, HONE_LATEST},
             {"ArrayFeatureExtractor", 1, HONE_LATEST, "ai.onnx.ml", .adapt = "ml_array_features", .alias = true},
             {"GatherBlockQuantized", 1, HONE_LATEST, "com.microsoft", .adapt = "ort_gather_blocks", .alias = true}},
};
