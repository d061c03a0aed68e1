/* SPDX-License-Identifier: Apache-2.0 */
/* half.inc.h - vectors of floats from and to memory that holds bf16 or f16. Rounded to nearest, ties to even. */
#ifndef HN_KERNELS_CPU_HALF_INC_H
#define HN_KERNELS_CPU_HALF_INC_H

#include "kernels/cpu/simd.inc.h"

HN_INLINE float bf16_to_f32(uint16_t x) {
  const uint32_t bits = (uint32_t)x << 16;
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* NaN stays NaN: its payload's upper half may be zero. */
HN_INLINE uint16_t bf16_from_f32(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  if ((bits & 0x7fffffffU) > 0x7f800000U) return (uint16_t)(bits >> 16 | 0x40U);
  return (uint16_t)((bits + 0x7fffU + (bits >> 16 & 1U)) >> 16);
}

#if !defined(HN_SIMD_C)
HN_INLINE float f16_to_f32(uint16_t x) { return _cvtsh_ss(x); }
HN_INLINE uint16_t f16_from_f32(float x) { return _cvtss_sh(x, _MM_FROUND_TO_NEAREST_INT); }
#endif

#if defined(HN_SIMD_AVX512)
HN_INLINE vf v_load_bf16(const uint16_t *p) {
  return _mm512_castsi512_ps(
      _mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)(const void *)p)), 16));
}
#if defined(__AVX512BF16__)
HN_INLINE void v_store_bf16(uint16_t *p, vf v) {
  const __m256bh rounded = _mm512_cvtneps_pbh(v);
  memcpy(p, &rounded, sizeof rounded);
}
#define HN_STORES_TWO_BF16
/* a, and b behind it. */
HN_INLINE void v_store_bf16_two(uint16_t *p, vf a, vf b) {
  const __m512bh rounded = _mm512_cvtne2ps_pbh(b, a);
  memcpy(p, &rounded, sizeof rounded);
}
#else
HN_INLINE void v_store_bf16(uint16_t *p, vf v) {
  const __m512i bits = _mm512_castps_si512(v), upper = _mm512_srli_epi32(bits, 16);
  const __m512i odd = _mm512_and_si512(upper, _mm512_set1_epi32(1));
  const __m512i rounded =
      _mm512_srli_epi32(_mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff)), odd), 16);
  const __mmask16 is_nan = _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q);
  const __m512i all = _mm512_mask_or_epi32(rounded, is_nan, upper, _mm512_set1_epi32(0x40));
  _mm256_storeu_si256((__m256i *)(void *)p, _mm512_cvtepi32_epi16(all));
}
#endif
HN_INLINE vf v_load_f16(const uint16_t *p) {
  return _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)p));
}
HN_INLINE void v_store_f16(uint16_t *p, vf v) {
  _mm256_storeu_si256((__m256i *)(void *)p, _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
}
#elif defined(HN_SIMD_AVX2)
HN_INLINE vf v_load_bf16(const uint16_t *p) {
  return _mm256_castsi256_ps(
      _mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)(const void *)p)), 16));
}
HN_INLINE void v_store_bf16(uint16_t *p, vf v) {
  const __m256i bits = _mm256_castps_si256(v), upper = _mm256_srli_epi32(bits, 16);
  const __m256i odd = _mm256_and_si256(upper, _mm256_set1_epi32(1));
  const __m256i rounded =
      _mm256_srli_epi32(_mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7fff)), odd), 16);
  const __m256i is_nan = _mm256_castps_si256(_mm256_cmp_ps(v, v, _CMP_UNORD_Q));
  const __m256i all = _mm256_blendv_epi8(rounded, _mm256_or_si256(upper, _mm256_set1_epi32(0x40)), is_nan);
  const __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(all, all), 0x08);
  _mm_storeu_si128((__m128i *)(void *)p, _mm256_castsi256_si128(packed));
}
HN_INLINE vf v_load_f16(const uint16_t *p) {
  return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)p));
}
HN_INLINE void v_store_f16(uint16_t *p, vf v) {
  _mm_storeu_si128((__m128i *)(void *)p, _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
}
#else
HN_INLINE vf v_load_bf16(const uint16_t *p) {
  return (vf){bf16_to_f32(p[0]), bf16_to_f32(p[1]), bf16_to_f32(p[2]), bf16_to_f32(p[3])};
}
HN_INLINE void v_store_bf16(uint16_t *p, vf v) {
  for (int i = 0; i < HN_LANES; ++i) p[i] = bf16_from_f32(v[i]);
}
/* Exact, also where runs take zero for subnormal floats. */
HN_INLINE float f16_to_f32(uint16_t x) {
  const uint32_t sign = (uint32_t)(x & 0x8000U) << 16, size = x & 0x7fffU;
  uint32_t bits;
  float value = (float)size * 0x1p-24F; /* a subnormal half */
  memcpy(&bits, &value, sizeof bits);
  if (size > 0x7c00U)
    bits = 0x7fc00000U | (size & 0x3ffU) << 13;
  else if (size == 0x7c00U)
    bits = 0x7f800000U;
  else if (size >= 0x400U)
    bits = (size << 13) + (112U << 23);
  bits |= sign;
  memcpy(&value, &bits, sizeof value);
  return value;
}
HN_INLINE uint16_t f16_from_f32(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  const uint32_t sign = bits >> 16 & 0x8000U, size = bits & 0x7fffffffU;
  if (size > 0x7f800000U) return (uint16_t)(sign | 0x7e00U | (size >> 13 & 0x3ffU));
  if (size >= 0x477ff000U) return (uint16_t)(sign | 0x7c00U); /* rounds to 65536 or more */
  if (size < 0x38800000U) { /* a subnormal half: its unit is 2^-24, the unit of a float at 2^-1 */
    float value;
    memcpy(&value, &size, sizeof value);
    value += 0.5F;
    memcpy(&bits, &value, sizeof bits);
    return (uint16_t)(sign | (bits - 0x3f000000U));
  }
  return (uint16_t)(sign | ((size + 0xfffU + (size >> 13 & 1U) - 0x38000000U) >> 13));
}
/* Long code: inlined, it makes a kernel three times as large. */
HN_OUTLINE vf v_load_f16(const uint16_t *p) {
  return (vf){f16_to_f32(p[0]), f16_to_f32(p[1]), f16_to_f32(p[2]), f16_to_f32(p[3])};
}
HN_OUTLINE void v_store_f16(uint16_t *p, vf v) {
  for (int i = 0; i < HN_LANES; ++i) p[i] = f16_from_f32(v[i]);
}
#endif

#if !defined(HN_STORES_TWO_BF16)
HN_INLINE void v_store_bf16_two(uint16_t *p, vf a, vf b) {
  v_store_bf16(p, a);
  v_store_bf16(p + HN_LANES, b);
}
#endif

#endif
