/* SPDX-License-Identifier: Apache-2.0 */
/* grid_f32.c - reading planes by a grid: where a run of pixels reads is found once for all channels. */
/* isa: c avx2 avx512 */
#include "kernels/cpu/sample/grid.h"
#include "kernels/cpu/simd.inc.h"

HN_INLINE vf weighed(vf x, const float *weight) { /* what counts for nothing may be anything */
  const vf w = v_load(weight);
  return v_select(v_ne(w, v_set(0.0F)), x, v_set(0.0F)) * w;
}

/* Sum over the taps of axes axis .. 2. */
HN_INLINE vf sample(const float *plane, const hn_grid_table *t, const int first, const int taps, int64_t i) {
  vf sum = v_set(0.0F);
  for (int z = 0; z < (first == 0 ? taps : 1); ++z) {
    vf level = v_set(0.0F);
    for (int y = 0; y < (first <= 1 ? taps : 1); ++y) {
      vf row = v_set(0.0F);
      vi base = vi_set(0);
      if (first == 0) base = vi_load(t->at[0][z] + i);
      if (first <= 1) base = vi_add(base, vi_load(t->at[1][y] + i));
      for (int x = 0; x < taps; ++x)
        row += weighed(v_gather(plane, vi_add(base, vi_load(t->at[2][x] + i))), t->weight[2][x] + i);
      level += first <= 1 ? weighed(row, t->weight[1][y] + i) : row;
    }
    sum += first == 0 ? weighed(level, t->weight[0][z] + i) : level;
  }
  return sum;
}

HN_INLINE void run_pixels(const hn_grid_args *a, const hn_grid_table *t, const float *x, float *y, int64_t count,
                          const int first, const int taps) {
  const int64_t plane = a->in[0] * a->in[1] * a->in[2];
  for (int64_t c = 0; c < a->channels; ++c, x += plane, y += a->pixels) {
    for (int64_t i = 0; i < count; i += HN_LANES) {
      const vf v = sample(x, t, first, taps, i);
      if (count - i >= HN_LANES)
        v_store(y + i, v);
      else
        v_store_part(y + i, count - i, v);
    }
  }
}

void HN_SIMD_NAME(hn_grid_f32)(const hn_grid_args *a, int64_t begin, int64_t end) {
  const int64_t runs = (a->pixels + HN_GRID_PIXELS - 1) / HN_GRID_PIXELS, plane = a->in[0] * a->in[1] * a->in[2];
  hn_grid_table table;
  memset(table.at, 0, sizeof table.at); /* lanes behind the last pixel read element 0 */
  memset(table.weight, 0, sizeof table.weight);
  for (int64_t unit = begin; unit < end; ++unit) {
    const int64_t image = unit / runs, first = unit % runs * HN_GRID_PIXELS;
    const int64_t count = a->pixels - first < HN_GRID_PIXELS ? a->pixels - first : HN_GRID_PIXELS;
    const float *x = a->x + image * a->channels * plane;
    float *y = a->y + image * a->channels * a->pixels + first;
    hn_grid_table_c(a, a->grid + (image * a->pixels + first) * a->axes, count, &table);
    switch ((HN_GRID_AXES - a->axes) * 8 + a->taps) {
    case 8 + 1: run_pixels(a, &table, x, y, count, 1, 1); break;
    case 8 + 2: run_pixels(a, &table, x, y, count, 1, 2); break;
    case 8 + 4: run_pixels(a, &table, x, y, count, 1, 4); break;
    default: run_pixels(a, &table, x, y, count, HN_GRID_AXES - a->axes, a->taps);
    }
  }
}
