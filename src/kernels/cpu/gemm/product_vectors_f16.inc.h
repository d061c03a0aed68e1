/* SPDX-License-Identifier: Apache-2.0 */
/* product_vectors_f16.inc.h - 8 pixels times 32 channels: an element of a pixel, broadcast, times those of 32 channels.
 * Sums of 8 products are made in f16, rounded to the nearest after each, and added up in f16 until f16_terms products
 * are together, which are added to a sum in f32: two levels lose less than one long chain. In portable C the same, in
 * floats that hold what f16 can; a product and its addition round in f32 first, which is another result in rare ties
 * alone. Subnormal halves are kept, whatever the mode is. */
#ifndef HN_KERNELS_CPU_GEMM_PRODUCT_VECTORS_F16_INC_H
#define HN_KERNELS_CPU_GEMM_PRODUCT_VECTORS_F16_INC_H

#include "kernels/cpu/gemm/product_half_tile.inc.h"

enum {
  STEP = 8,
  PART = TILE,
  CHAIN = 8, /* products */
  CHUNK = 6  /* depth blocks whose weights stay in the first cache while all pixels of a tile go by: 12 KiB */
};

typedef int multiplier;
#define multiplier_begin(m) ((void)(*(m) = 0))
#define multiplier_end(m) ((void)(m))
#define take_sums(m, turn, halves, to) ((void)0)

#if defined(HN_SIMD_AVX512_FP16)
HN_INLINE __m512h half_everywhere(const uint16_t *p) {
  _Float16 half;
  memcpy(&half, p, sizeof half);
  return _mm512_set1_ph(half);
}
HN_INLINE __m512 lower(__m512h v) { return _mm512_cvtxph_ps(_mm512_castph512_ph256(v)); }
HN_INLINE __m512 upper(__m512h v) {
  return _mm512_cvtxph_ps(_mm256_castsi256_ph(_mm512_extracti64x4_epi64(_mm512_castph_si512(v), 1)));
}

/* One chain for a step of pixels. */
HN_INLINE void chain(const uint16_t *x, const uint16_t *w, __m512h *part) {
  HN_UNROLL
  for (int k = 0; k < CHAIN; ++k) {
    const __m512h right = _mm512_loadu_ph(w + k * TILE);
    HN_UNROLL
    for (int p = 0; p < STEP; ++p) {
      const __m512h left = half_everywhere(x + p * TILE + k);
      part[p] = k == 0 ? _mm512_mul_ph(right, left) : _mm512_fmadd_ph(right, left, part[p]);
    }
  }
}

/* One step of pixels over `depth` blocks, added to the sums; at: each block's first pixel. */
HN_INLINE void step(const uint16_t *const *at, int64_t depth, int64_t pixel, const uint16_t *w, const int terms,
                    sums *to) {
  for (int64_t run = 0; run < depth * (TILE / terms); ++run, w += terms * TILE) {
    const uint16_t *x = at[run / (TILE / terms)] + pixel * TILE + run % (TILE / terms) * terms;
    __m512h total[STEP];
    chain(x, w, total);
    HN_UNROLL
    for (int k = CHAIN; k < terms; k += CHAIN) {
      __m512h part[STEP];
      chain(x + k, w + k * TILE, part);
      HN_UNROLL
      for (int p = 0; p < STEP; ++p) total[p] = _mm512_add_ph(total[p], part[p]);
    }
    HN_UNROLL
    for (int p = 0; p < STEP; ++p) {
      float *sum = to->of[pixel + p];
      _mm512_storeu_ps(sum, _mm512_add_ps(lower(total[p]), _mm512_loadu_ps(sum)));
      _mm512_storeu_ps(sum + HALF, _mm512_add_ps(upper(total[p]), _mm512_loadu_ps(sum + HALF)));
    }
  }
}

HN_OUTLINE void steps_8(const uint16_t *const *at, int64_t depth, int64_t steps, const uint16_t *w, sums *to) {
  for (int64_t i = 0; i < steps; ++i) step(at, depth, i * STEP, w, 8, to);
}
HN_OUTLINE void steps_16(const uint16_t *const *at, int64_t depth, int64_t steps, const uint16_t *w, sums *to) {
  for (int64_t i = 0; i < steps; ++i) step(at, depth, i * STEP, w, 16, to);
}
HN_OUTLINE void steps_32(const uint16_t *const *at, int64_t depth, int64_t steps, const uint16_t *w, sums *to) {
  for (int64_t i = 0; i < steps; ++i) step(at, depth, i * STEP, w, 32, to);
}

HN_INLINE void multiply_steps(const uint16_t *const *at, int64_t depth, int64_t steps, const uint16_t *w, int terms,
                              sums *to) {
  (terms == 8 ? steps_8 : terms == 16 ? steps_16 : steps_32)(at, depth, steps, w, to);
}
#else
/* The nearest number that f16 has: beside a number 2^13 times its power of two a float has f16's digits. */
HN_INLINE vf as_f16(vf x) {
  const vi sign = vi_and(vi_of(x), vi_set(INT32_MIN));
  const vf power = vf_of(vi_and(vi_of(x), vi_set(0x7f800000)));
  const vf beside = v_min(v_max(power, v_set(0x1p-14F)), v_set(0x1p16F)) * v_set(0x1.8p13F);
  const vf near = (x + beside) - beside;
  return vf_of(vi_or(vi_of((near * v_set(0x1p112F)) * v_set(0x1p-112F)), sign)); /* from 2^16 on infinite */
}

/* One pixel times a depth block of weights, some vectors of channels side by side: each waits for its last sum. */
HN_INLINE void add_block(const uint16_t *x, const float (*w)[TILE], int terms, float *sum) {
  enum { BESIDE = TILE / HN_LANES < 4 ? TILE / HN_LANES : 4 };
  for (int v = 0; v < TILE; v += BESIDE * HN_LANES) {
    vf part[BESIDE], total[BESIDE];
    for (int k = 0; k < TILE; ++k) {
      const vf left = v_set(f16_to_f32(x[k]));
      HN_UNROLL
      for (int i = 0; i < BESIDE; ++i) {
        const int at = v + i * HN_LANES;
        const vf product = left * v_load(w[k] + at);
        part[i] = as_f16(k % CHAIN == 0 ? product : part[i] + product);
        if ((k + 1) % CHAIN == 0) total[i] = k % terms < CHAIN ? part[i] : as_f16(total[i] + part[i]);
        if ((k + 1) % terms == 0) v_store(sum + at, v_load(sum + at) + total[i]);
      }
    }
  }
}

HN_OUTLINE void multiply_steps(const uint16_t *const *at, int64_t depth, int64_t steps, const uint16_t *w, int terms,
                               sums *to) {
  float right[TILE][TILE];
  for (int64_t d = 0; d < depth; ++d, w += BLOCK) {
    for (int64_t i = 0; i < BLOCK; ++i) right[i / TILE][i % TILE] = f16_to_f32(w[i]);
    for (int64_t p = 0; p < steps * STEP; ++p)
      add_block(at[d] + p * TILE, (const float(*)[TILE])right, terms, to->of[p]);
  }
}
#endif

HN_INLINE void multiply_tile(const hn_product_half *p, multiplier *m, const uint16_t *x, int64_t base,
                             const uint16_t *w, int64_t steps, int channel_halves, ahead next, sums *to) {
  const int64_t depth = p->taps * p->depth_blocks;
  const uint16_t *at[CHUNK];
  int64_t tap = 0, d = 0;
  (void)m, (void)channel_halves;
  memset(to, 0, (size_t)(steps * STEP) * sizeof to->of[0]);
  for (int64_t begin = 0; begin < depth; begin += CHUNK, w += CHUNK * BLOCK) {
    const int64_t count = depth - begin < CHUNK ? depth - begin : CHUNK;
    for (int64_t i = 0; i < count; ++i) {
      next = fetch(next);
      at[i] = x + (base + p->tap_at[tap]) * TILE + d * p->x_block;
      if (++d == p->depth_blocks) d = 0, ++tap;
    }
    multiply_steps(at, count, steps, w, p->f16_terms, to);
  }
}

#endif
