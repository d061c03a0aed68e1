/* SPDX-License-Identifier: Apache-2.0 */
/* multinomial.c - numbers of classes, each drawn with the probability whose logarithm, but for a constant, the input
 * has. Source: ONNX operator Multinomial. */
#include "ops/common_random.h"
#include "ops/onnx_tensor.h"
#include <math.h>

static hone_status infer(hone_infer *infer) {
  const int64_t count = hn_attr_int(infer->attrs, "sample_size");
  hone_dtype dtype = HONE_I32;
  if (hn_attr_has(infer->attrs, "dtype")) dtype = hn_dtype_of_onnx(hn_attr_int(infer->attrs, "dtype"));
  if (!(infer->op->out[0].types & HONE_BIT(dtype)))
    return HN_INFER_FAIL(infer, "dtype is %lld, expected 6 (int32) or 7 (int64)",
                         (long long)hn_attr_int(infer->attrs, "dtype"));
  hn_out_dtype(infer, 0, dtype);
  HN_TRY(hn_want_int(infer, "sample_size", 1, INT32_MAX));
  HN_TRY(hn_want_rank(infer, 0, 2, 2));
  if (hn_in_rank(infer, 0) < 0) return HONE_OK;
  hn_out_shape(infer, 0, 2, (int64_t[]){hn_in_shape(infer, 0)->dim[0], count});
  return HONE_OK;
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  const hone_tensor *x = &eval->in[0];
  const int64_t classes = hn_eval_dim(x, 1), samples = hn_eval_dim(&eval->out[0], 1);
  int64_t first, last;
  hn_window_range(eval, window, 0, &first, &last);
  if (classes < 1 && first < last) return HN_FAIL(eval->diagnostics, HONE_INVALID, "there are no classes to draw");
  for (int64_t at = first; at < last && !hn_eval_ends(eval, at - first); ++at) {
    const int64_t row = at / samples * classes;
    double top = -(double)INFINITY, sum = 0, left;
    for (int64_t i = 0; i < classes; ++i) top = fmax(top, hn_real(x, row + i));
    for (int64_t i = 0; i < classes; ++i) sum += exp(hn_real(x, row + i) - top);
    left = hn_draw(eval, at, 0) * sum;
    int64_t chosen = 0;
    for (; chosen + 1 < classes; ++chosen)
      if ((left -= exp(hn_real(x, row + chosen) - top)) < 0) break;
    hn_store_int(&eval->out[0], at, chosen);
  }
  return HONE_OK;
}

static hone_cost cost(const hone_attrs *attrs, const hone_fact *in, int in_count, const hone_fact *out, int out_count) {
  (void)attrs; /* an exponential for each class, twice */
  return hn_cost_work(20.0 * (double)hn_elems(&out[0].type.shape) * (double)in[0].type.shape.dim[1], in, in_count, out,
                      out_count);
}

const hone_op hn_op_multinomial = {
    .struct_size = sizeof(hone_op),
    .name = "multinomial",
    .doc = "classes drawn by their log-probabilities",
    .in = {{"x", 0, HONE_TYPES_FLOAT}},
    .out = {{"y", 0, HONE_BIT(HONE_I32) | HONE_BIT(HONE_I64)}},
    .attr = {HONE_OPTIONAL_ATTR("dtype", HONE_ATTR_INT), HONE_INT_ATTR("sample_size", 1), HONE_FLOAT_ATTR("seed", 0.0)},
    .traits = HONE_IMPURE | HONE_WINDOWED,
    .infer = infer,
    .eval = eval,
    .cost = cost,
    .onnx = {{"Multinomial", 7, HONE_LATEST, .adapt = "random"}},
};
