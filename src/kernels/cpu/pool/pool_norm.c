/* SPDX-License-Identifier: Apache-2.0 */
/* pool_norm.c - p-norms of windows and of whole planes, plain f32: the squares and sizes that p of 2 and 1 mean are
 * folds of their own, other powers are products. */
/* isa: c avx2 avx512 */
#include "kernels/cpu/pool/plain.inc.h"

void HN_HELD_NAME(hn_pool_norm)(const hn_pool_args *args, int64_t begin, int64_t end) {
  if (args->power == 2)
    plain_rows(FOLD_SUM_SQUARE, args, begin, end);
  else if (args->power == 1)
    plain_rows(FOLD_SUM_ABS, args, begin, end);
  else
    plain_rows(POOL_POWER, args, begin, end);
}

HN_INLINE real sum_of_powers(const held *x, int64_t count, int64_t power) {
  const vf start = v_set(0);
  fold_total t = {start, start};
  for (int64_t i = 0; i < count;) {
    const int64_t last = at_most(count, i + FOLD_CHUNK * HN_LANES);
    vf v = start;
    for (; last - i >= HN_LANES; i += HN_LANES) v = v + pool_power(h_load(x + i), power);
    if (i < last) v = v + pool_power(h_load_part(x + i, last - i), power);
    fold_total_add(FOLD_SUM, &t, v);
    i = last;
  }
  return v_sum(t.total);
}

void HN_HELD_NAME(hn_pool_global_norm)(const hn_pool_global_args *a, int64_t begin, int64_t end) {
  for (int64_t plane = begin; plane < end; ++plane) {
    const held *x = (const held *)a->x + plane * a->pixels;
    held *y = (held *)a->y + plane;
    if (a->power == 2)
      h_store_one(y, HN_REAL(sqrt)(fold_row(FOLD_SUM_SQUARE, x, a->pixels, 0)));
    else if (a->power == 1)
      h_store_one(y, fold_row(FOLD_SUM_ABS, x, a->pixels, 0));
    else
      h_store_one(y, HN_REAL(pow)(sum_of_powers(x, a->pixels, a->power), 1 / (real)a->power));
  }
}
