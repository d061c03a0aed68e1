/* SPDX-License-Identifier: Apache-2.0 */
/* conv_f32_first.c - a network's first convolution: few plain NCHW channels in, nChwBc out.
 *
 * The sum runs over input channel, ky, kx; taps in the padding are skipped. Tiles run along a row where no tap
 * leaves it at the sides; the few pixels at its ends go one by one. */
/* isa: c avx2 avx512 */
#include "kernels/cpu/conv/conv_tile_f32.inc.h"

#define HN_FIRST_BLOCKS 2

/* Taps of a tile: ky in [ky_begin, ky_end), kx likewise, valid for all its pixels. */
typedef struct taps {
  int64_t ky_begin, ky_end, kx_begin, kx_end;
} taps;

HN_INLINE void tile_first(const conv_tile *t, const taps *k, const int blocks, const int pixels, ptrdiff_t stride) {
  const hn_conv_f32 *c = t->conv;
  const int vectors = blocks * HN_BLOCK_VECTORS;
  const int64_t y = t->y * c->stride_height - c->pad_top, x = t->x * c->stride_width - c->pad_left;
  vf acc[HN_TILE_VECTORS_MAX];
  tile_start(acc, vectors, pixels, t->bias);
  for (int64_t i = 0; i < c->in_channels; ++i)
    for (int64_t ky = k->ky_begin; ky < k->ky_end; ++ky) {
      const float *in =
          t->in + (i * c->in_height + y + ky * c->dilation_height) * c->in_width + x + k->kx_begin * c->dilation_width;
      const float *w = t->weights + ((i * c->kernel_height + ky) * c->kernel_width + k->kx_begin) * HN_BLOCK;
      for (int64_t kx = k->kx_begin; kx < k->kx_end; ++kx, in += c->dilation_width, w += HN_BLOCK)
        tile_step(acc, vectors, pixels, in, stride, w, t->weight_stride);
    }
  conv_tile_store(acc, blocks, pixels, t);
}

#if HN_LANES == 16
#define HN_FIRST_PIXELS_1 14
#define HN_FIRST_PIXELS_2 14
#elif HN_LANES == 8
#define HN_FIRST_PIXELS_1 10
#define HN_FIRST_PIXELS_2 6
#else
#define HN_FIRST_PIXELS_1 4
#define HN_FIRST_PIXELS_2 2
#endif
HN_OUTLINE void tile_first_1_1(const conv_tile *t, const taps *k) { tile_first(t, k, 1, 1, t->conv->stride_width); }
HN_OUTLINE void tile_first_1_2(const conv_tile *t, const taps *k) { tile_first(t, k, 1, 2, t->conv->stride_width); }
HN_OUTLINE void tile_first_1_3(const conv_tile *t, const taps *k) { tile_first(t, k, 1, 3, t->conv->stride_width); }
HN_OUTLINE void tile_first_1_4(const conv_tile *t, const taps *k) { tile_first(t, k, 1, 4, t->conv->stride_width); }
HN_OUTLINE void tile_first_2_1(const conv_tile *t, const taps *k) { tile_first(t, k, 2, 1, t->conv->stride_width); }
HN_OUTLINE void tile_first_2_2(const conv_tile *t, const taps *k) { tile_first(t, k, 2, 2, t->conv->stride_width); }
#if HN_LANES >= 8
HN_OUTLINE void tile_first_1_5(const conv_tile *t, const taps *k) { tile_first(t, k, 1, 5, t->conv->stride_width); }
HN_OUTLINE void tile_first_1_6(const conv_tile *t, const taps *k) { tile_first(t, k, 1, 6, t->conv->stride_width); }
HN_OUTLINE void tile_first_1_7(const conv_tile *t, const taps *k) { tile_first(t, k, 1, 7, t->conv->stride_width); }
HN_OUTLINE void tile_first_1_8(const conv_tile *t, const taps *k) { tile_first(t, k, 1, 8, t->conv->stride_width); }
HN_OUTLINE void tile_first_1_9(const conv_tile *t, const taps *k) { tile_first(t, k, 1, 9, t->conv->stride_width); }
HN_OUTLINE void tile_first_1_10(const conv_tile *t, const taps *k) { tile_first(t, k, 1, 10, t->conv->stride_width); }
HN_OUTLINE void tile_first_2_3(const conv_tile *t, const taps *k) { tile_first(t, k, 2, 3, t->conv->stride_width); }
HN_OUTLINE void tile_first_2_4(const conv_tile *t, const taps *k) { tile_first(t, k, 2, 4, t->conv->stride_width); }
HN_OUTLINE void tile_first_2_5(const conv_tile *t, const taps *k) { tile_first(t, k, 2, 5, t->conv->stride_width); }
HN_OUTLINE void tile_first_2_6(const conv_tile *t, const taps *k) { tile_first(t, k, 2, 6, t->conv->stride_width); }
#endif
#if HN_LANES == 16
HN_OUTLINE void tile_first_1_11(const conv_tile *t, const taps *k) { tile_first(t, k, 1, 11, t->conv->stride_width); }
HN_OUTLINE void tile_first_1_12(const conv_tile *t, const taps *k) { tile_first(t, k, 1, 12, t->conv->stride_width); }
HN_OUTLINE void tile_first_1_13(const conv_tile *t, const taps *k) { tile_first(t, k, 1, 13, t->conv->stride_width); }
HN_OUTLINE void tile_first_1_14(const conv_tile *t, const taps *k) { tile_first(t, k, 1, 14, t->conv->stride_width); }
HN_OUTLINE void tile_first_2_7(const conv_tile *t, const taps *k) { tile_first(t, k, 2, 7, t->conv->stride_width); }
HN_OUTLINE void tile_first_2_8(const conv_tile *t, const taps *k) { tile_first(t, k, 2, 8, t->conv->stride_width); }
HN_OUTLINE void tile_first_2_9(const conv_tile *t, const taps *k) { tile_first(t, k, 2, 9, t->conv->stride_width); }
HN_OUTLINE void tile_first_2_10(const conv_tile *t, const taps *k) { tile_first(t, k, 2, 10, t->conv->stride_width); }
HN_OUTLINE void tile_first_2_11(const conv_tile *t, const taps *k) { tile_first(t, k, 2, 11, t->conv->stride_width); }
HN_OUTLINE void tile_first_2_12(const conv_tile *t, const taps *k) { tile_first(t, k, 2, 12, t->conv->stride_width); }
HN_OUTLINE void tile_first_2_13(const conv_tile *t, const taps *k) { tile_first(t, k, 2, 13, t->conv->stride_width); }
HN_OUTLINE void tile_first_2_14(const conv_tile *t, const taps *k) { tile_first(t, k, 2, 14, t->conv->stride_width); }
#endif

HN_OUTLINE void tile_full_1_1(const conv_tile *t, const taps *k) { tile_first(t, k, 1, HN_FIRST_PIXELS_1, 1); }
HN_OUTLINE void tile_full_2_1(const conv_tile *t, const taps *k) { tile_first(t, k, 1, HN_FIRST_PIXELS_1, 2); }
HN_OUTLINE void tile_full_1_2(const conv_tile *t, const taps *k) { tile_first(t, k, 2, HN_FIRST_PIXELS_2, 1); }
HN_OUTLINE void tile_full_2_2(const conv_tile *t, const taps *k) { tile_first(t, k, 2, HN_FIRST_PIXELS_2, 2); }

typedef void tile_function(const conv_tile *, const taps *);
static tile_function *const tiles[HN_FIRST_BLOCKS + 1][15] = {
    [1][1] = tile_first_1_1,   [1][2] = tile_first_1_2,   [1][3] = tile_first_1_3,   [1][4] = tile_first_1_4,
    [2][1] = tile_first_2_1,   [2][2] = tile_first_2_2,
#if HN_LANES >= 8
    [1][5] = tile_first_1_5,   [1][6] = tile_first_1_6,   [1][7] = tile_first_1_7,   [1][8] = tile_first_1_8,
    [1][9] = tile_first_1_9,   [1][10] = tile_first_1_10, [2][3] = tile_first_2_3,   [2][4] = tile_first_2_4,
    [2][5] = tile_first_2_5,   [2][6] = tile_first_2_6,
#endif
#if HN_LANES == 16
    [1][11] = tile_first_1_11, [1][12] = tile_first_1_12, [1][13] = tile_first_1_13, [1][14] = tile_first_1_14,
    [2][7] = tile_first_2_7,   [2][8] = tile_first_2_8,   [2][9] = tile_first_2_9,   [2][10] = tile_first_2_10,
    [2][11] = tile_first_2_11, [2][12] = tile_first_2_12, [2][13] = tile_first_2_13, [2][14] = tile_first_2_14,
#endif
};
static tile_function *const full_tiles[HN_FIRST_BLOCKS + 1][3] = {
    [1] = {NULL, tile_full_1_1, tile_full_2_1}, [2] = {NULL, tile_full_1_2, tile_full_2_2}};

/* One row of output, from its first pixel; t's offset is that pixel's. */
static void first_row(conv_tile *t, int64_t row_offset) {
  const hn_conv_f32 *c = t->conv;
  const int most = tile_pixels[t->blocks];
  int64_t inside_begin, inside_end;
  taps k;
  inside_range(c->out_width, c->stride_width, c->pad_left, (c->kernel_width - 1) * c->dilation_width, c->in_width,
               &inside_begin, &inside_end);
  tap_range(t->y * c->stride_height - c->pad_top, c->dilation_height, c->kernel_height, c->in_height, &k.ky_begin,
            &k.ky_end);
  for (int64_t x = 0; x < c->out_width; x += t->pixels) {
    const int is_inside = x >= inside_begin && x < inside_end;
    t->x = (int32_t)x;
    t->pixels = is_inside ? tile_width(inside_end - x, most) : 1;
    t->offset = row_offset + x * HN_BLOCK;
    tap_range(x * c->stride_width - c->pad_left, c->dilation_width, c->kernel_width, c->in_width, &k.kx_begin,
              &k.kx_end);
    if (is_inside) k.kx_begin = 0, k.kx_end = c->kernel_width;
    if (t->pixels == most && c->stride_width <= 2)
      full_tiles[t->blocks][c->stride_width](t, &k);
    else
      tiles[t->blocks][t->pixels](t, &k);
    conv_tile_finish(t);
  }
}

void HN_BLOCKED_NAME(hn_conv_f32_first)(const hn_conv_f32 *conv, int64_t begin, int64_t end) {
  conv_plan plan = conv_plan_make(conv, 0);
  const int64_t image = conv->in_channels * conv->in_height * conv->in_width;
  plan.in_image = conv->in_batch_stride ? conv->in_batch_stride : image;
  plan.weight_block = conv->in_channels * conv->kernel_height * conv->kernel_width * HN_BLOCK;
  for (int64_t at = begin; at < end; ++at) {
    const conv_unit u = conv_unit_at(conv, &plan, at);
    conv_tile t = conv_tile_make(conv, &plan, &u);
    for (int64_t y = u.row_begin; y < u.row_end; ++y) {
      t.y = (int32_t)y;
      first_row(&t, u.out_offset + y * conv->out_width * HN_BLOCK);
    }
  }
}
