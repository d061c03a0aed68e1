/* SPDX-License-Identifier: Apache-2.0 */
/* common_sliding.c - what convolution and pooling rows share. Geometry itself is in tensor/sliding. */
#include "ops/common_nn.h"

static hone_status kernel_attr(hone_infer *infer, int spatial, const int64_t **out) {
  const int count = hn_attr_ints(infer->attrs, "kernel_shape", out);
  if (!count) *out = NULL;
  if (count && count != spatial)
    return HN_INFER_FAIL(infer, "kernel_shape has %d numbers, but x has %d spatial axes", count, spatial);
  for (int i = 0; i < count; ++i)
    if ((*out)[i] < 1)
      return HN_INFER_FAIL(infer, "kernel_shape[%d] is %lld, expected 1 or more", i, (long long)(*out)[i]);
  return HONE_OK;
}

hone_status hn_sliding_kernel(hone_infer *infer, int spatial, int weights, int64_t *out_kernel, bool *out_known) {
  const int64_t *given = NULL;
  *out_known = true;
  HN_TRY(kernel_attr(infer, spatial, &given));
  const hone_shape *shape = weights >= 0 ? hn_in_shape(infer, weights) : NULL;
  for (int i = 0; i < spatial; ++i) {
    const int64_t dim = shape && shape->rank > 2 + i ? shape->dim[2 + i] : HONE_SYMBOL_BASE;
    if (given && hn_dims_differ(dim, given[i]))
      return HN_INFER_FAIL(infer, "kernel_shape[%d] is %lld, but the weights have %lld there", i, (long long)given[i],
                           (long long)dim);
    if (!given && HONE_SYMBOLIC(dim)) *out_known = false;
    if (!given && dim == 0) return HN_INFER_FAIL(infer, "the weights' dim %d is 0", 2 + i);
    out_kernel[i] = given ? given[i] : dim;
  }
  if (!given && weights < 0) return HN_INFER_FAIL(infer, "kernel_shape is missing");
  return HONE_OK;
}

/* [N, channels, out...] once the geometry is known, else dims of the same rank known after running. */
static hone_status put_shape(hone_infer *infer, int output, int x, int64_t channels, const int64_t *kernel,
                             bool known) {
  const hone_shape *in = hn_in_shape(infer, x);
  hn_sliding sliding;
  if (!known) return hn_out_after_run(infer, output, in->rank, INT64_MAX);
  HN_TRY(hn_sliding_make(infer->diagnostics, infer->dims, infer->attrs, in, kernel, &sliding));
  int64_t dim[HONE_MAX_RANK] = {in->dim[0], channels};
  for (int i = 0; i < sliding.spatial; ++i) dim[2 + i] = sliding.out[i];
  hn_out_shape(infer, output, in->rank, dim);
  return HONE_OK;
}

hone_status hn_infer_pool(hone_infer *infer) {
  int64_t kernel[HN_MAX_SPATIAL];
  bool known = true;
  HN_TRY(hn_want_rank(infer, 0, 3, HONE_MAX_RANK));
  const hone_shape *x = hn_in_shape(infer, 0);
  if (x->rank < 0) return HONE_OK;
  HN_TRY(hn_sliding_kernel(infer, x->rank - 2, -1, kernel, &known));
  for (int i = 0; i < infer->out_count; ++i) HN_TRY(put_shape(infer, i, 0, x->dim[1], kernel, known));
  return HONE_OK;
}

hone_status hn_infer_conv(hone_infer *infer, int x, int weights, int bias) {
  const int64_t group = hn_attr_int(infer->attrs, "group");
  int64_t kernel[HN_MAX_SPATIAL];
  bool known = true;
  HN_TRY(hn_want_rank(infer, x, 3, HONE_MAX_RANK));
  HN_TRY(hn_want_rank(infer, weights, 3, HONE_MAX_RANK));
  if (group < 1) return HN_INFER_FAIL(infer, "group is %lld, expected 1 or more", (long long)group);
  const hone_shape *xs = hn_in_shape(infer, x), *ws = hn_in_shape(infer, weights);
  if (xs->rank < 0) return HONE_OK;
  if (ws->rank >= 0 && ws->rank != xs->rank)
    return HN_INFER_FAIL(infer, "the weights have rank %d, but x has rank %d", ws->rank, xs->rank);
  HN_TRY(hn_sliding_kernel(infer, xs->rank - 2, weights, kernel, &known));
  if (ws->rank < 0) return hn_out_after_run(infer, 0, xs->rank, INT64_MAX);
  const int64_t outs = ws->dim[0], ins = ws->dim[1], channels = xs->dim[1];
  if (!HONE_SYMBOLIC(outs) && outs % group)
    return HN_INFER_FAIL(infer, "%lld output channels cannot be split into %lld groups", (long long)outs,
                         (long long)group);
  if (!HONE_SYMBOLIC(ins) && !HONE_SYMBOLIC(channels) && (channels % group || channels / group != ins))
    return HN_INFER_FAIL(infer, "x has %lld channels, but the weights want %lld in each of %lld groups",
                         (long long)channels, (long long)ins, (long long)group);
  if (bias >= 0) {
    HN_TRY(hn_want_rank(infer, bias, 1, 1));
    HN_TRY(hn_want_dim(infer, bias, 0, outs, "the number of output channels"));
  }
  return put_shape(infer, 0, x, outs, kernel, known);
}

hone_status hn_eval_sliding(const hone_eval *eval, const hone_tensor *x, const hone_shape *weights, hn_sliding *out) {
  const int64_t *kernel = weights ? weights->dim + 2 : NULL;
  if (!weights) hn_attr_ints(eval->attrs, "kernel_shape", &kernel);
  return hn_sliding_make(eval->diagnostics, NULL, eval->attrs, &x->type.shape, kernel, out);
}

int64_t hn_sliding_taps(const hn_sliding *sliding) {
  int64_t taps = 1;
  for (int i = 0; i < sliding->spatial; ++i) taps *= sliding->kernel[i];
  return taps;
}

int64_t hn_sliding_in_size(const hn_sliding *sliding) {
  int64_t size = 1;
  for (int i = 0; i < sliding->spatial; ++i) size *= sliding->in[i];
  return size;
}

/* How many of count positions, step apart from 0, lie below size. */
static int64_t below(int64_t size, int64_t step, int64_t count) {
  const int64_t fit = size > 0 ? hn_ceil_div(size, step) : 0;
  return fit < count ? fit : count;
}

bool hn_window_taps_begin(hn_window_taps *taps, const hn_sliding *sliding, const int64_t *out_at, int64_t *out_offset) {
  *taps = (hn_window_taps){.sliding = sliding, .inside = 1, .padded = 1};
  for (int i = 0; i < sliding->spatial; ++i) {
    const int64_t origin = out_at[i] * sliding->stride[i] - sliding->pad_begin[i], step = sliding->dilation[i];
    const int64_t first = origin < 0 ? hn_ceil_div(-origin, step) : 0, end = sliding->in[i] - origin;
    const int64_t last = below(end, step, sliding->kernel[i]);
    taps->begin[i] = taps->at[i] = origin + first * step;
    taps->end[i] = origin + last * step;
    taps->inside *= last > first ? last - first : 0;
    taps->padded *= (double)below(end + sliding->pad_end[i], step, sliding->kernel[i]);
  }
  return taps->inside > 0 && hn_window_taps_next(taps, out_offset);
}

bool hn_window_taps_next(hn_window_taps *taps, int64_t *out_offset) {
  const hn_sliding *s = taps->sliding;
  int64_t offset = 0, size = 1;
  if (taps->at[0] >= taps->end[0]) return false;
  for (int i = s->spatial - 1; i >= 0; --i) {
    offset += taps->at[i] * size;
    size *= s->in[i];
  }
  *out_offset = offset;
  for (int i = s->spatial - 1; i >= 0; --i) { /* on to the next; past the last, axis 0 stays at its end */
    taps->at[i] += s->dilation[i];
    if (taps->at[i] < taps->end[i] || i == 0) break;
    taps->at[i] = taps->begin[i];
  }
  return true;
}

hn_tap hn_sliding_tap(const hn_sliding *sliding, const int64_t *out_at, int64_t tap, int64_t *out_offset) {
  hn_tap where = HN_TAP_INSIDE;
  int64_t offset = 0, step = 1;
  for (int i = sliding->spatial - 1; i >= 0; --i) {
    const int64_t at =
        out_at[i] * sliding->stride[i] - sliding->pad_begin[i] + tap % sliding->kernel[i] * sliding->dilation[i];
    if (at >= sliding->in[i] + sliding->pad_end[i]) return HN_TAP_BEYOND;
    if (at < 0 || at >= sliding->in[i]) where = HN_TAP_ON_PAD;
    tap /= sliding->kernel[i];
    offset += at * step;
    step *= sliding->in[i];
  }
  *out_offset = offset;
  return where;
}

hone_status hn_infer_global_pool(hone_infer *infer) {
  HN_TRY(hn_want_rank(infer, 0, 2, HONE_MAX_RANK));
  const hone_shape *x = hn_in_shape(infer, 0);
  if (x->rank < 0) return HONE_OK;
  int64_t dim[HONE_MAX_RANK] = {x->dim[0], x->dim[1], 1, 1, 1, 1, 1, 1};
  hn_out_shape(infer, 0, x->rank, dim);
  return HONE_OK;
}

hone_cost hn_cost_pool(const hone_attrs *attrs, const hone_fact *in, int in_count, const hone_fact *out,
                       int out_count) {
  const int64_t *kernel = NULL;
  double taps = 1;
  const int count = hn_attr_ints(attrs, "kernel_shape", &kernel);
  for (int i = 0; i < count; ++i) { /* those behind the input's extent lie on pads, where nothing is read */
    const int64_t extent = in[0].type.shape.rank == count + 2 ? in[0].type.shape.dim[2 + i] : kernel[i];
    taps *= (double)(kernel[i] < extent ? kernel[i] : extent);
  }
  const double elements = (double)hn_elems(count ? &out[0].type.shape : &in[0].type.shape); /* global pools have none */
  return hn_cost_work(elements * taps, in, in_count, out, out_count);
}

hone_cost hn_cost_conv(const hone_attrs *attrs, const hone_fact *in, int in_count, const hone_fact *out,
                       int out_count) {
  (void)attrs;
  const hone_shape *w = &in[1].type.shape; /* a multiply and an add for each weight of an output channel */
  const double outs = w->rank > 0 && w->dim[0] > 0 ? (double)w->dim[0] : 1;
  return hn_cost_work(2.0 * (double)hn_elems(&out[0].type.shape) * (double)hn_elems(w) / outs, in, in_count, out,
                      out_count);
}
