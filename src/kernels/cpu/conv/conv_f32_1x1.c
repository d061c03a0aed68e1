/* SPDX-License-Identifier: Apache-2.0 */
/* conv_f32_1x1.c - 1x1 stride 1 convolution on nChwBc: a matrix product over the flattened image. */
/* isa: c avx2 avx512 */
#include "kernels/cpu/conv/conv_tile_1x1_f32.inc.h"

HN_INLINE void tile_1x1(const conv_tile *t, const int blocks, const int pixels) {
  const int vectors = blocks * HN_BLOCK_VECTORS;
  vf acc[HN_TILE_VECTORS_MAX];
  const float *in = t->in, *w = t->weights;
  tile_start(acc, vectors, pixels, t->bias);
  for (int64_t left = t->in_channels; left > 0; left -= HN_BLOCK, in += t->in_plane, w += HN_BLOCK * HN_BLOCK)
    tile_run_ahead(acc, vectors, pixels, in, HN_BLOCK, w, t->weight_stride, left < HN_BLOCK ? left : HN_BLOCK);
  conv_tile_store(acc, blocks, pixels, t);
}

HN_OUTLINE void tile_1x1_1_1(const conv_tile *t) { tile_1x1(t, 1, 1); }
HN_OUTLINE void tile_1x1_1_2(const conv_tile *t) { tile_1x1(t, 1, 2); }
HN_OUTLINE void tile_1x1_1_3(const conv_tile *t) { tile_1x1(t, 1, 3); }
HN_OUTLINE void tile_1x1_1_4(const conv_tile *t) { tile_1x1(t, 1, 4); }
HN_OUTLINE void tile_1x1_2_1(const conv_tile *t) { tile_1x1(t, 2, 1); }
HN_OUTLINE void tile_1x1_2_2(const conv_tile *t) { tile_1x1(t, 2, 2); }
#if HN_LANES >= 8
HN_OUTLINE void tile_1x1_1_5(const conv_tile *t) { tile_1x1(t, 1, 5); }
HN_OUTLINE void tile_1x1_1_6(const conv_tile *t) { tile_1x1(t, 1, 6); }
HN_OUTLINE void tile_1x1_1_7(const conv_tile *t) { tile_1x1(t, 1, 7); }
HN_OUTLINE void tile_1x1_1_8(const conv_tile *t) { tile_1x1(t, 1, 8); }
HN_OUTLINE void tile_1x1_1_9(const conv_tile *t) { tile_1x1(t, 1, 9); }
HN_OUTLINE void tile_1x1_1_10(const conv_tile *t) { tile_1x1(t, 1, 10); }
HN_OUTLINE void tile_1x1_2_3(const conv_tile *t) { tile_1x1(t, 2, 3); }
HN_OUTLINE void tile_1x1_2_4(const conv_tile *t) { tile_1x1(t, 2, 4); }
HN_OUTLINE void tile_1x1_2_5(const conv_tile *t) { tile_1x1(t, 2, 5); }
HN_OUTLINE void tile_1x1_2_6(const conv_tile *t) { tile_1x1(t, 2, 6); }
HN_OUTLINE void tile_1x1_3_1(const conv_tile *t) { tile_1x1(t, 3, 1); }
HN_OUTLINE void tile_1x1_3_2(const conv_tile *t) { tile_1x1(t, 3, 2); }
HN_OUTLINE void tile_1x1_3_3(const conv_tile *t) { tile_1x1(t, 3, 3); }
HN_OUTLINE void tile_1x1_3_4(const conv_tile *t) { tile_1x1(t, 3, 4); }
#endif
#if HN_LANES == 16
HN_OUTLINE void tile_1x1_1_11(const conv_tile *t) { tile_1x1(t, 1, 11); }
HN_OUTLINE void tile_1x1_1_12(const conv_tile *t) { tile_1x1(t, 1, 12); }
HN_OUTLINE void tile_1x1_1_13(const conv_tile *t) { tile_1x1(t, 1, 13); }
HN_OUTLINE void tile_1x1_1_14(const conv_tile *t) { tile_1x1(t, 1, 14); }
HN_OUTLINE void tile_1x1_2_7(const conv_tile *t) { tile_1x1(t, 2, 7); }
HN_OUTLINE void tile_1x1_2_8(const conv_tile *t) { tile_1x1(t, 2, 8); }
HN_OUTLINE void tile_1x1_2_9(const conv_tile *t) { tile_1x1(t, 2, 9); }
HN_OUTLINE void tile_1x1_2_10(const conv_tile *t) { tile_1x1(t, 2, 10); }
HN_OUTLINE void tile_1x1_2_11(const conv_tile *t) { tile_1x1(t, 2, 11); }
HN_OUTLINE void tile_1x1_2_12(const conv_tile *t) { tile_1x1(t, 2, 12); }
HN_OUTLINE void tile_1x1_2_13(const conv_tile *t) { tile_1x1(t, 2, 13); }
HN_OUTLINE void tile_1x1_2_14(const conv_tile *t) { tile_1x1(t, 2, 14); }
HN_OUTLINE void tile_1x1_3_5(const conv_tile *t) { tile_1x1(t, 3, 5); }
HN_OUTLINE void tile_1x1_3_6(const conv_tile *t) { tile_1x1(t, 3, 6); }
HN_OUTLINE void tile_1x1_3_7(const conv_tile *t) { tile_1x1(t, 3, 7); }
HN_OUTLINE void tile_1x1_3_8(const conv_tile *t) { tile_1x1(t, 3, 8); }
HN_OUTLINE void tile_1x1_4_1(const conv_tile *t) { tile_1x1(t, 4, 1); }
HN_OUTLINE void tile_1x1_4_2(const conv_tile *t) { tile_1x1(t, 4, 2); }
HN_OUTLINE void tile_1x1_4_3(const conv_tile *t) { tile_1x1(t, 4, 3); }
HN_OUTLINE void tile_1x1_4_4(const conv_tile *t) { tile_1x1(t, 4, 4); }
HN_OUTLINE void tile_1x1_4_5(const conv_tile *t) { tile_1x1(t, 4, 5); }
HN_OUTLINE void tile_1x1_4_6(const conv_tile *t) { tile_1x1(t, 4, 6); }
#endif
void (*const HN_BLOCKED_NAME(hn_conv_f32_1x1_tiles)[HN_TILE_BLOCKS + 1][15])(const conv_tile *) = {
    [1][1] = tile_1x1_1_1,   [1][2] = tile_1x1_1_2,   [1][3] = tile_1x1_1_3,   [1][4] = tile_1x1_1_4,
    [2][1] = tile_1x1_2_1,   [2][2] = tile_1x1_2_2,
#if HN_LANES >= 8
    [1][5] = tile_1x1_1_5,   [1][6] = tile_1x1_1_6,   [1][7] = tile_1x1_1_7,   [1][8] = tile_1x1_1_8,
    [1][9] = tile_1x1_1_9,   [1][10] = tile_1x1_1_10, [2][3] = tile_1x1_2_3,   [2][4] = tile_1x1_2_4,
    [2][5] = tile_1x1_2_5,   [2][6] = tile_1x1_2_6,   [3][1] = tile_1x1_3_1,   [3][2] = tile_1x1_3_2,
    [3][3] = tile_1x1_3_3,   [3][4] = tile_1x1_3_4,
#endif
#if HN_LANES == 16
    [1][11] = tile_1x1_1_11, [1][12] = tile_1x1_1_12, [1][13] = tile_1x1_1_13, [1][14] = tile_1x1_1_14,
    [2][7] = tile_1x1_2_7,   [2][8] = tile_1x1_2_8,   [2][9] = tile_1x1_2_9,   [2][10] = tile_1x1_2_10,
    [2][11] = tile_1x1_2_11, [2][12] = tile_1x1_2_12, [2][13] = tile_1x1_2_13, [2][14] = tile_1x1_2_14,
    [3][5] = tile_1x1_3_5,   [3][6] = tile_1x1_3_6,   [3][7] = tile_1x1_3_7,   [3][8] = tile_1x1_3_8,
    [4][1] = tile_1x1_4_1,   [4][2] = tile_1x1_4_2,   [4][3] = tile_1x1_4_3,   [4][4] = tile_1x1_4_4,
    [4][5] = tile_1x1_4_5,   [4][6] = tile_1x1_4_6,
#endif
};

void HN_BLOCKED_NAME(hn_conv_f32_1x1)(const hn_conv_f32 *conv, int64_t begin, int64_t end) {
  const conv_plan plan = conv_plan_make(conv, 1);
  conv_strip strip;
  for (int64_t at = begin; at < end; ++at) {
    const conv_unit u = conv_unit_at(conv, &plan, at);
    conv_tile t = conv_tile_make(conv, &plan, &u);
    if (conv->plain_output) conv_tile_to_strip(&t, &u, &strip);
    const float *in = t.in;
    const int most = tile_pixels[u.blocks];
    for (int64_t pixel = u.row_begin; pixel < u.row_end; pixel += t.pixels) {
      t.pixels = tile_width(u.row_end - pixel, most);
      t.in = in + pixel * HN_BLOCK;
      conv_tile_begin(&t, &u, pixel);
      HN_BLOCKED_NAME(hn_conv_f32_1x1_tiles)[u.blocks][t.pixels](&t);
      conv_tile_end(&t, pixel + t.pixels == u.row_end);
    }
  }
}
