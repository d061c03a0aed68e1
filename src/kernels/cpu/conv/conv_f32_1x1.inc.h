/* SPDX-License-Identifier: Apache-2.0 */
/* conv_f32_1x1.inc.h - 1x1 stride 1 convolution on nChwBc: a matrix product over the flattened image.
 * The including file defines HN_LANES, HN_BLOCK and HN_CONV_1X1, the function's name. */
#include "kernels/cpu/conv/conv_tile_f32.inc.h"

HN_INLINE void tile_1x1(const conv_tile *t, const int blocks, const int pixels) {
  const int vectors = blocks * HN_BLOCK_VECTORS;
  vf acc[HN_TILE_VECTORS_MAX];
  const float *in = t->in, *w = t->weights;
  tile_start(acc, vectors, pixels, t->bias);
  for (int64_t left = t->in_channels; left > 0; left -= HN_BLOCK, in += t->in_plane, w += HN_BLOCK * HN_BLOCK)
    tile_run(acc, vectors, pixels, in, HN_BLOCK, w, t->weight_stride, left < HN_BLOCK ? left : HN_BLOCK);
  conv_tile_store(acc, blocks, pixels, t);
}

#define HN_DEFINE(b, p)                                                                                                \
  HN_OUTLINE void tile_1x1_##b##_##p(const conv_tile *t) { tile_1x1(t, b, p); }
#define HN_ENTRY(b, p) [b][p] = tile_1x1_##b##_##p,
HN_TILES(HN_DEFINE)
static void (*const tiles[HN_TILE_BLOCKS + 1][15])(const conv_tile *) = {HN_TILES(HN_ENTRY)};

void HN_CONV_1X1(const hn_conv_f32 *conv, int64_t begin, int64_t end) {
  const conv_plan plan = conv_plan_make(conv, 1);
  for (int64_t at = begin; at < end; ++at) {
    const conv_unit u = conv_unit_at(conv, &plan, at);
    conv_tile t = conv_tile_make(conv, &plan, &u);
    const float *in = t.in;
    const int most = tile_pixels[u.blocks];
    for (int64_t pixel = u.row_begin; pixel < u.row_end; pixel += t.pixels) {
      t.pixels = tile_width(u.row_end - pixel, most);
      t.in = in + pixel * HN_BLOCK;
      t.offset = u.out_offset + pixel * HN_BLOCK;
      tiles[u.blocks][t.pixels](&t);
      conv_tile_finish(&t);
    }
  }
}
