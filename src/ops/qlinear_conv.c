/* SPDX-License-Identifier: Apache-2.0 */
/* qlinear_conv.c - convolution of quantised tensors, requantised by the f32 rule; b is i32 in units of
 * x_scale * w_scale. Source: ONNX operator QLinearConv. A residual is ours: the output's bytes, rounded and bounded,
 * are then one operand of a qlinear_add, whose ratios and shift are attributes (docs/NUMERICS.md). */
#include "ops/common_quant.h"
#include <math.h>

enum { X, X_SCALE, X_ZERO, W, W_SCALE, W_ZERO, Y_SCALE, Y_ZERO, B, RESIDUAL };

static hone_status infer_residual(hone_infer *infer) {
  const hone_shape *y = &infer->out[0].type.shape;
  const hone_dtype dtype = infer->out[0].type.dtype;
  const int64_t low = hn_attr_int(infer->attrs, "sum_low"), high = hn_attr_int(infer->attrs, "sum_high");
  const int64_t least = dtype == HONE_I8 ? INT8_MIN : 0, most = dtype == HONE_I8 ? INT8_MAX : UINT8_MAX;
  if (low > high || low > most || high < least)
    return HN_INFER_FAIL(infer, "no %s lies between sum_low %lld and sum_high %lld", hone_dtype_name(dtype),
                         (long long)low, (long long)high);
  if (y->rank < 0 || hn_in_rank(infer, RESIDUAL) < 0) return HONE_OK;
  HN_TRY(hn_want_rank(infer, RESIDUAL, y->rank, y->rank));
  for (int i = 0; i < y->rank; ++i) HN_TRY(hn_want_dim(infer, RESIDUAL, i, y->dim[i], "that of the output"));
  return HONE_OK;
}

static hone_status infer(hone_infer *infer) {
  static const int single[] = {X_SCALE, X_ZERO, Y_SCALE, Y_ZERO};
  for (size_t i = 0; i < HN_COUNT(single); ++i) HN_TRY(hn_want_scalar_or(infer, single[i], 1, "one"));
  if (hn_in_rank(infer, W) > 0) {
    HN_TRY(hn_want_scalar_or(infer, W_SCALE, hn_in_shape(infer, W)->dim[0], "the number of output channels"));
    HN_TRY(hn_want_scalar_or(infer, W_ZERO, hn_in_shape(infer, W)->dim[0], "the number of output channels"));
  }
  HN_TRY(hn_infer_bounds(infer));
  HN_TRY(hn_infer_conv(infer, X, W, hn_in_given(infer, B) ? B : -1));
  return hn_in_given(infer, RESIDUAL) ? infer_residual(infer) : HONE_OK;
}

/* The sum of the output's byte and the residual's, as qlinear_add forms it. */
static double joined(const hone_eval *eval, int64_t flat, double own) {
  const float own_ratio = (float)hn_attr_float(eval->attrs, "own_ratio");
  const float residual_ratio = (float)hn_attr_float(eval->attrs, "residual_ratio");
  const float shift = (float)hn_attr_float(eval->attrs, "sum_shift");
  const float a = (float)hn_bounded(eval, own), b = (float)hn_int(&eval->in[RESIDUAL], flat);
  const float sum = hn_attr_int(eval->attrs, "own_last") ? fmaf(b, residual_ratio, fmaf(a, own_ratio, shift))
                                                         : fmaf(a, own_ratio, fmaf(b, residual_ratio, shift));
  const double low = (double)hn_attr_int(eval->attrs, "sum_low"), high = (double)hn_attr_int(eval->attrs, "sum_high");
  return fmin(fmax((double)sum, low), high);
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
    const double own = hn_requantised(sum, scale, hn_zero_point(eval, Y_ZERO, 0));
    if (hn_eval_given(eval, RESIDUAL))
      hn_store_saturated(&eval->out[0], flat, joined(eval, flat, own), true);
    else
      hn_store_bounded(eval, flat, own);
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
    .doc = "convolution of quantised tensors, with bias and residual",
    .in = {{"x", 'x', HN_TYPES_BYTE, 0},
           {"x_scale", 0, HONE_BIT(HONE_F32), 0},
           {"x_zero_point", 'x', HN_TYPES_BYTE, 0},
           {"w", 'w', HN_TYPES_BYTE, HONE_PORT_PARAM},
           {"w_scale", 0, HONE_BIT(HONE_F32), 0},
           {"w_zero_point", 'w', HN_TYPES_BYTE, 0},
           {"y_scale", 0, HONE_BIT(HONE_F32), 0},
           {"y_zero_point", 'y', HN_TYPES_BYTE, 0},
           {"b", 0, HONE_BIT(HONE_I32), HONE_PORT_OPTIONAL | HONE_PORT_PARAM},
           {"residual", 'y', HN_TYPES_BYTE, HONE_PORT_OPTIONAL | HONE_PORT_AS_OUT}},
    .out = {{"y", 'y', 0, 0}},
    .attr = {HN_SLIDING_ATTRS, HONE_INT_ATTR("group", 1), HONE_OPTIONAL_ATTR("kernel_shape", HONE_ATTR_INTS),
             HN_BOUND_ATTRS, HONE_FLOAT_ATTR("own_ratio", 1), HONE_FLOAT_ATTR("residual_ratio", 1),
             HONE_FLOAT_ATTR("sum_shift", 0), HONE_INT_ATTR("sum_low", INT32_MIN), HONE_INT_ATTR("sum_high", INT32_MAX),
             HONE_INT_ATTR("own_last", 0)},
    .traits = HONE_WINDOWED,
    .infer = infer,
    .eval = eval,
    .cost = cost,
    .report_class = "Convolution",
    .onnx = {{.name = "QLinearConv", .first = 10, .last = HONE_LATEST}},
};
