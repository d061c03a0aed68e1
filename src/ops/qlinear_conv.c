/* SPDX-License-Identifier: Apache-2.0 */
/* qlinear_conv.c - convolution of quantised tensors, requantised by the f32 rule; b is i32 in units of
 * x_scale * w_scale. Source: ONNX operator QLinearConv. */
#include "ops/common_quant.h"

enum { X, X_SCALE, X_ZERO, W, W_SCALE, W_ZERO, Y_SCALE, Y_ZERO, B };

static hone_status infer(hone_infer *infer) {
  static const int single[] = {X_SCALE, X_ZERO, Y_SCALE, Y_ZERO};
  for (size_t i = 0; i < HN_COUNT(single); ++i) HN_TRY(hn_want_scalar_or(infer, single[i], 1, "one"));
  if (hn_in_rank(infer, W) > 0) {
    HN_TRY(hn_want_scalar_or(infer, W_SCALE, hn_in_shape(infer, W)->dim[0], "the number of output channels"));
    HN_TRY(hn_want_scalar_or(infer, W_ZERO, hn_in_shape(infer, W)->dim[0], "the number of output channels"));
  }
  HN_TRY(hn_infer_bounds(infer));
  return hn_infer_conv(infer, X, W, hn_in_given(infer, B) ? B : -1);
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  HN_TRY(hn_eval_begin(eval));
  hn_conv_integer conv;
  HN_TRY(hn_conv_integer_make(eval, X, W, &conv));
  const double x_scale = hn_scale_of(eval, X_SCALE, 0), y_scale = hn_scale_of(eval, Y_SCALE, 0);
  int64_t first, last, at[HONE_MAX_RANK];
  hn_window_range(eval, window, 0, &first, &last);
  for (int64_t flat = first; flat < last; ++flat) {
    hn_unflatten(&eval->out[0].type.shape, flat, at);
    int64_t sum = hn_conv_integer_at(&conv, at, hn_zero_point(eval, X_ZERO, 0), hn_zero_point(eval, W_ZERO, at[1]));
    if (hn_eval_given(eval, B)) sum += hn_int(&eval->in[B], at[1]);
    const float scale = hn_requant_scale(x_scale, hn_scale_of(eval, W_SCALE, at[1]), y_scale);
    hn_store_bounded(eval, flat, hn_requantised(sum, scale, hn_zero_point(eval, Y_ZERO, 0)));
  }
  return HONE_OK;
}

static hone_cost cost(const hone_attrs *attrs, const hone_fact *in, int in_count, const hone_fact *out, int out_count) {
  (void)attrs;
  const hone_shape *w = &in[W].type.shape;
  const double outs = w->rank > 0 && w->dim[0] > 0 ? (double)w->dim[0] : 1;
  return hn_cost_work(2.0 * (double)hn_elems(&out[0].type.shape) * (double)hn_elems(w) / outs, in, in_count, out,
                      out_count);
}

const hone_op hn_op_qlinear_conv = {
    .struct_size = sizeof(hone_op),
    .name = "qlinear_conv",
    .doc = "convolution of quantised tensors",
    .in = {{"x", 'x', HN_TYPES_BYTE, 0},
           {"x_scale", 0, HONE_BIT(HONE_F32), 0},
           {"x_zero_point", 'x', HN_TYPES_BYTE, 0},
           {"w", 'w', HN_TYPES_BYTE, HONE_PORT_PARAM},
           {"w_scale", 0, HONE_BIT(HONE_F32), 0},
           {"w_zero_point", 'w', HN_TYPES_BYTE, 0},
           {"y_scale", 0, HONE_BIT(HONE_F32), 0},
           {"y_zero_point", 'y', HN_TYPES_BYTE, 0},
           {"b", 0, HONE_BIT(HONE_I32), HONE_PORT_OPTIONAL | HONE_PORT_PARAM}},
    .out = {{"y", 'y', 0, 0}},
    .attr = {HN_SLIDING_ATTRS, HONE_INT_ATTR("group", 1), HONE_OPTIONAL_ATTR("kernel_shape", HONE_ATTR_INTS),
             HN_BOUND_ATTRS},
    .traits = HONE_WINDOWED,
    .infer = infer,
    .eval = eval,
    .cost = cost,
    .report_class = "Convolution",
    .onnx = {{.name = "QLinearConv", .first = 10, .last = HONE_LATEST}},
};
