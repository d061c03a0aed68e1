/* SPDX-License-Identifier: Apache-2.0 */
/* softmax_f32.c - softmax: maximum, exponentials with their sum, scaling. */
/* isa: c avx2 avx512 */
#include "kernels/cpu/softmax/softmax.h"
#include "kernels/cpu/fold.inc.h"
#include "kernels/cpu/vecmath.inc.h"

/* Writes exp(x - top) to y where y is not NULL, and returns the sum of it. */
HN_INLINE float exp_row(const float *x, float *y, int64_t n, float top) {
  const vf t = v_set(top);
  vf a0 = v_set(0.0F), a1 = a0;
  int64_t i = 0;
  for (; n - i >= 2 * HN_LANES; i += 2 * HN_LANES) {
    const vf e0 = v_exp(v_load(x + i) - t), e1 = v_exp(v_load(x + i + HN_LANES) - t);
    if (y) {
      v_store(y + i, e0);
      v_store(y + i + HN_LANES, e1);
    }
    a0 += e0;
    a1 += e1;
  }
  a0 += a1;
  for (; n - i >= HN_LANES; i += HN_LANES) {
    const vf e = v_exp(v_load(x + i) - t);
    if (y) v_store(y + i, e);
    a0 += e;
  }
  if (i < n) {
    const vf e = v_exp(v_load_part_or(x + i, n - i, -INFINITY) - t);
    if (y) v_store_part(y + i, n - i, e);
    a0 += e;
  }
  return v_sum(a0);
}

HN_INLINE void softmax_row(const float *x, float *y, int64_t n) {
  const float top = fold_row(FOLD_MAX, x, n, 0.0F);
  const vf scale = v_set(1.0F / exp_row(x, y, n, top));
  int64_t i = 0;
  for (; n - i >= HN_LANES; i += HN_LANES) v_store(y + i, v_load(y + i) * scale);
  if (i < n) v_store_part(y + i, n - i, v_load_part(y + i, n - i) * scale);
}

HN_INLINE void log_softmax_row(const float *x, float *y, int64_t n) {
  const float top = fold_row(FOLD_MAX, x, n, 0.0F);
  const vf t = v_set(top), log_sum = v_log(v_set(exp_row(x, NULL, n, top)));
  int64_t i = 0;
  for (; n - i >= HN_LANES; i += HN_LANES) v_store(y + i, (v_load(x + i) - t) - log_sum);
  if (i < n) v_store_part(y + i, n - i, (v_load_part(x + i, n - i) - t) - log_sum);
}

HN_INLINE vf load_columns(const float *p, int64_t n) { return n == HN_LANES ? v_load(p) : v_load_part(p, n); }
HN_INLINE void store_columns(float *p, int64_t n, vf v) {
  if (n == HN_LANES)
    v_store(p, v);
  else
    v_store_part(p, n, v);
}

/* One vector of n columns, walked down the axis three times. */
HN_INLINE void softmax_columns(const float *x, float *y, int64_t axis, int64_t inner, int64_t n, int take_log) {
  vf top = v_set(-INFINITY), sum = v_set(0.0F);
  for (int64_t i = 0; i < axis; ++i) top = v_max_nan(top, load_columns(x + i * inner, n));
  for (int64_t i = 0; i < axis; ++i) {
    const vf e = v_exp(load_columns(x + i * inner, n) - top);
    if (!take_log) store_columns(y + i * inner, n, e);
    sum += e;
  }
  const vf last = take_log ? v_log(sum) : v_set(1.0F) / sum;
  for (int64_t i = 0; i < axis; ++i) {
    const vf v = take_log ? (load_columns(x + i * inner, n) - top) - last : load_columns(y + i * inner, n) * last;
    store_columns(y + i * inner, n, v);
  }
}

HN_INLINE void softmax_units(const hn_softmax_args *a, int64_t begin, int64_t end, int take_log) {
  const int64_t blocks = (a->inner + HN_SOFTMAX_COLUMNS - 1) / HN_SOFTMAX_COLUMNS;
  for (int64_t unit = begin; unit < end; ++unit) {
    if (a->inner == 1) {
      if (take_log)
        log_softmax_row(a->x + unit * a->axis, a->y + unit * a->axis, a->axis);
      else
        softmax_row(a->x + unit * a->axis, a->y + unit * a->axis, a->axis);
      continue;
    }
    const int64_t first = unit % blocks * HN_SOFTMAX_COLUMNS, base = unit / blocks * a->axis * a->inner;
    const int64_t last = first + HN_SOFTMAX_COLUMNS < a->inner ? first + HN_SOFTMAX_COLUMNS : a->inner;
    for (int64_t c = first; c < last; c += HN_LANES) {
      const int64_t n = last - c < HN_LANES ? last - c : HN_LANES;
      softmax_columns(a->x + base + c, a->y + base + c, a->axis, a->inner, n, take_log);
    }
  }
}

void HN_SIMD_NAME(hn_softmax_f32)(const hn_softmax_args *args, int64_t begin, int64_t end) {
  softmax_units(args, begin, end, 0);
}

void HN_SIMD_NAME(hn_log_softmax_f32)(const hn_softmax_args *args, int64_t begin, int64_t end) {
  softmax_units(args, begin, end, 1);
}
