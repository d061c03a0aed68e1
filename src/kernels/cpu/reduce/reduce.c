/* SPDX-License-Identifier: Apache-2.0 */
/* reduce.c - the reductions, specialised for each fold by inlining. */
/* isa: c avx2 avx512 */
/* held: f32 bf16 f16 f64 */
#include "kernels/cpu/reduce/reduce.h"
#include "kernels/cpu/fold.inc.h"

HN_INLINE vf load_columns(const held *p, int64_t n) { return n == HN_LANES ? h_load(p) : h_load_part(p, n); }

/* One vector of n columns. Two accumulators; emptied into the total every FOLD_CHUNK elements of the axis. */
HN_INLINE vf reduce_columns(int fold, const held *x, int64_t axis, int64_t inner, int64_t n) {
  const vf start = v_set(fold_identity(fold));
  fold_total t = {start, v_set(0.0F)};
  for (int64_t i = 0; i < axis;) {
    const int64_t last = axis - i < FOLD_CHUNK ? axis : i + FOLD_CHUNK;
    vf a0 = start, a1 = start;
    for (; i + 1 < last; i += 2) {
      a0 = fold_take(fold, a0, load_columns(x + i * inner, n));
      a1 = fold_take(fold, a1, load_columns(x + (i + 1) * inner, n));
    }
    if (i < last) {
      a0 = fold_take(fold, a0, load_columns(x + i * inner, n));
      ++i;
    }
    fold_total_add(fold, &t, fold_join(fold, a0, a1));
  }
  return t.total;
}

HN_INLINE vf finish(hn_reduce_kind kind, vf v, int64_t axis) {
  if (kind == HN_REDUCE_MEAN) return v / v_set((real)axis);
  return kind == HN_REDUCE_L2 ? v_sqrt(v) : v;
}

HN_INLINE void reduce_units(int fold, const hn_reduce_args *a, int64_t begin, int64_t end) {
  const int64_t blocks = (a->inner + HN_REDUCE_COLUMNS - 1) / HN_REDUCE_COLUMNS;
  const held *x = a->x;
  held *y = a->y;
  for (int64_t unit = begin; unit < end; ++unit) {
    if (a->inner == 1) {
      const vf v = v_set(fold_row(fold, x + unit * a->axis, a->axis, 0.0F));
      h_store_part(y + unit, 1, finish(a->kind, v, a->axis));
      continue;
    }
    const int64_t o = unit / blocks, first = unit % blocks * HN_REDUCE_COLUMNS;
    const int64_t last = first + HN_REDUCE_COLUMNS < a->inner ? first + HN_REDUCE_COLUMNS : a->inner;
    for (int64_t c = first; c < last; c += HN_LANES) {
      const int64_t n = last - c < HN_LANES ? last - c : HN_LANES;
      const vf v = finish(a->kind, reduce_columns(fold, x + o * a->axis * a->inner + c, a->axis, a->inner, n), a->axis);
      if (n == HN_LANES)
        h_store(y + o * a->inner + c, v);
      else
        h_store_part(y + o * a->inner + c, n, v);
    }
  }
}

void HN_HELD_NAME(hn_reduce)(const hn_reduce_args *args, int64_t begin, int64_t end) {
  switch (args->kind) {
  case HN_REDUCE_SUM:
  case HN_REDUCE_MEAN: reduce_units(FOLD_SUM, args, begin, end); break;
  case HN_REDUCE_MAX: reduce_units(FOLD_MAX, args, begin, end); break;
#if HN_HELD_IS_REAL /* the others have no rows */
  case HN_REDUCE_MIN: reduce_units(FOLD_MIN, args, begin, end); break;
  case HN_REDUCE_PRODUCT: reduce_units(FOLD_PRODUCT, args, begin, end); break;
  case HN_REDUCE_L1: reduce_units(FOLD_SUM_ABS, args, begin, end); break;
  case HN_REDUCE_SUM_SQUARE:
  case HN_REDUCE_L2: reduce_units(FOLD_SUM_SQUARE, args, begin, end); break;
#else
  default: break;
#endif
  }
}
