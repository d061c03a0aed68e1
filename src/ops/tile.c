/* SPDX-License-Identifier: Apache-2.0 */
/* tile.c - a tensor repeated along each axis. */
#include "ops/common_move.h"

static hone_status infer(hone_infer *infer) {
  const int rank = hn_in_rank(infer, 0);
  int64_t length, count, dims[HONE_MAX_RANK];
  HN_TRY(hn_in_length(infer, 1, "repeats", &length));
  const int64_t *value = hn_in_value(infer, 1, &count);
  if (rank < 0) return HONE_OK;
  if (length >= 0 && length != rank)
    return HN_INFER_FAIL(infer, "repeats has %lld elements, but input has rank %d", (long long)length, rank);
  if (!value || length < 0) return hn_out_after_run(infer, 0, rank, INT64_MAX);
  for (int d = 0; d < rank; ++d) {
    if (value[d] < 0 && !HONE_SYMBOLIC(value[d]))
      return HN_INFER_FAIL(infer, "repeats[%d] is %lld; it must not be negative", d, (long long)value[d]);
    dims[d] = hn_dim_mul(infer->dims, hn_in_shape(infer, 0)->dim[d], value[d]);
  }
  hn_out_shape(infer, 0, rank, dims);
  return HONE_OK;
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  HN_TRY(hn_eval_sized(eval));
  const hone_shape *from = &eval->in[0].type.shape, *to = &eval->out[0].type.shape;
  int64_t strides[HONE_MAX_RANK], index[HONE_MAX_RANK], repeats[HONE_MAX_RANK], first, last;
  int count;
  HN_TRY(hn_eval_ints(eval, 1, HONE_MAX_RANK, repeats, &count));
  bool fits = count == from->rank && to->rank == from->rank;
  for (int d = 0; fits && d < to->rank; ++d) {
    int64_t dim;
    fits = hn_mul_i64(from->dim[d], repeats[d], &dim) && dim == to->dim[d];
  }
  if (!fits) return HN_FAIL(eval->diagnostics, HONE_INVALID, "repeats do not give the output's shape");
  hn_strides(from, strides);
  hn_window_range(eval, window, 0, &first, &last);
  for (int64_t at = first; at < last; ++at) {
    hn_unflatten(to, at, index);
    for (int d = 0; d < to->rank; ++d) index[d] %= from->dim[d];
    hn_copy_element(&eval->out[0], at, &eval->in[0], hn_flatten(to->rank, index, strides));
  }
  return HONE_OK;
}

const hone_op hn_op_tile = {
    .struct_size = sizeof(hone_op),
    .name = "tile",
    .doc = "a tensor repeated along each axis",
    .in = {{"input", 'T', HONE_TYPES_ANY}, {"repeats", 0, HONE_BIT(HONE_I64)}},
    .out = {{"output", 'T'}},
    .traits = HONE_MOVES | HONE_WINDOWED,
    .infer = infer,
    .eval = eval,
    .cost = hn_cost_copy,
    .report_class = "Data movement",
    .onnx = {{"Tile", 6, HONE_LATEST}},
};
