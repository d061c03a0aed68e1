/* SPDX-License-Identifier: Apache-2.0 */
/* product_shallow_bf16.c - products of bf16 whose depth is few blocks: what becomes of the sums takes longer than they
 * do. 16 pixels times 32 channels are two tiles of sums; while the unit multiplies into these, the two before them are
 * stored and become outputs. */
/* isa: c amx_bf16 */
#define HN_HELD_BF16
#include "kernels/cpu/amx.inc.h"
#include "kernels/cpu/gemm/product_half_tile.inc.h"

enum { STEP = HALF };

/* Sums of 16 pixels and a block of channels, of which so many are there; no pixels: none. */
typedef struct step {
  int64_t pixel, pixels, block, channels;
} step;

typedef struct work {
  _Alignas(64) float sums[STEP][TILE];
  const hn_product_half *p;
  amx_tiles tiles;
  step before; /* that is still in tiles */
} work;

HN_INLINE void end_pixels(work *w, const int is_half, const int is_whole) {
  enum { VECTORS = TILE / HN_LANES };
  const hn_product_half *p = w->p;
  const step *s = &w->before;
  const int64_t block = p->y_block, pixel = p->y_pixel, pixels = s->pixels, channels = s->channels;
  const int64_t first = s->block * (TILE / p->y_lanes) * block + s->pixel * pixel;
  held *half = (held *)p->y + first;
  float *wide = (float *)p->y + first;
  vm there[VECTORS];
  float low, high;
  activation_bounds(&p->epilogue, &low, &high);
  const vf lowest = v_set(low), highest = v_set(high);
  for (int v = 0; v < VECTORS; ++v) there[v] = vm_below(channels < v * HN_LANES ? 0 : channels - v * HN_LANES);
  for (int64_t i = 0; i < pixels; ++i, half += pixel, wide += pixel) {
    vf x[VECTORS];
    HN_UNROLL
    for (int v = 0; v < VECTORS; ++v) {
      x[v] = v_min(highest, v_max(lowest, v_load(w->sums[i] + v * HN_LANES)));
      if (!is_whole) x[v] = v_select(there[v], x[v], v_set(0));
    }
#if defined(__AVX512BF16__)
    if (is_half) {
      const __m512bh both = _mm512_cvtne2ps_pbh(x[1], x[0]);
      memcpy(half, &both, sizeof both);
    }
#else
    for (int v = 0; v < VECTORS && is_half; ++v) h_store(half + v * HN_LANES, x[v]);
#endif
    for (int v = 0; v < VECTORS && !is_half; ++v) {
      const int64_t lane = v * HN_LANES;
      if (lane / HALF * HALF < channels) v_store(wide + lane / HALF * block + lane % HALF, x[v]);
    } /* y may have no second block */
  }
}

HN_OUTLINE void end_half(work *w) { end_pixels(w, 1, 1); }
HN_OUTLINE void end_part(work *w) { end_pixels(w, 1, 0); }
HN_OUTLINE void end_f32(work *w) { end_pixels(w, 0, 0); }

/* What was in tiles and is in memory now becomes outputs. */
HN_INLINE void end_before(work *w) {
  const hn_product_half *p = w->p;
  const step *s = &w->before;
  const int64_t count = s->pixels * TILE, channel = s->block * TILE;
  if (!activation_is_bounds(&p->epilogue) && p->y_is_half)
    activate_channels_to_half(w->sums[0], count, &p->epilogue, channel, TILE);
  else if (!activation_is_bounds(&p->epilogue))
    activate_channels(w->sums[0], count, &p->epilogue, channel, TILE);
  (!p->y_is_half ? end_f32 : s->channels < TILE ? end_part : end_half)(w);
}

/* Multiplies for a step into tiles 0 and 1, or into 2 and 3, and makes outputs of what the others hold. */
HN_INLINE void multiply(work *w, const step *next, const int odd, const int channel_halves) {
  static const float none[TILE] = {0};
  const hn_product_half *p = w->p;
  amx_tiles *t = &w->tiles;
  const float *bias = p->epilogue.bias ? p->epilogue.bias + next->block * TILE : none;
  const uint16_t *a = p->x + next->pixel * TILE, *b = p->w + next->block * p->depth_blocks * BLOCK;
  if (odd)
    amx_load(t, 2, bias, 0);
  else
    amx_load(t, 0, bias, 0);
  if (odd && channel_halves > 1) amx_load(t, 3, bias + HALF, 0);
  if (!odd && channel_halves > 1) amx_load(t, 1, bias + HALF, 0);
  for (int64_t d = 0; d < p->depth_blocks; ++d, a += p->x_block, b += BLOCK) {
    amx_load(t, 4, a, AMX_ROW_BYTES);
    amx_load(t, 6, b, AMX_ROW_BYTES);
    if (channel_halves > 1) amx_load(t, 7, b + BLOCK / 2, AMX_ROW_BYTES);
    if (odd)
      amx_dot_bf16(t, 2, 4, 6);
    else
      amx_dot_bf16(t, 0, 4, 6);
    if (odd && channel_halves > 1) amx_dot_bf16(t, 3, 4, 7);
    if (!odd && channel_halves > 1) amx_dot_bf16(t, 1, 4, 7);
  }
}

/* Tiles 0 and 1, or 2 and 3, go to memory. */
HN_INLINE void store_before(work *w, const int odd) {
  const int both = w->before.channels > HALF;
  if (odd) {
    amx_store(&w->tiles, 2, w->sums[0], sizeof w->sums[0]);
    if (both) amx_store(&w->tiles, 3, &w->sums[0][HALF], sizeof w->sums[0]);
  } else {
    amx_store(&w->tiles, 0, w->sums[0], sizeof w->sums[0]);
    if (both) amx_store(&w->tiles, 1, &w->sums[0][HALF], sizeof w->sums[0]);
  }
}

HN_INLINE void take_step(work *w, const step *next, const int odd) {
  if (next->channels > HALF)
    multiply(w, next, odd, 2);
  else
    multiply(w, next, odd, 1);
  if (w->before.pixels) {
    store_before(w, !odd);
    end_before(w);
  }
  w->before = *next;
}

HN_OUTLINE void even_step(work *w, const step *next) { take_step(w, next, 0); }
HN_OUTLINE void odd_step(work *w, const step *next) { take_step(w, next, 1); }

void HN_SIMD_NAME(hn_product_shallow_bf16)(const hn_product_half *p, int64_t begin, int64_t end) {
  const int64_t blocks = hn_product_half_blocks(p), pixels = hn_product_half_pixels(p);
  const int64_t steps = (pixels + STEP - 1) / STEP * blocks;
  work w;
  w.p = p;
  w.before.pixels = 0;
  if (begin >= end) return;
  amx_begin(&w.tiles);
  for (int64_t i = 0; i < steps; ++i) {
    step next = {.pixel = i / blocks * STEP, .block = i % blocks};
    next.pixels = pixels - next.pixel < STEP ? pixels - next.pixel : STEP;
    next.channels = p->out_channels - next.block * TILE < TILE ? p->out_channels - next.block * TILE : TILE;
    (i % 2 ? odd_step : even_step)(&w, &next);
  }
  if (steps % 2)
    store_before(&w, 0);
  else
    store_before(&w, 1);
  end_before(&w);
  amx_end(&w.tiles);
}
