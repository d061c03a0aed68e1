/* SPDX-License-Identifier: Apache-2.0 */
/* pool_index.c - maximum pooling of plain f32 that says where each maximum was: neighbouring outputs of a row side by
 * side, each lane with the place of its best so far. */
/* isa: c avx2 avx512 */
#include "kernels/cpu/pool/pool.h"
#include "kernels/cpu/pool/taps.inc.h"

typedef struct {
  vf value;
  vi at; /* in the plane */
} found;

HN_INLINE vi pick(vm m, vi a, vi b) { return vi_of(v_select(m, vf_of(a), vf_of(b))); }

/* The window of n neighbouring outputs; lanes: elements from the first one's taps to each one's. */
HN_INLINE found window(const hn_pool_args *a, const float *plane, row_taps t, taps tx, int64_t step, int64_t n,
                       vi lanes) {
  found best = {v_set(-INFINITY), vi_set(-1)};
  int is_first = 1;
  for (int64_t kz = t.z.first; kz < t.z.last; ++kz) {
    const int64_t level = (t.z.origin + kz * a->dilation_d) * a->in_h + t.y.origin;
    for (int64_t ky = t.y.first; ky < t.y.last; ++ky) {
      const int64_t row = (level + ky * a->dilation_h) * a->in_w + tx.origin;
      for (int64_t kx = tx.first; kx < tx.last; ++kx) {
        const int64_t offset = row + kx * a->dilation_w;
        const vf v = v_load_strided(plane + offset, step, n);
        const vi at = vi_add(lanes, vi_set((int32_t)offset));
        if (is_first) {
          best = (found){v, at};
          is_first = 0;
          continue;
        }
        const vm is_nan = vm_and(v_ne(v, v), v_eq(best.value, best.value));
        const vm better = vm_or(v_lt(best.value, v), is_nan);
        best.value = v_select(better, v, best.value);
        best.at = pick(better, at, best.at);
      }
    }
  }
  return best;
}

HN_INLINE int64_t by_column(const hn_pool_args *a, int64_t at) {
  const int64_t x = at % a->in_w, y = at / a->in_w % a->in_h, z = at / (a->in_w * a->in_h);
  return (x * a->in_h + y) * a->in_d + z;
}

HN_INLINE void put(const hn_pool_args *a, found best, int64_t n, int64_t base, float *y, int64_t *indices) {
  int32_t at[HN_LANES];
  if (n == HN_LANES)
    v_store(y, best.value);
  else
    v_store_part(y, n, best.value);
  vi_store(at, best.at);
  if (at[0] < 0) { /* then all windows are empty: they share their taps */
    for (int64_t i = 0; i < n; ++i) indices[i] = -1;
  } else if (a->by_column) {
    for (int64_t i = 0; i < n; ++i) indices[i] = base + by_column(a, at[i]);
  } else {
    for (int64_t i = 0; i < n; ++i) indices[i] = base + at[i];
  }
}

HN_INLINE void pool_row(const hn_pool_args *a, const float *plane, int64_t base, float *y, int64_t *indices, row_taps t,
                        vi lanes) {
  int64_t inside, outside;
  whole_columns(a, &inside, &outside);
  for (int64_t ox = 0; ox < a->out_w;) {
    const int whole = ox >= inside && ox < outside;
    if (whole && outside - ox < HN_LANES && outside - inside >= HN_LANES) ox = outside - HN_LANES; /* again: the same */
    const int64_t n = whole ? at_most(outside - ox, HN_LANES) : 1;
    const taps tx = taps_x(a, ox);
    found best;
    if (n == HN_LANES && a->stride_w == 1)
      best = window(a, plane, t, tx, 1, HN_LANES, lanes);
    else if (n == HN_LANES && a->stride_w == 2)
      best = window(a, plane, t, tx, 2, HN_LANES, lanes);
    else
      best = window(a, plane, t, tx, n == 1 ? 1 : a->stride_w, n, lanes);
    put(a, best, n, base, y + ox, indices + ox);
    ox += n;
  }
}

void HN_SIMD_NAME(hn_pool_index_f32)(const hn_pool_args *args, int64_t begin, int64_t end) {
  const hn_pool_args *a = args;
  const int64_t size = a->in_d * a->in_h * a->in_w;
  int32_t steps[HN_LANES];
  for (int i = 0; i < HN_LANES; ++i) steps[i] = (int32_t)(i * a->stride_w);
  for (int64_t unit = begin; unit < end; ++unit) {
    const int64_t base = unit / a->out_h / a->out_d * size;
    pool_row(a, (const float *)a->x + base, base, (float *)a->y + unit * a->out_w, a->indices + unit * a->out_w,
             row_taps_at(a, unit, 1), vi_load(steps));
  }
}
