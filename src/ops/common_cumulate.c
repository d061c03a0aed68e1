/* SPDX-License-Identifier: Apache-2.0 */
/* common_cumulate.c - running sums and products along one axis. Reals run in double and are rounded on each store. */
#include "ops/common_reduce.h"
#include "ops/common_move.h"

hone_status hn_infer_cumulate(hone_infer *infer) {
  int64_t axis;
  int normal;
  if (hn_in_rank(infer, 0) >= 0 && hn_in_number(infer, 1, &axis))
    HN_TRY(hn_infer_axis(infer, axis, hn_in_rank(infer, 0), &normal));
  return hn_infer_same(infer);
}

static void cumulate_row(hone_eval *eval, const hn_rows *rows, int64_t row) {
  const bool reverse = hn_attr_int(eval->attrs, "reverse") != 0, exclusive = hn_attr_int(eval->attrs, "exclusive") != 0;
  const bool multiply = *(const bool *)eval->op->details, is_real = hn_dtype_is_float(eval->in[0].type.dtype);
  double real = multiply;
  uint64_t integer = multiply;
  for (int64_t i = 0; i < rows->len && !hn_eval_ends(eval, i); ++i) {
    const int64_t at = hn_row_at(rows, row, reverse ? rows->len - 1 - i : i);
    const double real_before = real;
    const uint64_t integer_before = integer;
    if (is_real) {
      const double x = hn_real(&eval->in[0], at);
      real = multiply ? real * x : real + x;
      hn_store_real(&eval->out[0], at, exclusive ? real_before : real);
    } else {
      const uint64_t x = (uint64_t)hn_int(&eval->in[0], at);
      integer = multiply ? integer * x : integer + x;
      hn_store_int(&eval->out[0], at, (int64_t)(exclusive ? integer_before : integer));
    }
  }
}

hone_status hn_eval_cumulate(hone_eval *eval, const hone_window *window) {
  const hone_shape *shape = &eval->in[0].type.shape;
  int axis;
  if (hn_elems(&eval->in[1].type.shape) != 1)
    return HN_FAIL(eval->diagnostics, HONE_INVALID, "axis must be one number");
  HN_TRY(hn_eval_axis(eval, hn_int(&eval->in[1], 0), shape->rank, &axis));
  const hn_rows rows = hn_rows_along(shape, axis);
  int64_t first, last;
  hn_rows_window(eval, window, &rows, &first, &last);
  for (int64_t row = first; row < last; ++row) cumulate_row(eval, &rows, row);
  return HONE_OK;
}
