/* SPDX-License-Identifier: Apache-2.0 */
/* product_tiles_bf16.inc.h - four tiles of sums, two of A and two of B: each tile that is loaded is used twice, which
 * is what keeps the unit busy. */
#ifndef HN_KERNELS_CPU_GEMM_PRODUCT_TILES_BF16_INC_H
#define HN_KERNELS_CPU_GEMM_PRODUCT_TILES_BF16_INC_H

#include "kernels/cpu/amx.inc.h"
#include "kernels/cpu/gemm/product_half_tile.inc.h"

enum { STEP = HALF, PART = HALF, REST = 2 };

/* The first sixteen pixels are finished some steps before the others: rows of sums that the first cache has lost are
 * stored, and made into outputs, while the unit is still busy with what is left of the tile. */
typedef struct multiplier {
  amx_tiles tiles;
  const uint16_t *a[REST], *w; /* of the steps that the other pixels lack */
  int64_t rest;
} multiplier;
#define multiplier_begin(m) amx_begin(&(m)->tiles)
#define multiplier_end(m) amx_end(&(m)->tiles)

/* halves of pixels and of channels that are there: 1 or 2. */
HN_INLINE void multiply(const hn_product_half *p, multiplier *m, const uint16_t *x, const uint16_t *w,
                        const int pixel_halves, const int channel_halves, ahead next) {
  const int64_t row = TILE * (int64_t)sizeof *x;
  amx_tiles *t = &m->tiles;
  int64_t left = p->taps * p->depth_blocks;
  m->rest = 0;
  amx_zero(t, 0);
  if (channel_halves > 1) amx_zero(t, 1);
  if (pixel_halves > 1) amx_zero(t, 2);
  if (pixel_halves > 1 && channel_halves > 1) amx_zero(t, 3);
  for (int64_t tap = 0; tap < p->taps; ++tap) {
    const uint16_t *a = x + p->tap_at[tap] * TILE;
    for (int64_t d = 0; d < p->depth_blocks; ++d, a += p->x_block, w += BLOCK) {
      next = fetch(next);
      amx_load(t, 4, a, row);
      amx_load(t, 6, w, AMX_ROW_BYTES);
      amx_dot_bf16(t, 0, 4, 6);
      if (channel_halves > 1) {
        amx_load(t, 7, w + BLOCK / 2, AMX_ROW_BYTES);
        amx_dot_bf16(t, 1, 4, 7);
      }
      if (pixel_halves > 1 && --left < REST) {
        m->a[m->rest++] = a;
        m->w = w;
      } else if (pixel_halves > 1) {
        amx_load(t, 5, a + HALF * TILE, row);
        amx_dot_bf16(t, 2, 5, 6);
        if (channel_halves > 1) amx_dot_bf16(t, 3, 5, 7);
      }
    }
  }
}

HN_INLINE void multiply_rest(multiplier *m, const int channel_halves) {
  amx_tiles *t = &m->tiles;
  const uint16_t *w = m->w - (m->rest - 1) * BLOCK;
  for (int64_t i = 0; i < m->rest; ++i, w += BLOCK) {
    amx_load(t, 5, m->a[i] + HALF * TILE, TILE * (int64_t)sizeof *w);
    amx_load(t, 6, w, AMX_ROW_BYTES);
    amx_dot_bf16(t, 2, 5, 6);
    if (channel_halves > 1) {
      amx_load(t, 7, w + BLOCK / 2, AMX_ROW_BYTES);
      amx_dot_bf16(t, 3, 5, 7);
    }
  }
}

/* The sums of sixteen pixels: the first, then the others. */
HN_INLINE void take_sums(multiplier *m, int64_t turn, const int channel_halves, sums *to) {
  amx_tiles *t = &m->tiles;
  if (turn == 0) {
    amx_store(t, 0, &to->of[0][0], sizeof to->of[0]);
    if (channel_halves > 1) amx_store(t, 1, &to->of[0][HALF], sizeof to->of[0]);
    if (m->rest) multiply_rest(m, channel_halves);
  } else {
    amx_store(t, 2, &to->of[0][0], sizeof to->of[0]);
    if (channel_halves > 1) amx_store(t, 3, &to->of[0][HALF], sizeof to->of[0]);
  }
}

HN_OUTLINE void multiply_1_1(const hn_product_half *p, multiplier *m, const uint16_t *x, const uint16_t *w,
                             ahead next) {
  multiply(p, m, x, w, 1, 1, next);
}
HN_OUTLINE void multiply_1_2(const hn_product_half *p, multiplier *m, const uint16_t *x, const uint16_t *w,
                             ahead next) {
  multiply(p, m, x, w, 1, 2, next);
}
HN_OUTLINE void multiply_2_1(const hn_product_half *p, multiplier *m, const uint16_t *x, const uint16_t *w,
                             ahead next) {
  multiply(p, m, x, w, 2, 1, next);
}
HN_OUTLINE void multiply_2_2(const hn_product_half *p, multiplier *m, const uint16_t *x, const uint16_t *w,
                             ahead next) {
  multiply(p, m, x, w, 2, 2, next);
}

HN_INLINE void multiply_tile(const hn_product_half *p, multiplier *m, const uint16_t *x, int64_t base,
                             const uint16_t *w, int64_t steps, int channel_halves, ahead next, sums *to) {
  (void)to;
  (steps == 1            ? channel_halves == 1 ? multiply_1_1 : multiply_1_2
   : channel_halves == 1 ? multiply_2_1
                         : multiply_2_2)(p, m, x + base * TILE, w, next);
}

#endif
