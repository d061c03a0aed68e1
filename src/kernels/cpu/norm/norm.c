/* SPDX-License-Identifier: Apache-2.0 */
/* norm.c - the normalisations' body. */
/* isa: c avx2 avx512 */
/* held: f32 bf16 f16 f64 */
#include "kernels/cpu/norm/norm.h"
#include "kernels/cpu/fold.inc.h"

/* Of parameters, which are reals, and of activations. */
HN_INLINE vf load_param(const real *p, int64_t n) { return n == HN_LANES ? v_load(p) : v_load_part(p, n); }
HN_INLINE vf load_some(const held *p, int64_t n) { return n == HN_LANES ? h_load(p) : h_load_part(p, n); }
HN_INLINE void store_some(held *p, int64_t n, vf v) {
  if (n == HN_LANES)
    h_store(p, v);
  else
    h_store_part(p, n, v);
}
HN_INLINE int64_t lanes_at(int64_t i, int64_t n) { return n - i < HN_LANES ? n - i : HN_LANES; }

HN_INLINE void add_rows(const held *a, const held *b, held *sum, int64_t n) {
  for (int64_t i = 0; i < n; i += HN_LANES) {
    const int64_t m = lanes_at(i, n);
    store_some(sum + i, m, load_some(a + i, m) + load_some(b + i, m));
  }
}

/* y = (x - mean) * inv * scale + bias. */
HN_INLINE void apply_row(const hn_norm_rows_args *a, const held *x, held *y, real mean, real inv) {
  const vf m = v_set(mean), f = v_set(inv);
  for (int64_t i = 0; i < a->n; i += HN_LANES) {
    const int64_t k = lanes_at(i, a->n);
    vf v = (load_some(x + i, k) - m) * f;
    if (a->scale) v *= load_param((const real *)a->scale + i, k);
    if (a->bias) v += load_param((const real *)a->bias + i, k);
    store_some(y + i, k, v);
  }
}

/* Where a row is, after a residual is added to it. */
HN_INLINE const held *row_of(const hn_norm_rows_args *a, int64_t row) {
  const held *x = (const held *)a->x + row * a->n;
  held *sum = (held *)a->sum + (a->sum ? row * a->n : 0);
  if (a->residual) {
    if (!a->sum) sum = (held *)a->y + row * a->n;
    add_rows(x, (const held *)a->residual + row * a->n, sum, a->n);
    return sum;
  }
  if (a->sum && a->sum != a->x) memcpy(sum, x, (size_t)a->n * sizeof *x);
  return x;
}

HN_INLINE real inverse_of(const hn_norm_rows_args *a, int64_t row, real mean, real variance, int centered) {
  const real inv = 1 / HN_REAL(__builtin_sqrt)(variance + (real)a->epsilon);
  if (a->mean && centered) ((real *)a->mean)[row] = mean;
  if (a->inv_std) ((real *)a->inv_std)[row] = inv;
  return inv;
}

HN_INLINE void norm_long_rows(const hn_norm_rows_args *a, int64_t begin, int64_t end, int centered) {
  const real count = (real)a->n;
  for (int64_t row = begin; row < end; ++row) {
    const held *x = row_of(a, row);
    const real mean = centered ? fold_row(FOLD_SUM, x, a->n, 0.0F) / count : 0;
    const real variance = fold_row(FOLD_SUM_SQUARE, x, a->n, mean) / count;
    apply_row(a, x, (held *)a->y + row * a->n, mean, inverse_of(a, row, mean, variance, centered));
  }
}

#if HN_HELD_IS_REAL
HN_INLINE void norm_rows(const hn_norm_rows_args *a, int64_t begin, int64_t end, int centered) {
  norm_long_rows(a, begin, end, centered);
}
#else
/* Rows of halves are widened once, several of them, so that none waits alone for its sum. */
enum { WIDE = 4096, MOST_ROWS = 4 };

/* Returns the sum. Zeros follow up to a whole vector. */
HN_INLINE float widen_row(const held *x, int64_t n, float *to) {
  vf sum[4] = {v_set(0.0F), v_set(0.0F), v_set(0.0F), v_set(0.0F)};
  int64_t i = 0;
  for (; i + 4 * HN_LANES <= n; i += 4 * HN_LANES) {
    HN_UNROLL
    for (int j = 0; j < 4; ++j) {
      const vf v = h_load(x + i + j * HN_LANES);
      v_store(to + i + j * HN_LANES, v);
      sum[j] += v;
    }
  }
  for (; i < n; i += HN_LANES) {
    const vf v = load_some(x + i, lanes_at(i, n));
    v_store(to + i, v);
    sum[0] += v;
  }
  return v_sum((sum[0] + sum[1]) + (sum[2] + sum[3]));
}

/* The sum of squares around the mean. */
HN_INLINE float spread_row(const float *x, int64_t n, float mean) {
  const vf m = v_set(mean);
  vf sum[4] = {v_set(0.0F), v_set(0.0F), v_set(0.0F), v_set(0.0F)};
  int64_t i = 0;
  for (; i + 4 * HN_LANES <= n; i += 4 * HN_LANES) {
    HN_UNROLL
    for (int j = 0; j < 4; ++j) {
      const vf d = v_load(x + i + j * HN_LANES) - m;
      sum[j] += d * d;
    }
  }
  for (; i < n; i += HN_LANES) {
    const vf d = v_select(vm_below(lanes_at(i, n)), v_load(x + i) - m, v_set(0.0F));
    sum[0] += d * d;
  }
  return v_sum((sum[0] + sum[1]) + (sum[2] + sum[3]));
}

HN_INLINE void apply_wide(const hn_norm_rows_args *a, const float *x, held *y, float mean, float inv) {
  const vf m = v_set(mean), f = v_set(inv);
  const float *scale = a->scale, *bias = a->bias;
  int64_t i = 0;
  for (; scale && bias && i + HN_LANES <= a->n; i += HN_LANES)
    h_store(y + i, (v_load(x + i) - m) * f * v_load(scale + i) + v_load(bias + i));
  for (; i < a->n; i += HN_LANES) {
    const int64_t k = lanes_at(i, a->n);
    vf v = (v_load(x + i) - m) * f;
    if (scale) v *= load_param(scale + i, k);
    if (bias) v += load_param(bias + i, k);
    store_some(y + i, k, v);
  }
}

HN_INLINE void norm_rows(const hn_norm_rows_args *a, int64_t begin, int64_t end, int centered) {
  const int64_t step = (a->n + 4 * HN_LANES - 1) / (4 * HN_LANES) * (4 * HN_LANES);
  if (step > WIDE) {
    norm_long_rows(a, begin, end, centered);
    return;
  }
  const int64_t most = WIDE / step < MOST_ROWS ? WIDE / step : MOST_ROWS;
  const float count = (float)a->n;
  float wide[WIDE], mean[MOST_ROWS], inv[MOST_ROWS];
  for (int64_t row = begin; row < end; row += most) {
    const int64_t rows = end - row < most ? end - row : most;
    for (int64_t r = 0; r < rows; ++r) {
      const float sum = widen_row(row_of(a, row + r), a->n, wide + r * step);
      mean[r] = centered ? sum / count : 0;
    }
    for (int64_t r = 0; r < rows; ++r) {
      const float variance = spread_row(wide + r * step, a->n, mean[r]) / count;
      inv[r] = inverse_of(a, row + r, mean[r], variance, centered);
    }
    for (int64_t r = 0; r < rows; ++r) apply_wide(a, wide + r * step, (held *)a->y + (row + r) * a->n, mean[r], inv[r]);
  }
}
#endif

void HN_HELD_NAME(hn_layer_norm)(const hn_norm_rows_args *args, int64_t begin, int64_t end) {
  norm_rows(args, begin, end, 1);
}

void HN_HELD_NAME(hn_rms_norm)(const hn_norm_rows_args *args, int64_t begin, int64_t end) {
  norm_rows(args, begin, end, 0);
}

enum { PERIOD = HN_HELD_IS_REAL ? 16 : 32 }; /* elements after which the channels of every block size repeat */

/* Repeats the block's own values up to PERIOD floats. */
HN_INLINE void channel_pattern(real *out, const real *values, int64_t first, int block, real otherwise) {
  for (int i = 0; i < PERIOD; ++i) out[i] = values ? values[first + i % block] : otherwise;
}

void HN_HELD_NAME(hn_channel_affine)(const hn_channel_affine_args *a, int64_t begin, int64_t end) {
  const int64_t blocks = (a->channels + a->block - 1) / a->block, n = a->pixels * a->block;
  const vf floor = v_set(a->relu ? 0.0F : -INFINITY);
  for (int64_t plane = begin; plane < end; ++plane) {
    real scale[PERIOD], shift[PERIOD];
    channel_pattern(scale, a->scale, plane % blocks * a->block, a->block, 1.0F);
    channel_pattern(shift, a->shift, plane % blocks * a->block, a->block, 0.0F);
    const held *x = (const held *)a->x + plane * n;
    held *y = (held *)a->y + plane * n;
    int64_t i = 0;
    for (; n - i >= PERIOD; i += PERIOD)
      for (int j = 0; j < PERIOD; j += HN_LANES)
        h_store(y + i + j, v_max(floor, h_load(x + i + j) * v_load(scale + j) + v_load(shift + j)));
    for (int64_t j = 0; i + j < n; j += HN_LANES) {
      const int64_t k = lanes_at(i + j, n);
      store_some(y + i + j, k, v_max(floor, load_some(x + i + j, k) * v_load(scale + j) + v_load(shift + j)));
    }
  }
}

void HN_HELD_NAME(hn_group_norm)(const hn_group_norm_args *a, int64_t begin, int64_t end) {
  const int64_t members = a->channels / a->groups, n = members * a->pixels;
  const real *scale = a->scale, *bias = a->bias;
  for (int64_t unit = begin; unit < end; ++unit) {
    const held *x = (const held *)a->x + unit * n;
    held *y = (held *)a->y + unit * n;
    const real mean = fold_row(FOLD_SUM, x, n, 0.0F) / (real)n;
    const real inv = 1 / HN_REAL(__builtin_sqrt)(fold_row(FOLD_SUM_SQUARE, x, n, mean) / (real)n + (real)a->epsilon);
    for (int64_t c = 0; c < members; ++c) {
      const int64_t channel = unit % a->groups * members + c;
      const vf m = v_set(mean), f = v_set(scale ? inv * scale[channel] : inv);
      const vf b = v_set(bias ? bias[channel] : 0);
      for (int64_t i = 0; i < a->pixels; i += HN_LANES) {
        const int64_t k = lanes_at(i, a->pixels), at = c * a->pixels + i;
        store_some(y + at, k, (load_some(x + at, k) - m) * f + b);
      }
    }
  }
}

enum { LANES_MOST = PERIOD, CHUNK = 256 }; /* pixels summed up before their sum is added to those of others */

/* Adds up x - mean, or its square, lane by lane, over the unit's blocks and pixels. */
HN_INLINE void lane_sums(const hn_group_norm_args *a, const held *x, int64_t vectors, const real *mean, int squared,
                         real *sum) {
  const int64_t step = a->block;
  for (int64_t lane = 0; lane < step; lane += HN_LANES) {
    const vf m = v_load(mean + lane);
    vf total = v_set(0.0F);
    for (int64_t first = 0; first < vectors; first += CHUNK) {
      const int64_t last = first + CHUNK < vectors ? first + CHUNK : vectors;
      const held *at = x + first * step + lane;
      vf p0 = v_set(0.0F), p1 = p0, p2 = p0, p3 = p0;
      int64_t i = first;
      for (; i + 4 <= last; i += 4, at += 4 * step) {
        const vf d0 = h_load(at) - m, d1 = h_load(at + step) - m;
        const vf d2 = h_load(at + 2 * step) - m, d3 = h_load(at + 3 * step) - m;
        p0 += squared ? d0 * d0 : d0;
        p1 += squared ? d1 * d1 : d1;
        p2 += squared ? d2 * d2 : d2;
        p3 += squared ? d3 * d3 : d3;
      }
      for (; i < last; ++i, at += step) {
        const vf d = h_load(at) - m;
        p0 += squared ? d * d : d;
      }
      total += (p0 + p1) + (p2 + p3);
    }
    v_store(sum + lane, total);
  }
}

/* Every lane gets its group's sum over the count of its elements. */
HN_INLINE void group_means(const hn_group_norm_args *a, real *sum, int64_t vectors) {
  const int64_t members = a->channels / a->groups, span = members < a->block ? members : a->block;
  for (int64_t first = 0; first < a->block; first += span) {
    real total = 0;
    for (int64_t lane = first; lane < first + span; ++lane) total += sum[lane];
    for (int64_t lane = first; lane < first + span; ++lane) sum[lane] = total / (real)(vectors * span);
  }
}

void HN_HELD_NAME(hn_group_norm_blocked)(const hn_group_norm_args *a, int64_t begin, int64_t end) {
  const int64_t blocks = (a->channels + a->block - 1) / a->block, own = hn_group_norm_blocks(a);
  const int64_t vectors = own * a->pixels;
  static const real zeros[LANES_MOST];
  const real *scale = a->scale, *bias = a->bias;
  for (int64_t unit = begin; unit < end; ++unit) {
    const held *x = (const held *)a->x + unit * vectors * a->block;
    held *y = (held *)a->y + unit * vectors * a->block;
    real mean[LANES_MOST], variance[LANES_MOST], factor[LANES_MOST], shift[LANES_MOST];
    lane_sums(a, x, vectors, zeros, 0, mean);
    group_means(a, mean, vectors);
    lane_sums(a, x, vectors, mean, 1, variance);
    group_means(a, variance, vectors);
    for (int64_t b = 0; b < own; ++b) {
      const int64_t channel = (unit * own + b) % blocks * a->block;
      for (int64_t lane = 0; lane < a->block; ++lane) { /* behind the last channel all stays zero */
        const int there = channel + lane < a->channels;
        const real inv = 1 / HN_REAL(__builtin_sqrt)(variance[lane] + (real)a->epsilon);
        factor[lane] = !there ? 0 : scale ? inv * scale[channel + lane] : inv;
        shift[lane] = there && bias ? bias[channel + lane] : 0;
      }
      for (int64_t lane = 0; lane < a->block; lane += HN_LANES) {
        const vf m = v_load(mean + lane), f = v_load(factor + lane), s = v_load(shift + lane);
        for (int64_t i = b * a->pixels * a->block + lane; i < (b + 1) * a->pixels * a->block; i += a->block)
          h_store(y + i, (h_load(x + i) - m) * f + s);
      }
    }
  }
}
