/* SPDX-License-Identifier: Apache-2.0 */
/* affine_conv.c - a convolution of pre_act(x * scale + shift), scale and shift for each input channel: what is left of
 * a normalisation in front of it (He et al., arXiv:1603.05027). Beyond the image are zeros, not shifts.
 * No ONNX operator: passes make it where a kernel can do both in one go. */
#include "ops/common_nn.h"

enum { X, W, B, RESIDUAL, SLOPE, SCALE, SHIFT };

static hone_status infer(hone_infer *infer) {
  HN_TRY(hn_epilogue_infer(infer, SLOPE));
  HN_TRY(hn_want_text(infer, "pre_act", "none relu"));
  HN_TRY(hn_infer_conv(infer, X, W, B));
  const hone_shape *x = hn_in_shape(infer, X), *y = &infer->out[0].type.shape;
  for (int i = SCALE; i <= SHIFT; ++i) {
    HN_TRY(hn_want_rank(infer, i, 1, 1));
    if (x->rank >= 2) HN_TRY(hn_want_dim(infer, i, 0, x->dim[1], "the number of input channels"));
  }
  if (y->rank < 2) return HONE_OK;
  HN_TRY(hn_want_dim(infer, SLOPE, 0, y->dim[1], "the number of output channels"));
  if (!hn_in_given(infer, RESIDUAL) || hn_in_rank(infer, RESIDUAL) < 0) return HONE_OK;
  HN_TRY(hn_want_rank(infer, RESIDUAL, y->rank, y->rank));
  for (int i = 0; i < y->rank; ++i) HN_TRY(hn_want_dim(infer, RESIDUAL, i, y->dim[i], "that of the output"));
  return HONE_OK;
}

/* What a tap adds: weights from w0 on, taps apart, channels of x from c0 on. */
static double tap_sum(const hone_eval *eval, bool rectified, int64_t x0, int64_t plane, int64_t c0, int64_t w0,
                      int64_t taps, int64_t channels) {
  double sum = 0;
  for (int64_t c = 0; c < channels; ++c) {
    double x = hn_real(&eval->in[X], x0 + c * plane) * hn_real(&eval->in[SCALE], c0 + c);
    x += hn_real(&eval->in[SHIFT], c0 + c);
    if (rectified && x < 0) x = 0;
    sum += x * hn_real(&eval->in[W], w0 + c * taps);
  }
  return sum;
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  HN_TRY(hn_eval_begin(eval));
  const hone_tensor *x = &eval->in[X], *w = &eval->in[W];
  hone_tensor *y = &eval->out[0];
  hn_sliding sliding;
  hn_epilogue epilogue;
  HN_TRY(hn_eval_sliding(eval, x, &w->type.shape, &sliding));
  HN_TRY(hn_epilogue_read(eval, SLOPE, &epilogue));
  const bool rectified = hn_name_equal(hn_attr_text(eval->attrs, "pre_act"), "relu");
  const int64_t taps = hn_sliding_taps(&sliding), plane = hn_sliding_in_size(&sliding);
  const int64_t channels = hn_eval_dim(x, 1), in_group = hn_eval_dim(w, 1);
  const int64_t outs_a_group = hn_eval_dim(w, 0) / hn_attr_int(eval->attrs, "group");
  int64_t first, last, at[HONE_MAX_RANK];
  hn_window_range(eval, window, 0, &first, &last);
  for (int64_t flat = first; flat < last; ++flat) {
    hn_unflatten(&y->type.shape, flat, at);
    const int64_t c0 = at[1] / outs_a_group * in_group, x0 = (at[0] * channels + c0) * plane;
    double sum = hn_eval_given(eval, B) ? hn_real(&eval->in[B], at[1]) : 0;
    for (int64_t tap = 0; tap < taps; ++tap) {
      int64_t offset;
      if (hn_sliding_tap(&sliding, at + 2, tap, &offset) != HN_TAP_INSIDE) continue;
      sum += tap_sum(eval, rectified, x0 + offset, plane, c0, at[1] * in_group * taps + tap, taps, in_group);
    }
    if (hn_eval_given(eval, RESIDUAL)) sum += hn_real(&eval->in[RESIDUAL], flat);
    hn_store_real(y, flat, hn_epilogue_apply(&epilogue, sum, at[1]));
  }
  return HONE_OK;
}

const hone_op hn_op_affine_conv = {
    .struct_size = sizeof(hone_op),
    .name = "affine_conv",
    .doc = "convolution of an input that is scaled, shifted and rectified, with bias, residual and activation",
    .in = {{"x", 't', HONE_TYPES_FLOAT, 0},
           {"w", 't', HONE_TYPES_FLOAT, HONE_PORT_PARAM},
           {"b", 't', HONE_TYPES_FLOAT, HONE_PORT_OPTIONAL | HONE_PORT_PARAM},
           {"residual", 't', HONE_TYPES_FLOAT, HONE_PORT_OPTIONAL | HONE_PORT_AS_OUT},
           {"slope", 't', HONE_TYPES_FLOAT, HONE_PORT_OPTIONAL | HONE_PORT_PARAM},
           {"scale", 't', HONE_TYPES_FLOAT, HONE_PORT_PARAM},
           {"shift", 't', HONE_TYPES_FLOAT, HONE_PORT_PARAM}},
    .out = {{"y", 't', 0, 0}},
    .attr = {HN_SLIDING_ATTRS, HONE_INT_ATTR("group", 1), HONE_OPTIONAL_ATTR("kernel_shape", HONE_ATTR_INTS),
             HONE_STRING_ATTR("pre_act", "none"), HN_EPILOGUE_ATTRS},
    .traits = HONE_WINDOWED,
    .infer = infer,
    .eval = eval,
    .cost = hn_cost_conv,
    .report_class = "Convolution",
};
