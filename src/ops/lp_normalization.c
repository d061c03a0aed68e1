/* SPDX-License-Identifier: Apache-2.0 */
/* lp_normalization.c - divides by the 1- or 2-norm along an axis; a row of zeros stays zero.
 * Source: ONNX operator LpNormalization. */
#include "ops/common_nn.h"
#include <math.h>

static hone_status infer(hone_infer *infer) {
  HN_TRY(hn_want_int(infer, "p", 1, 2));
  return hn_infer_along_axis(infer);
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  HN_TRY(hn_eval_begin(eval));
  const hone_tensor *x = &eval->in[0];
  const hn_rows rows = hn_rows_along(&x->type.shape, hn_attr_int(eval->attrs, "axis"));
  const bool euclidean = hn_attr_int(eval->attrs, "p") == 2;
  int64_t first, last;
  hn_rows_window(eval, window, &rows, &first, &last);
  for (int64_t row = first; row < last; ++row) {
    double sum = 0;
    for (int64_t i = 0; i < rows.len; ++i) {
      const double value = fabs(hn_real(x, hn_row_at(&rows, row, i)));
      sum += euclidean ? value * value : value;
    }
    const double norm = euclidean ? sqrt(sum) : sum;
    for (int64_t i = 0; i < rows.len; ++i) {
      const int64_t at = hn_row_at(&rows, row, i);
      hn_store_real(&eval->out[0], at, norm == 0 ? 0 : hn_real(x, at) / norm);
    }
  }
  return HONE_OK;
}

const hone_op hn_op_lp_normalization = {
    .struct_size = sizeof(hone_op),
    .name = "lp_normalization",
    .doc = "divides by the 1- or 2-norm along an axis",
    .in = {{"input", 't', HONE_TYPES_FLOAT, 0}},
    .out = {{"output", 't', 0, 0}},
    .attr = {HONE_INT_ATTR("axis", -1), HONE_INT_ATTR("p", 2)},
    .infer = infer,
    .eval = eval,
    .cost = hn_cost_norm,
    .report_class = "Normalization",
    .onnx = {{.name = "LpNormalization", .first = 1, .last = HONE_LATEST}},
};
