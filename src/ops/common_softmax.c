/* SPDX-License-Identifier: Apache-2.0 */
/* common_softmax.c - softmax and its logarithm along one axis. The row's maximum is subtracted first, so that exp()
 * cannot overflow. */
#include "ops/common_nn.h"
#include <math.h>

hone_status hn_eval_softmax(hone_eval *eval, const hone_window *window) {
  const bool logarithm = *(const bool *)eval->op->details;
  HN_TRY(hn_eval_begin(eval));
  const hone_tensor *x = &eval->in[0];
  const hn_rows rows = hn_rows_along(&x->type.shape, hn_attr_int(eval->attrs, "axis"));
  int64_t first, last;
  hn_rows_window(eval, window, &rows, &first, &last);
  for (int64_t row = first; row < last && !hn_eval_stopped(eval); ++row) {
    double top = -(double)INFINITY, sum = 0;
    for (int64_t i = 0; i < rows.len; ++i) top = fmax(top, hn_real(x, hn_row_at(&rows, row, i)));
    for (int64_t i = 0; i < rows.len; ++i) sum += exp(hn_real(x, hn_row_at(&rows, row, i)) - top);
    for (int64_t i = 0; i < rows.len; ++i) {
      const int64_t at = hn_row_at(&rows, row, i);
      const double below = hn_real(x, at) - top;
      hn_store_real(&eval->out[0], at, logarithm ? below - log(sum) : exp(below) / sum);
    }
  }
  return HONE_OK;
}

hone_cost hn_cost_softmax(const hone_attrs *attrs, const hone_fact *in, int in_count, const hone_fact *out,
                          int out_count) {
  (void)attrs; /* max, subtract, exp, add and a division or subtraction for each element */
  return hn_cost_work(5.0 * (double)hn_elems(&in[0].type.shape), in, in_count, out, out_count);
}
