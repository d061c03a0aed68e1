/* SPDX-License-Identifier: Apache-2.0 */
/* histogram.c - counts of values in bins that widen by doubling. */
#include "calib/histogram.h"
#include <math.h>
#include <string.h>

typedef struct extremes {
  float low, high;
  uint32_t most_bits; /* of magnitudes: above those of infinity it is a NaN */
} extremes;

/* Several lanes, so that compilers make vectors of them. */
static extremes find_extremes(const float *values, int64_t count) {
  enum { LANES = 16 };
  float low[LANES], high[LANES];
  uint32_t most[LANES] = {0};
  for (int k = 0; k < LANES; ++k) low[k] = high[k] = 0;
  int64_t i = 0;
  for (; i + LANES <= count; i += LANES)
    for (int k = 0; k < LANES; ++k) {
      uint32_t bits;
      const float x = values[i + k];
      memcpy(&bits, &x, sizeof bits);
      bits &= 0x7fffffffu;
      low[k] = x < low[k] ? x : low[k];
      high[k] = x > high[k] ? x : high[k];
      most[k] = bits > most[k] ? bits : most[k];
    }
  for (; i < count; ++i) {
    uint32_t bits;
    memcpy(&bits, &values[i], sizeof bits);
    bits &= 0x7fffffffu;
    low[0] = values[i] < low[0] ? values[i] : low[0];
    high[0] = values[i] > high[0] ? values[i] : high[0];
    most[0] = bits > most[0] ? bits : most[0];
  }
  extremes all = {low[0], high[0], most[0]};
  for (int k = 1; k < LANES; ++k) {
    all.low = fminf(all.low, low[k]);
    all.high = fmaxf(all.high, high[k]);
    all.most_bits = most[k] > all.most_bits ? most[k] : all.most_bits;
  }
  return all;
}

/* Twice the reach: both halves move towards the middle. */
static void widen(hn_histogram *h) {
  for (int i = 0; i < HN_BIN_ZERO / 2; ++i) {
    const int up = HN_BIN_ZERO + 2 * i, down = HN_BIN_ZERO - 1 - 2 * i;
    const uint64_t above = h->bins[up] + h->bins[up + 1], below = h->bins[down] + h->bins[down - 1];
    h->bins[HN_BIN_ZERO + i] = above;
    h->bins[HN_BIN_ZERO - 1 - i] = below;
  }
  memset(h->bins, 0, (HN_BIN_ZERO / 2) * sizeof *h->bins);
  memset(h->bins + HN_BIN_ZERO + HN_BIN_ZERO / 2, 0, (HN_BIN_ZERO / 2) * sizeof *h->bins);
  h->reach *= 2;
}

/* Puts values into their bins; returns how many are 0, which are in none. Each of four tables takes each fourth value:
 * many values are equal, and to count one up again at once waits for its store. */
static uint64_t count_values(hn_histogram *h, const float *values, int64_t count) {
  enum { LANES = 16, TABLES = 4, CHUNK = 1 << 30 };
  const double each = HN_BIN_ZERO / h->reach;
  uint32_t tables[TABLES][HN_BINS + 1]; /* the last bin: what lies at the reach itself */
  uint64_t zeros = 0;
  for (int64_t first = 0; first < count; first += CHUNK) {
    const int64_t end = first + CHUNK < count ? first + CHUNK : count;
    int64_t i = first;
    memset(tables, 0, sizeof tables);
    for (; i + LANES <= end; i += LANES) {
      int at[LANES];
      uint32_t zero = 0;
      for (int k = 0; k < LANES; ++k) { /* it is positive: this rounds down */
        at[k] = (int)((double)values[i + k] * each + HN_BIN_ZERO);
        zero += values[i + k] == 0;
      }
      for (int k = 0; k < LANES; ++k) ++tables[k % TABLES][at[k]];
      zeros += zero;
    }
    for (; i < end; ++i) {
      ++tables[0][(int)((double)values[i] * each + HN_BIN_ZERO)];
      zeros += values[i] == 0;
    }
    for (int bin = 0; bin <= HN_BINS; ++bin)
      for (int t = 0; t < TABLES; ++t) h->bins[bin < HN_BINS ? bin : HN_BINS - 1] += tables[t][bin];
  }
  h->bins[HN_BIN_ZERO] -= zeros;
  return zeros;
}

bool hn_histogram_add(hn_histogram *h, const float *values, int64_t count, int64_t *out_at) {
  const extremes found = find_extremes(values, count);
  *out_at = -1;
  if (found.most_bits >= 0x7f800000u) {
    for (int64_t i = 0; i < count && *out_at < 0; ++i)
      if (!isfinite(values[i])) *out_at = i;
    return false;
  }
  const double most = fmax((double)found.high, -(double)found.low);
  if (h->reach == 0) h->reach = fmax(most, 0x1p-126);
  while (most > h->reach) widen(h);
  h->zeros += count_values(h, values, count);
  h->count += (uint64_t)count;
  h->low = fmin(h->low, (double)found.low);
  h->high = fmax(h->high, (double)found.high);
  return true;
}

double hn_bin_width(const hn_histogram *h) { return h->reach / HN_BIN_ZERO; }

double hn_bin_centre(const hn_histogram *h, int bin) {
  const double width = hn_bin_width(h);
  return fmin(fmax((bin - HN_BIN_ZERO + 0.5) * width, h->low), h->high);
}
