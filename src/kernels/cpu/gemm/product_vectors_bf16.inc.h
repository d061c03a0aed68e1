/* SPDX-License-Identifier: Apache-2.0 */
/* product_vectors_bf16.inc.h - 8 pixels times 32 channels in 16 registers: a pair of neighbouring depths of a pixel,
 * broadcast, times those of 16 channels. vdpbf16ps rounds to the nearest and takes zero for subnormal numbers whatever
 * the mode is; a sum's order is that of the depth, wherever its pixel lies in a tile. */
#ifndef HN_KERNELS_CPU_GEMM_PRODUCT_VECTORS_BF16_INC_H
#define HN_KERNELS_CPU_GEMM_PRODUCT_VECTORS_BF16_INC_H

#include "kernels/cpu/gemm/product_half_tile.inc.h"

enum {
  STEP = 8,
  PAIRS = TILE / 2,
  CHUNK = 24 /* depth blocks that a step goes through at once: their weights, 48 KiB, stay in the inner caches */
};

typedef int multiplier;
#define multiplier_begin(m) ((void)(*(m) = 0))
#define multiplier_end(m) ((void)(m))

HN_INLINE __m512bh pairs_at(const uint16_t *p) { return (__m512bh)_mm512_loadu_si512((const void *)p); }
HN_INLINE __m512bh pair_everywhere(const uint16_t *p) {
  int32_t pair;
  memcpy(&pair, p, sizeof pair);
  return (__m512bh)_mm512_set1_epi32(pair);
}

/* One step of pixels over `depth` blocks; at: each block's first pixel. begins: there are no sums yet. */
HN_INLINE void step(const uint16_t *const *at, int64_t depth, int64_t pixel, const uint16_t *w, const int halves,
                    int begins, sums *to) {
  __m512 sum[STEP][2];
  HN_UNROLL
  for (int p = 0; p < STEP; ++p) {
    HN_UNROLL
    for (int h = 0; h < halves; ++h)
      sum[p][h] = begins ? _mm512_setzero_ps() : _mm512_loadu_ps(to->of[pixel + p] + h * HALF);
  }
  for (int64_t d = 0; d < depth; ++d, w += BLOCK) {
    const uint16_t *x = at[d] + pixel * TILE;
    HN_UNROLL
    for (int k = 0; k < PAIRS; ++k) {
      const __m512bh w0 = pairs_at(w + k * LINE), w1 = halves > 1 ? pairs_at(w + BLOCK / 2 + k * LINE) : w0;
      HN_UNROLL
      for (int p = 0; p < STEP; ++p) {
        const __m512bh a = pair_everywhere(x + p * TILE + 2 * k);
        sum[p][0] = _mm512_dpbf16_ps(sum[p][0], w0, a);
        if (halves > 1) sum[p][1] = _mm512_dpbf16_ps(sum[p][1], w1, a);
      }
    }
  }
  HN_UNROLL
  for (int p = 0; p < STEP; ++p) {
    HN_UNROLL
    for (int h = 0; h < halves; ++h) _mm512_storeu_ps(to->of[pixel + p] + h * HALF, sum[p][h]);
  }
}

HN_OUTLINE void steps_1(const uint16_t *const *at, int64_t depth, int64_t steps, const uint16_t *w, int begins,
                        sums *to) {
  for (int64_t i = 0; i < steps; ++i) step(at, depth, i * STEP, w, 1, begins, to);
}
HN_OUTLINE void steps_2(const uint16_t *const *at, int64_t depth, int64_t steps, const uint16_t *w, int begins,
                        sums *to) {
  for (int64_t i = 0; i < steps; ++i) step(at, depth, i * STEP, w, 2, begins, to);
}

HN_INLINE void multiply_tile(const hn_product_half *p, multiplier *m, const uint16_t *x, const uint16_t *w,
                             int64_t steps, int channel_halves, ahead next, sums *to) {
  const int64_t depth = p->taps * p->depth_blocks;
  const uint16_t *at[CHUNK];
  int64_t tap = 0, d = 0;
  (void)m;
  for (int64_t begin = 0; begin == 0 || begin < depth; begin += CHUNK, w += CHUNK * BLOCK) { /* of no taps: zeros */
    const int64_t count = depth - begin < CHUNK ? depth - begin : CHUNK;
    for (int64_t i = 0; i < count; ++i) {
      next = fetch(next);
      at[i] = x + p->tap_at[tap] * TILE + d * p->x_block;
      if (++d == p->depth_blocks) d = 0, ++tap;
    }
    (channel_halves == 1 ? steps_1 : steps_2)(at, count, steps, w, begin == 0, to);
  }
}

#endif
