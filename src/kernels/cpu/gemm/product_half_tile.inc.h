/* SPDX-License-Identifier: Apache-2.0 */
/* product_half_tile.inc.h - what multiplying and the rest of a product of halves say to each other. */
#ifndef HN_KERNELS_CPU_GEMM_PRODUCT_HALF_TILE_INC_H
#define HN_KERNELS_CPU_GEMM_PRODUCT_HALF_TILE_INC_H

#include "kernels/cpu/activate.inc.h"
#include "kernels/cpu/gemm/product_half.h"
#include "kernels/cpu/held.inc.h"

enum {
  TILE = HN_PRODUCT_HALF_TILE,
  HALF = TILE / 2,
  BLOCK = HN_PRODUCT_HALF_WEIGHTS,
  LINE = 32 /* elements of 64 bytes */
};

typedef struct sums {
  float of[TILE][TILE]; /* [pixel][channel] */
} sums;

/* Where one pixel of one tile goes. */
typedef struct place {
  const hn_product_half *p;
  int64_t offset;  /* of the tile's first channel at the image's first pixel, in y */
  int64_t channel; /* in all groups: bias and slopes */
  int64_t count;   /* channels of the tile that there are */
} place;

HN_INLINE vf load_y(const void *from, int64_t at, int is_half) {
  return is_half ? h_load((const held *)from + at) : v_load((const float *)from + at);
}

/* What is done to a sum while it is in a register: one way through a tile's sums. */
HN_INLINE int ends_at_once(const hn_epilogue_f32 *e) {
  return activation_is_bounds(e) || e->activation == HN_ACTIVATION_HARD_SWISH;
}

/* Weights that will be wanted after these: so many lines of 64 bytes are fetched with each depth block. */
typedef struct ahead {
  const uint16_t *w;
  int64_t lines;
} ahead;

HN_INLINE ahead fetch(ahead next) {
  for (int64_t line = 0; line < next.lines; ++line, next.w += LINE) __builtin_prefetch(next.w, 0, 2);
  return next;
}

#endif
