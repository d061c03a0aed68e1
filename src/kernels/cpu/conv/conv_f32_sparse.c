/* SPDX-License-Identifier: Apache-2.0 */
/* conv_f32_sparse.c - 1x1 convolution whose weights are two of four: of each four channels a pixel's four values are
 * spread over the vector, and each output picks its two by a permutation inside of 128 bits. Half of the multiply-adds
 * are left and as many permutations come, which Zen 4 has units of its own for. Sums are those of the dense kernel, bit
 * for bit, as its other products are zeros. */
/* isa: avx512 */
#include "kernels/cpu/conv/conv_tile_f32.inc.h"

enum { GROUPS = HN_BLOCK / 4, PICKED = 2 };

HN_INLINE void tile_sparse(const conv_tile *t, const int blocks, const int pixels) {
  vf acc[HN_TILE_VECTORS_MAX];
  const float *in = t->in, *w = t->weights;
  const int64_t in_blocks = ceil_div(t->in_channels, HN_BLOCK);
  const uint16_t *places = (const uint16_t *)(const void *)(w + in_blocks * HN_CONV_F32_SPARSE_FLOATS);
  tile_start(acc, blocks, pixels, t->bias);
  for (int64_t i = 0; i < in_blocks; ++i) {
    __m512i place[HN_TILE_BLOCKS];
    HN_UNROLL
    for (int b = 0; b < blocks; ++b)
      place[b] =
          _mm512_cvtepu16_epi32(_mm256_loadu_si256((const void *)(places + i * HN_BLOCK + b * 2 * t->weight_stride)));
    HN_UNROLL
    for (int k = 0; k < GROUPS * PICKED; ++k) {
      vf weight[HN_TILE_BLOCKS];
      HN_UNROLL
      for (int b = 0; b < blocks; ++b) {
        weight[b] = v_load(w + b * t->weight_stride + k * HN_BLOCK);
        __builtin_prefetch(w + b * t->weight_stride + k * HN_BLOCK + 32 * HN_BLOCK, 0, 3);
      }
      HN_UNROLL
      for (int p = 0; p < pixels; ++p) {
        const vf four = _mm512_broadcast_f32x4(_mm_loadu_ps(in + p * HN_BLOCK + k / PICKED * 4));
        HN_UNROLL
        for (int b = 0; b < blocks; ++b)
          acc[p * blocks + b] = v_fma(_mm512_permutevar_ps(four, place[b]), weight[b], acc[p * blocks + b]);
      }
      HN_UNROLL
      for (int b = 0; b < blocks; ++b) place[b] = _mm512_srli_epi32(place[b], 2);
    }
    in += t->in_plane;
    w += HN_CONV_F32_SPARSE_FLOATS;
  }
  conv_tile_store(acc, blocks, pixels, t);
}

/* Blocks x pixels: the accumulators leave registers for weights, places, one pixel and what is picked of it. */
static const int sparse_pixels[HN_TILE_BLOCKS + 1] = {0, 14, 12, 7, 5};

HN_OUTLINE void tile_sparse_1_1(const conv_tile *t) { tile_sparse(t, 1, 1); }
HN_OUTLINE void tile_sparse_1_2(const conv_tile *t) { tile_sparse(t, 1, 2); }
HN_OUTLINE void tile_sparse_1_3(const conv_tile *t) { tile_sparse(t, 1, 3); }
HN_OUTLINE void tile_sparse_1_4(const conv_tile *t) { tile_sparse(t, 1, 4); }
HN_OUTLINE void tile_sparse_1_5(const conv_tile *t) { tile_sparse(t, 1, 5); }
HN_OUTLINE void tile_sparse_1_6(const conv_tile *t) { tile_sparse(t, 1, 6); }
HN_OUTLINE void tile_sparse_1_7(const conv_tile *t) { tile_sparse(t, 1, 7); }
HN_OUTLINE void tile_sparse_1_8(const conv_tile *t) { tile_sparse(t, 1, 8); }
HN_OUTLINE void tile_sparse_1_9(const conv_tile *t) { tile_sparse(t, 1, 9); }
HN_OUTLINE void tile_sparse_1_10(const conv_tile *t) { tile_sparse(t, 1, 10); }
HN_OUTLINE void tile_sparse_1_11(const conv_tile *t) { tile_sparse(t, 1, 11); }
HN_OUTLINE void tile_sparse_1_12(const conv_tile *t) { tile_sparse(t, 1, 12); }
HN_OUTLINE void tile_sparse_1_13(const conv_tile *t) { tile_sparse(t, 1, 13); }
HN_OUTLINE void tile_sparse_1_14(const conv_tile *t) { tile_sparse(t, 1, 14); }
HN_OUTLINE void tile_sparse_2_1(const conv_tile *t) { tile_sparse(t, 2, 1); }
HN_OUTLINE void tile_sparse_2_2(const conv_tile *t) { tile_sparse(t, 2, 2); }
HN_OUTLINE void tile_sparse_2_3(const conv_tile *t) { tile_sparse(t, 2, 3); }
HN_OUTLINE void tile_sparse_2_4(const conv_tile *t) { tile_sparse(t, 2, 4); }
HN_OUTLINE void tile_sparse_2_5(const conv_tile *t) { tile_sparse(t, 2, 5); }
HN_OUTLINE void tile_sparse_2_6(const conv_tile *t) { tile_sparse(t, 2, 6); }
HN_OUTLINE void tile_sparse_2_7(const conv_tile *t) { tile_sparse(t, 2, 7); }
HN_OUTLINE void tile_sparse_2_8(const conv_tile *t) { tile_sparse(t, 2, 8); }
HN_OUTLINE void tile_sparse_2_9(const conv_tile *t) { tile_sparse(t, 2, 9); }
HN_OUTLINE void tile_sparse_2_10(const conv_tile *t) { tile_sparse(t, 2, 10); }
HN_OUTLINE void tile_sparse_2_11(const conv_tile *t) { tile_sparse(t, 2, 11); }
HN_OUTLINE void tile_sparse_2_12(const conv_tile *t) { tile_sparse(t, 2, 12); }
HN_OUTLINE void tile_sparse_3_1(const conv_tile *t) { tile_sparse(t, 3, 1); }
HN_OUTLINE void tile_sparse_3_2(const conv_tile *t) { tile_sparse(t, 3, 2); }
HN_OUTLINE void tile_sparse_3_3(const conv_tile *t) { tile_sparse(t, 3, 3); }
HN_OUTLINE void tile_sparse_3_4(const conv_tile *t) { tile_sparse(t, 3, 4); }
HN_OUTLINE void tile_sparse_3_5(const conv_tile *t) { tile_sparse(t, 3, 5); }
HN_OUTLINE void tile_sparse_3_6(const conv_tile *t) { tile_sparse(t, 3, 6); }
HN_OUTLINE void tile_sparse_3_7(const conv_tile *t) { tile_sparse(t, 3, 7); }
HN_OUTLINE void tile_sparse_4_1(const conv_tile *t) { tile_sparse(t, 4, 1); }
HN_OUTLINE void tile_sparse_4_2(const conv_tile *t) { tile_sparse(t, 4, 2); }
HN_OUTLINE void tile_sparse_4_3(const conv_tile *t) { tile_sparse(t, 4, 3); }
HN_OUTLINE void tile_sparse_4_4(const conv_tile *t) { tile_sparse(t, 4, 4); }
HN_OUTLINE void tile_sparse_4_5(const conv_tile *t) { tile_sparse(t, 4, 5); }
static void (*const tiles[HN_TILE_BLOCKS + 1][15])(const conv_tile *) = {
    [1][1] = tile_sparse_1_1,   [1][2] = tile_sparse_1_2,   [1][3] = tile_sparse_1_3,   [1][4] = tile_sparse_1_4,
    [1][5] = tile_sparse_1_5,   [1][6] = tile_sparse_1_6,   [1][7] = tile_sparse_1_7,   [1][8] = tile_sparse_1_8,
    [1][9] = tile_sparse_1_9,   [1][10] = tile_sparse_1_10, [1][11] = tile_sparse_1_11, [1][12] = tile_sparse_1_12,
    [1][13] = tile_sparse_1_13, [1][14] = tile_sparse_1_14, [2][1] = tile_sparse_2_1,   [2][2] = tile_sparse_2_2,
    [2][3] = tile_sparse_2_3,   [2][4] = tile_sparse_2_4,   [2][5] = tile_sparse_2_5,   [2][6] = tile_sparse_2_6,
    [2][7] = tile_sparse_2_7,   [2][8] = tile_sparse_2_8,   [2][9] = tile_sparse_2_9,   [2][10] = tile_sparse_2_10,
    [2][11] = tile_sparse_2_11, [2][12] = tile_sparse_2_12, [3][1] = tile_sparse_3_1,   [3][2] = tile_sparse_3_2,
    [3][3] = tile_sparse_3_3,   [3][4] = tile_sparse_3_4,   [3][5] = tile_sparse_3_5,   [3][6] = tile_sparse_3_6,
    [3][7] = tile_sparse_3_7,   [4][1] = tile_sparse_4_1,   [4][2] = tile_sparse_4_2,   [4][3] = tile_sparse_4_3,
    [4][4] = tile_sparse_4_4,   [4][5] = tile_sparse_4_5,
};

void HN_BLOCKED_NAME(hn_conv_f32_sparse)(const hn_conv_f32 *conv, int64_t begin, int64_t end) {
  conv_plan plan = conv_plan_make(conv, 1);
  plan.weight_block = hn_conv_f32_sparse_block_floats(conv->in_channels);
  for (int64_t at = begin; at < end; ++at) {
    const conv_unit u = conv_unit_at(conv, &plan, at);
    conv_tile t = conv_tile_make(conv, &plan, &u);
    const float *in = t.in;
    const int most = sparse_pixels[u.blocks];
    for (int64_t pixel = u.row_begin; pixel < u.row_end; pixel += t.pixels) {
      t.pixels = tile_width(u.row_end - pixel, most);
      t.in = in + pixel * HN_BLOCK;
      conv_tile_begin(&t, &u, pixel);
      tiles[u.blocks][t.pixels](&t);
      conv_tile_end(&t, pixel + t.pixels == u.row_end);
    }
  }
}
