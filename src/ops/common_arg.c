/* SPDX-License-Identifier: Apache-2.0 */
/* common_arg.c - arg_max and arg_min. NaN beats everything, as in numpy. */
#include "ops/common_reduce.h"
#include "ops/common_move.h"
#include <math.h>

hone_status hn_infer_arg(hone_infer *infer) {
  const int rank = hn_in_rank(infer, 0);
  if (rank < 0) return HONE_OK;
  const hone_shape *shape = hn_in_shape(infer, 0);
  int64_t dims[HONE_MAX_RANK];
  int axis, out_rank = 0;
  HN_TRY(hn_infer_axis(infer, hn_attr_int(infer->attrs, "axis"), rank, &axis));
  if (shape->dim[axis] == 0) return HN_INFER_FAIL(infer, "axis %d has no element to choose from", axis);
  for (int i = 0; i < rank; ++i) {
    if (i != axis)
      dims[out_rank++] = shape->dim[i];
    else if (hn_attr_int(infer->attrs, "keepdims"))
      dims[out_rank++] = 1;
  }
  hn_out_shape(infer, 0, out_rank, dims);
  return HONE_OK;
}

/* Is element a a better choice than b? Equal ones are not. */
static bool beats(const hone_tensor *x, int64_t a, int64_t b, bool largest) {
  if (hn_dtype_is_float(x->type.dtype)) {
    const double left = hn_real(x, a), right = hn_real(x, b);
    if (isnan(left) || isnan(right)) return isnan(left) && !isnan(right);
    return largest ? left > right : left < right;
  }
  int64_t left = hn_int(x, a), right = hn_int(x, b);
  if (hn_dtype_is_unsigned(x->type.dtype)) { /* moves [0, 2^64) to [-2^63, 2^63) in order */
    left = (int64_t)((uint64_t)left ^ (uint64_t)1 << 63);
    right = (int64_t)((uint64_t)right ^ (uint64_t)1 << 63);
  }
  return largest ? left > right : left < right;
}

hone_status hn_eval_arg(hone_eval *eval, const hone_window *window) {
  const bool largest = *(const bool *)eval->op->details;
  const hone_tensor *x = &eval->in[0];
  const bool select_last = hn_attr_int(eval->attrs, "select_last_index") != 0;
  const hn_rows rows = hn_rows_along(&x->type.shape, hn_attr_int(eval->attrs, "axis"));
  int64_t first, last;
  hn_window_range(eval, window, 0, &first, &last);
  if (rows.len == 0 && first < last)
    return HN_FAIL(eval->diagnostics, HONE_INVALID, "the axis has no element to choose from");
  for (int64_t row = first; row < last; ++row) {
    int64_t best = 0;
    for (int64_t i = 1; i < rows.len && !hn_eval_ends(eval, i); ++i) {
      const int64_t at = hn_row_at(&rows, row, i), of = hn_row_at(&rows, row, best);
      if (beats(x, at, of, largest) || (select_last && !beats(x, of, at, largest))) best = i;
    }
    hn_store_int(&eval->out[0], row, best);
  }
  return HONE_OK;
}
