/* SPDX-License-Identifier: Apache-2.0 */
/* take.c - elements of a row by their places: all indices of a block are checked before one is used, so that neither
 * loop has a branch for each. Vectors of loads (gathers) take longer than the loads do. */
/* isa: avx2 avx512 */
#include "kernels/cpu/copy/take.h"
#include "kernels/cpu/simd.inc.h"

enum { BLOCK = 256 };

/* Where, behind place `at`, which is known to be. */
static int64_t first_outside(const void *indices, bool wide, int64_t at, int64_t extent) {
  for (int64_t i = 0;; ++i) {
    const int64_t index = wide ? ((const int64_t *)indices)[at + i] : ((const int32_t *)indices)[at + i];
    if (index < -extent || index >= extent) return i;
  }
}

HN_INLINE void move(const hn_take_args *a, void *to, int64_t at, int64_t place, const int bytes) {
  if (bytes == 4)
    ((uint32_t *)to)[at] = ((const uint32_t *)a->from)[place];
  else
    ((uint64_t *)to)[at] = ((const uint64_t *)a->from)[place];
}

HN_INLINE int64_t take(const hn_take_args *a, const void *indices, const bool wide, void *to, const int bytes,
                       int64_t count) {
  const int64_t *far = indices;
  const int32_t *near = indices;
  const int64_t extent = a->extent;
  int32_t place[BLOCK];
  for (int64_t at = 0, n; at < count; at += n) {
    n = count - at < BLOCK ? count - at : BLOCK;
    int64_t outside = 0;
    for (int64_t i = 0; i < n; ++i) {
      const int64_t index = wide ? far[at + i] : (int64_t)near[at + i], from_begin = index < 0 ? index + extent : index;
      place[i] = (int32_t)from_begin;
      outside |= from_begin | (extent - 1 - from_begin); /* below zero where one of them is */
    }
    if (outside < 0) return at + first_outside(indices, wide, at, extent);
    int64_t i = 0;
    for (; n - i >= 8; i += 8) {
      HN_UNROLL
      for (int64_t j = i; j < i + 8; ++j) move(a, to, at + j, place[j], bytes);
    }
    for (; i < n; ++i) move(a, to, at + i, place[i], bytes);
  }
  return count;
}

int64_t HN_SIMD_NAME(hn_take)(const hn_take_args *a, const void *indices, void *to, int64_t count) {
  if (a->bytes == 4) return a->wide ? take(a, indices, true, to, 4, count) : take(a, indices, false, to, 4, count);
  return a->wide ? take(a, indices, true, to, 8, count) : take(a, indices, false, to, 8, count);
}
