/* SPDX-License-Identifier: Apache-2.0 */
/* peaks.c - a tree of maxima in an array. */
#include "base/peaks.h"

bool hn_peaks_init(hn_peaks *peaks, hn_arena *arena, int count) {
  int leaves = 1;
  while (leaves < count) leaves *= 2;
  *peaks = (hn_peaks){.count = count, .leaves = leaves, .most = HN_NEW(arena, uint64_t, 2 * (size_t)leaves)};
  return peaks->most != NULL;
}

void hn_peaks_set(hn_peaks *peaks, int at, uint64_t value) {
  size_t n = (size_t)peaks->leaves + (size_t)at;
  peaks->most[n] = value;
  for (n /= 2; n > 0; n /= 2) {
    const uint64_t a = peaks->most[2 * n], b = peaks->most[2 * n + 1];
    peaks->most[n] = a > b ? a : b;
  }
}

int hn_peaks_next(const hn_peaks *peaks, int from, uint64_t least) {
  if (from >= peaks->count) return peaks->count;
  size_t n = (size_t)peaks->leaves + (size_t)from;
  while (peaks->most[n] < least) { /* up, to the nearest subtree on the right that has one */
    while (n & 1) n /= 2;
    if (n == 0) return peaks->count;
    ++n;
  }
  while (n < (size_t)peaks->leaves) n = peaks->most[2 * n] >= least ? 2 * n : 2 * n + 1;
  const int at = (int)(n - (size_t)peaks->leaves);
  return at < peaks->count ? at : peaks->count;
}
