/* SPDX-License-Identifier: Apache-2.0 */
/* rounding.c - second moments, their factor, and rounding by it. Everything is in floats, four rows at a time: what is
 * asked of it is a direction, not digits. */
#include "calib/rounding.h"
#include <math.h>
#include <string.h>

enum { LANES = 16, BLOCK = 64 };

/* y[0..n) += a * x[0..n) */
static void add_scaled(float *restrict y, const float *restrict x, float a, int64_t n) {
  int64_t i = 0;
  for (; i + LANES <= n; i += LANES)
    for (int k = 0; k < LANES; ++k) y[i + k] += a * x[i + k];
  for (; i < n; ++i) y[i] += a * x[i];
}

/* y += sum of four rows of x, each times its own a: y is read and written once for them. */
static void add_four(float *restrict y, const float *restrict x, int64_t step, const float a[4], int64_t n) {
  const float *x1 = x + step, *x2 = x1 + step, *x3 = x2 + step;
  int64_t i = 0;
  for (; i + LANES <= n; i += LANES)
    for (int k = 0; k < LANES; ++k)
      y[i + k] += a[0] * x[i + k] + a[1] * x1[i + k] + a[2] * x2[i + k] + a[3] * x3[i + k];
  for (; i < n; ++i) y[i] += a[0] * x[i] + a[1] * x1[i] + a[2] * x2[i] + a[3] * x3[i];
}

void hn_add_products(const float *x, int64_t rows, int64_t n, float *sums) {
  int64_t r = 0;
  for (; r + 4 <= rows; r += 4) {
    const float *at = x + r * n;
    for (int64_t i = 0; i < n; ++i) {
      const float a[4] = {at[i], at[n + i], at[2 * n + i], at[3 * n + i]};
      if (a[0] != 0 || a[1] != 0 || a[2] != 0 || a[3] != 0) add_four(sums + i * n, at, n, a, i + 1);
    }
  }
  for (; r < rows; ++r)
    for (int64_t i = 0; i < n; ++i) add_scaled(sums + i * n, x + r * n, x[r * n + i], i + 1);
}

/* a = L L^T, L in the lower triangle. */
static bool cholesky(float *a, int64_t n) {
  for (int64_t begin = 0; begin < n; begin += BLOCK) {
    const int64_t end = begin + BLOCK < n ? begin + BLOCK : n;
    for (int64_t i = begin; i < n; ++i) {
      float *row = a + i * n;
      for (int64_t j = begin; j < end && j <= i; ++j) {
        double sum = (double)row[j];
        for (int64_t k = begin; k < j; ++k) sum -= (double)row[k] * (double)a[j * n + k];
        if (i == j && !(sum > 0)) return false;
        row[j] = i == j ? (float)sqrt(sum) : (float)(sum / (double)a[j * n + j]);
      }
    }
    for (int64_t i = end; i < n; ++i) /* what is left, less this block's part */
      for (int64_t j = end; j <= i; ++j) {
        float sums[LANES] = {0};
        float sum = 0;
        int64_t k = begin;
        for (; k + LANES <= end; k += LANES)
          for (int l = 0; l < LANES; ++l) sums[l] += a[i * n + k + l] * a[j * n + k + l];
        for (; k < end; ++k) sum += a[i * n + k] * a[j * n + k];
        for (int l = 0; l < LANES; ++l) sum += sums[l];
        a[i * n + j] -= sum;
      }
  }
  return true;
}

/* The inverse of a lower triangle, into another. */
static void invert(const float *lower, int64_t n, float *out) {
  memset(out, 0, (size_t)(n * n) * sizeof *out);
  for (int64_t i = 0; i < n; ++i) {
    float *row = out + i * n;
    for (int64_t k = 0; k < i; ++k)
      if (lower[i * n + k] != 0) add_scaled(row, out + k * n, -lower[i * n + k], k + 1);
    const float by = 1 / lower[i * n + i];
    for (int64_t k = 0; k < i; ++k) row[k] *= by;
    row[i] = by;
  }
}

/* With the order of rows and columns turned round, a lower factor of the sums is an upper factor in the old order:
 * sums = V V^T, V upper, so the inverse is (V^-1)^T V^-1 with V^-1 upper: the factor that is looked for. */
bool hn_error_factor(float *sums, int64_t n, double damping, float *scratch) {
  double mean = 0;
  for (int64_t i = 0; i < n; ++i) mean += (double)sums[i * n + i] / (double)n;
  if (!(mean > 0)) return false;
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j <= i; ++j) scratch[(n - 1 - j) * n + n - 1 - i] = sums[i * n + j];
  for (int64_t i = 0; i < n; ++i) scratch[i * n + i] += (float)(damping * mean);
  if (!cholesky(scratch, n)) return false;
  invert(scratch, n, sums);
  for (int64_t i = 0; i < n * n / 2; ++i) { /* turned back: element [i][j] from [n-1-i][n-1-j] */
    const float other = sums[n * n - 1 - i];
    sums[n * n - 1 - i] = sums[i];
    sums[i] = other;
  }
  return true;
}

static int8_t nearest(float x, float scale, int most) {
  const float byte = nearbyintf(x / scale);
  return (int8_t)(byte < (float)-most ? -most : byte > (float)most ? most : (int)byte);
}

void hn_round_by_error(float *w, int64_t n, float scale, int most, const float *factor, int8_t *bytes) {
  for (int64_t k = 0; k < n; ++k) {
    const float *row = factor + k * n;
    bytes[k] = nearest(w[k], scale, most);
    const float error = (w[k] - (float)bytes[k] * scale) / row[k];
    if (error != 0) add_scaled(w + k + 1, row + k + 1, -error, n - k - 1);
  }
}
