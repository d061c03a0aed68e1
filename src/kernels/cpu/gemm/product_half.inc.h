/* SPDX-License-Identifier: Apache-2.0 */
/* product_half.inc.h - products of halves, but for the multiplying: units, tiles, and what happens to the sums of a
 * tile, which go through 4 KiB of memory to the epilogue that works on vectors. The includer has
 *
 *   enum STEP, PART           pixels that it multiplies at least, and whose sums it gives at once; TILE is whole STEPs
 *   multiplier                its state, between multiplier_begin and multiplier_end
 *   multiply_tile(p, m, x, base, w, steps, halves, next, to)
 *                             steps of pixels from base on times one or two halves of a block of channels; sums to
 *                             `to`, or kept until
 *   take_sums(m, turn, halves, to)
 *                             is asked for those of each PART pixels in turn
 *
 * and, where it can end a tile in registers, HN_MULTIPLIER_ENDS, takes_end() and end_tile(). */
#ifndef HN_KERNELS_CPU_GEMM_PRODUCT_HALF_INC_H
#define HN_KERNELS_CPU_GEMM_PRODUCT_HALF_INC_H

#include "kernels/cpu/gemm/product_half_tile.inc.h"

HN_INLINE void store_y(void *to, int64_t at, int is_half, vf v) {
  if (is_half)
    h_store((held *)to + at, v);
  else
    v_store((float *)to + at, v);
}

/* Channels [lane, lane + HN_LANES) of which n are there, of one pixel. */
HN_INLINE vf residual_of(const hn_product_half *p, int64_t at, int64_t n, int is_half) {
  if (n >= HN_LANES) return load_y(p->residual, at, is_half);
  float some[HN_LANES] = {0};
  for (int64_t i = 0; i < n; ++i)
    some[i] = is_half ? h_load_one((const held *)p->residual + at + i) : ((const float *)p->residual)[at + i];
  return v_load(some);
}

HN_INLINE void store_some(const hn_product_half *p, int64_t at, int64_t n, int is_half, vf v) {
  if (n >= HN_LANES) {
    store_y(p->y, at, is_half, v);
    return;
  }
  float some[HN_LANES];
  held halves[HN_LANES];
  v_store(some, v);
  h_store(halves, v);
  for (int64_t i = 0; i < n; ++i) {
    if (is_half)
      ((held *)p->y)[at + i] = halves[i];
    else
      ((float *)p->y)[at + i] = some[i];
  }
}

/* The sums of one pixel become outputs. lanes: channels that are written, a multiple of HN_LANES where y is padded. */
HN_INLINE void finish(const place *to, float *sum, int64_t pixel, int64_t lanes, int is_half, int simple, vf low,
                      vf high) {
  const hn_product_half *p = to->p;
  const hn_epilogue_f32 *e = &p->epilogue;
  for (int64_t lane = 0; lane < lanes; lane += HN_LANES) {
    const int64_t at = to->offset + lane / p->y_lanes * p->y_block + pixel * p->y_pixel + lane % p->y_lanes;
    const int64_t n = lanes - lane;
    vf v = v_load(sum + lane);
    if (e->bias) v += v_load(e->bias + to->channel + lane);
    if (p->residual) v += residual_of(p, at, n, is_half);
    v = v_min(high, v_max(low, v));
    if (simple)
      store_some(p, at, n, is_half, v);
    else
      v_store(sum + lane, v);
  }
}

HN_INLINE void store_pixel(const place *to, const float *sum, int64_t pixel, int64_t lanes, int is_half) {
  const hn_product_half *p = to->p;
  for (int64_t lane = 0; lane < lanes; lane += HN_LANES)
    store_some(p, to->offset + lane / p->y_lanes * p->y_block + pixel * p->y_pixel + lane % p->y_lanes, lanes - lane,
               is_half, v_load(sum + lane));
}

/* Pixels [first, last) of the tile that begins at `base`, in the image's padded rows. */
HN_INLINE void empty(const place *to, sums *s, int64_t base, int64_t first, int64_t last, int is_half) {
  const hn_product_half *p = to->p;
  const hn_epilogue_f32 *e = &p->epilogue;
  const int simple = activation_is_bounds(e);
  float low, high;
  activation_bounds(e, &low, &high);
  /* Behind the last channel: nothing, or zeros up to the end of its block. */
  const int64_t lanes = p->y_is_padded ? (to->count + p->y_lanes - 1) / p->y_lanes * p->y_lanes : to->count;
  const int64_t row_pixels = hn_product_half_row(p);
  int64_t row = first / row_pixels, column = first % row_pixels;
  for (int64_t at = first; at < last; ++at) {
    float *sum = s->of[at - base];
    const int64_t pixel = row * p->out_width + column;
    if (column < p->out_width) {
      finish(to, sum, pixel, lanes, is_half, simple && (lanes == to->count || e->activation <= HN_ACTIVATION_RELU),
             v_set(low), v_set(high));
      if (!simple && is_half) activate_channels_to_half(sum, TILE, e, to->channel, TILE);
      if (!simple && !is_half) activate_channels(sum, TILE, e, to->channel, TILE);
      if (!simple || (lanes > to->count && e->activation > HN_ACTIVATION_RELU)) {
        for (int64_t lane = to->count; lane < lanes; ++lane) sum[lane] = 0;
        store_pixel(to, sum, pixel, lanes, is_half);
      }
    }
    if (++column == row_pixels) column = 0, ++row;
  }
}

HN_OUTLINE void empty_half(const place *to, sums *s, int64_t base, int64_t first, int64_t last) {
  empty(to, s, base, first, last, 1);
}
HN_OUTLINE void empty_f32(const place *to, sums *s, int64_t base, int64_t first, int64_t last) {
  empty(to, s, base, first, last, 0);
}

/* The usual end: whole vectors of all 32 channels. */
HN_INLINE int is_dense(const hn_product_half *p, int64_t count) {
  return p->y_lanes >= HN_LANES && (count == TILE || (p->y_is_padded && p->y_lanes == TILE));
}

HN_INLINE void store_dense(void *y, const int64_t *place_of, int64_t pixel_at, const int is_half, const vf *x) {
#if defined(__AVX512BF16__) && defined(HN_HELD_BF16)
  if (is_half) {
    const __m512bh both = _mm512_cvtne2ps_pbh(x[1], x[0]);
    memcpy((held *)y + place_of[0] + pixel_at, &both, sizeof both);
    return;
  }
#endif
  for (int v = 0; v < TILE / HN_LANES; ++v) store_y(y, place_of[v] + pixel_at, is_half, x[v]);
}

/* Channels that are not there are zero by themselves, but for activations that make something else of zero. */
HN_INLINE void dense_pixels(const place *to, sums *s, int64_t base, int64_t first, int64_t last, const int is_half,
                            const hn_activation kind) {
  enum { VECTORS = TILE / HN_LANES };
  const hn_product_half *p = to->p;
  const hn_epilogue_f32 *e = &p->epilogue;
  const int64_t width = p->out_width, row_pixels = hn_product_half_row(p), y_pixel = p->y_pixel;
  const int clears = kind == HN_ACTIVATION_CLIP || kind == HN_ACTIVATION_SIGMOID || kind == HN_ACTIVATION_HARD_SIGMOID;
  const void *residual = p->residual;
  void *y = p->y;
  const float alpha = e->alpha, beta = e->beta;
  vf bias[VECTORS], slope[VECTORS];
  vm there[VECTORS];
  int64_t place_of[VECTORS]; /* of each vector, in a pixel */
  for (int v = 0; v < VECTORS; ++v) {
    const int64_t lane = v * HN_LANES, left = to->count - lane;
    bias[v] = e->bias ? v_load(e->bias + to->channel + lane) : v_set(0.0F);
    slope[v] = kind == HN_ACTIVATION_PRELU ? v_load(e->slope + to->channel + lane) : v_set(0.0F);
    there[v] = vm_below(left < 0 ? 0 : left);
    place_of[v] = to->offset + lane / p->y_lanes * p->y_block + lane % p->y_lanes;
  }
  int64_t column = first % row_pixels;
  int64_t pixel = first / row_pixels * width + (column < width ? column : width);
  for (int64_t at = first, run; at < last; at += run) {
    const int is_output = column < width;
    run = (is_output ? width : row_pixels) - column;
    if (run > last - at) run = last - at;
    column = column + run == row_pixels ? 0 : column + run;
    if (!is_output) continue;
    const float *sum = s->of[at - base];
    for (int64_t i = 0; i < run; ++i, ++pixel, sum += TILE) {
      vf x[VECTORS];
      HN_UNROLL
      for (int v = 0; v < VECTORS; ++v) {
        x[v] = v_load(sum + v * HN_LANES) + bias[v];
        if (residual) x[v] += load_y(residual, place_of[v] + pixel * y_pixel, is_half);
        x[v] = kind == HN_ACTIVATION_PRELU ? rectify_one(x[v], slope[v])
                                           : activate_vector(x[v], kind, alpha, beta, is_half);
        if (clears) x[v] = v_select(there[v], x[v], v_set(0.0F));
      }
      store_dense(y, place_of, pixel * y_pixel, is_half, x);
    }
  }
}

/* While a sum is in a register, all is done to it: a loop for each activation. */
HN_INLINE void dense(const place *to, sums *s, int64_t base, int64_t first, int64_t last, const int is_half) {
  switch (to->p->epilogue.activation) {
#define HN_ACT(NUMBER, ...)                                                                                            \
  case HN_ACTIVATION_##NUMBER:                                                                                         \
    dense_pixels(to, s, base, first, last, is_half, HN_ACTIVATION_##NUMBER);                                           \
    break;
#include "kernels/activations.inc"
#undef HN_ACT
  case HN_ACTIVATION_COUNT: break;
  }
}

HN_OUTLINE void dense_half(const place *to, sums *s, int64_t base, int64_t first, int64_t last) {
  dense(to, s, base, first, last, 1);
}
HN_OUTLINE void dense_f32(const place *to, sums *s, int64_t base, int64_t first, int64_t last) {
  dense(to, s, base, first, last, 0);
}

/* A unit's place: which image, group, pixels and blocks of channels. */
typedef struct span {
  int64_t image, group, begin, end, block_begin, block_end;
  const uint16_t *x;
} span;

HN_INLINE span span_of(const hn_product_half *p, int64_t index) {
  const int64_t pixel_units = hn_product_half_pixel_units(p), block_units = hn_product_half_block_units(p);
  const int64_t blocks = hn_product_half_blocks(p), pixels = hn_product_half_pixels(p);
  span s = {.begin = index % pixel_units * p->unit_pixels,
            .block_begin = index / pixel_units % block_units * p->unit_blocks,
            .group = index / pixel_units / block_units % p->groups,
            .image = index / pixel_units / block_units / p->groups};
  s.end = pixels - s.begin < p->unit_pixels ? pixels : s.begin + p->unit_pixels;
  s.block_end = blocks - s.block_begin < p->unit_blocks ? blocks : s.block_begin + p->unit_blocks;
  s.x = p->x + s.image * p->x_image + s.group * p->x_group;
  return s;
}

/* Channels that are not there: a weight of zero makes NaN of an infinity. */
HN_INLINE void clear_behind(sums *s, int64_t pixels, int64_t count) {
  for (int64_t lane = count / HN_LANES * HN_LANES; lane < TILE; lane += HN_LANES) {
    const vm there = vm_below(count - lane);
    for (int64_t p = 0; p < pixels; ++p) v_store(s->of[p] + lane, v_select(there, v_load(s->of[p] + lane), v_set(0)));
  }
}

/* Sums of pixels [first, last) become outputs; s: from pixel base on. */
HN_INLINE void finish_pixels(const place *to, sums *s, int64_t base, int64_t first, int64_t last) {
  const hn_product_half *p = to->p;
  if (to->count < TILE) clear_behind(s, last - base, to->count);
  if (is_dense(p, to->count))
    (p->y_is_half ? dense_half : dense_f32)(to, s, base, first, last);
  else
    (p->y_is_half ? empty_half : empty_f32)(to, s, base, first, last);
}

/* One tile of pixels from `first` on and one block of channels. */
HN_INLINE void tile(const hn_product_half *p, multiplier *m, const span *u, int64_t first, int64_t b, ahead next,
                    sums *s) {
  const int64_t blocks = hn_product_half_blocks(p), depth = p->taps * p->depth_blocks;
  const int64_t steps = u->end - first < TILE ? (u->end - first + STEP - 1) / STEP : TILE / STEP;
  const int64_t last = u->end - first < TILE ? u->end : first + TILE;
  const int64_t most = hn_product_half_pixels(p) - steps * STEP;
  const int64_t base = p->may_read_behind || first < most ? first : most;
  const int64_t count = p->out_channels - b * TILE < TILE ? p->out_channels - b * TILE : TILE;
  const int64_t channel = u->group * p->out_channels + b * TILE;
  const place to = {p, u->image * p->y_image + channel / p->y_lanes * p->y_block, channel, count};
  const uint16_t *w = p->w + (u->group * blocks + b) * depth * BLOCK;
#ifdef HN_MULTIPLIER_ENDS
  if (takes_end(&to)) {
    end_tile(&to, u->x, w, steps, base, first, last, next, s);
    return;
  }
#endif
  multiply_tile(p, m, u->x, base, w, steps, count <= HALF ? 1 : 2, next, s);
  for (int64_t turn = 0; turn * PART < steps * STEP; ++turn) {
    const int64_t begin = base + turn * PART, end = begin + PART < last ? begin + PART : last;
    take_sums(m, turn, count <= HALF ? 1 : 2, s);
    if (end > first) finish_pixels(&to, s, begin, begin > first ? begin : first, end);
  }
}

/* Pixels first: A stays in the first cache, B in the second. Blocks first, where B is more than caches hold: a block
 * serves all pixels while the next one is fetched; where these are few, there is no time for that. */
HN_INLINE void unit(const hn_product_half *p, multiplier *m, int64_t index) {
  const span u = span_of(p, index);
  const int64_t tiles = (u.end - u.begin + TILE - 1) / TILE, depth = p->taps * p->depth_blocks;
  _Alignas(64) sums s;
  if (!p->blocks_first) {
    for (int64_t first = u.begin; first < u.end; first += TILE)
      for (int64_t b = u.block_begin; b < u.block_end; ++b) tile(p, m, &u, first, b, (ahead){p->w, 0}, &s);
    return;
  }
  const int64_t lines = (BLOCK / LINE + tiles - 1) / tiles;
  for (int64_t b = u.block_begin; b < u.block_end; ++b) {
    ahead next = {p->w + (u.group * hn_product_half_blocks(p) + b + 1) * depth * BLOCK, lines};
    if (b + 1 == u.block_end || tiles < 4) next.lines = 0;
    for (int64_t first = u.begin; first < u.end; first += TILE) {
      tile(p, m, &u, first, b, next, &s);
      next.w += depth * next.lines * LINE;
    }
  }
}

void HN_HELD_NAME(hn_product)(const hn_product_half *product, int64_t begin, int64_t end) {
  multiplier m;
  multiplier_begin(&m);
  for (int64_t at = begin; at < end; ++at) unit(product, &m, at);
  multiplier_end(&m);
}

#endif
