/* SPDX-License-Identifier: Apache-2.0 */
/* conv_dw3.inc.h - rows of a depthwise convolution of 3x3 between blocks of 64 channels, where one instruction
 * multiplies bytes and 32 registers hold a window: the words of its three columns pass from output to output, and no
 * band is written. Four rows of input are interleaved once for two rows of output of stride 1: the first one's weights
 * skip the last of a word's taps, the second one's the first. */
#ifndef HN_KERNELS_CPU_QUANT_CONV_DW3_INC_H
#define HN_KERNELS_CPU_QUANT_CONV_DW3_INC_H

#include "kernels/cpu/quant/conv_words.inc.h"

#if defined(W_MULTIPLIES_BYTES) && defined(HN_SIMD_AVX512)
#define W_HAS_DW3
enum { DW3_VECTORS = 4, DW3_COLUMNS = 3, DW3_WEIGHTS = DW3_COLUMNS * DW3_VECTORS * 64 };

/* Of floats, signed bytes are turned over by flip, or by 0. */
enum { DW3_PLAIN, DW3_FLIPPED, DW3_FLOATS, DW3_KINDS };

typedef struct dw3 {
  const hn_conv_bytes *conv;
  const uint8_t *row[4]; /* of the input, at its first pixel; of pads where next is 0 */
  int64_t next[4];
  const int8_t *weights[2]; /* of the two rows of outputs: [column][vector][16 channels][4 rows] */
  const int32_t *base;
  const float *scale, *bias;
  w_way_out out;
  vb keep;
  uint8_t *to[2]; /* the first outputs */
  int64_t in_width, out_width, pad_left;
  int64_t plane, lanes; /* of floats: pixels of an output image, channels that are there */
  int32_t x_zero, flip;
} dw3;

/* The words of the input's column x. */
HN_INLINE void dw3_words(const dw3 *d, const uint8_t **row, const int rows, const bool is_flipped, int64_t x, vi *to) {
  if ((uint64_t)x >= (uint64_t)d->in_width) {
    HN_UNROLL
    for (int v = 0; v < DW3_VECTORS; ++v) to[v] = vb_set(d->x_zero);
    return;
  }
  vb in[4];
  HN_UNROLL
  for (int r = 0; r < 2 + rows; ++r) {
    in[r] = vb_load(row[r]);
    if (is_flipped) in[r] = vb_xor(in[r], vb_set(d->flip));
    row[r] += d->next[r];
  }
  if (rows == 1) in[3] = vb_set(0); /* its weights are 0 */
  const vb low = vb_low(in[0], in[1]), high = vb_high(in[0], in[1]);
  const vb low2 = vb_low(in[2], in[3]), high2 = vb_high(in[2], in[3]);
  to[0] = vb_low_pairs(low, low2), to[1] = vb_high_pairs(low, low2);
  to[2] = vb_low_pairs(high, high2), to[3] = vb_high_pairs(high, high2);
}

HN_INLINE vi dw3_dot(vi sum, vi x, const int8_t *weights) {
  __asm__("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(x), "m"(*(const w_vector *)(const void *)weights));
  return sum;
}

HN_INLINE void dw3_store_floats(const dw3 *d, vi *acc, uint8_t *to) {
  HN_UNROLL
  for (int v = 0; v < DW3_VECTORS; ++v) {
    const vf scale = v_load(d->scale + v * HN_LANES), bias = v_load(d->bias + v * HN_LANES);
    acc[v] = vi_of(w_between(d->conv, w_float(acc[v], scale, bias)));
  }
  w_in_order(acc);
  HN_UNROLL
  for (int v = 0; v < DW3_VECTORS; ++v)
    if (v * HN_LANES < d->lanes) vb_store(to + v * d->plane * 64, acc[v]);
}

HN_INLINE void dw3_run(const dw3 *d, const int rows, const int stride, const int kind) {
  const bool is_flipped = kind != DW3_PLAIN;
  vi words[DW3_COLUMNS][DW3_VECTORS];
  vf scale[DW3_VECTORS];
  const uint8_t *row[4] = {d->row[0], d->row[1], d->row[2], d->row[3]};
  uint8_t *to[2] = {d->to[0], d->to[1]};
  int64_t x = -d->pad_left;
  HN_UNROLL
  for (int v = 0; v < DW3_VECTORS; ++v) scale[v] = v_load(d->scale + v * HN_LANES);
  HN_UNROLL
  for (int k = stride; k < DW3_COLUMNS; ++k) dw3_words(d, row, rows, is_flipped, x++, words[k]);
  for (int64_t left = d->out_width; left > 0; --left) {
    HN_UNROLL
    for (int v = 0; v < DW3_VECTORS; ++v) {
      words[0][v] = words[stride][v];
      if (stride == 1) words[1][v] = words[2][v];
    }
    HN_UNROLL
    for (int k = DW3_COLUMNS - stride; k < DW3_COLUMNS; ++k) dw3_words(d, row, rows, is_flipped, x++, words[k]);
    HN_UNROLL
    for (int r = 0; r < rows; ++r) {
      vi acc[DW3_VECTORS];
      HN_UNROLL
      for (int v = 0; v < DW3_VECTORS; ++v) acc[v] = vi_load(d->base + v * HN_LANES);
      HN_UNROLL
      for (int i = 0; i < DW3_COLUMNS * DW3_VECTORS; ++i)
        acc[i % DW3_VECTORS] =
            dw3_dot(acc[i % DW3_VECTORS], words[i / DW3_VECTORS][i % DW3_VECTORS], d->weights[r] + i * 64);
      if (kind == DW3_FLOATS) {
        dw3_store_floats(d, acc, to[r]);
      } else {
        vb_store(to[r], vb_and(w_bytes(&d->out, acc, scale), d->keep));
      }
      to[r] += 64; /* bytes of 64 channels, or floats of 16 */
    }
  }
}

HN_OUTLINE void dw3_two_plain(const dw3 *d) { dw3_run(d, 2, 1, DW3_PLAIN); }
HN_OUTLINE void dw3_two_flipped(const dw3 *d) { dw3_run(d, 2, 1, DW3_FLIPPED); }
HN_OUTLINE void dw3_two_floats(const dw3 *d) { dw3_run(d, 2, 1, DW3_FLOATS); }
HN_OUTLINE void dw3_one_plain(const dw3 *d) { dw3_run(d, 1, 1, DW3_PLAIN); }
HN_OUTLINE void dw3_one_flipped(const dw3 *d) { dw3_run(d, 1, 1, DW3_FLIPPED); }
HN_OUTLINE void dw3_one_floats(const dw3 *d) { dw3_run(d, 1, 1, DW3_FLOATS); }
HN_OUTLINE void dw3_half_plain(const dw3 *d) { dw3_run(d, 1, 2, DW3_PLAIN); }
HN_OUTLINE void dw3_half_flipped(const dw3 *d) { dw3_run(d, 1, 2, DW3_FLIPPED); }
HN_OUTLINE void dw3_half_floats(const dw3 *d) { dw3_run(d, 1, 2, DW3_FLOATS); }
typedef void dw3_fn(const dw3 *d);
static dw3_fn *const dw3_two[DW3_KINDS] = {dw3_two_plain, dw3_two_flipped, dw3_two_floats};
static dw3_fn *const dw3_one[DW3_KINDS] = {dw3_one_plain, dw3_one_flipped, dw3_one_floats};
static dw3_fn *const dw3_half[DW3_KINDS] = {dw3_half_plain, dw3_half_flipped, dw3_half_floats};

HN_INLINE bool dw3_takes(const hn_conv_bytes *c) {
  return c->in_block == 64 && c->scale && c->out_block == (c->floats ? 16 : 64) && !c->w_zero &&
         c->kernel_height == 3 && c->kernel_width == 3 && c->dilation_width == 1 && c->dilation_height == 1 &&
         c->stride_width <= 2 && c->stride_width == c->stride_height;
}

/* shifted: room for DW3_WEIGHTS bytes: the weights of a second row. */
HN_INLINE void dw3_shift(const int8_t *weights, int8_t *shifted) {
  for (int i = 0; i < DW3_WEIGHTS; i += 64)
    _mm512_store_si512((void *)(shifted + i), _mm512_slli_epi32(_mm512_load_si512((const void *)(weights + i)), 8));
}
#endif

#endif
