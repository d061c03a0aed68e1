/* SPDX-License-Identifier: Apache-2.0 */
/* product_vectors_bf16.inc.h - 8 pixels times 32 channels in 16 registers: a pair of neighbouring depths of a pixel,
 * broadcast, times those of 16 channels; a tile's usual end is made there, too. vdpbf16ps rounds to the nearest and
 * takes zero for subnormal numbers whatever the mode is; a sum's order is that of the depth, wherever its pixel lies in
 * a tile. */
#ifndef HN_KERNELS_CPU_GEMM_PRODUCT_VECTORS_BF16_INC_H
#define HN_KERNELS_CPU_GEMM_PRODUCT_VECTORS_BF16_INC_H

#include "kernels/cpu/gemm/product_half_tile.inc.h"

enum {
  STEP = 8,
  PART = TILE,
  PAIRS = TILE / 2,
  CHUNK = 24 /* depth blocks that a step goes through at once: their weights, 48 KiB, stay in the inner caches */
};

typedef int multiplier;
#define multiplier_begin(m) ((void)(*(m) = 0))
#define multiplier_end(m) ((void)(m))
#define take_sums(m, turn, halves, to) ((void)0)

HN_INLINE __m512bh pairs_at(const uint16_t *p) { return (__m512bh)_mm512_loadu_si512((const void *)p); }
HN_INLINE __m512bh pair_everywhere(const uint16_t *p) {
  int32_t pair;
  memcpy(&pair, p, sizeof pair);
  return (__m512bh)_mm512_set1_epi32(pair);
}

/* A depth block of the image's first pixel, and its pairs that have weights. */
typedef struct part {
  const uint16_t *x;
  int64_t pairs;
} part;

/* What ends a tile: outputs are made of its sums while they are in registers. */
#define HN_MULTIPLIER_ENDS
typedef struct ending {
  const place *to;
  int64_t base, first, last; /* the tile begins with pixel base; pixels [first, last) are stored */
  int64_t column, pixel;     /* of the next pixel that is stored */
  int64_t row_pixels;        /* that are counted */
  int64_t vectors;           /* of 16 channels that are stored */
  int64_t place_of[2];       /* of each vector, in a pixel */
  vf bias[2], low, high;
  vm there[2];
} ending;

/* at: where the pixels of a step lie, in elements; NULL: one behind the other. */
HN_INLINE void add_pairs(vf (*sum)[2], const uint16_t *x, const int64_t *at, const uint16_t *w, const int halves) {
  const __m512bh w0 = pairs_at(w), w1 = halves > 1 ? pairs_at(w + BLOCK / 2) : w0;
  HN_UNROLL
  for (int p = 0; p < STEP; ++p) {
    const __m512bh a = pair_everywhere(x + (at ? at[p] : p * TILE));
    sum[p][0] = _mm512_dpbf16_ps(sum[p][0], w0, a);
    if (halves > 1) sum[p][1] = _mm512_dpbf16_ps(sum[p][1], w1, a);
  }
}

/* Sums of one step of pixels over `depth` blocks. begins: there are none yet. */
HN_INLINE void add_blocks(vf (*sum)[2], const part *parts, int64_t depth, int64_t pixel, const int64_t *at,
                          const uint16_t *w, const int halves, int begins, sums *to) {
  HN_UNROLL
  for (int p = 0; p < STEP; ++p) {
    HN_UNROLL
    for (int h = 0; h < halves; ++h) sum[p][h] = begins ? v_set(0) : v_load(to->of[pixel + p] + h * HALF);
  }
  for (int64_t d = 0; d < depth; ++d, w += BLOCK) {
    const uint16_t *x = at ? parts[d].x : parts[d].x + pixel * TILE;
    if (parts[d].pairs < PAIRS) {
      for (int64_t k = 0; k < parts[d].pairs; ++k) add_pairs(sum, x + 2 * k, at, w + k * LINE, halves);
      continue;
    }
    HN_UNROLL
    for (int k = 0; k < PAIRS; ++k) add_pairs(sum, x + 2 * k, at, w + k * LINE, halves);
  }
}

HN_INLINE void step(const part *parts, int64_t depth, int64_t pixel, const int64_t *at, const uint16_t *w,
                    const int halves, int begins, sums *to) {
  vf sum[STEP][2];
  add_blocks(sum, parts, depth, pixel, at, w, halves, begins, to);
  HN_UNROLL
  for (int p = 0; p < STEP; ++p) {
    HN_UNROLL
    for (int h = 0; h < halves; ++h) v_store(to->of[pixel + p] + h * HALF, sum[p][h]);
  }
}

HN_INLINE vf finished(const ending *e, vf sum, int64_t at, int half) {
  const hn_product_half *p = e->to->p;
  vf v = sum + e->bias[half];
  if (p->residual) v += load_y(p->residual, at, p->y_is_half);
  if (p->epilogue.activation == HN_ACTIVATION_HARD_SWISH) v = activate_one(v, HN_ACTIVATION_HARD_SWISH, 0, 0);
  return v_min(e->high, v_max(e->low, v));
}

/* The outputs of one step, whose first pixel is `at`. */
HN_INLINE void end_step(ending *e, vf (*sum)[2], int64_t at) {
  const hn_product_half *p = e->to->p;
  HN_UNROLL
  for (int i = 0; i < STEP; ++i) {
    if (at + i < e->first || at + i >= e->last) continue;
    if (e->column < p->out_width) {
      const int64_t y = e->place_of[0] + e->pixel * p->y_pixel, y1 = e->place_of[1] + e->pixel * p->y_pixel;
      const vf v0 = finished(e, sum[i][0], y, 0);
      if (p->y_is_half) {
        const vf v1 = finished(e, sum[i][1], y1, 1);
        const __m512bh both =
            _mm512_cvtne2ps_pbh(v_select(e->there[1], v1, v_set(0)), v_select(e->there[0], v0, v_set(0)));
        memcpy((held *)p->y + y, &both, sizeof both);
      } else {
        v_store((float *)p->y + y, v_select(e->there[0], v0, v_set(0)));
        if (e->vectors > 1) v_store((float *)p->y + y1, v_select(e->there[1], finished(e, sum[i][1], y1, 1), v_set(0)));
      }
      ++e->pixel;
    }
    if (++e->column == e->row_pixels) e->column = 0;
  }
}

HN_INLINE void last_steps(const part *parts, int64_t depth, int64_t steps, const int64_t *at, const uint16_t *w,
                          const int halves, int begins, ending *e, sums *to) {
  for (int64_t i = 0; i < steps; ++i) {
    vf sum[STEP][2];
    HN_UNROLL
    for (int p = 0; p < STEP; ++p) sum[p][1] = v_set(0);
    add_blocks(sum, parts, depth, i * STEP, at ? at + i * STEP : NULL, w, halves, begins, to);
    end_step(e, sum, e->base + i * STEP);
  }
}

HN_OUTLINE void steps_1(const part *parts, int64_t depth, int64_t steps, const int64_t *at, const uint16_t *w,
                        int begins, sums *to) {
  (void)at;
  for (int64_t i = 0; i < steps; ++i) step(parts, depth, i * STEP, NULL, w, 1, begins, to);
}
HN_OUTLINE void last_steps_1(const part *parts, int64_t depth, int64_t steps, const int64_t *at, const uint16_t *w,
                             int begins, ending *e, sums *to) {
  (void)at;
  last_steps(parts, depth, steps, NULL, w, 1, begins, e, to);
}
HN_OUTLINE void skipping_steps_1(const part *parts, int64_t depth, int64_t steps, const int64_t *at, const uint16_t *w,
                                 int begins, sums *to) {
  for (int64_t i = 0; i < steps; ++i) step(parts, depth, i * STEP, at + i * STEP, w, 1, begins, to);
}
HN_OUTLINE void skipping_last_steps_1(const part *parts, int64_t depth, int64_t steps, const int64_t *at,
                                      const uint16_t *w, int begins, ending *e, sums *to) {
  last_steps(parts, depth, steps, at, w, 1, begins, e, to);
}
HN_OUTLINE void steps_2(const part *parts, int64_t depth, int64_t steps, const int64_t *at, const uint16_t *w,
                        int begins, sums *to) {
  (void)at;
  for (int64_t i = 0; i < steps; ++i) step(parts, depth, i * STEP, NULL, w, 2, begins, to);
}
HN_OUTLINE void last_steps_2(const part *parts, int64_t depth, int64_t steps, const int64_t *at, const uint16_t *w,
                             int begins, ending *e, sums *to) {
  (void)at;
  last_steps(parts, depth, steps, NULL, w, 2, begins, e, to);
}
HN_OUTLINE void skipping_steps_2(const part *parts, int64_t depth, int64_t steps, const int64_t *at, const uint16_t *w,
                                 int begins, sums *to) {
  for (int64_t i = 0; i < steps; ++i) step(parts, depth, i * STEP, at + i * STEP, w, 2, begins, to);
}
HN_OUTLINE void skipping_last_steps_2(const part *parts, int64_t depth, int64_t steps, const int64_t *at,
                                      const uint16_t *w, int begins, ending *e, sums *to) {
  last_steps(parts, depth, steps, at, w, 2, begins, e, to);
}

typedef void steps_fn(const part *, int64_t, int64_t, const int64_t *, const uint16_t *, int, sums *);
typedef void last_steps_fn(const part *, int64_t, int64_t, const int64_t *, const uint16_t *, int, ending *, sums *);
/* [skips][halves of channels - 1] */
static steps_fn *const some_steps[2][2] = {{steps_1, steps_2}, {skipping_steps_1, skipping_steps_2}};
static last_steps_fn *const all_steps[2][2] = {{last_steps_1, last_steps_2},
                                               {skipping_last_steps_1, skipping_last_steps_2}};

/* Where the pixels from `base` on lie; behind the last one it is read again. */
HN_INLINE void find_pixels(const hn_product_half *p, int64_t base, int64_t count, int64_t *at) {
  const int64_t last = hn_product_half_pixels(p) - 1;
  int64_t column = base % p->out_width, pixel_at = (base / p->out_width * p->row_pixels + column) * TILE;
  for (int64_t i = 0; i < count; ++i) {
    at[i] = pixel_at;
    if (base + i >= last) continue;
    pixel_at += TILE;
    if (++column == p->out_width) column = 0, pixel_at += (p->row_pixels - p->out_width) * TILE;
  }
}

/* e: NULL where the sums are left in `to`. */
HN_INLINE void multiply_parts(const hn_product_half *p, const uint16_t *x, int64_t base, const uint16_t *w,
                              int64_t steps, int channel_halves, ahead next, ending *e, sums *to) {
  const int64_t depth = p->taps * p->depth_blocks, last_pairs = p->last_pairs ? p->last_pairs : PAIRS;
  part parts[CHUNK];
  int64_t tap = 0, d = 0, at[TILE];
  if (p->skips)
    find_pixels(p, base, steps * STEP, at);
  else
    x += base * TILE;
  for (int64_t begin = 0; begin == 0 || begin < depth; begin += CHUNK, w += CHUNK * BLOCK) { /* of no taps: zeros */
    const int64_t count = depth - begin < CHUNK ? depth - begin : CHUNK;
    for (int64_t i = 0; i < count; ++i) {
      next = fetch(next);
      parts[i].x = x + p->tap_at[tap] * TILE + d * p->x_block;
      parts[i].pairs = d + 1 < p->depth_blocks ? PAIRS : last_pairs;
      if (++d == p->depth_blocks) d = 0, ++tap;
    }
    if (e && begin + CHUNK >= depth)
      all_steps[p->skips != 0][channel_halves - 1](parts, count, steps, at, w, begin == 0, e, to);
    else
      some_steps[p->skips != 0][channel_halves - 1](parts, count, steps, at, w, begin == 0, to);
  }
}

HN_INLINE void multiply_tile(const hn_product_half *p, multiplier *m, const uint16_t *x, int64_t base,
                             const uint16_t *w, int64_t steps, int channel_halves, ahead next, sums *to) {
  (void)m;
  multiply_parts(p, x, base, w, steps, channel_halves, next, NULL, to);
}

/* Whole vectors that one line of code makes outputs of. */
HN_INLINE int takes_end(const place *to) {
  const hn_product_half *p = to->p;
  return p->y_lanes >= HN_LANES && (to->count == TILE || (p->y_is_padded && p->y_lanes == TILE)) &&
         ends_at_once(&p->epilogue);
}

/* Pixels [first, last) of the tile that begins with pixel `base`. */
HN_INLINE void end_tile(const place *to, const uint16_t *x, const uint16_t *w, int64_t steps, int64_t base,
                        int64_t first, int64_t last, ahead next, sums *s) {
  const hn_product_half *p = to->p;
  const int64_t row_pixels = hn_product_half_row(p);
  const int64_t column = first % row_pixels, row = first / row_pixels * p->out_width;
  float low, high;
  ending e = {.to = to,
              .base = base,
              .first = first,
              .last = last,
              .column = column,
              .row_pixels = row_pixels,
              .vectors = TILE / HN_LANES};
  e.pixel = row + (column < p->out_width ? column : p->out_width);
  activation_bounds(&p->epilogue, &low, &high);
  e.low = v_set(low), e.high = v_set(high);
  for (int v = 0; v < TILE / HN_LANES; ++v) {
    const int64_t lane = v * HN_LANES, left = to->count - lane;
    e.bias[v] = p->epilogue.bias ? v_load(p->epilogue.bias + to->channel + lane) : v_set(0);
    e.place_of[v] = to->offset + lane / p->y_lanes * p->y_block + lane % p->y_lanes;
    e.there[v] = vm_below(left < 0 ? 0 : left);
  }
  multiply_parts(p, x, base, w, steps, to->count <= HALF ? 1 : 2, next, &e, s);
}

#endif
