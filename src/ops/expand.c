/* SPDX-License-Identifier: Apache-2.0 */
/* expand.c - broadcasts a tensor to a shape; an extent of 1 in the shape keeps the input's. */
#include "ops/common_move.h"

static hone_status infer(hone_infer *infer) {
  const int rank = hn_in_rank(infer, 0);
  int64_t length, count, own_count;
  HN_TRY(hn_in_length(infer, 1, "shape", &length));
  if (length > HONE_MAX_RANK)
    return HN_INFER_UNSUPPORTED(infer, "a shape of %lld extents; the largest rank is %d", (long long)length,
                                HONE_MAX_RANK);
  if (rank < 0 || length < 0) return HONE_OK;
  const int64_t *value = hn_in_value(infer, 1, &count);
  if (!value && length > 0) return hn_out_after_run(infer, 0, length > rank ? (int)length : rank, INT64_MAX);
  for (int64_t i = 0; i < length; ++i)
    if (value[i] < 0 && !HONE_SYMBOLIC(value[i]))
      return HN_INFER_FAIL(infer, "shape[%lld] is %lld; it must not be negative", (long long)i, (long long)value[i]);
  const hone_shape wanted = hn_shape((int)length, value), *const pair[2] = {hn_in_shape(infer, 0), &wanted};
  hone_shape joined;
  HN_TRY(hn_infer_broadcast_shapes(infer, 2, pair, &joined));
  hn_out_shape(infer, 0, joined.rank, joined.dim);
  const int64_t *own = hn_in_value(infer, 0, &own_count);
  int64_t elems;
  if (!own || own_count != 1 || !hn_elems_checked(&joined, &elems)) return HONE_OK;
  int64_t *to = hn_infer_value(infer, 0, elems);
  for (int64_t i = 0; to && i < elems; ++i) to[i] = own[0];
  return HONE_OK;
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  HN_TRY(hn_eval_sized(eval));
  const hone_shape *from = &eval->in[0].type.shape, *to = &eval->out[0].type.shape;
  int64_t strides[HONE_MAX_RANK], first, last;
  bool fits = from->rank <= to->rank;
  for (int i = 1; fits && i <= from->rank; ++i) {
    const int64_t dim = from->dim[from->rank - i];
    fits = dim == 1 || dim == to->dim[to->rank - i];
  }
  if (!fits) return HN_FAIL(eval->diagnostics, HONE_INVALID, "the input does not broadcast to the shape");
  hn_broadcast_strides(from, to, strides);
  hn_window_range(eval, window, 0, &first, &last);
  hn_copy_strided(eval, 0, 0, 0, strides, first, last);
  return HONE_OK;
}

const hone_op hn_op_expand = {
    .struct_size = sizeof(hone_op),
    .name = "expand",
    .doc = "broadcasts a tensor to a shape",
    .in = {{"input", 'T', HONE_TYPES_ANY}, {"shape", 0, HONE_BIT(HONE_I64)}},
    .out = {{"output", 'T'}},
    .traits = HONE_MOVES | HONE_WINDOWED,
    .infer = infer,
    .eval = eval,
    .cost = hn_cost_copy,
    .report_class = "Data movement",
    .onnx = {{"Expand", 8, HONE_LATEST}},
};
