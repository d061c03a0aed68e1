/* SPDX-License-Identifier: Apache-2.0 */
/* qlinear_global_average_pool.c - the mean of each channel's whole plane, of quantised tensors, requantised:
 * rne(f32(sum - N x_zero) * (x_scale / (y_scale * N))) + y_zero. Source: ONNX Runtime's operator
 * QLinearGlobalAveragePool. */
#include "ops/common_quant.h"

enum { X, X_SCALE, X_ZERO, Y_SCALE, Y_ZERO };

static hone_status infer(hone_infer *infer) {
  for (int i = X_SCALE; i <= Y_ZERO; ++i) HN_TRY(hn_want_scalar_or(infer, i, 1, "one"));
  return hn_infer_global_pool(infer);
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  HN_TRY(hn_eval_begin(eval));
  const hone_tensor *x = &eval->in[X];
  const int64_t planes = hn_elems(&eval->out[0].type.shape), size = planes ? hn_elems(&x->type.shape) / planes : 0;
  const int64_t x_zero = hn_zero_point(eval, X_ZERO, 0), y_zero = hn_zero_point(eval, Y_ZERO, 0);
  const float divisor = (float)hn_scale_of(eval, Y_SCALE, 0) * (float)size;
  const float scale = (float)hn_scale_of(eval, X_SCALE, 0) / divisor;
  int64_t first, last;
  hn_window_range(eval, window, 0, &first, &last);
  for (int64_t flat = first; flat < last; ++flat) {
    int64_t sum = -size * x_zero;
    for (int64_t i = 0; i < size; ++i) sum += hn_int(x, flat * size + i);
    hn_store_saturated(&eval->out[0], flat, hn_requantised(sum, scale, y_zero), true);
  }
  return HONE_OK;
}

const hone_op hn_op_qlinear_global_average_pool = {
    .struct_size = sizeof(hone_op),
    .name = "qlinear_global_average_pool",
    .doc = "the mean of each channel's plane, of quantised tensors",
    .in = {{"x", 'x', HN_TYPES_BYTE, 0},
           {"x_scale", 0, HONE_BIT(HONE_F32), 0},
           {"x_zero_point", 'x', HN_TYPES_BYTE, 0},
           {"y_scale", 0, HONE_BIT(HONE_F32), 0},
           {"y_zero_point", 'y', HN_TYPES_BYTE, 0}},
    .out = {{"y", 'y', 0, 0}},
    .traits = HONE_WINDOWED,
    .infer = infer,
    .eval = eval,
    .cost = hn_cost_pool,
    .report_class = "Pooling",
    .onnx = {{"QLinearGlobalAveragePool", 1, HONE_LATEST, "com.microsoft", .adapt = "ort_qlinear_mean", .alias = true}},
};
