/* SPDX-License-Identifier: Apache-2.0 */
/* conv_f32_1x1_nchw.c - 1x1 convolution of plain NCHW with few channels a group, vectors along the pixels.
 *
 * A group's inputs are rows of pixels that lie ready as a product wants them: nothing is packed, and what few channels
 * have to do is little more than to read and to write. Tiles are up to 4 outputs x HN_VECTORS vectors of pixels; a
 * unit's pixels are few enough that its inputs stay in L1 for all of its outputs. The order of a sum is the channels'.
 */
/* isa: c avx2 avx512 */
#include "kernels/cpu/conv/conv.h"
#include "kernels/cpu/activate.inc.h"

#define HN_OUTPUTS 4
#if HN_LANES == 16
#define HN_VECTORS 5 /* 20 sums, 5 inputs and a weight of 32 registers */
#elif HN_LANES == 8
#define HN_VECTORS 3 /* 12, 3 and 1 of 16 */
#else
#define HN_VECTORS 2
#endif

/* A run of pixels of one group. Planes lie `in_plane` and `out_plane` floats apart. */
typedef struct pixel_run {
  const float *in, *weights, *bias, *residual; /* weights [outputs][channels] */
  float *out;
  int64_t channels, in_plane, out_plane;
  float low, high;
} pixel_run;

/* `count` floats where is_part, else a vector of them. */
HN_INLINE vf load(const float *from, const int is_part, int64_t count) {
  return is_part ? v_load_part(from, count) : v_load(from);
}

/* `outputs` x `vectors` at pixel x; with is_part the only vector has `count` lanes. */
HN_INLINE void tile(const pixel_run *r, int64_t output, int64_t x, const int outputs, const int vectors,
                    const int is_part, int64_t count) {
  const float *in = r->in + x, *w = r->weights + output * r->channels;
  vf acc[HN_OUTPUTS * HN_VECTORS];
  HN_UNROLL
  for (int o = 0; o < outputs; ++o) HN_UNROLL
  for (int v = 0; v < vectors; ++v) acc[o * vectors + v] = v_set(r->bias ? r->bias[output + o] : 0.0f);
  for (int64_t i = 0; i < r->channels; ++i, in += r->in_plane, ++w) {
    vf pixels[HN_VECTORS];
    HN_UNROLL
    for (int v = 0; v < vectors; ++v) pixels[v] = load(in + v * HN_LANES, is_part, count);
    HN_UNROLL
    for (int o = 0; o < outputs; ++o) {
      const vf weight = v_set(w[o * r->channels]);
      HN_UNROLL
      for (int v = 0; v < vectors; ++v) acc[o * vectors + v] = v_fma(pixels[v], weight, acc[o * vectors + v]);
    }
  }
  HN_UNROLL
  for (int o = 0; o < outputs; ++o) HN_UNROLL
  for (int v = 0; v < vectors; ++v) {
    const int64_t at = (output + o) * r->out_plane + x + v * HN_LANES;
    vf sum = acc[o * vectors + v];
    if (r->residual) sum += load(r->residual + at, is_part, count);
    sum = v_min(v_set(r->high), v_max(v_set(r->low), sum));
    if (is_part)
      v_store_part(r->out + at, count, sum);
    else
      v_store(r->out + at, sum);
  }
}

HN_OUTLINE void tiles_4(const pixel_run *r, int64_t output, int64_t x) { tile(r, output, x, 4, HN_VECTORS, 0, 0); }
HN_OUTLINE void tiles_3(const pixel_run *r, int64_t output, int64_t x) { tile(r, output, x, 3, HN_VECTORS, 0, 0); }
HN_OUTLINE void tiles_2(const pixel_run *r, int64_t output, int64_t x) { tile(r, output, x, 2, HN_VECTORS, 0, 0); }
HN_OUTLINE void tiles_1(const pixel_run *r, int64_t output, int64_t x) { tile(r, output, x, 1, HN_VECTORS, 0, 0); }
typedef void tile_function(const pixel_run *, int64_t, int64_t);
static tile_function *const wide_tiles[HN_OUTPUTS + 1] = {NULL, tiles_1, tiles_2, tiles_3, tiles_4};

/* At a run's end: single vectors, then what is less than one. */
HN_OUTLINE void narrow_tile(const pixel_run *r, int64_t output, int64_t x, int64_t end, int outputs) {
  for (; x + HN_LANES <= end; x += HN_LANES) switch (outputs) {
    case 4: tile(r, output, x, 4, 1, 0, 0); break;
    case 3: tile(r, output, x, 3, 1, 0, 0); break;
    case 2: tile(r, output, x, 2, 1, 0, 0); break;
    default: tile(r, output, x, 1, 1, 0, 0); break;
    }
  for (int o = 0; x < end && o < outputs; ++o) tile(r, output + o, x, 1, 1, 1, end - x);
}

void HN_SIMD_NAME(hn_conv_f32_1x1_nchw)(const hn_conv_f32 *c, int64_t begin, int64_t end) {
  const int64_t pixels = c->out_height * c->out_width, runs = (pixels + c->unit_rows - 1) / c->unit_rows;
  const int64_t outputs = c->out_channels / c->groups;
  pixel_run r = {.channels = c->in_channels / c->groups, .in_plane = pixels, .out_plane = pixels};
  activation_bounds(&c->epilogue, &r.low, &r.high);
  for (int64_t unit = begin; unit < end; ++unit) {
    const int64_t image_group = unit / runs, first = unit % runs * c->unit_rows;
    const int64_t stop = pixels - first < c->unit_rows ? pixels : first + c->unit_rows;
    const int64_t channel = image_group % c->groups * outputs, plane = image_group * outputs;
    r.in = c->input + image_group * r.channels * pixels;
    r.weights = c->weights + channel * r.channels;
    r.bias = c->epilogue.bias ? c->epilogue.bias + channel : NULL;
    r.out = c->output + plane * pixels;
    r.residual = c->epilogue.residual ? c->epilogue.residual + plane * pixels : NULL;
    for (int64_t o = 0; o < outputs; o += HN_OUTPUTS) {
      const int count = outputs - o < HN_OUTPUTS ? (int)(outputs - o) : HN_OUTPUTS;
      int64_t x = first;
      for (; x + HN_VECTORS * HN_LANES <= stop; x += HN_VECTORS * HN_LANES) wide_tiles[count](&r, o, x);
      narrow_tile(&r, o, x, stop, count);
      for (int i = 0; i < count; ++i)
        activate_channel(r.out + (o + i) * pixels + first, stop - first, &c->epilogue, channel + o + i);
    }
  }
}
