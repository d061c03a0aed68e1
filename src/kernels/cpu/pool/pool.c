/* SPDX-License-Identifier: Apache-2.0 */
/* pool.c - pooling's body.
 *
 * Plain planes are vectorised along the output row (plain.inc.h). Blocked planes are vectorised along the block, so
 * that the border costs nothing extra; of halves, the maximum is one of integers there. */
/* isa: c avx2 avx512 */
/* held: f32 bf16 f16 f64 */
#include "kernels/cpu/pool/plain.inc.h"
#if !HN_HELD_IS_REAL
#include "kernels/cpu/pool/max_half.inc.h"
#endif

/* Folds the windows of `outputs` neighbours of blocked planes, all of the block's vectors at once; several have all of
 * their taps inside. v: of an output after the other's. */
HN_INLINE void blocked_window(int fold, const hn_pool_args *a, const held *plane, row_taps t, taps tx,
                              const int64_t block, const int outputs, vf *v) {
  const int64_t vectors = (block + HN_LANES - 1) / HN_LANES;
  HN_UNROLL
  for (int64_t i = 0; i < outputs * vectors; ++i) v[i] = v_set(fold_identity(fold));
  for (int64_t kz = t.z.first; kz < t.z.last; ++kz) {
    const int64_t first = (t.z.origin + kz * a->dilation_d) * a->in_h + t.y.origin;
    for (int64_t ky = t.y.first; ky < t.y.last; ++ky) {
      const held *x = plane + ((first + ky * a->dilation_h) * a->in_w + tx.origin + tx.first * a->dilation_w) * block;
      for (int64_t kx = tx.first; kx < tx.last; ++kx, x += a->dilation_w * block) {
        HN_UNROLL
        for (int64_t i = 0; i < outputs * vectors; ++i) {
          const int64_t within = i % vectors * HN_LANES, n = at_most(block - within, HN_LANES);
          const held *from = x + i / vectors * a->stride_w * block + within;
          v[i] = fold_take(fold, v[i], h_load_strided(from, 1, n));
        }
      }
    }
  }
}

HN_INLINE void blocked_row(int fold, const hn_pool_args *a, const held *plane, held *y, row_taps ty,
                           const int64_t block) {
  enum { MOST = 32 / HN_LANES };
  const int64_t vectors = (block + HN_LANES - 1) / HN_LANES;
  int64_t inside, outside;
  whole_columns(a, &inside, &outside);
  for (int64_t ox = 0, outputs; ox < a->out_w; ox += outputs) {
    const taps tx = taps_x(a, ox);
    const vf count = v_set(divisor(a, ty, tx));
    vf v[TOGETHER * MOST];
    outputs = ox >= inside && outside - ox >= TOGETHER ? TOGETHER : 1;
    if (outputs == TOGETHER)
      blocked_window(fold, a, plane, ty, tx, block, TOGETHER, v);
    else
      blocked_window(fold, a, plane, ty, tx, block, 1, v);
    for (int64_t i = 0; i < outputs * vectors; ++i) {
      const int64_t within = i % vectors * HN_LANES;
      put(y + (ox + i / vectors) * block + within, at_most(block - within, HN_LANES),
          fold == FOLD_SUM ? v[i] / count : v[i]);
    }
  }
}

/* deep: with a third dimension. Its loop of one turn costs a tenth of the time where there is none. */
HN_INLINE void pool_rows_of(int fold, const int deep, const hn_pool_args *a, int64_t begin, int64_t end) {
  for (int64_t unit = begin; unit < end; ++unit) {
    const int64_t level = unit / a->out_h, plane_at = deep ? level / a->out_d * a->in_d : level;
    const held *plane = (const held *)a->x + plane_at * a->in_h * a->in_w * a->block;
    held *y = (held *)a->y + unit * a->out_w * a->block;
    const row_taps t = row_taps_at(a, unit, deep);
#if !HN_HELD_IS_REAL
    if (fold == FOLD_MAX && a->block == HN_HELD_BLOCK && max_row_fits(a)) {
      max_row(a, plane, y, &t);
      continue;
    }
#endif
    if (!HN_HELD_IS_REAL && a->block == HN_HELD_BLOCK)
      blocked_row(fold, a, plane, y, t, HN_HELD_BLOCK);
    else if (HN_HELD_IS_REAL && a->block == 16)
      blocked_row(fold, a, plane, y, t, 16);
    else if (HN_HELD_IS_REAL && a->block == 8)
      blocked_row(fold, a, plane, y, t, 8);
  }
}

HN_INLINE void pool_rows(int fold, const hn_pool_args *a, int64_t begin, int64_t end) {
  if (a->block == 1)
    plain_rows(fold, a, begin, end);
  else if (a->in_d == 1 && a->kernel_d == 1 && a->out_d == 1)
    pool_rows_of(fold, 0, a, begin, end);
  else
    pool_rows_of(fold, 1, a, begin, end);
}

void HN_HELD_NAME(hn_pool_max)(const hn_pool_args *args, int64_t begin, int64_t end) {
  pool_rows(FOLD_MAX, args, begin, end);
}

void HN_HELD_NAME(hn_pool_average)(const hn_pool_args *args, int64_t begin, int64_t end) {
  pool_rows(FOLD_SUM, args, begin, end);
}

/* What one vector of a pixel holds: n neighbouring channels, or every other one of bf16, for which no half need be
 * moved to a lane of its own. */
enum { ALL_OF, EVEN_OF, ODD_OF };
#if defined(HN_HELD_BF16)
enum { PAIRED = HN_HELD_BLOCK }; /* the block that is folded so */
#else
enum { PAIRED = 0 };
#endif
HN_INLINE vf load_pixel(const held *x, int64_t n, const int which) {
#if defined(HN_HELD_BF16)
  int32_t pairs[HN_LANES];
  if (which != ALL_OF) {
    memcpy(pairs, x, sizeof pairs);
    return vf_of(which == EVEN_OF ? vi_left(vi_load(pairs), 16) : vi_and(vi_load(pairs), vi_set(-65536)));
  }
#endif
  (void)which;
  return h_load_strided(x, 1, n);
}

/* Four chains at a time: one would wait for each sum before the next. */
HN_INLINE vf fold_pixels(int fold, const held *x, int64_t pixels, int64_t block, int64_t n, const int which) {
  const vf start = v_set(fold_identity(fold));
  fold_total t = {start, v_set(0.0F)};
  for (int64_t p = 0; p < pixels;) {
    const int64_t last = at_most(pixels, p + 4 * FOLD_CHUNK);
    vf v[4] = {start, start, start, start};
    for (; last - p >= 4; p += 4)
      for (int i = 0; i < 4; ++i) v[i] = fold_take(fold, v[i], load_pixel(x + (p + i) * block, n, which));
    for (; p < last; ++p) v[0] = fold_take(fold, v[0], load_pixel(x + p * block, n, which));
    fold_total_add(fold, &t, fold_join(fold, fold_join(fold, v[0], v[1]), fold_join(fold, v[2], v[3])));
  }
  return t.total;
}

/* A plane of such blocks, all channels. */
HN_INLINE void fold_plane(int fold, const held *x, int64_t pixels, real *to) {
  for (int64_t lane = 0; lane < PAIRED; lane += 2 * HN_LANES) {
    real even[HN_LANES], odd[HN_LANES];
    v_store(even, fold_pixels(fold, x + lane, pixels, PAIRED, HN_LANES, EVEN_OF));
    v_store(odd, fold_pixels(fold, x + lane, pixels, PAIRED, HN_LANES, ODD_OF));
    for (int i = 0; i < HN_LANES; ++i) to[lane + 2 * i] = even[i], to[lane + 2 * i + 1] = odd[i];
  }
}

HN_INLINE void pool_planes(int fold, const hn_pool_global_args *a, int64_t begin, int64_t end) {
  const vf count = v_set((real)a->pixels);
  const int64_t step = (a->plane_pixels ? a->plane_pixels : a->pixels) * a->block;
  for (int64_t plane = begin; plane < end; ++plane) {
    const held *x = (const held *)a->x + plane * step;
    real folded[PAIRED + 1];
    if (a->block == PAIRED) fold_plane(fold, x, a->pixels, folded);
    for (int64_t lane = 0; lane < a->block; lane += HN_LANES) {
      const int64_t n = at_most(a->block - lane, HN_LANES);
      vf v;
      if (a->block == 1)
        v = v_set(fold_row(fold, x, a->pixels, 0.0F));
      else if (a->block == PAIRED)
        v = v_load(folded + lane);
      else
        v = fold_pixels(fold, x + lane, a->pixels, a->block, n, ALL_OF);
      const vf result = fold == FOLD_SUM && !a->is_sum ? v / count : v;
      if (HN_HELD_IS_REAL || !a->y_is_f32)
        put((held *)a->y + plane * a->block + lane, n, result);
      else if (n == HN_LANES)
        v_store((real *)a->y + plane * a->block + lane, result);
      else
        v_store_part((real *)a->y + plane * a->block + lane, n, result);
    }
  }
}

void HN_HELD_NAME(hn_pool_global_max)(const hn_pool_global_args *args, int64_t begin, int64_t end) {
  pool_planes(FOLD_MAX, args, begin, end);
}

void HN_HELD_NAME(hn_pool_global_average)(const hn_pool_global_args *args, int64_t begin, int64_t end) {
  pool_planes(FOLD_SUM, args, begin, end);
}
