/* SPDX-License-Identifier: Apache-2.0 */
/* product_tiles_bf16.inc.h - four tiles of sums, two of A and two of B: each tile that is loaded is used twice, which
 * is what keeps the unit busy. */
#ifndef HN_KERNELS_CPU_GEMM_PRODUCT_TILES_BF16_INC_H
#define HN_KERNELS_CPU_GEMM_PRODUCT_TILES_BF16_INC_H

#include "kernels/cpu/amx.inc.h"
#include "kernels/cpu/gemm/product_half_tile.inc.h"

enum { STEP = HALF };
typedef amx_tiles multiplier;
#define multiplier_begin(m) amx_begin(m)
#define multiplier_end(m) amx_end(m)

/* halves of pixels and of channels that are there: 1 or 2. */
HN_INLINE void multiply(const hn_product_half *p, multiplier *t, const uint16_t *x, const uint16_t *w,
                        const int pixel_halves, const int channel_halves, ahead next, sums *to) {
  const int64_t row = TILE * (int64_t)sizeof *x;
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
      if (pixel_halves > 1) {
        amx_load(t, 5, a + HALF * TILE, row);
        amx_dot_bf16(t, 2, 5, 6);
        if (channel_halves > 1) amx_dot_bf16(t, 3, 5, 7);
      }
    }
  }
  amx_store(t, 0, &to->of[0][0], sizeof to->of[0]);
  if (channel_halves > 1) amx_store(t, 1, &to->of[0][HALF], sizeof to->of[0]);
  if (pixel_halves > 1) amx_store(t, 2, &to->of[HALF][0], sizeof to->of[0]);
  if (pixel_halves > 1 && channel_halves > 1) amx_store(t, 3, &to->of[HALF][HALF], sizeof to->of[0]);
}

HN_OUTLINE void multiply_1_1(const hn_product_half *p, multiplier *t, const uint16_t *x, const uint16_t *w, ahead next,
                             sums *to) {
  multiply(p, t, x, w, 1, 1, next, to);
}
HN_OUTLINE void multiply_1_2(const hn_product_half *p, multiplier *t, const uint16_t *x, const uint16_t *w, ahead next,
                             sums *to) {
  multiply(p, t, x, w, 1, 2, next, to);
}
HN_OUTLINE void multiply_2_1(const hn_product_half *p, multiplier *t, const uint16_t *x, const uint16_t *w, ahead next,
                             sums *to) {
  multiply(p, t, x, w, 2, 1, next, to);
}
HN_OUTLINE void multiply_2_2(const hn_product_half *p, multiplier *t, const uint16_t *x, const uint16_t *w, ahead next,
                             sums *to) {
  multiply(p, t, x, w, 2, 2, next, to);
}

HN_INLINE void multiply_tile(const hn_product_half *p, multiplier *t, const uint16_t *x, int64_t base,
                             const uint16_t *w, int64_t steps, int channel_halves, ahead next, sums *to) {
  (steps == 1            ? channel_halves == 1 ? multiply_1_1 : multiply_1_2
   : channel_halves == 1 ? multiply_2_1
                         : multiply_2_2)(p, t, x + base * TILE, w, next, to);
}

#endif
