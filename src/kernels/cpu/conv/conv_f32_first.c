/* SPDX-License-Identifier: Apache-2.0 */
/* conv_f32_first.c - a network's first convolution: few plain NCHW channels in, nChwBc out.
 *
 * The sum runs over input channel, ky, kx; taps in the padding are skipped. Tiles run along a row where no tap
 * leaves it at the sides; the few pixels at its ends go one by one. */
/* isa: c avx2 avx512 */
#include "kernels/cpu/conv/conv_tile_f32.inc.h"

#if HN_LANES == 16
#define HN_FIRST_BLOCKS 2
#define HN_FIRST_TILES(X) HN_UP_TO_14(X, 1) HN_UP_TO_14(X, 2)
#elif HN_LANES == 8
#define HN_FIRST_BLOCKS 2
#define HN_FIRST_TILES(X) HN_UP_TO_10(X, 1) HN_UP_TO_6(X, 2)
#else
#define HN_FIRST_BLOCKS 2
#define HN_FIRST_TILES(X) HN_TILES(X)
#endif

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

#define HN_DEFINE_FIRST(b, p)                                                                                          \
  HN_OUTLINE void tile_first_##b##_##p(const conv_tile *t, const taps *k) {                                            \
    tile_first(t, k, b, p, t->conv->stride_width);                                                                     \
  }
#define HN_DEFINE_FULL(b, p)                                                                                           \
  HN_OUTLINE void tile_full_1_##b(const conv_tile *t, const taps *k) { tile_first(t, k, b, p, 1); }                    \
  HN_OUTLINE void tile_full_2_##b(const conv_tile *t, const taps *k) { tile_first(t, k, b, p, 2); }
#define HN_FIRST_FULL(X) X(1, HN_FIRST_PIXELS_1) X(2, HN_FIRST_PIXELS_2)
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
HN_FIRST_TILES(HN_DEFINE_FIRST)
HN_FIRST_FULL(HN_DEFINE_FULL)

typedef void tile_function(const conv_tile *, const taps *);
#define HN_ENTRY_FIRST(b, p) [b][p] = tile_first_##b##_##p,
#define HN_ENTRY_FULL(b, p) [b] = {NULL, tile_full_1_##b, tile_full_2_##b},
static tile_function *const tiles[HN_FIRST_BLOCKS + 1][15] = {HN_FIRST_TILES(HN_ENTRY_FIRST)};
static tile_function *const full_tiles[HN_FIRST_BLOCKS + 1][3] = {HN_FIRST_FULL(HN_ENTRY_FULL)};

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
