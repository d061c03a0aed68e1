/* SPDX-License-Identifier: Apache-2.0 */
/* quantize_words.c - both directions between f32 and u16 or i16, a vector at a time. An i16 is taken as the u16 that is
 * greater by 2^15, which is its bits with the first one turned over. */
/* isa: c avx2 avx512 */
#include "kernels/cpu/quant/quantize.h"
#include "kernels/cpu/simd.inc.h"

#if defined(HN_SIMD_AVX512)
HN_INLINE vi load_words(const uint16_t *p) { return _mm512_cvtepu16_epi32(_mm256_loadu_si256((const void *)p)); }
HN_INLINE void store_words(uint16_t *p, vf v, int32_t flip) { /* 0 .. 65535 */
  const __m256i words = _mm512_cvtepi32_epi16(_mm512_cvtps_epi32(v));
  _mm256_storeu_si256((void *)p, _mm256_xor_si256(words, _mm256_set1_epi16((int16_t)flip)));
}
#elif defined(HN_SIMD_AVX2)
HN_INLINE vi load_words(const uint16_t *p) { return _mm256_cvtepu16_epi32(_mm_loadu_si128((const void *)p)); }
HN_INLINE void store_words(uint16_t *p, vf v, int32_t flip) {
  const __m256i whole = _mm256_cvtps_epi32(v);
  const __m256i twice = _mm256_permute4x64_epi64(_mm256_packus_epi32(whole, whole), 0x08);
  _mm_storeu_si128((void *)p, _mm_xor_si128(_mm256_castsi256_si128(twice), _mm_set1_epi16((int16_t)flip)));
}
#else
HN_INLINE vi load_words(const uint16_t *p) { return (vi){p[0], p[1], p[2], p[3]}; }
HN_INLINE void store_words(uint16_t *p, vf v, int32_t flip) {
  const vi whole = vi_from(v);
  for (int i = 0; i < HN_LANES; ++i) p[i] = (uint16_t)(whole[i] ^ flip);
}
#endif

HN_INLINE int64_t at_most(int64_t a, int64_t b) { return a < b ? a : b; }

/* The zero point, as the u16 that it is taken for. */
HN_INLINE int32_t zero_at(const hn_quantize_args *a, int64_t at) {
  uint16_t zero = 0;
  if (a->zero) memcpy(&zero, a->zero + at * (int64_t)sizeof zero, sizeof zero);
  return zero ^ a->flip;
}

/* Saturated after the zero point is added: below 2^24 that is exact, and beyond saturation decides. */
HN_INLINE vf quantized(vf x, vf scale, vf zero, vf nan) {
  const vf y = v_round(x / scale) + zero;
  return v_max(v_min(v_select(v_eq(y, y), y, nan), v_set(65535.0F)), v_set(0.0F));
}

HN_INLINE vf dequantized(const uint16_t *x, vf scale, vi zero, int32_t flip) {
  return vf_from(vi_sub(vi_xor(load_words(x), vi_set(flip)), zero)) * scale;
}

/* What belongs to the lanes of a vector: elements along the axis, or one for all of a row. Lanes without an element
 * have a scale that divides. */
typedef struct {
  float scale[HN_LANES], zero[HN_LANES];
  int32_t whole_zero[HN_LANES];
} lanes;

HN_INLINE void fill_lanes(const hn_quantize_args *a, int64_t at, int64_t step, int64_t count, lanes *l) {
  for (int i = 0; i < HN_LANES; ++i) {
    const int64_t from = at + (i < count ? i : 0) * step;
    l->scale[i] = a->scale[from];
    l->whole_zero[i] = zero_at(a, from);
    l->zero[i] = (float)l->whole_zero[i];
  }
}

void HN_SIMD_NAME(hn_quantize_words)(const hn_quantize_args *a, int64_t begin, int64_t end) {
  const int64_t along = a->each && a->inner == 1;
  const vf nan = v_set((float)a->flip);
  for (int64_t unit = begin; unit < end; ++unit) {
    const hn_quantize_piece r = hn_quantize_piece_at(a, unit);
    const float *x = (const float *)a->x + r.row * hn_quantize_row(a);
    uint16_t *y = (uint16_t *)a->y + r.row * hn_quantize_row(a);
    lanes l;
    if (!along) fill_lanes(a, a->each ? r.row % a->axis : 0, 0, HN_LANES, &l);
    for (int64_t i = r.first; i < r.last; i += HN_LANES) {
      const int64_t n = at_most(r.last - i, HN_LANES);
      if (along) fill_lanes(a, i, 1, n, &l);
      const vf v = n < HN_LANES ? v_load_part(x + i, n) : v_load(x + i);
      uint16_t rest[HN_LANES], *to = n < HN_LANES ? rest : y + i;
      store_words(to, quantized(v, v_load(l.scale), v_load(l.zero), nan), a->flip);
      if (n < HN_LANES) memcpy(y + i, rest, (size_t)n * sizeof *rest);
    }
  }
}

void HN_SIMD_NAME(hn_dequantize_words)(const hn_quantize_args *a, int64_t begin, int64_t end) {
  const int64_t along = a->each && a->inner == 1;
  for (int64_t unit = begin; unit < end; ++unit) {
    const hn_quantize_piece r = hn_quantize_piece_at(a, unit);
    const uint16_t *x = (const uint16_t *)a->x + r.row * hn_quantize_row(a);
    float *y = (float *)a->y + r.row * hn_quantize_row(a);
    lanes l;
    if (!along) fill_lanes(a, a->each ? r.row % a->axis : 0, 0, HN_LANES, &l);
    for (int64_t i = r.first; i < r.last; i += HN_LANES) {
      const int64_t n = at_most(r.last - i, HN_LANES);
      uint16_t rest[HN_LANES] = {0};
      if (along) fill_lanes(a, i, 1, n, &l);
      if (n < HN_LANES) memcpy(rest, x + i, (size_t)n * sizeof *rest);
      const vf v = dequantized(n < HN_LANES ? rest : x + i, v_load(l.scale), vi_load(l.whole_zero), a->flip);
      if (n < HN_LANES)
        v_store_part(y + i, n, v);
      else
        v_store(y + i, v);
    }
  }
}
