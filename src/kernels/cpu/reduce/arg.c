/* SPDX-License-Identifier: Apache-2.0 */
/* arg.c - the places of extremes: a lane keeps the best element that it has met, and where. */
/* isa: c avx2 avx512 */
#include "kernels/cpu/reduce/arg.h"
#include "kernels/cpu/simd.inc.h"

enum { COLUMNS = HN_LANES == 16 ? 8 : 4 }; /* vectors side by side: whole lines of each element of the axis */

typedef struct {
  vf best;
  vi at;
} place;

/* Elements of x come behind those of p. */
HN_INLINE void meet(place *p, vf x, vi at, bool largest, bool last) {
  const vf low = largest ? p->best : x, high = largest ? x : p->best;
  const vm takes = last ? vm_or(v_le(low, high), v_ne(x, x)) : vm_not(vm_or(v_le(high, low), v_ne(p->best, p->best)));
  p->best = v_select(takes, x, p->best);
  p->at = vi_of(v_select(takes, vf_of(at), vf_of(p->at)));
}

/* Whether element a at place `i` is the one that is meant, not b at place `j`. */
HN_INLINE bool precedes(float a, int32_t i, float b, int32_t j, bool largest, bool last) {
  if (isnan(a) != isnan(b)) return isnan(a);
  if (a == b || isnan(a)) return last ? i > j : i < j;
  return largest ? a > b : a < b;
}

/* Two vectors in turns, so that one's comparison does not wait for the other's. */
HN_INLINE int64_t best_of_row(const float *x, int64_t axis, bool largest, bool last) {
  float best[2 * HN_LANES] = {x[0]};
  int32_t at[2 * HN_LANES] = {0}, steps[HN_LANES];
  int met = 1;
  int64_t i = 1;
  if (axis >= 2 * HN_LANES) {
    for (int l = 0; l < HN_LANES; ++l) steps[l] = l;
    const vi step = vi_load(steps);
    place even = {v_load(x), step}, odd = {v_load(x + HN_LANES), vi_add(step, vi_set(HN_LANES))};
    vi places = step;
    for (i = 2 * HN_LANES; axis - i >= 2 * HN_LANES; i += 2 * HN_LANES) {
      places = vi_add(places, vi_set(2 * HN_LANES));
      meet(&even, v_load(x + i), places, largest, last);
      meet(&odd, v_load(x + i + HN_LANES), vi_add(places, vi_set(HN_LANES)), largest, last);
    }
    if (axis - i >= HN_LANES) meet(&even, v_load(x + i), vi_add(step, vi_set((int32_t)i)), largest, last);
    /* Some of the last ones again, each further on than what its lane has met. */
    i = axis - HN_LANES;
    meet(&odd, v_load(x + i), vi_add(step, vi_set((int32_t)i)), largest, last);
    v_store(best, even.best), v_store(best + HN_LANES, odd.best);
    vi_store(at, even.at), vi_store(at + HN_LANES, odd.at);
    met = 2 * HN_LANES, i = axis;
  }
  float most = best[0];
  int32_t where = at[0];
  for (int l = 1; l < met; ++l)
    if (precedes(best[l], at[l], most, where, largest, last)) most = best[l], where = at[l];
  for (; i < axis; ++i)
    if (precedes(x[i], (int32_t)i, most, where, largest, last)) most = x[i], where = (int32_t)i;
  return where;
}

/* `vectors` vectors of columns side by side, `lanes` of the last one are there. */
HN_INLINE void best_of_columns(const hn_arg_args *a, const float *x, int64_t *y, int vectors, int64_t lanes,
                               bool largest, bool last) {
  place p[COLUMNS];
  int32_t at[HN_LANES];
  for (int v = 0; v < vectors; ++v) {
    p[v].best = v < vectors - 1 || lanes == HN_LANES ? v_load(x + v * HN_LANES) : v_load_part(x + v * HN_LANES, lanes);
    p[v].at = vi_set(0);
  }
  for (int64_t i = 1; i < a->axis; ++i) {
    const float *from = x + i * a->inner;
    for (int v = 0; v < vectors; ++v) {
      const bool whole = v < vectors - 1 || lanes == HN_LANES;
      const vf next = whole ? v_load(from + v * HN_LANES) : v_load_part(from + v * HN_LANES, lanes);
      meet(&p[v], next, vi_set((int32_t)i), largest, last);
    }
  }
  for (int v = 0; v < vectors; ++v) {
    vi_store(at, p[v].at);
    for (int64_t l = 0; l < (v < vectors - 1 ? HN_LANES : lanes); ++l) y[v * HN_LANES + l] = at[l];
  }
}

HN_INLINE void best_of_rows(const hn_arg_args *a, int64_t begin, int64_t end, bool largest, bool last) {
  const float *all = a->x;
  if (a->inner == 1) {
    for (int64_t row = begin; row < end; ++row) a->y[row] = best_of_row(all + row * a->axis, a->axis, largest, last);
    return;
  }
  for (int64_t row = begin, count; row < end; row += count) {
    const int64_t outer = row / a->inner, column = row - outer * a->inner;
    const float *x = all + outer * a->axis * a->inner + column;
    count = a->inner - column < end - row ? a->inner - column : end - row;
    if (count >= COLUMNS * HN_LANES) {
      count = COLUMNS * HN_LANES;
      best_of_columns(a, x, a->y + row, COLUMNS, HN_LANES, largest, last);
    } else {
      count = count < HN_LANES ? count : HN_LANES;
      best_of_columns(a, x, a->y + row, 1, count, largest, last);
    }
  }
}

void HN_SIMD_NAME(hn_arg_f32)(const hn_arg_args *args, int64_t begin, int64_t end) {
  if (args->largest && !args->last)
    best_of_rows(args, begin, end, true, false);
  else if (args->largest)
    best_of_rows(args, begin, end, true, true);
  else if (!args->last)
    best_of_rows(args, begin, end, false, false);
  else
    best_of_rows(args, begin, end, false, true);
}

/* Two vectors at a time are looked at as one. */
HN_INLINE int64_t first_better(const float *x, int64_t begin, int64_t end, float bound, bool largest) {
  const vf b = v_set(bound);
  int64_t i = begin;
  for (; end - i >= 2 * HN_LANES; i += 2 * HN_LANES) {
    const vf p = v_load(x + i), q = v_load(x + i + HN_LANES);
    const vm none =
        largest ? vm_and(v_le(p, b), v_le(q, b)) : vm_and(vm_or(v_le(b, p), v_ne(p, p)), vm_or(v_le(b, q), v_ne(q, q)));
    if (!vm_all(none)) break;
  }
  for (; i < end; ++i)
    if (largest ? !(x[i] <= bound) : x[i] < bound) return i;
  return end;
}

int64_t HN_SIMD_NAME(hn_better_f32)(const void *all, int64_t begin, int64_t end, int64_t than, bool largest) {
  const float *x = all, bound = x[than];
  int64_t i = begin;
  if (!isnan(bound))
    return largest ? first_better(x, begin, end, bound, true) : first_better(x, begin, end, bound, false);
  while (i < end && (largest || isnan(x[i]))) ++i; /* NaN is the largest */
  return i;
}
