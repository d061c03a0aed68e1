/* SPDX-License-Identifier: Apache-2.0 */
/* lrn.c - local response normalisation across channels: x / (bias + alpha / size * sum of squares)^beta.
 * Source: ONNX operator LRN (Krizhevsky et al. 2012). */
#include "ops/common_nn.h"
#include <math.h>

static hone_status infer(hone_infer *infer) {
  HN_TRY(hn_want_int(infer, "size", 1, INT32_MAX));
  HN_TRY(hn_want_rank(infer, 0, 2, HONE_MAX_RANK));
  return hn_infer_same(infer);
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  const hone_tensor *x = &eval->in[0];
  const int64_t size = hn_attr_int(eval->attrs, "size");
  const double alpha = hn_attr_float(eval->attrs, "alpha"), beta = hn_attr_float(eval->attrs, "beta");
  const double bias = hn_attr_float(eval->attrs, "bias");
  HN_TRY(hn_eval_begin(eval));
  const hn_rows rows = hn_rows_along(&x->type.shape, 1);
  int64_t first, last;
  hn_window_range(eval, window, 0, &first, &last);
  for (int64_t flat = first; flat < last; ++flat) {
    const int64_t c = flat / rows.inner % rows.len;
    const int64_t low = c - (size - 1) / 2 > 0 ? c - (size - 1) / 2 : 0;
    const int64_t high =
        c + size / 2 < rows.len - 1 ? c + size / 2 : rows.len - 1; /* size / 2 = ceil((size - 1) / 2) */
    double square = 0;
    for (int64_t i = low; i <= high; ++i) {
      const double value = hn_real(x, flat + (i - c) * rows.inner);
      square += value * value;
    }
    hn_store_real(&eval->out[0], flat, hn_real(x, flat) / pow(bias + alpha / (double)size * square, beta));
  }
  return HONE_OK;
}

static hone_cost cost(const hone_attrs *attrs, const hone_fact *in, int in_count, const hone_fact *out, int out_count) {
  const double each = 2.0 * (double)hn_attr_int(attrs, "size") + 20; /* pow is about twenty */
  return hn_cost_work(each * (double)hn_elems(&in[0].type.shape), in, in_count, out, out_count);
}

const hone_op hn_op_lrn = {
    .struct_size = sizeof(hone_op),
    .name = "lrn",
    .doc = "local response normalisation across channels",
    .in = {{"x", 't', HONE_TYPES_FLOAT, 0}},
    .out = {{"y", 't', 0, 0}},
    .attr = {HONE_FLOAT_ATTR("alpha", 1e-4f), HONE_FLOAT_ATTR("beta", 0.75), HONE_FLOAT_ATTR("bias", 1.0),
             HONE_NEEDED_ATTR("size", HONE_ATTR_INT)},
    .traits = HONE_WINDOWED,
    .infer = infer,
    .eval = eval,
    .cost = cost,
    .report_class = "Normalization",
    .onnx = {{.name = "LRN", .first = 1, .last = HONE_LATEST}},
};
