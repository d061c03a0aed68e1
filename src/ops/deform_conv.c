/* SPDX-License-Identifier: Apache-2.0 */
/* deform_conv.c - convolution whose taps are moved by learned offsets and weighted by a mask (Dai et al. 2017).
 * Source: ONNX operator DeformConv. A moved tap reads its neighbours linearly; outside x there are zeros. */
#include "ops/common_nn.h"
#include <math.h>

enum { X, W, OFFSET, B, MASK };

/* offset is [N, offset_group * taps * spatial, out...], mask the same without spatial. */
static hone_status check_moves(hone_infer *infer, int input, int64_t channels) {
  const hone_shape *y = &infer->out[0].type.shape;
  if (!hn_in_given(infer, input) || y->rank < 0) return HONE_OK;
  HN_TRY(hn_want_rank(infer, input, y->rank, y->rank));
  HN_TRY(hn_want_dim(infer, input, 0, y->dim[0], "the batch size"));
  if (channels > 0) HN_TRY(hn_want_dim(infer, input, 1, channels, "what offset_group and the kernel want"));
  for (int i = 2; i < y->rank; ++i) HN_TRY(hn_want_dim(infer, input, i, y->dim[i], "that of the output"));
  return HONE_OK;
}

static hone_status infer(hone_infer *infer) {
  HN_TRY(hn_want_int(infer, "offset_group", 1, INT32_MAX));
  HN_TRY(hn_infer_conv(infer, X, W, hn_in_given(infer, B) ? B : -1));
  if (hn_in_rank(infer, X) < 0 || hn_in_rank(infer, W) < 0) return HONE_OK;
  const hone_shape *w = hn_in_shape(infer, W), *x = hn_in_shape(infer, X);
  const int64_t groups = hn_attr_int(infer->attrs, "offset_group");
  if (!HONE_SYMBOLIC(x->dim[1]) && x->dim[1] % groups)
    return HN_INFER_FAIL(infer, "%lld channels cannot be split into %lld offset groups", (long long)x->dim[1],
                         (long long)groups);
  int64_t moves = groups, all;
  for (int i = 2; i < w->rank; ++i)
    if (HONE_SYMBOLIC(w->dim[i]))
      moves = 0;
    else if (!hn_mul_i64(moves, w->dim[i], &moves))
      return HN_INFER_FAIL(infer, "the kernel is too large");
  if (!hn_mul_i64(moves, w->rank - 2, &all)) return HN_INFER_FAIL(infer, "the kernel is too large");
  HN_TRY(check_moves(infer, OFFSET, all));
  return check_moves(infer, MASK, moves);
}

/* Linear interpolation over axes axis..spatial - 1. */
static double sample(const hone_tensor *x, const hn_sliding *s, const double *place, int axis, int64_t base) {
  if (axis == s->spatial) return hn_real(x, base);
  const double low = floor(place[axis]), part = place[axis] - low;
  double sum = 0;
  for (int i = 0; i < 2; ++i) {
    const double at = low + i, weight = i ? part : 1 - part;
    if (weight == 0 || !(at >= 0 && at < (double)s->in[axis])) continue;
    sum += weight * sample(x, s, place, axis + 1, base * s->in[axis] + (int64_t)at);
  }
  return sum;
}

static void place_of(const hone_eval *eval, const hn_sliding *s, const int64_t *at, int64_t move, int64_t tap,
                     int64_t moves, int64_t out_flat, int64_t out_size, double *place) {
  int64_t rest = tap;
  for (int i = s->spatial - 1; i >= 0; --i) {
    const int64_t row = (at[0] * moves + move) * s->spatial + i;
    place[i] = (double)(at[2 + i] * s->stride[i] - s->pad_begin[i] + rest % s->kernel[i] * s->dilation[i]) +
               hn_real(&eval->in[OFFSET], row * out_size + out_flat);
    rest /= s->kernel[i];
  }
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  HN_TRY(hn_eval_begin(eval));
  const hone_tensor *x = &eval->in[X], *w = &eval->in[W];
  const hone_shape *y = &eval->out[0].type.shape;
  hn_sliding s;
  HN_TRY(hn_eval_sliding(eval, x, &w->type.shape, &s));
  const int64_t taps = hn_sliding_taps(&s), channels = hn_eval_dim(x, 1), in_group = hn_eval_dim(w, 1);
  const int64_t outs_a_group = y->dim[1] / hn_attr_int(eval->attrs, "group");
  const int64_t groups = hn_attr_int(eval->attrs, "offset_group"), moves = groups * taps;
  int64_t first, last, at[HONE_MAX_RANK], out_size = 1;
  double place[HN_MAX_SPATIAL];
  for (int i = 2; i < y->rank; ++i) out_size *= y->dim[i];
  hn_window_range(eval, window, 0, &first, &last);
  for (int64_t flat = first; flat < last; ++flat) {
    hn_unflatten(y, flat, at);
    double sum = hn_eval_given(eval, B) ? hn_real(&eval->in[B], at[1]) : 0;
    for (int64_t k = 0; k < in_group * taps; ++k) {
      const int64_t tap = k % taps, c = at[1] / outs_a_group * in_group + k / taps;
      const int64_t move = c / (channels / groups) * taps + tap;
      place_of(eval, &s, at, move, tap, moves, flat % out_size, out_size, place);
      double value = sample(x, &s, place, 0, at[0] * channels + c) * hn_real(w, at[1] * in_group * taps + k);
      if (hn_eval_given(eval, MASK))
        value *= hn_real(&eval->in[MASK], (at[0] * moves + move) * out_size + flat % out_size);
      sum += value;
    }
    hn_store_real(&eval->out[0], flat, sum);
  }
  return HONE_OK;
}

const hone_op hn_op_deform_conv = {
    .struct_size = sizeof(hone_op),
    .name = "deform_conv",
    .doc = "convolution with moved taps",
    .in = {{"x", 't', HONE_TYPES_FLOAT, 0},
           {"w", 't', HONE_TYPES_FLOAT, HONE_PORT_PARAM},
           {"offset", 't', HONE_TYPES_FLOAT, 0},
           {"b", 't', HONE_TYPES_FLOAT, HONE_PORT_OPTIONAL | HONE_PORT_PARAM},
           {"mask", 't', HONE_TYPES_FLOAT, HONE_PORT_OPTIONAL}},
    .out = {{"y", 't', 0, 0}},
    .attr = {HONE_OPTIONAL_ATTR("dilations", HONE_ATTR_INTS), HONE_INT_ATTR("group", 1),
             HONE_OPTIONAL_ATTR("kernel_shape", HONE_ATTR_INTS), HONE_INT_ATTR("offset_group", 1),
             HONE_OPTIONAL_ATTR("pads", HONE_ATTR_INTS), HONE_OPTIONAL_ATTR("strides", HONE_ATTR_INTS)},
    .traits = HONE_WINDOWED,
    .infer = infer,
    .eval = eval,
    .cost = hn_cost_conv,
    .report_class = "Convolution",
    .onnx = {{.name = "DeformConv", .first = 19, .last = HONE_LATEST}},
};
