/* SPDX-License-Identifier: Apache-2.0 */
/* walk.inc.h - walking over outer dimensions with two strides: one division a dimension at the start, none after. */
#ifndef HN_KERNELS_CPU_WALK_INC_H
#define HN_KERNELS_CPU_WALK_INC_H

#include <stdint.h>

enum { HN_WALK_RANK = 8 };

typedef struct walk {
  const int64_t *dim, *from, *to; /* extents and strides */
  int64_t index[HN_WALK_RANK], at_from, at_to;
  int32_t rank;
} walk;

static inline walk walk_start(int32_t rank, const int64_t *dim, const int64_t *from, const int64_t *to, int64_t flat) {
  walk w = {.dim = dim, .from = from, .to = to, .rank = rank};
  for (int32_t d = rank - 1; d >= 0; --d) {
    w.index[d] = flat % dim[d];
    flat /= dim[d];
    w.at_from += w.index[d] * from[d];
    w.at_to += w.index[d] * to[d];
  }
  return w;
}

static inline void walk_next(walk *w) {
  for (int32_t d = w->rank - 1; d >= 0; --d) {
    w->at_from += w->from[d];
    w->at_to += w->to[d];
    if (++w->index[d] < w->dim[d]) break;
    w->at_from -= w->dim[d] * w->from[d];
    w->at_to -= w->dim[d] * w->to[d];
    w->index[d] = 0;
  }
}

#endif
