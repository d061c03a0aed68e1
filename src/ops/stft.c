/* SPDX-License-Identifier: Apache-2.0 */
/* stft.c - Fourier transforms of overlapping frames of a signal [batch, length, 1 or 2], weighted by a window.
 * Source: ONNX operator STFT. */
#include "ops/common_nn.h"
#include <math.h>

enum { SIGNAL, STEP, WINDOW, LENGTH };

static hone_status infer(hone_infer *infer) {
  int64_t count = 0;
  const int64_t *step = hn_in_value(infer, STEP, &count), *length = hn_in_value(infer, LENGTH, &count);
  HN_TRY(hn_want_rank(infer, SIGNAL, 3, 3));
  HN_TRY(hn_want_rank(infer, WINDOW, 1, 1));
  const hone_shape *x = hn_in_shape(infer, SIGNAL);
  if (x->rank < 0) return HONE_OK;
  if (!HONE_SYMBOLIC(x->dim[2]) && x->dim[2] != 1 && x->dim[2] != 2)
    return HN_INFER_FAIL(infer, "the last dim of signal is %lld, expected 1 (real) or 2 (complex)",
                         (long long)x->dim[2]);
  int64_t frame = x->dim[1];
  if (hn_in_given(infer, WINDOW) && hn_in_rank(infer, WINDOW) == 1) frame = hn_in_shape(infer, WINDOW)->dim[0];
  if (length) frame = *length;
  const bool known = step && (length || !hn_in_given(infer, LENGTH)) && !HONE_SYMBOLIC(*step) && !HONE_SYMBOLIC(frame);
  if (!known) return hn_out_after_run(infer, 0, 4, INT64_MAX);
  if (*step < 1 || frame < 1 || *step > INT32_MAX || frame > INT32_MAX)
    return HN_INFER_FAIL(infer, "frame_step is %lld and frame_length %lld, expected 1 or more", (long long)*step,
                         (long long)frame);
  if (hn_in_given(infer, WINDOW)) HN_TRY(hn_want_dim(infer, WINDOW, 0, frame, "frame_length"));
  if (!HONE_SYMBOLIC(x->dim[1]) && x->dim[1] < frame)
    return HN_INFER_FAIL(infer, "the signal has %lld samples, fewer than a frame of %lld", (long long)x->dim[1],
                         (long long)frame);
  const int64_t frames =
      hn_dim_add(infer->dims, hn_dim_floor_div(infer->dims, hn_dim_sub(infer->dims, x->dim[1], frame), *step), 1);
  const int64_t dim[4] = {x->dim[0], frames, hn_attr_int(infer->attrs, "onesided") ? frame / 2 + 1 : frame, 2};
  hn_out_shape(infer, 0, 4, dim);
  return HONE_OK;
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  HN_TRY(hn_eval_begin(eval));
  const hone_tensor *x = &eval->in[SIGNAL], *weights = hn_eval_given(eval, WINDOW) ? &eval->in[WINDOW] : NULL;
  const int64_t step = hn_int(&eval->in[STEP], 0), samples = hn_eval_dim(x, 1), parts = hn_eval_dim(x, 2);
  const int64_t frame = hn_eval_given(eval, LENGTH) ? hn_int(&eval->in[LENGTH], 0)
                        : weights                   ? hn_eval_dim(weights, 0)
                                                    : samples;
  int64_t first, last, at[HONE_MAX_RANK];
  hn_window_range(eval, window, 0, &first, &last);
  for (int64_t flat = first; flat < last; ++flat) {
    double sum = 0;
    hn_unflatten(&eval->out[0].type.shape, flat, at);
    for (int64_t i = 0; i < frame; ++i) {
      const int64_t from = (at[0] * samples + at[1] * step + i) * parts;
      const double weight = weights ? hn_real(weights, i) : 1, a = hn_real(x, from);
      const double b = parts == 2 ? hn_real(x, from + 1) : 0;
      const double angle = -2 * acos(-1.0) * (double)(i * at[2] % frame) / (double)frame;
      sum += weight * (at[3] ? a * sin(angle) + b * cos(angle) : a * cos(angle) - b * sin(angle));
    }
    hn_store_real(&eval->out[0], flat, sum);
  }
  return HONE_OK;
}

const hone_op hn_op_stft = {
    .struct_size = sizeof(hone_op),
    .name = "stft",
    .doc = "Fourier transforms of overlapping frames",
    .in = {{"signal", 't', HONE_TYPES_FLOAT, 0},
           {"frame_step", 'i', HONE_TYPES_INDEX, 0},
           {"window", 't', HONE_TYPES_FLOAT, HONE_PORT_OPTIONAL},
           {"frame_length", 'i', HONE_TYPES_INDEX, HONE_PORT_OPTIONAL}},
    .out = {{"output", 't', 0, 0}},
    .attr = {HONE_INT_ATTR("onesided", 1)},
    .traits = HONE_WINDOWED,
    .infer = infer,
    .eval = eval,
    .cost = hn_cost_transform,
    .onnx = {{.name = "STFT", .first = 17, .last = HONE_LATEST}},
};
