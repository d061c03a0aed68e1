/* SPDX-License-Identifier: Apache-2.0 */
/* resize.c - resizing by tables: gathers along x on plain planes, whole blocks on blocked ones. */
/* isa: c avx2 avx512 */
/* held: f32 bf16 f16 f64 */
#include "kernels/cpu/resize/resize.h"
#include "kernels/cpu/held.inc.h"

HN_INLINE vf get(const real *p, int64_t n) { return n == HN_LANES ? v_load(p) : v_load_part(p, n); }
HN_INLINE vf get_held(const held *p, int64_t n) { return n == HN_LANES ? h_load(p) : h_load_part(p, n); }
HN_INLINE void put(held *p, int64_t n, vf v) {
  if (n == HN_LANES)
    h_store(p, v);
  else
    h_store_part(p, n, v);
}
HN_INLINE int64_t at_most(int64_t a, int64_t b) { return a < b ? a : b; }
#if HN_HELD_IS_REAL
/* Lanes behind the row's end read element 0, which is always there. */
HN_INLINE vi indices(const int32_t *p, int64_t n) {
  if (n == HN_LANES) return vi_load(p);
  int32_t lane[HN_LANES] = {0};
  for (int64_t i = 0; i < n; ++i) lane[i] = p[i];
  return vi_load(lane);
}
HN_INLINE vf pick(const held *x, const int32_t *p, int64_t n) { return v_gather(x, indices(p, n)); }
#else
HN_INLINE vf pick(const held *x, const int32_t *p, int64_t n) {
  held lane[HN_LANES] = {0};
  for (int64_t i = 0; i < n; ++i) lane[i] = x[p[i]];
  return h_load(lane);
}
#endif

void HN_HELD_NAME(hn_resize_nearest)(const hn_resize_args *a, int64_t begin, int64_t end) {
  const int64_t in_row = a->in_w * a->block, out_row = a->out_w * a->block;
  for (int64_t unit = begin; unit < end; ++unit) {
    const int64_t level = unit / a->out_h;
    const int64_t z = a->out_d == 1 && a->in_d == 1 ? level : level / a->out_d * a->in_d + a->index_z[level % a->out_d];
    const held *x = (const held *)a->x + (z * a->in_h + a->index_y[unit % a->out_h]) * in_row;
    held *y = (held *)a->y + unit * out_row;
    if (a->block == 1) {
      for (int64_t i = 0; i < a->out_w; i += HN_LANES) {
        const int64_t n = at_most(a->out_w - i, HN_LANES);
        put(y + i, n, pick(x, a->index_x + i, n));
      }
      continue;
    }
    for (int64_t i = 0; i < a->out_w; ++i)
      memcpy(y + i * a->block, x + a->index_x[i] * (int64_t)a->block, (size_t)a->block * sizeof *y);
  }
}

typedef struct {
  const real *x, *y, *z;
} axis_weights;
HN_INLINE axis_weights weights_of(const hn_resize_args *a) {
  return (axis_weights){a->weight_x, a->weight_y, a->weight_z};
}

/* taps_x is a constant where it is common, so that its loop unrolls; deep: with a third dimension. */
HN_INLINE void taps_row(const hn_resize_args *a, const held *plane, held *y, int64_t oz, int64_t oy, int32_t taps_x,
                        const int deep) {
  const axis_weights weights = weights_of(a);
  for (int64_t i = 0; i < a->out_w; i += HN_LANES) {
    const int64_t n = at_most(a->out_w - i, HN_LANES);
    vf total = v_set(0.0F);
    for (int32_t tz = 0; tz < (deep ? a->taps_z : 1); ++tz) {
      const held *level = deep ? plane + a->index_z[tz * a->out_d + oz] * a->in_h * a->in_w : plane;
      vf sum = v_set(0.0F);
      for (int32_t ty = 0; ty < a->taps_y; ++ty) {
        const held *row = level + a->index_y[ty * a->out_h + oy] * a->in_w;
        vf across = v_set(0.0F);
        for (int32_t tx = 0; tx < taps_x; ++tx)
          across += pick(row, a->index_x + tx * a->out_w + i, n) * get(weights.x + tx * a->out_w + i, n);
        sum += across * v_set(weights.y[ty * a->out_h + oy]);
      }
      total = deep ? total + sum * v_set(weights.z[tz * a->out_d + oz]) : sum;
    }
    put(y + i, n, total);
  }
}

HN_INLINE void taps_row_blocked(const hn_resize_args *a, const held *plane, held *y, int64_t oz, int64_t oy,
                                const int deep) {
  const axis_weights weights = weights_of(a);
  for (int64_t i = 0; i < a->out_w; ++i) {
    for (int64_t lane = 0; lane < a->block; lane += HN_LANES) {
      const int64_t n = at_most(a->block - lane, HN_LANES);
      vf total = v_set(0.0F);
      const int32_t levels = deep ? a->taps_z : 1;
      for (int32_t tz = 0; tz < levels; ++tz) {
        const held *level = deep ? plane + a->index_z[tz * a->out_d + oz] * a->in_h * a->in_w * a->block : plane;
        vf sum = v_set(0.0F);
        for (int32_t ty = 0; ty < a->taps_y; ++ty) {
          const held *row = level + a->index_y[ty * a->out_h + oy] * a->in_w * a->block + lane;
          vf across = v_set(0.0F);
          for (int32_t tx = 0; tx < a->taps_x; ++tx)
            across += get_held(row + a->index_x[tx * a->out_w + i] * (int64_t)a->block, n) *
                      v_set(weights.x[tx * a->out_w + i]);
          sum += across * v_set(weights.y[ty * a->out_h + oy]);
        }
        total = deep ? total + sum * v_set(weights.z[tz * a->out_d + oz]) : sum;
      }
      put(y + i * a->block + lane, n, total);
    }
  }
}

HN_INLINE void taps_rows(const hn_resize_args *a, int64_t begin, int64_t end, const int deep) {
  for (int64_t unit = begin; unit < end; ++unit) {
    const int64_t level = unit / a->out_h, oz = deep ? level % a->out_d : 0, oy = unit % a->out_h;
    const held *plane = (const held *)a->x + (deep ? level / a->out_d * a->in_d : level) * a->in_h * a->in_w * a->block;
    held *y = (held *)a->y + unit * a->out_w * a->block;
    if (a->block != 1)
      taps_row_blocked(a, plane, y, oz, oy, deep);
    else if (a->taps_x == 2)
      taps_row(a, plane, y, oz, oy, 2, deep);
    else
      taps_row(a, plane, y, oz, oy, a->taps_x, deep);
  }
}

static __attribute__((noinline)) void deep_rows(const hn_resize_args *a, int64_t begin, int64_t end) {
  taps_rows(a, begin, end, 1);
}

void HN_HELD_NAME(hn_resize_taps)(const hn_resize_args *a, int64_t begin, int64_t end) {
  if (a->in_d == 1 && a->out_d == 1)
    taps_rows(a, begin, end, 0);
  else
    deep_rows(a, begin, end);
}
