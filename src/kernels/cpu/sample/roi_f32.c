/* SPDX-License-Identifier: Apache-2.0 */
/* roi_f32.c - regions sampled on grids: the rows of a bin are joined over the columns next to each other; then the
 * columns that are read are a matrix product with the weights of a row of bins side by side. */
/* isa: c avx2 avx512 */
#include "kernels/cpu/sample/roi.h"
#include "kernels/cpu/simd.inc.h"

enum { ROWS = 7 /* of bins at once: a vector of sums each */ };

/* Which columns are read, and the matrix of what each bin reads of them. */
HN_INLINE void fill(const hn_roi_args *a, hn_roi_table *t) {
  const hn_roi_bins *c = &t->columns;
  const int32_t entries = c->begin[a->out_w];
  const float none = a->is_max ? NAN : 0.0F;
  int64_t low = a->in_w, high = -1;
  for (int32_t k = 0; k < entries; ++k) {
    low = c->at[k] < low ? c->at[k] : low;
    high = c->at[k] > high ? c->at[k] : high;
  }
  t->low = low;
  t->width = high < low ? 0 : high - low + 1;
  t->count = 0;
  for (int64_t x = low; x <= high; ++x) t->slot[x] = -1;
  for (int32_t k = 0; k < entries; ++k) t->slot[c->at[k]] = 0;
  for (int64_t x = low; x <= high; ++x)
    if (t->slot[x] == 0) {
      t->used[t->count] = (int32_t)(x - low);
      t->slot[x] = (int32_t)t->count++;
    }
  for (int64_t i = 0; i < t->count * t->stride; ++i) t->weight[i] = t->least[i] = none;
  for (int64_t bin = 0; bin < a->out_w; ++bin)
    for (int32_t k = c->begin[bin]; k < c->begin[bin + 1]; ++k) {
      t->weight[t->slot[c->at[k]] * t->stride + bin] = c->weight[k];
      t->least[t->slot[c->at[k]] * t->stride + bin] = c->least[k];
    }
  for (int64_t bin = 0; bin < t->stride; ++bin)
    t->floors[bin] = bin < a->out_w && c->is_outside[bin] ? 0.0F : -INFINITY;
}

/* A NaN is passed over: weights are NaN where nothing is read. */
HN_INLINE vf larger(vf sum, vf x, vf weight, vf least) { return v_max(x * weight, v_max(x * least, sum)); }

/* The rows of every bin, over all columns; false: there is something that is not finite. */
HN_INLINE int join_rows(const hn_roi_args *a, const hn_roi_table *t, const float *plane, const int is_max) {
  const hn_roi_bins *r = &t->rows;
  vf odd = v_set(0.0F);
  for (int64_t bin = 0; bin < a->out_h; ++bin) {
    for (int64_t at = 0; at < t->width; at += HN_LANES) {
      const int64_t n = t->width - at;
      vf sum = v_set(is_max ? -INFINITY : 0.0F);
      for (int32_t k = r->begin[bin]; k < r->begin[bin + 1]; ++k) {
        const float *from = plane + r->at[k] * a->in_w + t->low + at;
        const vf x = n >= HN_LANES ? v_load(from) : v_load_part(from, n);
        odd = is_max ? v_fma(x, v_set(0.0F), odd) : odd;
        sum = is_max ? larger(sum, x, v_set(r->weight[k]), v_set(r->least[k])) : v_fma(x, v_set(r->weight[k]), sum);
      }
      if (!is_max) odd = v_fma(sum, v_set(0.0F), odd);
      v_store(t->joined + bin * t->joined_stride + at, sum); /* whole: rows of it are multiples of any vector */
    }
  }
  return v_sum(odd) == 0.0F;
}

/* `rows` rows of bins from `first` on, HN_LANES bins from `bin` on. */
HN_INLINE void join_columns(const hn_roi_args *a, const hn_roi_table *t, int64_t first, const int rows, int64_t bin,
                            float scale, float *y, const int is_max) {
  const float *joined = t->joined + first * t->joined_stride;
  const int64_t n = a->out_w - bin;
  vf sum[ROWS];
  HN_UNROLL
  for (int i = 0; i < rows; ++i) sum[i] = v_set(is_max ? -INFINITY : 0.0F);
  for (int64_t k = 0; k < t->count; ++k) {
    const vf weight = v_load(t->weight + k * t->stride + bin);
    const vf least = is_max ? v_load(t->least + k * t->stride + bin) : weight;
    HN_UNROLL
    for (int i = 0; i < rows; ++i) {
      const vf x = v_set(joined[i * t->joined_stride + t->used[k]]);
      sum[i] = is_max ? larger(sum[i], x, weight, least) : v_fma(x, weight, sum[i]);
    }
  }
  HN_UNROLL
  for (int i = 0; i < rows; ++i) {
    vf out = sum[i] * v_set(scale);
    if (is_max) {
      out = v_max(sum[i], v_load(t->floors + bin));
      if (t->rows.is_outside[first + i]) out = v_max(out, v_set(0.0F));
    }
    if (n >= HN_LANES)
      v_store(y + (first + i) * a->out_w + bin, out);
    else
      v_store_part(y + (first + i) * a->out_w + bin, n, out);
  }
}

HN_INLINE void one_plane(const hn_roi_args *a, const hn_roi_region *r, const hn_roi_table *t, const float *plane,
                         float scale, float *y, const int is_max) {
  if (!join_rows(a, t, plane, is_max)) {
    for (int64_t i = 0; i < a->out_h * a->out_w; ++i) y[i] = hn_roi_bin_c(a, r, plane, i / a->out_w, i % a->out_w);
    return;
  }
  for (int64_t bin = 0; bin < a->out_w; bin += HN_LANES) {
    int64_t row = 0;
    for (; a->out_h - row >= ROWS; row += ROWS) join_columns(a, t, row, ROWS, bin, scale, y, is_max);
    for (; a->out_h - row >= 3; row += 3) join_columns(a, t, row, 3, bin, scale, y, is_max);
    for (; row < a->out_h; ++row) join_columns(a, t, row, 1, bin, scale, y, is_max);
  }
}

void HN_SIMD_NAME(hn_roi_f32)(const hn_roi_args *args, int64_t begin, int64_t end, void *scratch) {
  const hn_roi_args *a = args;
  const int64_t runs = (a->channels + a->unit_channels - 1) / a->unit_channels, size = a->in_h * a->in_w;
  hn_roi_table t;
  (void)hn_roi_table_c(a, scratch, &t);
  for (int64_t unit = begin; unit < end; ++unit) {
    const int64_t roi = unit / runs, first = unit % runs * a->unit_channels;
    const int64_t last = a->channels - first < a->unit_channels ? a->channels : first + a->unit_channels;
    hn_roi_region r;
    float *y = a->y + (roi * a->channels + first) * a->out_h * a->out_w;
    if (!hn_roi_region_c(a, roi, &r)) continue;
    if (r.grid[0] < 1 || r.grid[1] < 1) {
      memset(y, 0, (size_t)((last - first) * a->out_h * a->out_w) * sizeof *y);
      continue;
    }
    hn_roi_bins_c(a, &r, 0, &t.rows);
    hn_roi_bins_c(a, &r, 1, &t.columns);
    fill(a, &t);
    const float scale = (float)(1 / ((double)r.grid[0] * (double)r.grid[1]));
    for (int64_t c = first; c < last; ++c, y += a->out_h * a->out_w) {
      const float *plane = a->x + (a->images[roi] * a->channels + c) * size;
      if (a->is_max)
        one_plane(a, &r, &t, plane, scale, y, 1);
      else
        one_plane(a, &r, &t, plane, scale, y, 0);
    }
  }
}
