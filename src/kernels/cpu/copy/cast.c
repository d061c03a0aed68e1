/* SPDX-License-Identifier: Apache-2.0 */
/* cast.c - conversions: simple loops that the compiler vectorises, and half floats by the F16C
 * instructions or, portably, by bits. */
/* isa: c avx2 avx512 */
#include "kernels/cpu/copy/copy.h"
#include "kernels/cpu/simd.inc.h"

HN_INLINE uint32_t bits_of(float x) {
  uint32_t u;
  memcpy(&u, &x, sizeof u);
  return u;
}
HN_INLINE float float_of(uint32_t u) {
  float x;
  memcpy(&x, &u, sizeof x);
  return x;
}

#if defined(HN_SIMD_C)
HN_INLINE uint16_t half_from(float x) {
  const uint32_t sign = bits_of(x) >> 16 & 0x8000U, u = bits_of(x) & 0x7fffffffU;
  /* Adding 1/2 lines the last bit of a subnormal half up with the last bit of the sum. */
  const uint32_t small = bits_of(float_of(u) + 0.5F) - 0x3f000000U;
  const uint32_t normal = (u + 0xfffU + (u >> 13 & 1U) - 0x38000000U) >> 13;
  const uint32_t nan = 0x7e00U | (u >> 13 & 0x3ffU);
  const uint32_t large = u > 0x7f800000U ? nan : 0x7c00U;
  return (uint16_t)(sign | (u >= 0x47800000U ? large : u < 0x38800000U ? small : normal));
}
HN_INLINE float float_from_half(uint16_t h) {
  const uint32_t sign = (uint32_t)(h & 0x8000U) << 16, u = h & 0x7fffU;
  const uint32_t scaled = bits_of(float_of(u << 13) * 5.192296858534828e+33F); /* 2^112: the exponents' distance */
  const uint32_t quiet = u > 0x7c00U ? 0x00400000U : 0U;
  return float_of(sign | (u >= 0x7c00U ? 0x7f800000U | u << 13 | quiet : scaled));
}
HN_INLINE void half_store(uint16_t *to, vf v) {
  for (int j = 0; j < HN_LANES; ++j) to[j] = half_from(v[j]);
}
HN_INLINE vf half_load(const uint16_t *from) {
  float lane[HN_LANES];
  for (int j = 0; j < HN_LANES; ++j) lane[j] = float_from_half(from[j]);
  return v_load(lane);
}
#elif defined(HN_SIMD_AVX2)
HN_INLINE void half_store(uint16_t *to, vf v) { _mm_storeu_si128((void *)to, _mm256_cvtps_ph(v, 0x08)); }
HN_INLINE vf half_load(const uint16_t *from) { return _mm256_cvtph_ps(_mm_loadu_si128((const void *)from)); }
#else
HN_INLINE void half_store(uint16_t *to, vf v) { _mm256_storeu_si256((void *)to, _mm512_cvtps_ph(v, 0x08)); }
HN_INLINE vf half_load(const uint16_t *from) { return _mm512_cvtph_ps(_mm256_loadu_si256((const void *)from)); }
#endif

void HN_SIMD_NAME(hn_cast_f32_f16)(const void *from, void *to, int64_t begin, int64_t end) {
  const float *x = from;
  uint16_t *y = to, lane[HN_LANES];
  int64_t i = begin;
  for (; end - i >= HN_LANES; i += HN_LANES) half_store(y + i, v_load(x + i));
  if (i < end) {
    half_store(lane, v_load_part(x + i, end - i));
    memcpy(y + i, lane, (size_t)(end - i) * sizeof *y);
  }
}

void HN_SIMD_NAME(hn_cast_f16_f32)(const void *from, void *to, int64_t begin, int64_t end) {
  const uint16_t *x = from;
  float *y = to;
  uint16_t lane[HN_LANES] = {0};
  int64_t i = begin;
  for (; end - i >= HN_LANES; i += HN_LANES) v_store(y + i, half_load(x + i));
  if (i < end) {
    memcpy(lane, x + i, (size_t)(end - i) * sizeof *x);
    v_store_part(y + i, end - i, half_load(lane));
  }
}

void HN_SIMD_NAME(hn_cast_f32_bf16)(const void *restrict from, void *restrict to, int64_t begin, int64_t end) {
  const float *x = from;
  uint16_t *y = to;
  for (int64_t i = begin; i < end; ++i) {
    const uint32_t u = bits_of(x[i]), rounded = (u + 0x7fffU + (u >> 16 & 1U)) >> 16;
    y[i] = (uint16_t)((u & 0x7fffffffU) > 0x7f800000U ? u >> 16 | 0x40U : rounded);
  }
}

void HN_SIMD_NAME(hn_cast_bf16_f32)(const void *restrict from, void *restrict to, int64_t begin, int64_t end) {
  const uint16_t *x = from;
  float *y = to;
  for (int64_t i = begin; i < end; ++i) y[i] = float_of((uint32_t)x[i] << 16);
}

void HN_SIMD_NAME(hn_cast_f32_i64)(const void *restrict from, void *restrict to, int64_t begin, int64_t end) {
  const float *x = from;
  int64_t *y = to;
  for (int64_t i = begin; i < end; ++i)
    y[i] = x[i] >= -9223372036854775808.0F && x[i] < 9223372036854775808.0F ? (int64_t)x[i] : INT64_MIN;
}

void HN_SIMD_NAME(hn_cast_f32_bool)(const void *restrict from, void *restrict to, int64_t begin, int64_t end) {
  const float *x = from;
  uint8_t *y = to;
  for (int64_t i = begin; i < end; ++i) y[i] = x[i] != 0.0F;
}

/* Through int32 lanes. */
void HN_SIMD_NAME(hn_cast_f32_i32)(const void *restrict from, void *restrict to, int64_t begin, int64_t end) {
  const float *x = from;
  int32_t *y = to;
  int32_t lane[HN_LANES];
  int64_t i = begin;
  for (; end - i >= HN_LANES; i += HN_LANES) {
    vi_store(lane, vi_from(v_load(x + i)));
    for (int j = 0; j < HN_LANES; ++j) y[i + j] = (int32_t)lane[j];
  }
  if (i < end) vi_store(lane, vi_from(v_load_part(x + i, end - i)));
  for (int j = 0; i + j < end; ++j) y[i + j] = (int32_t)lane[j];
}

void HN_SIMD_NAME(hn_cast_f32_i8)(const void *restrict from, void *restrict to, int64_t begin, int64_t end) {
  const float *x = from;
  int8_t *y = to;
  int32_t lane[HN_LANES];
  int64_t i = begin;
  for (; end - i >= HN_LANES; i += HN_LANES) {
    vi_store(lane, vi_from(v_load(x + i)));
    for (int j = 0; j < HN_LANES; ++j) y[i + j] = (int8_t)lane[j];
  }
  if (i < end) vi_store(lane, vi_from(v_load_part(x + i, end - i)));
  for (int j = 0; i + j < end; ++j) y[i + j] = (int8_t)lane[j];
}

void HN_SIMD_NAME(hn_cast_f32_u8)(const void *restrict from, void *restrict to, int64_t begin, int64_t end) {
  const float *x = from;
  uint8_t *y = to;
  int32_t lane[HN_LANES];
  int64_t i = begin;
  for (; end - i >= HN_LANES; i += HN_LANES) {
    vi_store(lane, vi_from(v_load(x + i)));
    for (int j = 0; j < HN_LANES; ++j) y[i + j] = (uint8_t)lane[j];
  }
  if (i < end) vi_store(lane, vi_from(v_load_part(x + i, end - i)));
  for (int j = 0; i + j < end; ++j) y[i + j] = (uint8_t)lane[j];
}

void HN_SIMD_NAME(hn_cast_i64_f32)(const void *restrict from, void *restrict to, int64_t begin, int64_t end) {
  const int64_t *x = from;
  float *y = to;
  for (int64_t i = begin; i < end; ++i) y[i] = (float)x[i];
}

void HN_SIMD_NAME(hn_cast_i32_f32)(const void *restrict from, void *restrict to, int64_t begin, int64_t end) {
  const int32_t *x = from;
  float *y = to;
  for (int64_t i = begin; i < end; ++i) y[i] = (float)x[i];
}

void HN_SIMD_NAME(hn_cast_i8_f32)(const void *restrict from, void *restrict to, int64_t begin, int64_t end) {
  const int8_t *x = from;
  float *y = to;
  for (int64_t i = begin; i < end; ++i) y[i] = (float)x[i];
}

void HN_SIMD_NAME(hn_cast_u8_f32)(const void *restrict from, void *restrict to, int64_t begin, int64_t end) {
  const uint8_t *x = from;
  float *y = to;
  for (int64_t i = begin; i < end; ++i) y[i] = (float)x[i];
}
