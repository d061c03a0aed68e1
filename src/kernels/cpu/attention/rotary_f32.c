/* SPDX-License-Identifier: Apache-2.0 */
/* rotary_f32.c - turned pairs. */
/* isa: c avx2 avx512 */
#include "kernels/cpu/attention/attention.h"
#include "kernels/cpu/simd.inc.h"

HN_INLINE void halves(const float *x, const float *c, const float *s, float *y, int64_t half) {
  int64_t d = 0;
  for (; d + HN_LANES <= half; d += HN_LANES) {
    const vf a = v_load(x + d), b = v_load(x + half + d), cd = v_load(c + d), sd = v_load(s + d);
    v_store(y + d, cd * a - sd * b);
    v_store(y + half + d, sd * a + cd * b);
  }
  if (d < half) {
    const int64_t n = half - d;
    const vf a = v_load_part(x + d, n), b = v_load_part(x + half + d, n), cd = v_load_part(c + d, n),
             sd = v_load_part(s + d, n);
    v_store_part(y + d, n, cd * a - sd * b);
    v_store_part(y + half + d, n, sd * a + cd * b);
  }
}

/* The compiler turns the pairs into shuffles. */
HN_INLINE void pairs(const float *restrict x, const float *restrict c, const float *restrict s, float *restrict y,
                     int64_t half) {
  for (int64_t d = 0; d < half; ++d) {
    const float a = x[2 * d], b = x[2 * d + 1];
    y[2 * d] = c[d] * a - s[d] * b;
    y[2 * d + 1] = s[d] * a + c[d] * b;
  }
}

void HN_SIMD_NAME(hn_rotary_f32)(const hn_rotary_args *a, int64_t begin, int64_t end) {
  for (int64_t row = begin; row < end; ++row) {
    int64_t at = row / a->outer * a->inner + row / a->across % a->inner;
    if (a->places) at = a->places[at];
    const float *x = a->x + row * a->size, *c = a->cos + at * a->half, *s = a->sin + at * a->half;
    float *y = a->y + row * a->size;
    if (a->is_interleaved)
      pairs(x, c, s, y, a->half);
    else
      halves(x, c, s, y, a->half);
    memcpy(y + 2 * a->half, x + 2 * a->half, (size_t)(a->size - 2 * a->half) * sizeof *y);
  }
}
