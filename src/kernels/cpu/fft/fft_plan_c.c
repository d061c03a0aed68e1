/* SPDX-License-Identifier: Apache-2.0 */
/* fft_plan_c.c - a length's passes and their tables: angles in double, each rounded once. Radix 4 goes first, then 2,
 * then the odd primes in ascending order. */
#include "kernels/cpu/fft/fft.h"
#include <math.h>

int32_t hn_fft_radixes(int64_t length, int32_t *out) {
  int32_t count = 0;
  for (; length % 4 == 0; length /= 4) out[count++] = 4;
  if (length % 2 == 0) {
    out[count++] = 2;
    length /= 2;
  }
  for (int32_t p = 3; p <= HN_FFT_MOST_RADIX; p += 2)
    for (; length % p == 0; length /= p) out[count++] = p;
  return length == 1 ? count : 0;
}

int64_t hn_fft_table_floats(int64_t length) {
  int32_t radix[64];
  int64_t floats = 0, n = length;
  const int32_t passes = hn_fft_radixes(length, radix);
  for (int32_t i = 0; i < passes; ++i) {
    n /= radix[i];
    floats += 2 * n * (radix[i] - 1) + 2 * radix[i];
  }
  return floats;
}

static float *put(float *to, double turn, float sign) {
  const double angle = 2 * acos(-1.0) * turn * (double)sign;
  *to++ = (float)cos(angle);
  *to++ = (float)sin(angle);
  return to;
}

void hn_fft_plan(hn_fft *fft, int64_t length, float sign, float *table) {
  int32_t radix[64];
  *fft = (hn_fft){.length = length, .sign = sign, .passes = hn_fft_radixes(length, radix)};
  int64_t n = length, s = 1;
  for (int32_t i = 0; i < fft->passes; ++i) {
    const int32_t p = radix[i];
    const int64_t m = n / p;
    hn_fft_pass *pass = &fft->pass[i];
    *pass = (hn_fft_pass){.radix = p, .m = m, .s = s, .twiddle = table};
    for (int64_t q = 0; q < m; ++q)
      for (int64_t k = 1; k < p; ++k) table = put(table, (double)(q * k) / (double)n, sign);
    pass->root = table;
    for (int64_t j = 0; j < p; ++j) table = put(table, (double)j / (double)p, sign);
    n = m;
    s *= p;
  }
}
