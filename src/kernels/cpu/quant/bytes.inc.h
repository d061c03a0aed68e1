/* SPDX-License-Identifier: Apache-2.0 */
/* bytes.inc.h - bytes beside the vectors of simd.inc.h: widened to lanes, narrowed from them, transposed.
 *
 * One arithmetic serves u8 and i8: an i8 is taken as the u8 that is greater by 128, which is its bits with the first
 * one turned over; `flip` is 0x80 then, else 0. Lanes hold 0 .. 255. */
#ifndef HN_KERNELS_CPU_QUANT_BYTES_INC_H
#define HN_KERNELS_CPU_QUANT_BYTES_INC_H

#include "kernels/cpu/simd.inc.h"
#include <math.h>

/* What one b_put writes. */
#define B_GROUP (4 * HN_LANES)
/* Rows and columns of the tile that b_tile turns. */
enum { B_TILE = 16 };

#if defined(HN_SIMD_AVX512)
HN_INLINE vi b_load(const uint8_t *p) { return _mm512_cvtepu8_epi32(_mm_loadu_si128((const void *)p)); }
HN_INLINE vi b_load_signed(const uint8_t *p) { return _mm512_cvtepi8_epi32(_mm_loadu_si128((const void *)p)); }
HN_INLINE vi vi_round(vf a) { return _mm512_cvtps_epi32(a); } /* half to even */
/* Four vectors of 0 .. 255. */
HN_INLINE void b_put(uint8_t *p, vi a, vi b, vi c, vi d, int32_t flip) {
  const __m512i bytes = _mm512_packus_epi16(_mm512_packus_epi32(a, b), _mm512_packus_epi32(c, d));
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  const __m512i turned = _mm512_xor_si512(_mm512_permutexvar_epi32(order, bytes), _mm512_set1_epi8((char)flip));
  _mm512_storeu_si512((void *)p, turned);
}
#elif defined(HN_SIMD_AVX2)
HN_INLINE vi b_load(const uint8_t *p) { return _mm256_cvtepu8_epi32(_mm_loadl_epi64((const void *)p)); }
HN_INLINE vi b_load_signed(const uint8_t *p) { return _mm256_cvtepi8_epi32(_mm_loadl_epi64((const void *)p)); }
HN_INLINE vi vi_round(vf a) { return _mm256_cvtps_epi32(a); }
HN_INLINE void b_put(uint8_t *p, vi a, vi b, vi c, vi d, int32_t flip) {
  const __m256i bytes = _mm256_packus_epi16(_mm256_packus_epi32(a, b), _mm256_packus_epi32(c, d));
  const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
  const __m256i turned = _mm256_xor_si256(_mm256_permutevar8x32_epi32(bytes, order), _mm256_set1_epi8((char)flip));
  _mm256_storeu_si256((void *)p, turned);
}
#else
HN_INLINE vi b_load(const uint8_t *p) { return (vi){p[0], p[1], p[2], p[3]}; }
HN_INLINE vi vi_round(vf a) { return vi_from(v_round(a)); }
HN_INLINE void b_put(uint8_t *p, vi a, vi b, vi c, vi d, int32_t flip) {
  for (int i = 0; i < HN_LANES; ++i) {
    p[i] = (uint8_t)(a[i] ^ flip);
    p[HN_LANES + i] = (uint8_t)(b[i] ^ flip);
    p[2 * HN_LANES + i] = (uint8_t)(c[i] ^ flip);
    p[3 * HN_LANES + i] = (uint8_t)(d[i] ^ flip);
  }
}
#endif

/* The numbers that HN_LANES bytes stand for. */
HN_INLINE vf b_numbers(const uint8_t *p, vi flip) { return vf_from(vi_sub(vi_xor(b_load(p), flip), flip)); }

/* One rounding: what v_fma gives where the instruction set has it. */
HN_INLINE vf b_fma(vf a, vf b, vf c) {
#if defined(HN_SIMD_C)
  return (vf){fmaf(a[0], b[0], c[0]), fmaf(a[1], b[1], c[1]), fmaf(a[2], b[2], c[2]), fmaf(a[3], b[3], c[3])};
#else
  return v_fma(a, b, c);
#endif
}

/* Kernels are compiled with contraction: this keeps a product from being fused with what is added to it. */
HN_INLINE vf b_rounded(vf a) {
#if defined(HN_SIMD_AVX512)
  __asm__("" : "+v"(a));
#elif defined(HN_SIMD_AVX2)
  __asm__("" : "+x"(a));
#else
  __asm__("" : "+m"(a));
#endif
  return a;
}

/* Vectors of B_GROUP bytes. */
#if defined(HN_SIMD_AVX512)
typedef __m512i vb;
HN_INLINE vb vb_load(const uint8_t *p) { return _mm512_loadu_si512((const void *)p); }
HN_INLINE void vb_store(uint8_t *p, vb v) { _mm512_storeu_si512((void *)p, v); }
HN_INLINE vb vb_set(int32_t x) { return _mm512_set1_epi8((char)x); }
HN_INLINE vb vb_xor(vb a, vb b) { return _mm512_xor_si512(a, b); }
HN_INLINE vb vb_and(vb a, vb b) { return _mm512_and_si512(a, b); }
HN_INLINE vb vb_max(vb a, vb b) { return _mm512_max_epu8(a, b); }
/* Interleaved in each lane of 16 bytes: its lower, or its upper half. */
HN_INLINE vb vb_low(vb a, vb b) { return _mm512_unpacklo_epi8(a, b); }
HN_INLINE vb vb_high(vb a, vb b) { return _mm512_unpackhi_epi8(a, b); }
HN_INLINE vb vb_low_pairs(vb a, vb b) { return _mm512_unpacklo_epi16(a, b); }
HN_INLINE vb vb_high_pairs(vb a, vb b) { return _mm512_unpackhi_epi16(a, b); }
#elif defined(HN_SIMD_AVX2)
typedef __m256i vb;
HN_INLINE vb vb_load(const uint8_t *p) { return _mm256_loadu_si256((const void *)p); }
HN_INLINE void vb_store(uint8_t *p, vb v) { _mm256_storeu_si256((void *)p, v); }
HN_INLINE vb vb_set(int32_t x) { return _mm256_set1_epi8((char)x); }
HN_INLINE vb vb_xor(vb a, vb b) { return _mm256_xor_si256(a, b); }
HN_INLINE vb vb_and(vb a, vb b) { return _mm256_and_si256(a, b); }
HN_INLINE vb vb_max(vb a, vb b) { return _mm256_max_epu8(a, b); }
HN_INLINE vb vb_low(vb a, vb b) { return _mm256_unpacklo_epi8(a, b); }
HN_INLINE vb vb_high(vb a, vb b) { return _mm256_unpackhi_epi8(a, b); }
HN_INLINE vb vb_low_pairs(vb a, vb b) { return _mm256_unpacklo_epi16(a, b); }
HN_INLINE vb vb_high_pairs(vb a, vb b) { return _mm256_unpackhi_epi16(a, b); }
#else
typedef uint8_t vb __attribute__((vector_size(16)));
HN_INLINE vb vb_load(const uint8_t *p) {
  vb v;
  memcpy(&v, p, sizeof v);
  return v;
}
HN_INLINE void vb_store(uint8_t *p, vb v) { memcpy(p, &v, sizeof v); }
HN_INLINE vb vb_set(int32_t x) { return (vb){0} + (uint8_t)x; }
HN_INLINE vb vb_xor(vb a, vb b) { return a ^ b; }
HN_INLINE vb vb_and(vb a, vb b) { return a & b; }
HN_INLINE vb vb_max(vb a, vb b) {
  const vb greater = (vb)(a > b);
  return (a & greater) | (b & ~greater);
}
#endif

/* to[c * to_stride + r] = from[r * from_stride + c] for 16 rows and 16 columns. */
#if defined(HN_SIMD_C)
HN_INLINE void b_tile(const uint8_t *from, int64_t from_stride, uint8_t *to, int64_t to_stride) {
  for (int c = 0; c < B_TILE; ++c)
    for (int r = 0; r < B_TILE; ++r) to[c * to_stride + r] = from[r * from_stride + c];
}
#else
/* Each round interleaves rows i and i + 8: after four of them row i is column i. */
HN_INLINE void b_tile(const uint8_t *from, int64_t from_stride, uint8_t *to, int64_t to_stride) {
  __m128i r[B_TILE], t[B_TILE];
  HN_UNROLL for (int i = 0; i < B_TILE; ++i) r[i] = _mm_loadu_si128((const void *)(from + i * from_stride));
  HN_UNROLL for (int round = 0; round < 4; ++round) {
    HN_UNROLL for (int i = 0; i < B_TILE / 2; ++i) {
      t[2 * i] = _mm_unpacklo_epi8(r[i], r[i + B_TILE / 2]);
      t[2 * i + 1] = _mm_unpackhi_epi8(r[i], r[i + B_TILE / 2]);
    }
    HN_UNROLL for (int i = 0; i < B_TILE; ++i) r[i] = t[i];
  }
  HN_UNROLL for (int i = 0; i < B_TILE; ++i) _mm_storeu_si128((void *)(to + i * to_stride), r[i]);
}
#endif

/* Outlined: with bounds that are known, the compiler makes vectors of single bytes of it, in many seconds. */
HN_OUTLINE void b_transpose_rest(const uint8_t *from, int64_t from_stride, uint8_t *to, int64_t to_stride, int64_t rows,
                                 int64_t columns) {
  for (int64_t c = 0; c < columns; ++c)
    for (int64_t r = 0; r < rows; ++r) to[c * to_stride + r] = from[r * from_stride + c];
}

/* The same for any number of rows and columns. */
HN_INLINE void b_transpose(const uint8_t *from, int64_t from_stride, uint8_t *to, int64_t to_stride, int64_t rows,
                           int64_t columns) {
  int64_t r = 0;
  for (; rows - r >= B_TILE; r += B_TILE) {
    int64_t c = 0;
    for (; columns - c >= B_TILE; c += B_TILE)
      b_tile(from + r * from_stride + c, from_stride, to + c * to_stride + r, to_stride);
    b_transpose_rest(from + r * from_stride + c, from_stride, to + c * to_stride + r, to_stride, B_TILE, columns - c);
  }
  b_transpose_rest(from + r * from_stride, from_stride, to + r, to_stride, rows - r, columns);
}

#endif
