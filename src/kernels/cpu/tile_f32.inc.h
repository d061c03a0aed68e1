/* SPDX-License-Identifier: Apache-2.0 */
/* tile_f32.inc.h - the register tile shared by GEMM and convolution: vectors of outputs x pixels (or rows).
 *
 * acc[p * vectors + v] += in[p][k] * w[v][k], from the bias, k upward, in one chain for each output, so that no
 * blocking and no tile shape changes a result. The counts are compile-time constants after inlining, all loops over
 * them are unrolled, and acc lives in registers. A weight block is [k][HN_TILE_BLOCK], a
 * multiple of HN_LANES: the block of the activations unless the including file says another. */
#ifndef HN_KERNELS_CPU_TILE_F32_INC_H
#define HN_KERNELS_CPU_TILE_F32_INC_H

#include "kernels/cpu/activate.inc.h"

#ifndef HN_TILE_BLOCK
#define HN_TILE_BLOCK HN_BLOCK
#endif

#define HN_BLOCK_VECTORS (HN_TILE_BLOCK / HN_LANES)
#define HN_TILE_VECTORS_MAX 32 /* accumulators of the largest tile */

/* The most blocks of a tile, and for each count of them the most pixels. Blocks x pixels fills the register file less
 * what the weights and one broadcast need; every smaller pixel count has its own instance. */

#if HN_LANES == 16
#define HN_TILE_BLOCKS 4
static const int tile_pixels[] = {0, 14, 14, 8, 6};
#elif HN_LANES == 8
#define HN_TILE_BLOCKS 3
static const int tile_pixels[] = {0, 10, 6, 4};
#else
#define HN_TILE_BLOCKS 2
static const int tile_pixels[] = {0, 4, 2};
#endif

/* The next tile's width when left pixels remain: full tiles, and the last two alike rather than one full and
 * one thin, because a thin tile has too few independent sums to hide the FMA's latency. */
HN_INLINE int tile_width(int64_t left, int most) {
  if (left <= most) return (int)left;
  return left >= 2 * most ? most : (int)((left + 1) / 2);
}

HN_INLINE void tile_clear(vf *acc, const int count) {
  HN_UNROLL
  for (int i = 0; i < count; ++i) acc[i] = v_set(0.0f);
}

/* All pixels begin with the bias of their channel, or zero. */
HN_INLINE void tile_start(vf *acc, const int vectors, const int pixels, const float *bias) {
  if (!bias) {
    tile_clear(acc, vectors * pixels);
    return;
  }
  HN_UNROLL
  for (int v = 0; v < vectors; ++v) {
    HN_UNROLL
    for (int p = 0; p < pixels; ++p) acc[p * vectors + v] = v_load(bias + v * HN_LANES);
  }
}

/* Bounds that bind nothing cost nothing: with a short k the tile's way out is a good part of its time. */
HN_INLINE void tile_bound(vf *acc, const int count, float low, float high) {
  if (low > -__builtin_inff()) {
    HN_UNROLL
    for (int i = 0; i < count; ++i) acc[i] = v_max(v_set(low), acc[i]);
  }
  if (high < __builtin_inff()) {
    HN_UNROLL
    for (int i = 0; i < count; ++i) acc[i] = v_min(v_set(high), acc[i]);
  }
}

/* Weights of one k: blocks x HN_BLOCK_VECTORS vectors. */
HN_INLINE void tile_weights(vf *weight, const int vectors, const float *w, ptrdiff_t block_stride) {
  HN_UNROLL
  for (int v = 0; v < vectors; ++v)
    weight[v] = v_load(w + v / HN_BLOCK_VECTORS * block_stride + v % HN_BLOCK_VECTORS * HN_LANES);
}

/* One k; in points at the first pixel, the next is pixel_stride floats further. */
HN_INLINE void tile_step(vf *acc, const int vectors, const int pixels, const float *in, const ptrdiff_t pixel_stride,
                         const float *w, ptrdiff_t block_stride) {
  vf weight[HN_TILE_VECTORS_MAX];
  tile_weights(weight, vectors, w, block_stride);
  HN_UNROLL
  for (int p = 0; p < pixels; ++p) {
    const vf x = v_set(in[p * pixel_stride]);
    HN_UNROLL
    for (int v = 0; v < vectors; ++v) acc[p * vectors + v] = v_fma(x, weight[v], acc[p * vectors + v]);
  }
}

/* depth consecutive k of one block. */
HN_INLINE void tile_run(vf *acc, const int vectors, const int pixels, const float *in, const ptrdiff_t pixel_stride,
                        const float *w, ptrdiff_t block_stride, int64_t depth) {
  for (; depth >= 4; depth -= 4, in += 4, w += 4 * HN_TILE_BLOCK) {
    tile_step(acc, vectors, pixels, in, pixel_stride, w, block_stride);
    tile_step(acc, vectors, pixels, in + 1, pixel_stride, w + HN_TILE_BLOCK, block_stride);
    tile_step(acc, vectors, pixels, in + 2, pixel_stride, w + 2 * HN_TILE_BLOCK, block_stride);
    tile_step(acc, vectors, pixels, in + 3, pixel_stride, w + 3 * HN_TILE_BLOCK, block_stride);
  }
  for (; depth > 0; --depth, ++in, w += HN_TILE_BLOCK)
    tile_step(acc, vectors, pixels, in, pixel_stride, w, block_stride);
}

/* The same for pixels anywhere: pixel p's channels begin at at[p]. Not unrolled: the pointers need the registers. */
HN_INLINE void tile_run_at(vf *acc, const int vectors, const int pixels, const float *const *at, const float *w,
                           ptrdiff_t block_stride, int64_t depth) {
  for (int64_t k = 0; k < depth; ++k, w += HN_TILE_BLOCK) {
    vf weight[HN_TILE_VECTORS_MAX];
    tile_weights(weight, vectors, w, block_stride);
    HN_UNROLL
    for (int p = 0; p < pixels; ++p) {
      const vf x = v_set(at[p][k]);
      HN_UNROLL
      for (int v = 0; v < vectors; ++v) acc[p * vectors + v] = v_fma(x, weight[v], acc[p * vectors + v]);
    }
  }
}

#endif
