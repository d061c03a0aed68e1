/* SPDX-License-Identifier: Apache-2.0 */
/* conv.c - convolution with the epilogue that passes fuse into it: act(conv(x, w) + b + residual).
 * Source: ONNX operator Conv; the epilogue is ours. */
#include "ops/common_nn.h"

static hone_status infer(hone_infer *infer) {
  HN_TRY(hn_epilogue_infer(infer, 4));
  HN_TRY(hn_infer_conv(infer, 0, 1, 2));
  const hone_shape *y = &infer->out[0].type.shape;
  if (y->rank >= 2) HN_TRY(hn_want_dim(infer, 4, 0, y->dim[1], "the number of output channels"));
  if (!hn_in_given(infer, 3) || y->rank < 0 || hn_in_rank(infer, 3) < 0) return HONE_OK;
  HN_TRY(hn_want_rank(infer, 3, y->rank, y->rank));
  for (int i = 0; i < y->rank; ++i) HN_TRY(hn_want_dim(infer, 3, i, y->dim[i], "that of the output"));
  return HONE_OK;
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  HN_TRY(hn_eval_begin(eval));
  const hone_tensor *x = &eval->in[0], *w = &eval->in[1];
  hone_tensor *y = &eval->out[0];
  hn_sliding sliding;
  hn_epilogue epilogue;
  HN_TRY(hn_eval_sliding(eval, x, &w->type.shape, &sliding));
  HN_TRY(hn_epilogue_read(eval, 4, &epilogue));
  const bool has_bias = hn_eval_given(eval, 2), has_residual = hn_eval_given(eval, 3);
  const int64_t taps = hn_sliding_taps(&sliding), plane = hn_sliding_in_size(&sliding);
  const int64_t channels = hn_eval_dim(x, 1), in_group = hn_eval_dim(w, 1);
  const int64_t outs_a_group = hn_eval_dim(w, 0) / hn_attr_int(eval->attrs, "group");
  int64_t first, last, at[HONE_MAX_RANK];
  hn_window_range(eval, window, 0, &first, &last);
  for (int64_t flat = first; flat < last; ++flat) {
    hn_unflatten(&y->type.shape, flat, at);
    const int64_t x0 = (at[0] * channels + at[1] / outs_a_group * in_group) * plane, w0 = at[1] * in_group * taps;
    double sum = 0;
    for (int64_t tap = 0; tap < taps; ++tap) {
      int64_t offset;
      if (hn_sliding_tap(&sliding, at + 2, tap, &offset) != HN_TAP_INSIDE) continue;
      sum = hn_dot(sum, x, x0 + offset, plane, w, w0 + tap, taps, in_group);
    }
    if (has_bias) sum += hn_real(&eval->in[2], at[1]);
    if (has_residual) sum += hn_real(&eval->in[3], flat);
    hn_store_real(y, flat, hn_epilogue_apply(&epilogue, sum, at[1]));
  }
  return HONE_OK;
}

const hone_op hn_op_conv = {
    .struct_size = sizeof(hone_op),
    .name = "conv",
    .doc = "convolution over 1 or more spatial axes, with bias, residual and activation",
    .in = {{"x", 't', HONE_TYPES_FLOAT, 0},
           {"w", 't', HONE_TYPES_FLOAT, HONE_PORT_PARAM},
           {"b", 't', HONE_TYPES_FLOAT, HONE_PORT_OPTIONAL | HONE_PORT_PARAM},
           {"residual", 't', HONE_TYPES_FLOAT, HONE_PORT_OPTIONAL | HONE_PORT_AS_OUT},
           {"slope", 't', HONE_TYPES_FLOAT, HONE_PORT_OPTIONAL | HONE_PORT_PARAM}},
    .out = {{"y", 't', 0, 0}},
    .attr = {HN_SLIDING_ATTRS, HONE_INT_ATTR("group", 1), HONE_OPTIONAL_ATTR("kernel_shape", HONE_ATTR_INTS),
             HN_EPILOGUE_ATTRS},
    .traits = HONE_WINDOWED,
    .infer = infer,
    .eval = eval,
    .cost = hn_cost_conv,
    .report_class = "Convolution",
    .onnx = {{.name = "Conv", .first = 1, .last = HONE_LATEST},
             {"FusedConv", 1, HONE_LATEST, "com.microsoft", .adapt = "ort_fused_conv", .alias = true}},
};
