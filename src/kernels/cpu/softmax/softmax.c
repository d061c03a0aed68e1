/* SPDX-License-Identifier: Apache-2.0 */
/* softmax.c - softmax: maximum, exponentials with their sum, scaling. */
/* isa: c avx2 avx512 */
/* held: f32 bf16 f16 f64 */
#include "kernels/cpu/softmax/softmax.h"
#include "kernels/cpu/fold.inc.h"
#include "kernels/cpu/vecmath.inc.h"

/* Writes exp(x - top) to y where y is not NULL, and returns the sum of it. Only floats can keep it: in a narrower type
 * it would be rounded before it is scaled, and is computed twice. */
HN_INLINE real exp_row(const held *x, held *y, int64_t n, real top) {
  const vf t = v_set(top);
  vf a0 = v_set(0.0F), a1 = a0;
  int64_t i = 0;
  for (; n - i >= 2 * HN_LANES; i += 2 * HN_LANES) {
    const vf e0 = v_exp(h_load(x + i) - t), e1 = v_exp(h_load(x + i + HN_LANES) - t);
    if (y) {
      h_store(y + i, e0);
      h_store(y + i + HN_LANES, e1);
    }
    a0 += e0;
    a1 += e1;
  }
  a0 += a1;
  for (; n - i >= HN_LANES; i += HN_LANES) {
    const vf e = v_exp(h_load(x + i) - t);
    if (y) h_store(y + i, e);
    a0 += e;
  }
  if (i < n) {
    const vf e = v_exp(h_load_part_or(x + i, n - i, -INFINITY) - t);
    if (y) h_store_part(y + i, n - i, e);
    a0 += e;
  }
  return v_sum(a0);
}

HN_INLINE void softmax_row(const held *x, held *y, int64_t n) {
  const real top = fold_row(FOLD_MAX, x, n, 0.0F);
  const vf t = v_set(top), scale = v_set(1 / exp_row(x, HN_HELD_IS_REAL ? y : NULL, n, top));
  int64_t i = 0;
  for (; n - i >= HN_LANES; i += HN_LANES)
    h_store(y + i, (HN_HELD_IS_REAL ? h_load(y + i) : v_exp(h_load(x + i) - t)) * scale);
  if (i == n) return;
  const vf last = HN_HELD_IS_REAL ? h_load_part(y + i, n - i) : v_exp(h_load_part(x + i, n - i) - t);
  h_store_part(y + i, n - i, last * scale);
}

HN_INLINE void log_softmax_row(const held *x, held *y, int64_t n) {
  const real top = fold_row(FOLD_MAX, x, n, 0.0F);
  const vf t = v_set(top), log_sum = v_log(v_set(exp_row(x, NULL, n, top)));
  int64_t i = 0;
  for (; n - i >= HN_LANES; i += HN_LANES) h_store(y + i, (h_load(x + i) - t) - log_sum);
  if (i < n) h_store_part(y + i, n - i, (h_load_part(x + i, n - i) - t) - log_sum);
}

HN_INLINE vf load_columns(const held *p, int64_t n) { return n == HN_LANES ? h_load(p) : h_load_part(p, n); }
HN_INLINE void store_columns(held *p, int64_t n, vf v) {
  if (n == HN_LANES)
    h_store(p, v);
  else
    h_store_part(p, n, v);
}

/* One vector of n columns, walked down the axis three times. */
HN_INLINE void softmax_columns(const held *x, held *y, int64_t axis, int64_t inner, int64_t n, int take_log) {
  vf top = v_set(-INFINITY), sum = v_set(0.0F);
  for (int64_t i = 0; i < axis; ++i) top = v_max_nan(top, load_columns(x + i * inner, n));
  for (int64_t i = 0; i < axis; ++i) {
    const vf e = v_exp(load_columns(x + i * inner, n) - top);
    if (HN_HELD_IS_REAL && !take_log) store_columns(y + i * inner, n, e);
    sum += e;
  }
  const vf last = take_log ? v_log(sum) : v_set(1.0F) / sum;
  for (int64_t i = 0; i < axis; ++i) {
    const vf from = load_columns((HN_HELD_IS_REAL && !take_log ? y : x) + i * inner, n);
    const vf v = take_log ? (from - top) - last : (HN_HELD_IS_REAL ? from : v_exp(from - top)) * last;
    store_columns(y + i * inner, n, v);
  }
}

HN_INLINE void softmax_units(const hn_softmax_args *a, int64_t begin, int64_t end, int take_log) {
  const int64_t blocks = (a->inner + HN_SOFTMAX_COLUMNS - 1) / HN_SOFTMAX_COLUMNS;
  const held *x = a->x;
  held *y = a->y;
  for (int64_t unit = begin; unit < end; ++unit) {
    if (a->inner == 1) {
      if (take_log)
        log_softmax_row(x + unit * a->axis, y + unit * a->axis, a->axis);
      else
        softmax_row(x + unit * a->axis, y + unit * a->axis, a->axis);
      continue;
    }
    const int64_t first = unit % blocks * HN_SOFTMAX_COLUMNS, base = unit / blocks * a->axis * a->inner;
    const int64_t last = first + HN_SOFTMAX_COLUMNS < a->inner ? first + HN_SOFTMAX_COLUMNS : a->inner;
    for (int64_t c = first; c < last; c += HN_LANES) {
      const int64_t n = last - c < HN_LANES ? last - c : HN_LANES;
      softmax_columns(x + base + c, y + base + c, a->axis, a->inner, n, take_log);
    }
  }
}

void HN_HELD_NAME(hn_softmax)(const hn_softmax_args *args, int64_t begin, int64_t end) {
  softmax_units(args, begin, end, 0);
}

void HN_HELD_NAME(hn_log_softmax)(const hn_softmax_args *args, int64_t begin, int64_t end) {
  softmax_units(args, begin, end, 1);
}
