/* SPDX-License-Identifier: Apache-2.0 */
/* conv_f32.inc.h - general direct convolution on nChwBc.
 *
 * Full tiles inside the image read their pixels at a constant stride. All others - borders, remainders, tiles
 * over several rows of a narrow image, odd strides - read through a pointer for each pixel, which points at
 * zeros where the tap falls into the padding: one more load for each broadcast, no branch in the inner loop.
 * Both add in the same order: input block, ky, kx, channel.
 * The including file defines HN_LANES, HN_BLOCK and HN_CONV, the function's name. */
#include "kernels/cpu/conv/conv_tile_f32.inc.h"

#define HN_TAPS_KEPT 26 /* 5x5 and one */
#define HN_POINTERS 16  /* more than the widest tile, and whole vectors */

static const float zeros[HN_BLOCK];

HN_INLINE void tile_inside(const conv_tile *t, const int blocks, const int pixels, const ptrdiff_t pixel_stride) {
  const hn_conv_f32 *c = t->conv;
  const int vectors = blocks * HN_BLOCK_VECTORS;
  const ptrdiff_t row_step = c->dilation_height * c->in_width * HN_BLOCK, tap_step = c->dilation_width * HN_BLOCK;
  const float *plane =
      t->in +
      ((t->y * c->stride_height - c->pad_top) * c->in_width + (t->x * c->stride_width - c->pad_left)) * HN_BLOCK;
  const float *w = t->weights;
  vf acc[HN_TILE_VECTORS_MAX];
  tile_start(acc, vectors, pixels, t->bias);
  for (int64_t left = t->in_channels; left > 0; left -= HN_BLOCK, plane += t->in_plane) {
    const int64_t depth = left < HN_BLOCK ? left : HN_BLOCK;
    const float *row = plane;
    for (int64_t ky = 0; ky < c->kernel_height; ++ky, row += row_step) {
      const float *in = row;
      for (int64_t kx = 0; kx < c->kernel_width; ++kx, in += tap_step, w += HN_BLOCK * HN_BLOCK)
        tile_run(acc, vectors, pixels, in, pixel_stride, w, t->weight_stride, depth);
    }
  }
  conv_tile_store(acc, blocks, pixels, t);
}

/* Where the pixels of a tile are for one tap of the first input block, and what moves them to the next blocks. */
typedef struct tap {
  uintptr_t at[HN_POINTERS];
  uintptr_t moves[HN_POINTERS]; /* all ones inside the image, zero in the padding */
} tap;

HN_INLINE void tap_find(tap *found, const int32_t *y, const int32_t *x, int32_t dy, int32_t dx, const hn_conv_f32 *c,
                        const float *plane) {
  const uint32_t height = (uint32_t)c->in_height, width = (uint32_t)c->in_width;
  const uintptr_t base = (uintptr_t)plane, outside = (uintptr_t)zeros;
  for (int p = 0; p < HN_POINTERS; ++p) {
    const uint32_t py = (uint32_t)(y[p] + dy), px = (uint32_t)(x[p] + dx);
    const uintptr_t is_inside = (uintptr_t)0 - (uintptr_t)((py < height) & (px < width));
    const uintptr_t at = base + (uintptr_t)(py * width + px) * (HN_BLOCK * sizeof(float));
    found->at[p] = (at & is_inside) | (outside & ~is_inside);
    found->moves[p] = is_inside;
  }
}

HN_OUTLINE void taps_find(tap *taps, int64_t begin, int64_t end, const conv_tile *t) {
  const hn_conv_f32 *c = t->conv;
  int32_t y[HN_POINTERS], x[HN_POINTERS], oy = t->y, ox = t->x;
  for (int p = 0; p < HN_POINTERS; ++p) {
    y[p] = oy * (int32_t)c->stride_height - (int32_t)c->pad_top;
    x[p] = ox * (int32_t)c->stride_width - (int32_t)c->pad_left;
    if (++ox == c->out_width) ox = 0, ++oy;
  }
  for (int64_t i = begin; i < end; ++i)
    tap_find(taps++, y, x, (int32_t)(i / c->kernel_width * c->dilation_height),
             (int32_t)(i % c->kernel_width * c->dilation_width), c, t->in);
}

HN_INLINE void tile_anywhere(const conv_tile *t, const int blocks, const int pixels) {
  const int vectors = blocks * HN_BLOCK_VECTORS;
  const int64_t tap_count = t->conv->kernel_height * t->conv->kernel_width;
  const int64_t kept = tap_count < HN_TAPS_KEPT ? tap_count : HN_TAPS_KEPT - 1;
  const float *w = t->weights;
  uintptr_t move = 0;
  tap taps[HN_TAPS_KEPT]; /* the last is for the taps that are too many to keep */
  vf acc[HN_TILE_VECTORS_MAX];
  taps_find(taps, 0, kept, t);
  tile_start(acc, vectors, pixels, t->bias);
  for (int64_t left = t->in_channels; left > 0; left -= HN_BLOCK, move += (uintptr_t)t->in_plane * sizeof(float)) {
    const int64_t depth = left < HN_BLOCK ? left : HN_BLOCK;
    for (int64_t i = 0; i < tap_count; ++i, w += HN_BLOCK * HN_BLOCK) {
      const float *at[HN_POINTERS];
      const tap *now = &taps[i < kept ? i : kept];
      if (i >= kept) taps_find(&taps[kept], i, i + 1, t);
      for (int p = 0; p < HN_POINTERS; ++p) at[p] = (const float *)(now->at[p] + (move & now->moves[p]));
      tile_run_at(acc, vectors, pixels, at, w, t->weight_stride, depth);
    }
  }
  conv_tile_store(acc, blocks, pixels, t);
}

#define HN_DEFINE_ANYWHERE(b, p)                                                                                       \
  HN_OUTLINE void tile_anywhere_##b##_##p(const conv_tile *t) { tile_anywhere(t, b, p); }
#define HN_DEFINE_INSIDE(b, p)                                                                                         \
  HN_OUTLINE void tile_inside_1_##b(const conv_tile *t) { tile_inside(t, b, p, HN_BLOCK); }                            \
  HN_OUTLINE void tile_inside_2_##b(const conv_tile *t) { tile_inside(t, b, p, 2 * HN_BLOCK); }
HN_TILES(HN_DEFINE_ANYWHERE)
HN_LARGEST_TILES(HN_DEFINE_INSIDE)

typedef void tile_function(const conv_tile *);
#define HN_ENTRY_ANYWHERE(b, p) [b][p] = tile_anywhere_##b##_##p,
#define HN_ENTRY_INSIDE(b, p) [b] = {NULL, tile_inside_1_##b, tile_inside_2_##b},
static tile_function *const anywhere[HN_TILE_BLOCKS + 1][15] = {HN_TILES(HN_ENTRY_ANYWHERE)};
static tile_function *const inside[HN_TILE_BLOCKS + 1][3] = {HN_LARGEST_TILES(HN_ENTRY_INSIDE)};

static int is_inside(const hn_conv_f32 *c, int64_t y, int64_t x, int pixels) {
  const int64_t top = y * c->stride_height - c->pad_top, left = x * c->stride_width - c->pad_left;
  return c->stride_width <= 2 && x + pixels <= c->out_width && top >= 0 && left >= 0 &&
         top + (c->kernel_height - 1) * c->dilation_height < c->in_height &&
         left + (pixels - 1) * c->stride_width + (c->kernel_width - 1) * c->dilation_width < c->in_width;
}

void HN_CONV(const hn_conv_f32 *conv, int64_t begin, int64_t end) {
  const conv_plan plan = conv_plan_make(conv, 0);
  const int64_t width = conv->out_width;
  for (int64_t at = begin; at < end; ++at) {
    const conv_unit u = conv_unit_at(conv, &plan, at);
    conv_tile t = conv_tile_make(conv, &plan, &u);
    const int most = tile_pixels[u.blocks];
    const int64_t stop = u.row_end * width;
    for (int64_t pixel = u.row_begin * width; pixel < stop; pixel += t.pixels) {
      t.y = (int32_t)(pixel / width);
      t.x = (int32_t)(pixel % width);
      t.pixels = tile_width(width >= most ? width - t.x : stop - pixel, most);
      t.offset = u.out_offset + pixel * HN_BLOCK;
      if (t.pixels == most && is_inside(conv, t.y, t.x, most))
        inside[u.blocks][conv->stride_width](&t);
      else
        anywhere[u.blocks][t.pixels](&t);
      conv_tile_finish(&t);
    }
  }
}
