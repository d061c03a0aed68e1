/* SPDX-License-Identifier: Apache-2.0 */
/* dynamic_quantize_linear.c - quantises to u8 over the range of the data itself, zero included.
 * Source: ONNX operator DynamicQuantizeLinear; its intermediate values are floats, and so are ours. */
#include "ops/common_quant.h"
#include <math.h>

static hone_status infer(hone_infer *infer) {
  const hone_shape *x = hn_in_shape(infer, 0);
  hn_out_shape(infer, 0, x->rank, x->dim);
  hn_out_shape(infer, 1, 0, NULL);
  hn_out_shape(infer, 2, 0, NULL);
  return HONE_OK;
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  HN_TRY(hn_eval_begin(eval));
  const hone_tensor *x = &eval->in[0];
  const int64_t count = hn_elems(&x->type.shape);
  double low = 0, high = 0;
  (void)window; /* the range needs all of x */
  for (int64_t i = 0; i < count; ++i) {
    low = fmin(low, hn_real(x, i));
    high = fmax(high, hn_real(x, i));
  }
  const double span = (double)(float)(high - low), scale = span > 0 ? (double)(float)(span / 255) : 1;
  const double zero = nearbyint(fmin(fmax((double)(float)(-low / scale), 0), 255));
  for (int64_t i = 0; hn_eval_wanted(eval, 0) && i < count; ++i)
    hn_store_saturated(&eval->out[0], i, nearbyint((double)(float)(hn_real(x, i) / scale)) + zero, true);
  if (hn_eval_wanted(eval, 1)) hn_store_real(&eval->out[1], 0, scale);
  if (hn_eval_wanted(eval, 2)) hn_store_real(&eval->out[2], 0, zero);
  return HONE_OK;
}

static hone_cost cost(const hone_attrs *attrs, const hone_fact *in, int in_count, const hone_fact *out, int out_count) {
  (void)attrs;
  return hn_cost_work(6.0 * (double)hn_elems(&in[0].type.shape), in, in_count, out, out_count);
}

const hone_op hn_op_dynamic_quantize_linear = {
    .struct_size = sizeof(hone_op),
    .name = "dynamic_quantize_linear",
    .doc = "quantises to u8 over the range of the data",
    .in = {{"x", 0, HONE_BIT(HONE_F32), 0}},
    .out = {{"y", 0, HONE_BIT(HONE_U8), 0},
            {"y_scale", 0, HONE_BIT(HONE_F32), 0},
            {"y_zero_point", 0, HONE_BIT(HONE_U8), 0}},
    .infer = infer,
    .eval = eval,
    .cost = cost,
    .report_class = "Quantization",
    .onnx = {{.name = "DynamicQuantizeLinear", .first = 11, .last = HONE_LATEST}},
};
