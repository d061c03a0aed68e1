/* SPDX-License-Identifier: Apache-2.0 */
/* fold.inc.h - folds a contiguous row of numbers into one: sums, products, extremes.
 *
 * Four vector accumulators hide the add's latency. Every 64 vectors they are emptied into a total that is kept
 * with Kahan's correction, so the error of a sum does not grow with the length of the row. The order depends on
 * the row's length alone. */
#ifndef HN_KERNELS_CPU_FOLD_INC_H
#define HN_KERNELS_CPU_FOLD_INC_H

#include "kernels/cpu/held.inc.h"

enum { FOLD_SUM, FOLD_SUM_ABS, FOLD_SUM_SQUARE, FOLD_PRODUCT, FOLD_MAX, FOLD_MIN };
enum { FOLD_CHUNK = 64 };

HN_INLINE real fold_identity(int fold) {
  return fold == FOLD_MAX ? -INFINITY : fold == FOLD_MIN ? INFINITY : fold == FOLD_PRODUCT ? 1.0F : 0.0F;
}
HN_INLINE int fold_is_sum(int fold) { return fold <= FOLD_SUM_SQUARE; }
HN_INLINE vf fold_take(int fold, vf so_far, vf x) {
  switch (fold) {
  case FOLD_SUM: return so_far + x;
  case FOLD_SUM_ABS: return so_far + v_abs(x);
  case FOLD_SUM_SQUARE: return so_far + x * x;
  case FOLD_PRODUCT: return so_far * x;
  case FOLD_MAX: return v_max_nan(so_far, x);
  default: return v_min_nan(so_far, x);
  }
}
/* Joins two partial results; for the sums of squares and sizes that is a plain add. */
HN_INLINE vf fold_join(int fold, vf a, vf b) { return fold_is_sum(fold) ? a + b : fold_take(fold, a, b); }

typedef struct {
  vf total, lost; /* lost: what rounding has taken from total so far */
} fold_total;

HN_INLINE void fold_total_add(int fold, fold_total *t, vf x) {
  if (!fold_is_sum(fold)) {
    t->total = fold_take(fold, t->total, x);
    return;
  }
  const vf owed = x - t->lost;
  const vf sum = t->total + owed;
  const vf lost = (sum - t->total) - owed;
  /* An infinite total loses nothing: inf - inf would turn it into NaN. */
  t->lost = v_select(v_lt(v_abs(sum), v_set(INFINITY)), lost, v_set(0.0F));
  t->total = sum;
}

HN_INLINE real fold_lanes(int fold, vf v) {
  if (fold_is_sum(fold)) return v_sum(v);
  if (fold == FOLD_PRODUCT) return v_product(v);
  return fold == FOLD_MAX ? v_largest(v) : -v_largest(v_negate(v));
}

/* Folds x[i] - center. The lanes behind the row's end hold what leaves the fold unchanged. */
HN_INLINE real fold_row(int fold, const held *x, int64_t n, real center) {
  const real none = fold_identity(fold);
  const vf c = v_set(center), start = v_set(none);
  fold_total t = {start, v_set(0.0F)};
  int64_t i = 0;
  while (n - i >= 4 * HN_LANES) {
    const int64_t left = (n - i) / (4 * HN_LANES), steps = left < FOLD_CHUNK / 4 ? left : FOLD_CHUNK / 4;
    vf a0 = start, a1 = start, a2 = start, a3 = start;
    for (int64_t s = 0; s < steps; ++s, i += 4 * HN_LANES) {
      a0 = fold_take(fold, a0, h_load(x + i) - c);
      a1 = fold_take(fold, a1, h_load(x + i + HN_LANES) - c);
      a2 = fold_take(fold, a2, h_load(x + i + 2 * HN_LANES) - c);
      a3 = fold_take(fold, a3, h_load(x + i + 3 * HN_LANES) - c);
    }
    fold_total_add(fold, &t, fold_join(fold, fold_join(fold, a0, a1), fold_join(fold, a2, a3)));
  }
  vf rest = start;
  for (; n - i >= HN_LANES; i += HN_LANES) rest = fold_take(fold, rest, h_load(x + i) - c);
  if (i < n) rest = fold_take(fold, rest, h_load_part_or(x + i, n - i, none + center) - c);
  fold_total_add(fold, &t, rest);
  return fold_lanes(fold, t.total);
}

#endif
