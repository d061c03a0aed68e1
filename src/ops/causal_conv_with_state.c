/* SPDX-License-Identifier: Apache-2.0 */
/* causal_conv_with_state.c - each channel convolved with its own kernel over the past, which is carried from call to
 * call. Source: ONNX operator CausalConvWithState. */
#include "ops/common_nn.h"
#include <math.h>

enum { X, W, B, PAST };

static hone_status infer(hone_infer *infer) {
  HN_TRY(hn_want_text(infer, "activation", "none silu swish"));
  HN_TRY(hn_want_rank(infer, X, 3, 3));
  HN_TRY(hn_want_rank(infer, W, 3, 3));
  HN_TRY(hn_want_rank(infer, B, 1, 1));
  HN_TRY(hn_want_rank(infer, PAST, 3, 3));
  const hone_shape *x = hn_in_shape(infer, X), *w = hn_in_shape(infer, W);
  if (x->rank < 0 || w->rank < 0) return HONE_OK;
  HN_TRY(hn_want_dim(infer, W, 0, x->dim[1], "the number of channels"));
  HN_TRY(hn_want_dim(infer, W, 1, 1, "what a depthwise kernel has"));
  HN_TRY(hn_want_dim(infer, B, 0, x->dim[1], "the number of channels"));
  if (w->dim[2] == 0) return HN_INFER_FAIL(infer, "weight has an empty kernel");
  const int64_t state[3] = {x->dim[0], x->dim[1], hn_dim_sub(infer->dims, w->dim[2], 1)};
  for (int i = 0; i < 3; ++i) HN_TRY(hn_want_dim(infer, PAST, i, state[i], "what input and weight want"));
  hn_out_shape(infer, 0, 3, x->dim);
  hn_out_shape(infer, 1, 3, state);
  return HONE_OK;
}

/* Element t of a channel's past followed by its input. */
static double joined(const hone_eval *eval, int64_t row, int64_t t, int64_t past, int64_t length) {
  if (t >= past) return hn_real(&eval->in[X], row * length + t - past);
  return hn_eval_given(eval, PAST) ? hn_real(&eval->in[PAST], row * past + t) : 0;
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  HN_TRY(hn_eval_begin(eval));
  const hone_shape *x = &eval->in[X].type.shape;
  const int64_t channels = x->dim[1], length = x->dim[2], taps = hn_eval_dim(&eval->in[W], 2), past = taps - 1;
  const bool silu = hn_attr_text(eval->attrs, "activation")[0] == 's';
  int64_t first, last;
  hn_window_range(eval, window, 0, &first, &last);
  for (int64_t flat = first; hn_eval_wanted(eval, 0) && flat < last; ++flat) {
    const int64_t row = flat / length, c = row % channels, t = flat % length;
    double sum = hn_eval_given(eval, B) ? hn_real(&eval->in[B], c) : 0;
    for (int64_t k = 0; k < taps; ++k)
      sum += hn_real(&eval->in[W], c * taps + k) * joined(eval, row, t + k, past, length);
    hn_store_real(&eval->out[0], flat, silu ? sum / (1 + exp(-sum)) : sum);
  }
  for (int64_t i = 0; hn_eval_wanted(eval, 1) && i < x->dim[0] * channels * past; ++i)
    hn_store_real(&eval->out[1], i, joined(eval, i / past, length + i % past, past, length));
  return HONE_OK;
}

static hone_cost cost(const hone_attrs *attrs, const hone_fact *in, int in_count, const hone_fact *out, int out_count) {
  (void)attrs;
  return hn_cost_work(2.0 * (double)hn_elems(&in[X].type.shape) * (double)in[W].type.shape.dim[2], in, in_count, out,
                      out_count);
}

const hone_op hn_op_causal_conv_with_state = {
    .struct_size = sizeof(hone_op),
    .name = "causal_conv_with_state",
    .doc = "depthwise convolution over the past, carried from call to call",
    .in = {{"input", 't', HONE_TYPES_FLOAT, 0},
           {"weight", 't', HONE_TYPES_FLOAT, HONE_PORT_PARAM},
           {"bias", 't', HONE_TYPES_FLOAT, HONE_PORT_OPTIONAL | HONE_PORT_PARAM},
           {"past_state", 't', HONE_TYPES_FLOAT, HONE_PORT_OPTIONAL}},
    .out = {{"output", 't', 0, 0}, {"present_state", 't', 0, HONE_PORT_OPTIONAL}},
    .attr = {HONE_STRING_ATTR("activation", "none")},
    .traits = HONE_WINDOWED,
    .infer = infer,
    .eval = eval,
    .cost = cost,
    .report_class = "Convolution",
    .onnx = {{.name = "CausalConvWithState", .first = 27, .last = HONE_LATEST}},
};
