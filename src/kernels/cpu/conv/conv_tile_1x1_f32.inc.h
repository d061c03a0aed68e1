/* SPDX-License-Identifier: Apache-2.0 */
/* conv_tile_1x1_f32.inc.h - a tile whose pixels lie next to each other and have one tap: a product of matrices. */
#ifndef HN_KERNELS_CPU_CONV_TILE_1X1_F32_INC_H
#define HN_KERNELS_CPU_CONV_TILE_1X1_F32_INC_H

#include "kernels/cpu/conv/conv_tile_f32.inc.h"

HN_INLINE void tile_1x1(const conv_tile *t, const int blocks, const int pixels) {
  const int vectors = blocks * HN_BLOCK_VECTORS;
  vf acc[HN_TILE_VECTORS_MAX];
  const float *in = t->in, *w = t->weights;
  tile_start(acc, vectors, pixels, t->bias);
  for (int64_t left = t->in_channels; left > 0; left -= HN_BLOCK, in += t->in_plane, w += HN_BLOCK * HN_BLOCK)
    tile_run_ahead(acc, vectors, pixels, in, HN_BLOCK, w, t->weight_stride, left < HN_BLOCK ? left : HN_BLOCK);
  conv_tile_store(acc, blocks, pixels, t);
}

#define HN_DEFINE_1X1(b, p)                                                                                            \
  HN_OUTLINE void tile_1x1_##b##_##p(const conv_tile *t) { tile_1x1(t, b, p); }
#define HN_ENTRY_1X1(b, p) [b][p] = tile_1x1_##b##_##p,
HN_TILES(HN_DEFINE_1X1)
static void (*const tiles_1x1[HN_TILE_BLOCKS + 1][15])(const conv_tile *) = {HN_TILES(HN_ENTRY_1X1)};

#endif
