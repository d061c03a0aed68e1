/* SPDX-License-Identifier: Apache-2.0 */
/* peaks.h - a row of numbers that finds its next large one in logarithmic time: a tree of maxima in an array. */
#ifndef HN_BASE_PEAKS_H
#define HN_BASE_PEAKS_H

#include "base/memory.h"

typedef struct hn_peaks {
  int count, leaves; /* leaves: the next power of two */
  uint64_t *most;    /* [1]: of all; below node n are 2n and 2n + 1 */
} hn_peaks;

bool hn_peaks_init(hn_peaks *peaks, hn_arena *arena, int count); /* all 0; false when out of memory */
void hn_peaks_set(hn_peaks *peaks, int at, uint64_t value);
int hn_peaks_next(const hn_peaks *peaks, int from, uint64_t least); /* the first at or after from; count: none */

#endif
