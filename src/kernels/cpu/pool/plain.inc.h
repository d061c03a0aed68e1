/* SPDX-License-Identifier: Apache-2.0 */
/* plain.inc.h - pooling of plain planes, vectorised along the output row.
 *
 * Where windows have several rows, those of a whole output row are folded first, column by column, into a line with
 * what leaves the fold unchanged left and right of the input; then the line's neighbours are folded: kernel_h +
 * kernel_w steps in place of their product, and no border. Else, and where a line would be too long, vectors of outputs
 * whose taps all lie inside the input fold their windows, and the border's few columns go one by one. */
#ifndef HN_KERNELS_CPU_POOL_PLAIN_INC_H
#define HN_KERNELS_CPU_POOL_PLAIN_INC_H

#include "kernels/cpu/pool/pool.h"
#include "kernels/cpu/pool/taps.inc.h"
#include "kernels/cpu/fold.inc.h"
#include "kernels/cpu/vecmath.inc.h"

enum { POOL_POWER = FOLD_MIN + 1 }; /* the sum of powers of sizes */

/* |x|^power, power from 1 on, by squaring. */
HN_INLINE vf pool_power(vf x, int64_t power) {
  vf square = v_abs(x), result = v_set(1);
  for (; power > 1; power >>= 1, square = square * square)
    if (power & 1) result = result * square;
  return result * square;
}
HN_OUTLINE vf pool_root(vf x, int64_t power) { return v_pow(x, v_set(1 / (real)power)); }

HN_INLINE vf pool_take(int fold, const hn_pool_args *a, vf so_far, vf x) {
  return fold == POOL_POWER ? so_far + pool_power(x, a->power) : fold_take(fold, so_far, x);
}
HN_INLINE vf pool_join(int fold, vf a, vf b) { return fold == POOL_POWER ? a + b : fold_join(fold, a, b); }

/* What a window's fold becomes; taken: how many an average divides by. */
HN_INLINE vf finish(int fold, const hn_pool_args *a, vf v, vf taken) {
  switch (fold) {
  case FOLD_SUM: return v / taken;
  case FOLD_SUM_SQUARE: return v_sqrt(v);
  case POOL_POWER: return pool_root(v, a->power);
  default: return v;
  }
}

HN_INLINE real divisor(const hn_pool_args *a, row_taps row, taps x) {
  const taps y = row.y, z = row.z;
  const int64_t n = a->count_include_pad ? z.padded * y.padded * x.padded
                                         : (z.last - z.first) * (y.last - y.first) * (x.last - x.first);
  return n > 0 ? (real)n : 1;
}

/* Folds the window of n neighbouring outputs; step: elements between their first taps. */
HN_INLINE vf window(int fold, const hn_pool_args *a, const held *plane, row_taps t, taps tx, int64_t block,
                    int64_t lane, int64_t step, int64_t n) {
  vf v = v_set(fold_identity(fold));
  for (int64_t kz = t.z.first; kz < t.z.last; ++kz) {
    const int64_t first = (t.z.origin + kz * a->dilation_d) * a->in_h + t.y.origin;
    for (int64_t ky = t.y.first; ky < t.y.last; ++ky) {
      const held *row = plane + ((first + ky * a->dilation_h) * a->in_w + tx.origin) * block + lane;
      for (int64_t kx = tx.first; kx < tx.last; ++kx)
        v = pool_take(fold, a, v, h_load_strided(row + kx * a->dilation_w * block, step, n));
    }
  }
  return v;
}

enum { TOGETHER = 4 }; /* outputs whose folds do not wait for one another's */

/* Windows of `count` vectors of outputs, one behind the other, all of them whole. */
HN_INLINE void windows(int fold, const hn_pool_args *a, const held *plane, row_taps t, taps tx, const int64_t step,
                       const int count, vf *v) {
  HN_UNROLL
  for (int i = 0; i < count; ++i) v[i] = v_set(fold_identity(fold));
  for (int64_t kz = t.z.first; kz < t.z.last; ++kz) {
    const int64_t first = (t.z.origin + kz * a->dilation_d) * a->in_h + t.y.origin;
    for (int64_t ky = t.y.first; ky < t.y.last; ++ky) {
      const held *row = plane + (first + ky * a->dilation_h) * a->in_w + tx.origin;
      for (int64_t kx = tx.first; kx < tx.last; ++kx) {
        HN_UNROLL
        for (int i = 0; i < count; ++i)
          v[i] =
              pool_take(fold, a, v[i], h_load_strided(row + kx * a->dilation_w + i * HN_LANES * step, step, HN_LANES));
      }
    }
  }
}

HN_INLINE void put(held *to, int64_t n, vf v) {
  if (n == HN_LANES)
    h_store(to, v);
  else
    h_store_part(to, n, v);
}

HN_INLINE void plain_row(int fold, const hn_pool_args *a, const held *plane, held *y, row_taps ty) {
  int64_t inside, outside;
  whole_columns(a, &inside, &outside);
  for (int64_t ox = 0; ox < a->out_w;) {
    const int whole = ox >= inside && ox < outside;
    /* The last whole vector is moved left over outputs already there: cheaper than a partial one, same values. */
    if (whole && outside - ox < HN_LANES && outside - inside >= HN_LANES) ox = outside - HN_LANES;
    const int64_t n = whole ? at_most(outside - ox, HN_LANES) : 1;
    const taps tx = taps_x(a, ox);
    vf v, all[TOGETHER];
    const int count = outside - ox >= TOGETHER * HN_LANES ? TOGETHER : 2;
    if (fold != POOL_POWER && whole && outside - ox >= count * HN_LANES && a->stride_w <= 2) {
      if (a->stride_w == 1 && count == TOGETHER)
        windows(fold, a, plane, ty, tx, 1, TOGETHER, all);
      else if (a->stride_w == 1)
        windows(fold, a, plane, ty, tx, 1, 2, all);
      else if (count == TOGETHER)
        windows(fold, a, plane, ty, tx, 2, TOGETHER, all);
      else
        windows(fold, a, plane, ty, tx, 2, 2, all);
      const vf taken = v_set(divisor(a, ty, tx));
      for (int i = 0; i < count; ++i, ox += HN_LANES) h_store(y + ox, finish(fold, a, all[i], taken));
      continue;
    }
    if (fold != POOL_POWER && n == HN_LANES && a->stride_w == 1)
      v = window(fold, a, plane, ty, tx, 1, 0, 1, HN_LANES);
    else if (fold != POOL_POWER && n == HN_LANES && a->stride_w == 2)
      v = window(fold, a, plane, ty, tx, 1, 0, 2, HN_LANES);
    else
      v = window(fold, a, plane, ty, tx, 1, 0, n == 1 ? 1 : a->stride_w, n);
    put(y + ox, n, finish(fold, a, v, v_set(divisor(a, ty, tx))));
    ox += n;
  }
}

/* ---- by lines ---- */

enum { LINE = 1024 };

/* Columns of outputs [first, first + count) of every row, and what their lines hold. */
typedef struct {
  int64_t first, count;
  int64_t origin;    /* the input's column of a line's first element, perhaps left of the input */
  int64_t from, to;  /* elements of the line that lie in the input */
  int64_t span;      /* elements of the line, whole vectors of outputs reading it */
  real across[LINE]; /* averages: taps of a column that count */
} line_columns;

/* How many columns' windows fit into a line: whole vectors, 0 where it is too short for one. */
HN_INLINE int64_t columns_of_line(const hn_pool_args *a) {
  const int64_t reach = (a->kernel_w - 1) * a->dilation_w + 1;
  return reach > LINE ? 0 : ((LINE - reach) / a->stride_w + 1) / HN_LANES * HN_LANES;
}

static void columns_set(line_columns *c, const hn_pool_args *a, int64_t first, int64_t count) {
  const int64_t whole = (count + HN_LANES - 1) / HN_LANES * HN_LANES;
  c->first = first, c->count = count;
  c->origin = first * a->stride_w - a->pad_left;
  c->span = (whole - 1) * a->stride_w + (a->kernel_w - 1) * a->dilation_w + 1;
  c->from = at_most(c->origin < 0 ? -c->origin : 0, c->span);
  c->to = at_most(a->in_w - c->origin < c->from ? c->from : a->in_w - c->origin, c->span);
}

/* Set for few rows at a time, so only the border's columns are counted. */
static void columns_count(line_columns *c, const hn_pool_args *a) {
  int64_t inside, outside;
  whole_columns(a, &inside, &outside);
  for (int64_t i = 0; i < c->count; i += HN_LANES) v_store(c->across + i, v_set((real)a->kernel_w));
  for (int64_t i = 0; i < c->count; ++i) {
    if (c->first + i == inside && outside > inside) i = outside - c->first;
    if (i >= c->count) break;
    const taps x = taps_x(a, c->first + i);
    c->across[i] = (real)(a->count_include_pad ? x.padded : x.last - x.first);
  }
}

/* `count` vectors from place i on, the last ones moved left so that they end at `end`: what they share with the ones
 * before is computed twice, to the same. */
HN_INLINE void places_of(int64_t i, int64_t end, const int count, int64_t *at) {
  HN_UNROLL
  for (int v = 0; v < count; ++v) at[v] = at_most(i + v * HN_LANES, end - HN_LANES);
}

/* Vectors of a line: the rows of the window that lie in the input, folded. */
HN_INLINE void fold_line(int fold, const hn_pool_args *a, const held *x, const row_taps *t, const int64_t *at,
                         const int count, real *line) {
  vf v[TOGETHER];
  HN_UNROLL
  for (int i = 0; i < count; ++i) v[i] = v_set(fold_identity(fold));
  for (int64_t kz = t->z.first; kz < t->z.last; ++kz) {
    const int64_t first = (t->z.origin + kz * a->dilation_d) * a->in_h + t->y.origin;
    const held *row = x + (first + t->y.first * a->dilation_h) * a->in_w;
    for (int64_t ky = t->y.first; ky < t->y.last; ++ky, row += a->dilation_h * a->in_w) {
      HN_UNROLL
      for (int i = 0; i < count; ++i) v[i] = pool_take(fold, a, v[i], h_load(row + at[i]));
    }
  }
  HN_UNROLL
  for (int i = 0; i < count; ++i) v_store(line + at[i], v[i]);
}

/* A line of less than a vector of the input. */
HN_INLINE vf fold_part(int fold, const hn_pool_args *a, const held *x, const row_taps *t, int64_t n) {
  vf v = v_set(fold_identity(fold));
  for (int64_t kz = t->z.first; kz < t->z.last; ++kz) {
    const int64_t first = (t->z.origin + kz * a->dilation_d) * a->in_h + t->y.origin;
    for (int64_t ky = t->y.first; ky < t->y.last; ++ky)
      v = pool_take(fold, a, v, h_load_part(x + (first + ky * a->dilation_h) * a->in_w, n));
  }
  return v;
}

HN_INLINE void fill_line(int fold, const hn_pool_args *a, const line_columns *c, const held *plane, const row_taps *t,
                         real *line) {
  const held *x = plane + c->origin; /* read from c->from on */
  int64_t at[TOGETHER], i = c->from;
  if (c->to - i < HN_LANES) {
    if (i < c->to) v_store_part(line + i, c->to - i, fold_part(fold, a, x + i, t, c->to - i));
    return;
  }
  for (; c->to - i > 2 * HN_LANES; i += TOGETHER * HN_LANES) {
    places_of(i, c->to, TOGETHER, at);
    fold_line(fold, a, x, t, at, TOGETHER, line);
  }
  if (i >= c->to) return;
  places_of(i, c->to, 2, at);
  fold_line(fold, a, x, t, at, 2, line);
}

HN_INLINE void fold_neighbours(int fold, const hn_pool_args *a, const real *line, const int64_t *at, const int64_t step,
                               const int count, vf *v) {
  HN_UNROLL
  for (int i = 0; i < count; ++i) v[i] = v_load_strided(line + at[i] * step, step, HN_LANES);
  for (int64_t kx = 1; kx < a->kernel_w; ++kx) {
    line += a->dilation_w;
    HN_UNROLL
    for (int i = 0; i < count; ++i) v[i] = pool_join(fold, v[i], v_load_strided(line + at[i] * step, step, HN_LANES));
  }
}

HN_INLINE void line_outputs(int fold, const hn_pool_args *a, const line_columns *c, const real *line, vf down,
                            const int64_t *at, const int count, held *y) {
  vf v[TOGETHER], taken = v_set(1);
  if (a->stride_w == 1)
    fold_neighbours(fold, a, line, at, 1, count, v);
  else if (a->stride_w == 2)
    fold_neighbours(fold, a, line, at, 2, count, v);
  else
    for (int i = 0; i < count; ++i) fold_neighbours(fold, a, line, at + i, a->stride_w, 1, v + i);
  HN_UNROLL
  for (int i = 0; i < count; ++i) {
    if (fold == FOLD_SUM) taken = v_max(v_set(1), v_load(c->across + at[i]) * down); /* of no taps it is 0 */
    put(y + at[i], at_most(c->count, HN_LANES), finish(fold, a, v[i], taken));
  }
}

HN_INLINE void line_row(int fold, const hn_pool_args *a, const line_columns *c, const held *plane, const row_taps *t,
                        real *line, held *y) {
  const taps z = t->z, r = t->y;
  const vf down = v_set((real)(a->count_include_pad ? z.padded * r.padded : (z.last - z.first) * (r.last - r.first)));
  const int64_t end = c->count < HN_LANES ? HN_LANES : c->count;
  int64_t at[TOGETHER];
  fill_line(fold, a, c, plane, t, line);
  for (int64_t i = 0, count; i < c->count; i += count * HN_LANES) {
    count = c->count - i > 2 * HN_LANES ? TOGETHER : 2;
    if (count == TOGETHER) {
      places_of(i, end, TOGETHER, at);
      line_outputs(fold, a, c, line, down, at, TOGETHER, y);
    } else {
      places_of(i, end, 2, at);
      line_outputs(fold, a, c, line, down, at, 2, y);
    }
  }
}

/* Where an output row is; rows follow one another without a division. */
typedef struct {
  int64_t plane, level, row;
} row_place;

HN_INLINE void row_place_set(row_place *p, const hn_pool_args *a, int64_t unit) {
  p->plane = unit / a->out_h / a->out_d;
  p->level = unit / a->out_h % a->out_d;
  p->row = unit % a->out_h;
}

HN_INLINE void row_place_next(row_place *p, const hn_pool_args *a) {
  if (++p->row < a->out_h) return;
  p->row = 0;
  if (++p->level < a->out_d) return;
  p->level = 0, ++p->plane;
}

HN_INLINE void rows_by_lines(int fold, const hn_pool_args *a, int64_t begin, int64_t end) {
  const int64_t most = columns_of_line(a);
  const vf none = v_set(fold_identity(fold));
  line_columns c;
  row_place p;
  _Alignas(64) real line[LINE + 2 * HN_LANES];
  for (int64_t first = 0, count; first < a->out_w; first += count) {
    count = at_most(a->out_w - first, most);
    columns_set(&c, a, first, count);
    if (fold == FOLD_SUM) columns_count(&c, a);
    for (int64_t i = 0; i < LINE + 2 * HN_LANES; i += HN_LANES)
      v_store(line + i, none); /* and no row changes a border */
    row_place_set(&p, a, begin);
    for (int64_t unit = begin; unit < end; ++unit, row_place_next(&p, a)) {
      const row_taps t = {taps_at(p.level, a->stride_d, a->pad_front, a->dilation_d, a->kernel_d, a->in_d, a->pad_back),
                          taps_at(p.row, a->stride_h, a->pad_top, a->dilation_h, a->kernel_h, a->in_h, a->pad_bottom)};
      const held *plane = (const held *)a->x + p.plane * a->in_d * a->in_h * a->in_w;
      line_row(fold, a, &c, plane, &t, line, (held *)a->y + unit * a->out_w + first);
    }
  }
}

/* deep: with a third dimension, whose loop of one turn costs a tenth of the time where there is none. */
HN_INLINE void rows_by_windows(int fold, const int deep, const hn_pool_args *a, int64_t begin, int64_t end) {
  for (int64_t unit = begin; unit < end; ++unit) {
    const int64_t level = unit / a->out_h, plane_at = deep ? level / a->out_d * a->in_d : level;
    const held *plane = (const held *)a->x + plane_at * a->in_h * a->in_w;
    plain_row(fold, a, plane, (held *)a->y + unit * a->out_w, row_taps_at(a, unit, deep));
  }
}

HN_INLINE void plain_rows(int fold, const hn_pool_args *a, int64_t begin, int64_t end) {
  if (HN_HELD_IS_REAL && a->kernel_h * a->kernel_d > 1 && a->kernel_w > 2 && columns_of_line(a) > 0)
    rows_by_lines(fold, a, begin, end);
  else if (a->in_d == 1 && a->kernel_d == 1 && a->out_d == 1)
    rows_by_windows(fold, 0, a, begin, end);
  else
    rows_by_windows(fold, 1, a, begin, end);
}

#endif
