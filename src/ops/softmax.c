/* SPDX-License-Identifier: Apache-2.0 */
/* softmax.c - exp(x - max) / sum along one axis. The row's maximum is subtracted first, so that exp() cannot overflow.
 * Source: ONNX operator Softmax of opset 13; before, it flattened its input to two axes, which the importer does. */
#include "ops/common_nn.h"
#include <math.h>

static hone_status infer(hone_infer *infer) {
  int axis;
  const int rank = hn_in_rank(infer, 0);
  if (rank >= 0) HN_TRY(hn_infer_axis(infer, hn_attr_int(infer->attrs, "axis"), rank, &axis));
  return hn_infer_same(infer);
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  HN_TRY(hn_eval_begin(eval));
  const hone_tensor *x = &eval->in[0];
  const hn_rows rows = hn_rows_along(&x->type.shape, hn_attr_int(eval->attrs, "axis"));
  int64_t first, last;
  hn_rows_window(eval, window, &rows, &first, &last);
  for (int64_t row = first; row < last; ++row) {
    double top = -(double)INFINITY, sum = 0;
    for (int64_t i = 0; i < rows.len; ++i) top = fmax(top, hn_real(x, hn_row_at(&rows, row, i)));
    for (int64_t i = 0; i < rows.len; ++i) sum += exp(hn_real(x, hn_row_at(&rows, row, i)) - top);
    for (int64_t i = 0; i < rows.len; ++i) {
      const int64_t at = hn_row_at(&rows, row, i);
      hn_store_real(&eval->out[0], at, exp(hn_real(x, at) - top) / sum);
    }
  }
  return HONE_OK;
}

static hone_cost cost(const hone_attrs *attrs, const hone_fact *in, int in_count, const hone_fact *out, int out_count) {
  (void)attrs; /* max, subtract, exp, add and a division or subtraction for each element */
  return hn_cost_work(5.0 * (double)hn_elems(&in[0].type.shape), in, in_count, out, out_count);
}

const hone_op hn_op_softmax = {
    .struct_size = sizeof(hone_op),
    .name = "softmax",
    .doc = "exp(x - max) / sum along one axis",
    .in = {{"input", 't', HONE_TYPES_FLOAT, 0}},
    .out = {{"output", 't', 0, 0}},
    .attr = {HONE_INT_ATTR("axis", -1)},
    .infer = infer,
    .eval = eval,
    .cost = cost,
    .onnx = {{.name = "Softmax", .first = 13, .last = HONE_LATEST},
             {.name = "Softmax", .first = 1, .last = 12, .adapt = "legacy_softmax"}},
};
