/* SPDX-License-Identifier: Apache-2.0 */
/* conv_dw.inc.h - depthwise convolution on nChwBc: one vector is one pixel of HN_LANES channels.
 *
 * 3x3 and 5x5 without dilation at stride 1 and 2 run in tiles along a row: a row's weights stay in registers, and each
 * input pixel is loaded once for all the sums that it is in. Tiles at a row's ends leave out the columns that lie in
 * the padding; other shapes go tap by tap, for several pixels at a time, so that no sum waits for its own. The order of
 * a sum is ky, kx in both.
 * With a channel multiplier m, output channel o reads input channel o / m: m blocks of outputs read one block of
 * inputs, whose lanes are spread by a permutation as each pixel is loaded. The including file defines HN_DW_SPREADS,
 * 1 for multipliers, and calls dw_run(); with HN_DW_HAS_TILES 0 all shapes go tap by tap. */
#ifndef HN_KERNELS_CPU_CONV_DW_INC_H
#define HN_KERNELS_CPU_CONV_DW_INC_H

#include "kernels/cpu/held.inc.h"

#ifndef HN_DW_HAS_TILES
#define HN_DW_HAS_TILES 1
#endif
#define HN_TILE_BLOCK HN_HELD_BLOCK
#include "kernels/cpu/conv/conv_tile_f32.inc.h"

/* The widest tile: its sums, a row of weights and a pixel fill the registers, and rows of 7, 14, 28... divide well. */
#if HN_LANES == 16 && HN_HELD_IS_REAL
#define HN_DW_PIXELS 14
#elif HN_LANES >= 8 /* in a narrower type, which takes twice the code, rows of 7, 14, 28 divide by 7 */
#define HN_DW_PIXELS 8
#else
#define HN_DW_PIXELS 4
#endif
#if HN_LANES > 4 && defined(__GNUC__)
#define HN_IN_REGISTER(v) __asm__("" : "+v"(v))
#else
#define HN_IN_REGISTER(v) (void)(v)
#endif

/* A vector of a pixel: its lanes from dw_first() on, or those that are asked for of the whole block. */
#if !HN_DW_SPREADS
typedef int dw_lanes; /* not used */
HN_INLINE dw_lanes dw_lanes_at(const int32_t *from, int lane) {
  (void)from;
  return lane;
}
HN_INLINE const held *dw_first(const held *block, int lane) { return block + lane; }
HN_INLINE vf dw_load(const held *pixel, dw_lanes lanes) {
  (void)lanes;
  return h_load(pixel);
}
#else
typedef vi dw_lanes;
HN_INLINE dw_lanes dw_lanes_at(const int32_t *from, int lane) { return vi_load(from + lane); }
HN_INLINE const float *dw_first(const float *block, int lane) {
  (void)lane;
  return block;
}
HN_INLINE vf dw_load(const float *pixel, dw_lanes lanes) {
#if defined(HN_SIMD_AVX512)
  return _mm512_permutexvar_ps(lanes, v_load(pixel));
#elif defined(HN_SIMD_AVX2)
  return _mm256_permutevar8x32_ps(v_load(pixel), lanes);
#else
  return v_gather(pixel, lanes);
#endif
}
#endif

/* One row of output of one channel block. in and weights are at the first valid ky. */
typedef struct dw_row {
  const held *in, *residual;
  const float *weights, *bias;
  held *out;
  const hn_epilogue_f32 *epilogue;
  int64_t first_channel, channels; /* of the block, and from there on */
  int64_t ky_count, in_width;
  ptrdiff_t in_step, weight_step; /* elements from one ky to the next */
  float low, high;
  int32_t from[HN_HELD_BLOCK]; /* the lane of the input's block that each of the output's reads */
} dw_row;

#if HN_HELD_IS_REAL
/* The pixels from x on of `lane` and the lanes beside it; what bounds cannot do is done once the row is there. */
HN_INLINE void dw_store(const dw_row *r, vf *acc, const int pixels, int64_t x, int lane) {
  if (r->residual) {
    HN_UNROLL
    for (int p = 0; p < pixels; ++p) acc[p] += v_load(r->residual + (x + p) * HN_HELD_BLOCK + lane);
  }
  tile_bound(acc, pixels, r->low, r->high);
  HN_UNROLL
  for (int p = 0; p < pixels; ++p) v_store(r->out + (x + p) * HN_HELD_BLOCK + lane, acc[p]);
}
#else
/* What is rounded cannot be worked on afterwards. One function for all tiles where an activation takes much code. */
HN_OUTLINE void dw_store_all(const dw_row *r, float *sums, const int pixels, int64_t x, int lane) {
  const hn_epilogue_f32 *e = r->epilogue;
  const vm there = vm_below(r->channels - lane < 0 ? 0 : r->channels - lane);
  for (int p = 0; p < pixels; ++p) {
    vf sum = v_load(sums + p * HN_LANES);
    if (r->residual) sum += h_load(r->residual + (x + p) * HN_HELD_BLOCK + lane);
    v_store(sums + p * HN_LANES, sum);
  }
  activate_channels_to_half(sums, (int64_t)pixels * HN_LANES, e, r->first_channel + lane, HN_LANES);
  for (int p = 0; p < pixels; ++p)
    h_store(r->out + (x + p) * HN_HELD_BLOCK + lane, v_select(there, v_load(sums + p * HN_LANES), v_set(0.0f)));
}
HN_INLINE void dw_store(const dw_row *r, vf *acc, const int pixels, int64_t x, int lane) {
  const hn_activation kind = r->epilogue->activation;
  if (!activation_is_bounds(r->epilogue) && kind != HN_ACTIVATION_HARD_SWISH) {
    _Alignas(64) float sums[HN_DW_PIXELS * HN_LANES];
    HN_UNROLL
    for (int p = 0; p < pixels; ++p) v_store(sums + p * HN_LANES, acc[p]);
    dw_store_all(r, sums, pixels, x, lane);
    return;
  }
  const vm there = vm_below(r->channels - lane < 0 ? 0 : r->channels - lane);
  held *out = r->out + x * HN_HELD_BLOCK + lane;
  if (r->residual) {
    HN_UNROLL
    for (int p = 0; p < pixels; ++p) acc[p] += h_load(r->residual + (x + p) * HN_HELD_BLOCK + lane);
  }
  if (kind == HN_ACTIVATION_HARD_SWISH) {
    HN_UNROLL
    for (int p = 0; p < pixels; ++p) acc[p] = activate_one(acc[p], HN_ACTIVATION_HARD_SWISH, 0, 0);
  }
  tile_bound(acc, pixels, r->low, r->high);
  HN_UNROLL
  for (int p = 0; p < pixels; ++p) h_store(out + p * HN_HELD_BLOCK, v_select(there, acc[p], v_set(0.0f)));
}
#endif

typedef void dw_function(const dw_row *, int64_t, int64_t, int);
#if HN_DW_HAS_TILES
/* `pixels` outputs from x on; lane is the vector within the block. With is_end, up to kernel - 1 columns at either end
 * may lie outside the row. */
HN_INLINE void dw_tile(const dw_row *r, int64_t x, int64_t in_x, int lane, const int kernel, const int stride,
                       const int pixels, const int is_end) {
  const int columns = (pixels - 1) * stride + kernel;
  const int64_t low = -in_x, high = r->in_width - in_x;
  const held *in = dw_first(r->in + in_x * HN_HELD_BLOCK, lane);
  const float *w = r->weights + lane;
  const dw_lanes lanes = dw_lanes_at(r->from, lane);
  vf acc[HN_DW_PIXELS];
  tile_start(acc, 1, pixels, r->bias ? r->bias + lane : NULL);
  for (int64_t ky = 0; ky < r->ky_count; ++ky, in += r->in_step, w += r->weight_step) {
    vf weight[5];
    HN_UNROLL
    for (int kx = 0; kx < kernel; ++kx) weight[kx] = v_load(w + kx * HN_HELD_BLOCK);
    HN_UNROLL
    for (int c = 0; c < columns; ++c) {
      if (is_end && ((c < kernel - 1 && c < low) || (c > columns - kernel && c >= high))) continue;
      vf pixel = dw_load(in + c * HN_HELD_BLOCK, lanes);
      HN_IN_REGISTER(pixel); /* else some compilers load it again for each product */
      HN_UNROLL
      for (int kx = 0; kx < kernel; ++kx)
        if (c >= kx && (c - kx) % stride == 0 && (c - kx) / stride < pixels)
          acc[(c - kx) / stride] = v_fma(pixel, weight[kx], acc[(c - kx) / stride]);
    }
  }
  dw_store(r, acc, pixels, x, lane);
}

/* The tiles: kernel, stride, pixels. i is in_x. */
HN_OUTLINE void dw_end_3_1_1(const dw_row *r, int64_t x, int64_t i, int lane) { dw_tile(r, x, i, lane, 3, 1, 1, 1); }
HN_OUTLINE void dw_end_3_1_2(const dw_row *r, int64_t x, int64_t i, int lane) { dw_tile(r, x, i, lane, 3, 1, 2, 1); }
HN_OUTLINE void dw_end_3_1_3(const dw_row *r, int64_t x, int64_t i, int lane) { dw_tile(r, x, i, lane, 3, 1, 3, 1); }
HN_OUTLINE void dw_end_3_1_4(const dw_row *r, int64_t x, int64_t i, int lane) { dw_tile(r, x, i, lane, 3, 1, 4, 1); }
HN_OUTLINE void dw_end_3_2_1(const dw_row *r, int64_t x, int64_t i, int lane) { dw_tile(r, x, i, lane, 3, 2, 1, 1); }
HN_OUTLINE void dw_end_3_2_2(const dw_row *r, int64_t x, int64_t i, int lane) { dw_tile(r, x, i, lane, 3, 2, 2, 1); }
HN_OUTLINE void dw_end_3_2_3(const dw_row *r, int64_t x, int64_t i, int lane) { dw_tile(r, x, i, lane, 3, 2, 3, 1); }
HN_OUTLINE void dw_end_3_2_4(const dw_row *r, int64_t x, int64_t i, int lane) { dw_tile(r, x, i, lane, 3, 2, 4, 1); }
HN_OUTLINE void dw_end_5_1_1(const dw_row *r, int64_t x, int64_t i, int lane) { dw_tile(r, x, i, lane, 5, 1, 1, 1); }
HN_OUTLINE void dw_end_5_1_2(const dw_row *r, int64_t x, int64_t i, int lane) { dw_tile(r, x, i, lane, 5, 1, 2, 1); }
HN_OUTLINE void dw_end_5_1_3(const dw_row *r, int64_t x, int64_t i, int lane) { dw_tile(r, x, i, lane, 5, 1, 3, 1); }
HN_OUTLINE void dw_end_5_1_4(const dw_row *r, int64_t x, int64_t i, int lane) { dw_tile(r, x, i, lane, 5, 1, 4, 1); }
HN_OUTLINE void dw_end_5_2_1(const dw_row *r, int64_t x, int64_t i, int lane) { dw_tile(r, x, i, lane, 5, 2, 1, 1); }
HN_OUTLINE void dw_end_5_2_2(const dw_row *r, int64_t x, int64_t i, int lane) { dw_tile(r, x, i, lane, 5, 2, 2, 1); }
HN_OUTLINE void dw_end_5_2_3(const dw_row *r, int64_t x, int64_t i, int lane) { dw_tile(r, x, i, lane, 5, 2, 3, 1); }
HN_OUTLINE void dw_end_5_2_4(const dw_row *r, int64_t x, int64_t i, int lane) { dw_tile(r, x, i, lane, 5, 2, 4, 1); }
#if HN_DW_PIXELS >= 8
HN_OUTLINE void dw_end_3_1_5(const dw_row *r, int64_t x, int64_t i, int lane) { dw_tile(r, x, i, lane, 3, 1, 5, 1); }
HN_OUTLINE void dw_end_3_1_6(const dw_row *r, int64_t x, int64_t i, int lane) { dw_tile(r, x, i, lane, 3, 1, 6, 1); }
HN_OUTLINE void dw_end_3_1_7(const dw_row *r, int64_t x, int64_t i, int lane) { dw_tile(r, x, i, lane, 3, 1, 7, 1); }
HN_OUTLINE void dw_end_3_1_8(const dw_row *r, int64_t x, int64_t i, int lane) { dw_tile(r, x, i, lane, 3, 1, 8, 1); }
HN_OUTLINE void dw_end_3_2_5(const dw_row *r, int64_t x, int64_t i, int lane) { dw_tile(r, x, i, lane, 3, 2, 5, 1); }
HN_OUTLINE void dw_end_3_2_6(const dw_row *r, int64_t x, int64_t i, int lane) { dw_tile(r, x, i, lane, 3, 2, 6, 1); }
HN_OUTLINE void dw_end_3_2_7(const dw_row *r, int64_t x, int64_t i, int lane) { dw_tile(r, x, i, lane, 3, 2, 7, 1); }
HN_OUTLINE void dw_end_3_2_8(const dw_row *r, int64_t x, int64_t i, int lane) { dw_tile(r, x, i, lane, 3, 2, 8, 1); }
HN_OUTLINE void dw_end_5_1_5(const dw_row *r, int64_t x, int64_t i, int lane) { dw_tile(r, x, i, lane, 5, 1, 5, 1); }
HN_OUTLINE void dw_end_5_1_6(const dw_row *r, int64_t x, int64_t i, int lane) { dw_tile(r, x, i, lane, 5, 1, 6, 1); }
HN_OUTLINE void dw_end_5_1_7(const dw_row *r, int64_t x, int64_t i, int lane) { dw_tile(r, x, i, lane, 5, 1, 7, 1); }
HN_OUTLINE void dw_end_5_1_8(const dw_row *r, int64_t x, int64_t i, int lane) { dw_tile(r, x, i, lane, 5, 1, 8, 1); }
HN_OUTLINE void dw_end_5_2_5(const dw_row *r, int64_t x, int64_t i, int lane) { dw_tile(r, x, i, lane, 5, 2, 5, 1); }
HN_OUTLINE void dw_end_5_2_6(const dw_row *r, int64_t x, int64_t i, int lane) { dw_tile(r, x, i, lane, 5, 2, 6, 1); }
HN_OUTLINE void dw_end_5_2_7(const dw_row *r, int64_t x, int64_t i, int lane) { dw_tile(r, x, i, lane, 5, 2, 7, 1); }
HN_OUTLINE void dw_end_5_2_8(const dw_row *r, int64_t x, int64_t i, int lane) { dw_tile(r, x, i, lane, 5, 2, 8, 1); }
#endif
#if HN_DW_PIXELS == 14
HN_OUTLINE void dw_end_3_1_9(const dw_row *r, int64_t x, int64_t i, int lane) { dw_tile(r, x, i, lane, 3, 1, 9, 1); }
HN_OUTLINE void dw_end_3_1_10(const dw_row *r, int64_t x, int64_t i, int lane) { dw_tile(r, x, i, lane, 3, 1, 10, 1); }
HN_OUTLINE void dw_end_3_1_11(const dw_row *r, int64_t x, int64_t i, int lane) { dw_tile(r, x, i, lane, 3, 1, 11, 1); }
HN_OUTLINE void dw_end_3_1_12(const dw_row *r, int64_t x, int64_t i, int lane) { dw_tile(r, x, i, lane, 3, 1, 12, 1); }
HN_OUTLINE void dw_end_3_1_13(const dw_row *r, int64_t x, int64_t i, int lane) { dw_tile(r, x, i, lane, 3, 1, 13, 1); }
HN_OUTLINE void dw_end_3_1_14(const dw_row *r, int64_t x, int64_t i, int lane) { dw_tile(r, x, i, lane, 3, 1, 14, 1); }
HN_OUTLINE void dw_end_3_2_9(const dw_row *r, int64_t x, int64_t i, int lane) { dw_tile(r, x, i, lane, 3, 2, 9, 1); }
HN_OUTLINE void dw_end_3_2_10(const dw_row *r, int64_t x, int64_t i, int lane) { dw_tile(r, x, i, lane, 3, 2, 10, 1); }
HN_OUTLINE void dw_end_3_2_11(const dw_row *r, int64_t x, int64_t i, int lane) { dw_tile(r, x, i, lane, 3, 2, 11, 1); }
HN_OUTLINE void dw_end_3_2_12(const dw_row *r, int64_t x, int64_t i, int lane) { dw_tile(r, x, i, lane, 3, 2, 12, 1); }
HN_OUTLINE void dw_end_3_2_13(const dw_row *r, int64_t x, int64_t i, int lane) { dw_tile(r, x, i, lane, 3, 2, 13, 1); }
HN_OUTLINE void dw_end_3_2_14(const dw_row *r, int64_t x, int64_t i, int lane) { dw_tile(r, x, i, lane, 3, 2, 14, 1); }
HN_OUTLINE void dw_end_5_1_9(const dw_row *r, int64_t x, int64_t i, int lane) { dw_tile(r, x, i, lane, 5, 1, 9, 1); }
HN_OUTLINE void dw_end_5_1_10(const dw_row *r, int64_t x, int64_t i, int lane) { dw_tile(r, x, i, lane, 5, 1, 10, 1); }
HN_OUTLINE void dw_end_5_1_11(const dw_row *r, int64_t x, int64_t i, int lane) { dw_tile(r, x, i, lane, 5, 1, 11, 1); }
HN_OUTLINE void dw_end_5_1_12(const dw_row *r, int64_t x, int64_t i, int lane) { dw_tile(r, x, i, lane, 5, 1, 12, 1); }
HN_OUTLINE void dw_end_5_1_13(const dw_row *r, int64_t x, int64_t i, int lane) { dw_tile(r, x, i, lane, 5, 1, 13, 1); }
HN_OUTLINE void dw_end_5_1_14(const dw_row *r, int64_t x, int64_t i, int lane) { dw_tile(r, x, i, lane, 5, 1, 14, 1); }
HN_OUTLINE void dw_end_5_2_9(const dw_row *r, int64_t x, int64_t i, int lane) { dw_tile(r, x, i, lane, 5, 2, 9, 1); }
HN_OUTLINE void dw_end_5_2_10(const dw_row *r, int64_t x, int64_t i, int lane) { dw_tile(r, x, i, lane, 5, 2, 10, 1); }
HN_OUTLINE void dw_end_5_2_11(const dw_row *r, int64_t x, int64_t i, int lane) { dw_tile(r, x, i, lane, 5, 2, 11, 1); }
HN_OUTLINE void dw_end_5_2_12(const dw_row *r, int64_t x, int64_t i, int lane) { dw_tile(r, x, i, lane, 5, 2, 12, 1); }
HN_OUTLINE void dw_end_5_2_13(const dw_row *r, int64_t x, int64_t i, int lane) { dw_tile(r, x, i, lane, 5, 2, 13, 1); }
HN_OUTLINE void dw_end_5_2_14(const dw_row *r, int64_t x, int64_t i, int lane) { dw_tile(r, x, i, lane, 5, 2, 14, 1); }
#endif

HN_OUTLINE void dw_full_3_1(const dw_row *r, int64_t x, int64_t in_x, int lane) {
  dw_tile(r, x, in_x, lane, 3, 1, HN_DW_PIXELS, 0);
}
HN_OUTLINE void dw_full_3_2(const dw_row *r, int64_t x, int64_t in_x, int lane) {
  dw_tile(r, x, in_x, lane, 3, 2, HN_DW_PIXELS, 0);
}
HN_OUTLINE void dw_full_5_1(const dw_row *r, int64_t x, int64_t in_x, int lane) {
  dw_tile(r, x, in_x, lane, 5, 1, HN_DW_PIXELS, 0);
}
HN_OUTLINE void dw_full_5_2(const dw_row *r, int64_t x, int64_t in_x, int lane) {
  dw_tile(r, x, in_x, lane, 5, 2, HN_DW_PIXELS, 0);
}

/* [kernel][stride][pixels]; at 0 the widest tile with all of its taps inside the row. */
static dw_function *const dw_tiles[2][2][HN_DW_PIXELS + 1] = {
    [0][0][0] = dw_full_3_1,    [0][1][0] = dw_full_3_2,    [1][0][0] = dw_full_5_1,    [1][1][0] = dw_full_5_2,
    [0][0][1] = dw_end_3_1_1,   [0][0][2] = dw_end_3_1_2,   [0][0][3] = dw_end_3_1_3,   [0][0][4] = dw_end_3_1_4,
    [0][1][1] = dw_end_3_2_1,   [0][1][2] = dw_end_3_2_2,   [0][1][3] = dw_end_3_2_3,   [0][1][4] = dw_end_3_2_4,
    [1][0][1] = dw_end_5_1_1,   [1][0][2] = dw_end_5_1_2,   [1][0][3] = dw_end_5_1_3,   [1][0][4] = dw_end_5_1_4,
    [1][1][1] = dw_end_5_2_1,   [1][1][2] = dw_end_5_2_2,   [1][1][3] = dw_end_5_2_3,   [1][1][4] = dw_end_5_2_4,
#if HN_DW_PIXELS >= 8
    [0][0][5] = dw_end_3_1_5,   [0][0][6] = dw_end_3_1_6,   [0][0][7] = dw_end_3_1_7,   [0][0][8] = dw_end_3_1_8,
    [0][1][5] = dw_end_3_2_5,   [0][1][6] = dw_end_3_2_6,   [0][1][7] = dw_end_3_2_7,   [0][1][8] = dw_end_3_2_8,
    [1][0][5] = dw_end_5_1_5,   [1][0][6] = dw_end_5_1_6,   [1][0][7] = dw_end_5_1_7,   [1][0][8] = dw_end_5_1_8,
    [1][1][5] = dw_end_5_2_5,   [1][1][6] = dw_end_5_2_6,   [1][1][7] = dw_end_5_2_7,   [1][1][8] = dw_end_5_2_8,
#endif
#if HN_DW_PIXELS == 14
    [0][0][9] = dw_end_3_1_9,   [0][0][10] = dw_end_3_1_10, [0][0][11] = dw_end_3_1_11, [0][0][12] = dw_end_3_1_12,
    [0][0][13] = dw_end_3_1_13, [0][0][14] = dw_end_3_1_14, [0][1][9] = dw_end_3_2_9,   [0][1][10] = dw_end_3_2_10,
    [0][1][11] = dw_end_3_2_11, [0][1][12] = dw_end_3_2_12, [0][1][13] = dw_end_3_2_13, [0][1][14] = dw_end_3_2_14,
    [1][0][9] = dw_end_5_1_9,   [1][0][10] = dw_end_5_1_10, [1][0][11] = dw_end_5_1_11, [1][0][12] = dw_end_5_1_12,
    [1][0][13] = dw_end_5_1_13, [1][0][14] = dw_end_5_1_14, [1][1][9] = dw_end_5_2_9,   [1][1][10] = dw_end_5_2_10,
    [1][1][11] = dw_end_5_2_11, [1][1][12] = dw_end_5_2_12, [1][1][13] = dw_end_5_2_13, [1][1][14] = dw_end_5_2_14,
#endif
};
#endif

/* `pixels` outputs from x on, whose first tap is that of column in_x. With is_end, taps may lie outside the row. */
HN_INLINE void dw_taps(const hn_conv_f32 *c, const dw_row *r, int64_t x, int64_t in_x, const int pixels,
                       const int is_end) {
  const int64_t stride = c->stride_width;
  for (int lane = 0; lane < HN_HELD_BLOCK; lane += HN_LANES) {
    const dw_lanes lanes = dw_lanes_at(r->from, lane);
    vf acc[HN_DW_PIXELS];
    tile_start(acc, 1, pixels, r->bias ? r->bias + lane : NULL);
    for (int64_t ky = 0; ky < r->ky_count; ++ky) {
      const float *w = r->weights + ky * r->weight_step + lane;
      for (int64_t kx = 0; kx < c->kernel_width; ++kx, w += HN_HELD_BLOCK) {
        const int64_t column = in_x + kx * c->dilation_width;
        const held *from = dw_first(r->in + ky * r->in_step + column * HN_HELD_BLOCK, lane);
        const vf weight = v_load(w);
        HN_UNROLL
        for (int p = 0; p < pixels; ++p) {
          if (is_end && (column + p * stride < 0 || column + p * stride >= r->in_width)) continue;
          acc[p] = v_fma(dw_load(from + p * stride * HN_HELD_BLOCK, lanes), weight, acc[p]);
        }
      }
    }
    dw_store(r, acc, pixels, x, lane);
  }
}

typedef void dw_taps_function(const hn_conv_f32 *, const dw_row *, int64_t, int64_t);
HN_OUTLINE void dw_taps_1(const hn_conv_f32 *c, const dw_row *r, int64_t x, int64_t i) { dw_taps(c, r, x, i, 1, 0); }
HN_OUTLINE void dw_taps_2(const hn_conv_f32 *c, const dw_row *r, int64_t x, int64_t i) { dw_taps(c, r, x, i, 2, 0); }
HN_OUTLINE void dw_taps_4(const hn_conv_f32 *c, const dw_row *r, int64_t x, int64_t i) { dw_taps(c, r, x, i, 4, 0); }
HN_OUTLINE void dw_ends_1(const hn_conv_f32 *c, const dw_row *r, int64_t x, int64_t i) { dw_taps(c, r, x, i, 1, 1); }
HN_OUTLINE void dw_ends_2(const hn_conv_f32 *c, const dw_row *r, int64_t x, int64_t i) { dw_taps(c, r, x, i, 2, 1); }
HN_OUTLINE void dw_ends_4(const hn_conv_f32 *c, const dw_row *r, int64_t x, int64_t i) { dw_taps(c, r, x, i, 4, 1); }
#if HN_DW_PIXELS >= 8
HN_OUTLINE void dw_taps_7(const hn_conv_f32 *c, const dw_row *r, int64_t x, int64_t i) { dw_taps(c, r, x, i, 7, 0); }
HN_OUTLINE void dw_ends_7(const hn_conv_f32 *c, const dw_row *r, int64_t x, int64_t i) { dw_taps(c, r, x, i, 7, 1); }
#endif
#if HN_DW_PIXELS == 14
HN_OUTLINE void dw_taps_14(const hn_conv_f32 *c, const dw_row *r, int64_t x, int64_t i) { dw_taps(c, r, x, i, 14, 0); }
#endif

/* The widest first; in the middle of a row, and at its ends. */
static const struct {
  int pixels;
  dw_taps_function *inside, *ends;
} dw_widths[] = {
#if HN_DW_PIXELS == 14
    {14, dw_taps_14, NULL},
#endif
#if HN_DW_PIXELS >= 8
    {7, dw_taps_7, dw_ends_7},
#endif
    {4, dw_taps_4, dw_ends_4},
    {2, dw_taps_2, dw_ends_2},
    {1, dw_taps_1, dw_ends_1}};

/* From output x on; returns how many were made. */
static int64_t dw_run_taps(const hn_conv_f32 *c, const dw_row *r, int64_t x) {
  const int64_t in_x = x * c->stride_width - c->pad_left, reach = (c->kernel_width - 1) * c->dilation_width;
  for (size_t i = 0;; ++i) {
    const int64_t pixels = dw_widths[i].pixels, end = in_x + (pixels - 1) * c->stride_width + reach;
    const int inside = in_x >= 0 && end < c->in_width;
    dw_taps_function *const run = inside ? dw_widths[i].inside : dw_widths[i].ends;
    if (pixels > c->out_width - x || !run) continue;
    run(c, r, x, in_x);
    return pixels;
  }
}

static void dw_run_row(const hn_conv_f32 *c, const dw_row *r) {
  const int64_t kernel = c->kernel_width, stride = c->stride_width;
  int64_t step;
  dw_function *const *tiles = NULL;
#if HN_DW_HAS_TILES
  if (c->dilation_width == 1 && stride <= 2 && (kernel == 3 || kernel == 5)) tiles = dw_tiles[kernel == 5][stride - 1];
#endif
  for (int64_t x = 0; x < c->out_width; x += step) {
    const int64_t in_x = x * stride - c->pad_left;
    step = tile_width(c->out_width - x, HN_DW_PIXELS);
    const int64_t over = in_x + (step - 1) * stride + kernel - c->in_width; /* columns behind the row's end */
    if (tiles && in_x > -kernel && over < kernel) {
      const int is_full = step == HN_DW_PIXELS && in_x >= 0 && over <= 0;
      for (int lane = 0; lane < HN_HELD_BLOCK; lane += HN_LANES) tiles[is_full ? 0 : step](r, x, in_x, lane);
    } else {
      step = dw_run_taps(c, r, x);
    }
  }
}

/* unit_rows rows of one channel block. */
static void dw_unit(const hn_conv_f32 *c, const conv_plan *plan, const conv_unit *u) {
  const int64_t taps = c->kernel_height * c->kernel_width,
                multiplier = HN_DW_SPREADS ? c->out_channels / c->in_channels : 1;
  const held *image =
      (const held *)(const void *)c->input + u->image * plan->in_image + u->first_block / multiplier * plan->in_plane;
  const held *residual = (const held *)(const void *)c->epilogue.residual;
  const float *weights = c->weights + u->first_block * taps * HN_HELD_BLOCK;
  const hn_epilogue_f32 *e = &c->epilogue;
  dw_row r = {.epilogue = e, .first_channel = u->first_block * HN_HELD_BLOCK};
  r.bias = e->bias ? e->bias + r.first_channel : NULL;
  r.channels = c->out_channels - r.first_channel;
  r.in_width = c->in_width;
  r.in_step = c->dilation_height * c->in_width * HN_HELD_BLOCK;
  r.weight_step = c->kernel_width * HN_HELD_BLOCK;
  activation_bounds(e, &r.low, &r.high);
  for (int lane = 0; HN_DW_SPREADS && lane < HN_HELD_BLOCK; ++lane)
    r.from[lane] = (int32_t)((u->first_block % multiplier * HN_HELD_BLOCK + lane) / multiplier);
  for (int64_t y = u->row_begin; y < u->row_end; ++y) {
    const int64_t in_y = y * c->stride_height - c->pad_top, offset = u->out_offset + y * c->out_width * HN_HELD_BLOCK;
    int64_t ky_begin, ky_end;
    tap_range(in_y, c->dilation_height, c->kernel_height, c->in_height, &ky_begin, &ky_end);
    r.ky_count = ky_end - ky_begin;
    r.in = image + (in_y + ky_begin * c->dilation_height) * c->in_width * HN_HELD_BLOCK;
    r.weights = weights + ky_begin * r.weight_step;
    r.out = (held *)(void *)c->output + offset;
    r.residual = residual ? residual + offset : NULL;
    dw_run_row(c, &r);
#if HN_HELD_IS_REAL
    conv_tile_finish(&(conv_tile){.conv = c,
                                  .out = c->output,
                                  .blocks = 1,
                                  .first_channel = r.first_channel,
                                  .offset = offset,
                                  .pixels = (int)c->out_width});
#endif
  }
}

static inline void dw_run(const hn_conv_f32 *conv, int64_t begin, int64_t end) {
  hn_conv_f32 c = *conv;
  c.groups = 1; /* blocks of channels are counted without regard to groups */
  c.oc_blocks = 1;
  const conv_plan plan = conv_plan_make(&c, 0);
  for (int64_t at = begin; at < end; ++at) {
    const conv_unit u = conv_unit_at(&c, &plan, at);
    dw_unit(&c, &plan, &u);
  }
}

#endif
