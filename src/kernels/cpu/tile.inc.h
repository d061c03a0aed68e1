/* SPDX-License-Identifier: Apache-2.0 */
/* tile.inc.h - transposes of small tiles of 4-byte elements.
 *
 * tile_turn turns HN_LANES x HN_LANES elements in registers (log2(HN_LANES) rounds of shuffles), tile_full the same in
 * memory; tile_some the same of fewer rows, the others taken as zeros, or columns; tile_part serves what is left at the
 * edges. Elements are moved as bits: a signalling NaN comes out as it went in. */
#ifndef HN_KERNELS_CPU_TILE_INC_H
#define HN_KERNELS_CPU_TILE_INC_H

#include "kernels/cpu/simd.inc.h"

/* to[c * to_stride + r] = from[r * from_stride + c]; strides in elements. */
HN_INLINE void tile_part(const float *from, int64_t from_stride, float *to, int64_t to_stride, int64_t rows,
                         int64_t columns) {
  for (int64_t c = 0; c < columns; ++c)
    for (int64_t r = 0; r < rows; ++r) memcpy(to + c * to_stride + r, from + r * from_stride + c, sizeof *to);
}

/* Lane c of r[i] becomes lane i of r[c]. */
#if defined(HN_SIMD_AVX512)
HN_INLINE void tile_turn(vf r[HN_LANES]) {
  __m512 t[16];
  for (int i = 0; i < 16; i += 2) {
    t[i] = _mm512_unpacklo_ps(r[i], r[i + 1]);
    t[i + 1] = _mm512_unpackhi_ps(r[i], r[i + 1]);
  }
  for (int i = 0; i < 16; i += 4) {
    for (int h = 0; h < 2; ++h) {
      const __m512d a = _mm512_castps_pd(t[i + h]), b = _mm512_castps_pd(t[i + h + 2]);
      r[i + 2 * h] = _mm512_castpd_ps(_mm512_unpacklo_pd(a, b));
      r[i + 2 * h + 1] = _mm512_castpd_ps(_mm512_unpackhi_pd(a, b));
    }
  }
  /* r[4g + j] now holds, in its 128-bit lane l, rows 4g .. 4g+3 of column 4l + j. */
  for (int j = 0; j < 4; ++j) {
    const __m512 a = _mm512_shuffle_f32x4(r[j], r[4 + j], 0x44), b = _mm512_shuffle_f32x4(r[8 + j], r[12 + j], 0x44);
    const __m512 c = _mm512_shuffle_f32x4(r[j], r[4 + j], 0xee), d = _mm512_shuffle_f32x4(r[8 + j], r[12 + j], 0xee);
    r[j] = _mm512_shuffle_f32x4(a, b, 0x88);
    r[4 + j] = _mm512_shuffle_f32x4(a, b, 0xdd);
    r[8 + j] = _mm512_shuffle_f32x4(c, d, 0x88);
    r[12 + j] = _mm512_shuffle_f32x4(c, d, 0xdd);
  }
}
#elif !defined(HN_SIMD_AVX2)
HN_INLINE void tile_turn(vf r[HN_LANES]) {
  const vf ab = __builtin_shufflevector(r[0], r[1], 0, 4, 1, 5),
           ab_high = __builtin_shufflevector(r[0], r[1], 2, 6, 3, 7);
  const vf cd = __builtin_shufflevector(r[2], r[3], 0, 4, 1, 5),
           cd_high = __builtin_shufflevector(r[2], r[3], 2, 6, 3, 7);
  r[0] = __builtin_shufflevector(ab, cd, 0, 1, 4, 5);
  r[1] = __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
  r[2] = __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5);
  r[3] = __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7);
}
#endif

#if !defined(HN_SIMD_C)
HN_INLINE void tile_turn_eight(__m256 r[8]) {
  __m256 t[8];
  for (int i = 0; i < 8; i += 2) {
    t[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
    t[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
  }
  for (int i = 0; i < 8; i += 4) {
    for (int h = 0; h < 2; ++h) {
      const __m256d a = _mm256_castps_pd(t[i + h]), b = _mm256_castps_pd(t[i + h + 2]);
      r[i + 2 * h] = _mm256_castpd_ps(_mm256_unpacklo_pd(a, b));
      r[i + 2 * h + 1] = _mm256_castpd_ps(_mm256_unpackhi_pd(a, b));
    }
  }
  for (int j = 0; j < 4; ++j) {
    t[j] = _mm256_permute2f128_ps(r[j], r[4 + j], 0x20);
    t[4 + j] = _mm256_permute2f128_ps(r[j], r[4 + j], 0x31);
  }
  for (int i = 0; i < 8; ++i) r[i] = t[i];
}
#endif
#if defined(HN_SIMD_AVX2)
#define tile_turn tile_turn_eight
#endif

HN_INLINE void tile_some(const float *from, int64_t from_stride, float *to, int64_t to_stride, int64_t rows,
                         int64_t columns) {
  vf r[HN_LANES];
  HN_UNROLL for (int i = 0; i < HN_LANES; ++i) r[i] = i < rows ? v_load(from + i * from_stride) : v_set(0.0F);
  tile_turn(r);
  HN_UNROLL for (int i = 0; i < HN_LANES; ++i) if (i < columns) v_store(to + i * to_stride, r[i]);
}

#if defined(HN_SIMD_AVX512)
HN_INLINE void tile_eight(const float *from, int64_t from_stride, float *to, int64_t to_stride) {
  __m256 r[8];
  for (int i = 0; i < 8; ++i) r[i] = _mm256_loadu_ps(from + i * from_stride);
  tile_turn_eight(r);
  for (int i = 0; i < 8; ++i) _mm256_storeu_ps(to + i * to_stride, r[i]);
}
#endif

HN_INLINE void tile_full(const float *from, int64_t from_stride, float *to, int64_t to_stride) {
  tile_some(from, from_stride, to, to_stride, HN_LANES, HN_LANES);
}

/* What the full tiles left over; on AVX-512 that may still hold 8 x 8 tiles. */
HN_INLINE void tile_rest(const float *from, int64_t from_stride, float *to, int64_t to_stride, int64_t rows,
                         int64_t columns) {
  int64_t r = 0;
#if defined(HN_SIMD_AVX512)
  for (; rows - r >= 8; r += 8) {
    int64_t c = 0;
    for (; columns - c >= 8; c += 8)
      tile_eight(from + r * from_stride + c, from_stride, to + c * to_stride + r, to_stride);
    tile_part(from + r * from_stride + c, from_stride, to + c * to_stride + r, to_stride, 8, columns - c);
  }
#endif
  tile_part(from + r * from_stride, from_stride, to + r, to_stride, rows - r, columns);
}

/* Any number of rows and columns. */
HN_INLINE void tile_any(const float *from, int64_t from_stride, float *to, int64_t to_stride, int64_t rows,
                        int64_t columns) {
  int64_t r = 0;
  for (; rows - r >= HN_LANES; r += HN_LANES) {
    int64_t c = 0;
    for (; columns - c >= HN_LANES; c += HN_LANES)
      tile_full(from + r * from_stride + c, from_stride, to + c * to_stride + r, to_stride);
    tile_rest(from + r * from_stride + c, from_stride, to + c * to_stride + r, to_stride, HN_LANES, columns - c);
  }
  tile_rest(from + r * from_stride, from_stride, to + r, to_stride, rows - r, columns);
}

#endif
