/* SPDX-License-Identifier: Apache-2.0 */
/* hardmax.c - 1 at the first largest element along one axis, else 0. NaN beats everything, as in arg_max. */
#include "ops/common_move.h"
#include <math.h>

static hone_status eval(hone_eval *eval, const hone_window *window) {
  const hn_rows rows = hn_rows_along(&eval->in[0].type.shape, hn_attr_int(eval->attrs, "axis"));
  int64_t first, last;
  hn_rows_window(eval, window, &rows, &first, &last);
  for (int64_t row = first; row < last; ++row) {
    int64_t best = 0;
    for (int64_t i = 1; i < rows.len; ++i) {
      const double most = hn_real(&eval->in[0], hn_row_at(&rows, row, best));
      const double next = hn_real(&eval->in[0], hn_row_at(&rows, row, i));
      if (next > most || (isnan(next) && !isnan(most))) best = i;
    }
    for (int64_t i = 0; i < rows.len; ++i) hn_store_int(&eval->out[0], hn_row_at(&rows, row, i), i == best);
  }
  return HONE_OK;
}

const hone_op hn_op_hardmax = {
    .struct_size = sizeof(hone_op),
    .name = "hardmax",
    .doc = "1 at the first largest element along one axis, else 0",
    .in = {{"input", 'T', HONE_TYPES_FLOAT}},
    .out = {{"output", 'T'}},
    .attr = {HONE_INT_ATTR("axis", -1)},
    .infer = hn_infer_along_axis,
    .eval = eval,
    .cost = hn_cost_elementwise,
    .report_class = "Softmax",
    .onnx = {{"Hardmax", 1, 12, .adapt = "legacy_softmax"}, {"Hardmax", 13, HONE_LATEST}},
};
