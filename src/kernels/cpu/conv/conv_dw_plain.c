/* SPDX-License-Identifier: Apache-2.0 */
/* conv_dw_plain.c - depthwise convolution of plain NCHW, vectors along the rows.
 *
 * A plane is first copied with its padding around it, each row cut into as many runs as the stride has phases: run r
 * holds pixels r, r + stride, r + 2 stride... So every tap of every output row is one contiguous run and no border has
 * to be looked at. With a channel multiplier one copy serves all planes of outputs that read it. The order of a sum is
 * ky, kx. */
/* isa: c avx2 avx512 */
/* held: f32 f64 */
#include "kernels/cpu/conv/conv.h"
#include "kernels/cpu/activate.inc.h"
#include "kernels/cpu/held.inc.h"

#define HN_VECTORS 4 /* neighbouring sums hide the latency of one another */

#if defined(HN_HELD_F64)
typedef hn_conv_f64 convolution;
HN_INLINE const hn_conv_f32 *shape_of(const convolution *c) { return &c->shape; }
#else
typedef hn_conv_f32 convolution;
HN_INLINE const hn_conv_f32 *shape_of(const convolution *c) { return c; }
#endif

typedef struct padded {
  const hn_conv_f32 *conv; /* its shape alone is read */
  const real *rows;
  int64_t run, row;                      /* floats of one phase, and of all */
  int64_t at[HN_CONV_F32_DW_PLAIN_TAPS]; /* where each tap of the first output begins */
  real low, high;
} padded;

/* Sums of `vectors` vectors whose first taps lie `step` floats apart. */
HN_INLINE void dw_sum(const padded *p, const real *weights, real bias, const real *from, ptrdiff_t step,
                      const int vectors, vf *acc) {
  const int64_t taps = p->conv->kernel_height * p->conv->kernel_width;
  HN_UNROLL
  for (int v = 0; v < vectors; ++v) acc[v] = v_set(bias);
  for (int64_t tap = 0; tap < taps; ++tap) {
    const real *in = from + p->at[tap];
    const vf weight = v_set(weights[tap]);
    HN_UNROLL
    for (int v = 0; v < vectors; ++v) acc[v] = v_fma(v_load(in + v * step), weight, acc[v]);
  }
}

/* The first `count` lanes of a sum, on their way out. */
HN_INLINE void dw_store(const padded *p, vf sum, const real *residual, real *out, int64_t count) {
  real part[HN_LANES] = {0};
  if (count == HN_LANES) {
    if (residual) sum += v_load(residual);
    v_store(out, v_min(v_set(p->high), v_max(v_set(p->low), sum)));
    return;
  }
  if (residual) memcpy(part, residual, (size_t)count * sizeof *part);
  if (residual) sum += v_load(part);
  v_store(part, v_min(v_set(p->high), v_max(v_set(p->low), sum)));
  memcpy(out, part, (size_t)count * sizeof *part);
}

/* Up to HN_VECTORS vectors: of one row, or of as many rows where a row is one vector. */
HN_INLINE void dw_some(const padded *p, const real *weights, real bias, const real *from, ptrdiff_t step,
                       const int vectors, const real *residual, real *out, ptrdiff_t out_step, int64_t last) {
  vf acc[HN_VECTORS];
  dw_sum(p, weights, bias, from, step, vectors, acc);
  for (int v = 0; v < vectors; ++v)
    dw_store(p, acc[v], residual ? residual + v * out_step : NULL, out + v * out_step,
             out_step == HN_LANES && v + 1 < vectors ? HN_LANES : last);
}

static void dw_group(const padded *p, const real *weights, real bias, const real *from, ptrdiff_t step, int vectors,
                     const real *residual, real *out, ptrdiff_t out_step, int64_t last) {
  switch (vectors) {
  case 4: dw_some(p, weights, bias, from, step, 4, residual, out, out_step, last); break;
  case 3: dw_some(p, weights, bias, from, step, 3, residual, out, out_step, last); break;
  case 2: dw_some(p, weights, bias, from, step, 2, residual, out, out_step, last); break;
  default: dw_some(p, weights, bias, from, step, 1, residual, out, out_step, last); break;
  }
}

static void dw_plane(const padded *p, const real *weights, real bias, const real *residual, real *out) {
  const hn_conv_f32 *c = p->conv;
  const int64_t width = c->out_width, height = c->out_height, row = p->row * c->stride_height;
  if (width < HN_LANES) { /* rows of less than a vector: several at once */
    for (int64_t y = 0; y < height; y += HN_VECTORS)
      dw_group(p, weights, bias, p->rows + y * row, row, (int)(height - y < HN_VECTORS ? height - y : HN_VECTORS),
               residual ? residual + y * width : NULL, out + y * width, width, width);
    return;
  }
  for (int64_t y = 0; y < height; ++y)
    for (int64_t x = 0; x < width; x += HN_VECTORS * HN_LANES) {
      const int64_t left = width - x,
                    vectors = left < HN_VECTORS * HN_LANES ? (left + HN_LANES - 1) / HN_LANES : HN_VECTORS;
      const int64_t last = left - (vectors - 1) * HN_LANES, at = y * width + x;
      dw_group(p, weights, bias, p->rows + y * row + x, HN_LANES, (int)vectors, residual ? residual + at : NULL,
               out + at, HN_LANES, last < HN_LANES ? last : HN_LANES);
    }
}

/* The plane with zeros around it, in phases. */
static void dw_pad(const hn_conv_f32 *c, const real *plane, const padded *p, int64_t rows, real *to) {
  const int64_t stride = c->stride_width;
  for (int64_t y = 0; y < rows; ++y, to += p->row) {
    const int64_t in_y = y - c->pad_top;
    memset(to, 0, (size_t)p->row * sizeof *to);
    if (in_y < 0 || in_y >= c->in_height) continue;
    const real *from = plane + in_y * c->in_width;
    /* Pixel x goes to place x + pad_left; places behind the last run are never read. */
    if (stride == 1) {
      const int64_t most = p->run - c->pad_left < c->in_width ? p->run - c->pad_left : c->in_width;
      if (most > 0) memcpy(to + c->pad_left, from, (size_t)most * sizeof *to);
      continue;
    }
    for (int64_t phase = 0; phase < stride; ++phase) {
      const int64_t first = c->pad_left > phase ? (c->pad_left - phase + stride - 1) / stride : 0;
      real *run = to + phase * p->run;
      for (int64_t i = first, x = first * stride + phase - c->pad_left; i < p->run && x < c->in_width; ++i, x += stride)
        run[i] = from[x];
    }
  }
}

void HN_HELD_NAME(hn_conv_dw_plain)(const convolution *conv, int64_t begin, int64_t end, real *scratch) {
  const hn_conv_f32 *c = shape_of(conv);
  const real_epilogue *e = &conv->epilogue;
  const int64_t rows = (c->out_height - 1) * c->stride_height + (c->kernel_height - 1) * c->dilation_height + 1;
  const int64_t taps = c->kernel_height * c->kernel_width, area = c->out_height * c->out_width;
  padded p = {.conv = c, .rows = scratch, .run = hn_conv_f32_dw_plain_run(c)};
  p.row = p.run * c->stride_width;
  activation_bounds(e, &p.low, &p.high);
  for (int64_t tap = 0; tap < taps; ++tap) {
    const int64_t x = tap % c->kernel_width * c->dilation_width;
    p.at[tap] = tap / c->kernel_width * c->dilation_height * p.row + x % c->stride_width * p.run + x / c->stride_width;
  }
  const int64_t multiplier = c->out_channels / c->in_channels;
  int64_t copied = -1;
  for (int64_t plane = begin; plane < end; ++plane) {
    const int64_t channel = plane % c->out_channels, in_plane = plane / multiplier;
    const real bias = e->bias ? e->bias[channel] : 0;
    real *out = conv->output + plane * area;
    if (in_plane != copied) dw_pad(c, conv->input + in_plane * c->in_height * c->in_width, &p, rows, scratch);
    copied = in_plane;
    dw_plane(&p, conv->weights + channel * taps, bias, e->residual ? e->residual + plane * area : NULL, out);
    activate_channel(out, area, e, channel);
  }
}
