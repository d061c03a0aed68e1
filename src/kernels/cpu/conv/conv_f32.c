/* SPDX-License-Identifier: Apache-2.0 */
/* conv_f32.c - general direct convolution on nChwBc.
 *
 * A row tile lies in one row of the output and reads its pixels at a constant stride; taps above and below the
 * image are skipped, and a tap may miss the image at the tile's first or last pixel. All other tiles - larger
 * kernels' borders, several rows of a narrow image, odd strides - read through a pointer for each pixel, which
 * points at zeros where the tap falls into the padding: no branch in the inner loop, but about 8 % slower.
 * Both add in the same order: input block, ky, kx, channel; a zero added or left out is the same sum. */
/* isa: c avx2 avx512 */
#include "kernels/cpu/conv/conv_tile_f32.inc.h"

#define HN_TAPS_KEPT 26 /* 5x5 and one */
#define HN_POINTERS 16  /* more than the widest tile, and whole vectors */

static const float zeros[HN_BLOCK];

/* One tap of a row tile: all pixels, or without the first or the last, which is in the padding. */
HN_INLINE void row_tap(vf *acc, const int vectors, const int pixels, const float *in, const ptrdiff_t pixel_stride,
                       const float *w, ptrdiff_t block_stride, int64_t depth, int misses_first, int misses_last) {
  if (misses_first)
    tile_run_ahead(acc + vectors, vectors, pixels - 1, in + pixel_stride, pixel_stride, w, block_stride, depth);
  else if (misses_last)
    tile_run_ahead(acc, vectors, pixels - 1, in, pixel_stride, w, block_stride, depth);
  else
    tile_run_ahead(acc, vectors, pixels, in, pixel_stride, w, block_stride, depth);
}

HN_INLINE void tile_row(const conv_tile *t, const int blocks, const int pixels, const int stride) {
  const hn_conv_f32 *c = t->conv;
  const int vectors = blocks * HN_BLOCK_VECTORS;
  const int64_t y0 = t->y * c->stride_height - c->pad_top, x0 = t->x * stride - c->pad_left;
  const float *plane = t->in, *w = t->weights;
  vf acc[HN_TILE_VECTORS_MAX];
  tile_start(acc, vectors, pixels, t->bias);
  for (int64_t left = t->in_channels; left > 0; left -= HN_BLOCK, plane += t->in_plane) {
    const int64_t depth = left < HN_BLOCK ? left : HN_BLOCK;
    for (int64_t ky = 0; ky < c->kernel_height; ++ky) {
      const int64_t y = y0 + ky * c->dilation_height;
      if (y < 0 || y >= c->in_height) {
        w += c->kernel_width * HN_BLOCK * HN_BLOCK;
        continue;
      }
      for (int64_t kx = 0; kx < c->kernel_width; ++kx, w += HN_BLOCK * HN_BLOCK) {
        const int64_t x = x0 + kx * c->dilation_width;
        row_tap(acc, vectors, pixels, plane + (y * c->in_width + x) * HN_BLOCK, stride * HN_BLOCK, w, t->weight_stride,
                depth, x < 0, x + (pixels - 1) * stride >= c->in_width);
      }
    }
  }
  conv_tile_store(acc, blocks, pixels, t);
}

/* Whether tile_row can: no tap misses more than one pixel, and none misses both ends. */
static int is_row_tile(const hn_conv_f32 *c, int64_t ox, int pixels) {
  const int64_t stride = c->stride_width, x = ox * stride - c->pad_left;
  return stride <= 2 && pixels > 1 && ox + pixels <= c->out_width && x >= -stride &&
         x + (c->kernel_width - 1) * c->dilation_width + (pixels - 2) * stride < c->in_width &&
         (pixels - 1) * stride < c->in_width;
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
      __asm__("" : "+m"(at)); /* keeps them an array: in registers they would not fit, and spill one by one */
      tile_run_at(acc, vectors, pixels, at, w, t->weight_stride, depth);
    }
  }
  conv_tile_store(acc, blocks, pixels, t);
}

HN_OUTLINE void tile_anywhere_1_1(const conv_tile *t) { tile_anywhere(t, 1, 1); }
HN_OUTLINE void tile_anywhere_1_2(const conv_tile *t) { tile_anywhere(t, 1, 2); }
HN_OUTLINE void tile_anywhere_1_3(const conv_tile *t) { tile_anywhere(t, 1, 3); }
HN_OUTLINE void tile_anywhere_1_4(const conv_tile *t) { tile_anywhere(t, 1, 4); }
HN_OUTLINE void tile_anywhere_2_1(const conv_tile *t) { tile_anywhere(t, 2, 1); }
HN_OUTLINE void tile_anywhere_2_2(const conv_tile *t) { tile_anywhere(t, 2, 2); }
#if HN_LANES >= 8
HN_OUTLINE void tile_anywhere_1_5(const conv_tile *t) { tile_anywhere(t, 1, 5); }
HN_OUTLINE void tile_anywhere_1_6(const conv_tile *t) { tile_anywhere(t, 1, 6); }
HN_OUTLINE void tile_anywhere_1_7(const conv_tile *t) { tile_anywhere(t, 1, 7); }
HN_OUTLINE void tile_anywhere_1_8(const conv_tile *t) { tile_anywhere(t, 1, 8); }
HN_OUTLINE void tile_anywhere_1_9(const conv_tile *t) { tile_anywhere(t, 1, 9); }
HN_OUTLINE void tile_anywhere_1_10(const conv_tile *t) { tile_anywhere(t, 1, 10); }
HN_OUTLINE void tile_anywhere_2_3(const conv_tile *t) { tile_anywhere(t, 2, 3); }
HN_OUTLINE void tile_anywhere_2_4(const conv_tile *t) { tile_anywhere(t, 2, 4); }
HN_OUTLINE void tile_anywhere_2_5(const conv_tile *t) { tile_anywhere(t, 2, 5); }
HN_OUTLINE void tile_anywhere_2_6(const conv_tile *t) { tile_anywhere(t, 2, 6); }
HN_OUTLINE void tile_anywhere_3_1(const conv_tile *t) { tile_anywhere(t, 3, 1); }
HN_OUTLINE void tile_anywhere_3_2(const conv_tile *t) { tile_anywhere(t, 3, 2); }
HN_OUTLINE void tile_anywhere_3_3(const conv_tile *t) { tile_anywhere(t, 3, 3); }
HN_OUTLINE void tile_anywhere_3_4(const conv_tile *t) { tile_anywhere(t, 3, 4); }
#endif
#if HN_LANES == 16
HN_OUTLINE void tile_anywhere_1_11(const conv_tile *t) { tile_anywhere(t, 1, 11); }
HN_OUTLINE void tile_anywhere_1_12(const conv_tile *t) { tile_anywhere(t, 1, 12); }
HN_OUTLINE void tile_anywhere_1_13(const conv_tile *t) { tile_anywhere(t, 1, 13); }
HN_OUTLINE void tile_anywhere_1_14(const conv_tile *t) { tile_anywhere(t, 1, 14); }
HN_OUTLINE void tile_anywhere_2_7(const conv_tile *t) { tile_anywhere(t, 2, 7); }
HN_OUTLINE void tile_anywhere_2_8(const conv_tile *t) { tile_anywhere(t, 2, 8); }
HN_OUTLINE void tile_anywhere_2_9(const conv_tile *t) { tile_anywhere(t, 2, 9); }
HN_OUTLINE void tile_anywhere_2_10(const conv_tile *t) { tile_anywhere(t, 2, 10); }
HN_OUTLINE void tile_anywhere_2_11(const conv_tile *t) { tile_anywhere(t, 2, 11); }
HN_OUTLINE void tile_anywhere_2_12(const conv_tile *t) { tile_anywhere(t, 2, 12); }
HN_OUTLINE void tile_anywhere_2_13(const conv_tile *t) { tile_anywhere(t, 2, 13); }
HN_OUTLINE void tile_anywhere_2_14(const conv_tile *t) { tile_anywhere(t, 2, 14); }
HN_OUTLINE void tile_anywhere_3_5(const conv_tile *t) { tile_anywhere(t, 3, 5); }
HN_OUTLINE void tile_anywhere_3_6(const conv_tile *t) { tile_anywhere(t, 3, 6); }
HN_OUTLINE void tile_anywhere_3_7(const conv_tile *t) { tile_anywhere(t, 3, 7); }
HN_OUTLINE void tile_anywhere_3_8(const conv_tile *t) { tile_anywhere(t, 3, 8); }
HN_OUTLINE void tile_anywhere_4_1(const conv_tile *t) { tile_anywhere(t, 4, 1); }
HN_OUTLINE void tile_anywhere_4_2(const conv_tile *t) { tile_anywhere(t, 4, 2); }
HN_OUTLINE void tile_anywhere_4_3(const conv_tile *t) { tile_anywhere(t, 4, 3); }
HN_OUTLINE void tile_anywhere_4_4(const conv_tile *t) { tile_anywhere(t, 4, 4); }
HN_OUTLINE void tile_anywhere_4_5(const conv_tile *t) { tile_anywhere(t, 4, 5); }
HN_OUTLINE void tile_anywhere_4_6(const conv_tile *t) { tile_anywhere(t, 4, 6); }
#endif

/* Row tiles at stride 1: the largest, and what remainders of common widths need; at stride 2 the largest. */
#if HN_LANES == 16
HN_OUTLINE void tile_row_1_1_14(const conv_tile *t) { tile_row(t, 1, 14, 1); }
HN_OUTLINE void tile_row_1_2_7(const conv_tile *t) { tile_row(t, 2, 7, 1); }
HN_OUTLINE void tile_row_1_2_8(const conv_tile *t) { tile_row(t, 2, 8, 1); }
HN_OUTLINE void tile_row_1_2_10(const conv_tile *t) { tile_row(t, 2, 10, 1); }
HN_OUTLINE void tile_row_1_2_11(const conv_tile *t) { tile_row(t, 2, 11, 1); }
HN_OUTLINE void tile_row_1_2_12(const conv_tile *t) { tile_row(t, 2, 12, 1); }
HN_OUTLINE void tile_row_1_2_13(const conv_tile *t) { tile_row(t, 2, 13, 1); }
HN_OUTLINE void tile_row_1_2_14(const conv_tile *t) { tile_row(t, 2, 14, 1); }
HN_OUTLINE void tile_row_1_3_7(const conv_tile *t) { tile_row(t, 3, 7, 1); }
HN_OUTLINE void tile_row_1_3_8(const conv_tile *t) { tile_row(t, 3, 8, 1); }
HN_OUTLINE void tile_row_1_4_6(const conv_tile *t) { tile_row(t, 4, 6, 1); }
HN_OUTLINE void tile_row_2_1_14(const conv_tile *t) { tile_row(t, 1, 14, 2); }
HN_OUTLINE void tile_row_2_2_14(const conv_tile *t) { tile_row(t, 2, 14, 2); }
HN_OUTLINE void tile_row_2_3_8(const conv_tile *t) { tile_row(t, 3, 8, 2); }
HN_OUTLINE void tile_row_2_4_6(const conv_tile *t) { tile_row(t, 4, 6, 2); }
#elif HN_LANES == 8
HN_OUTLINE void tile_row_1_1_10(const conv_tile *t) { tile_row(t, 1, 10, 1); }
HN_OUTLINE void tile_row_1_2_4(const conv_tile *t) { tile_row(t, 2, 4, 1); }
HN_OUTLINE void tile_row_1_2_5(const conv_tile *t) { tile_row(t, 2, 5, 1); }
HN_OUTLINE void tile_row_1_2_6(const conv_tile *t) { tile_row(t, 2, 6, 1); }
HN_OUTLINE void tile_row_1_3_4(const conv_tile *t) { tile_row(t, 3, 4, 1); }
HN_OUTLINE void tile_row_2_1_10(const conv_tile *t) { tile_row(t, 1, 10, 2); }
HN_OUTLINE void tile_row_2_2_6(const conv_tile *t) { tile_row(t, 2, 6, 2); }
HN_OUTLINE void tile_row_2_3_4(const conv_tile *t) { tile_row(t, 3, 4, 2); }
#else
HN_OUTLINE void tile_row_1_1_3(const conv_tile *t) { tile_row(t, 1, 3, 1); }
HN_OUTLINE void tile_row_1_1_4(const conv_tile *t) { tile_row(t, 1, 4, 1); }
HN_OUTLINE void tile_row_1_2_2(const conv_tile *t) { tile_row(t, 2, 2, 1); }
HN_OUTLINE void tile_row_2_1_4(const conv_tile *t) { tile_row(t, 1, 4, 2); }
HN_OUTLINE void tile_row_2_2_2(const conv_tile *t) { tile_row(t, 2, 2, 2); }
#endif

typedef void tile_function(const conv_tile *);
/* [stride, 0 for any][blocks][pixels]; a missing row tile is done by the one that can do any. */
static tile_function *const tiles[3][HN_TILE_BLOCKS + 1][15] = {
    [0][1][1] = tile_anywhere_1_1,   [0][1][2] = tile_anywhere_1_2,   [0][1][3] = tile_anywhere_1_3,
    [0][1][4] = tile_anywhere_1_4,   [0][2][1] = tile_anywhere_2_1,   [0][2][2] = tile_anywhere_2_2,
#if HN_LANES >= 8
    [0][1][5] = tile_anywhere_1_5,   [0][1][6] = tile_anywhere_1_6,   [0][1][7] = tile_anywhere_1_7,
    [0][1][8] = tile_anywhere_1_8,   [0][1][9] = tile_anywhere_1_9,   [0][1][10] = tile_anywhere_1_10,
    [0][2][3] = tile_anywhere_2_3,   [0][2][4] = tile_anywhere_2_4,   [0][2][5] = tile_anywhere_2_5,
    [0][2][6] = tile_anywhere_2_6,   [0][3][1] = tile_anywhere_3_1,   [0][3][2] = tile_anywhere_3_2,
    [0][3][3] = tile_anywhere_3_3,   [0][3][4] = tile_anywhere_3_4,
#endif
#if HN_LANES == 16
    [0][1][11] = tile_anywhere_1_11, [0][1][12] = tile_anywhere_1_12, [0][1][13] = tile_anywhere_1_13,
    [0][1][14] = tile_anywhere_1_14, [0][2][7] = tile_anywhere_2_7,   [0][2][8] = tile_anywhere_2_8,
    [0][2][9] = tile_anywhere_2_9,   [0][2][10] = tile_anywhere_2_10, [0][2][11] = tile_anywhere_2_11,
    [0][2][12] = tile_anywhere_2_12, [0][2][13] = tile_anywhere_2_13, [0][2][14] = tile_anywhere_2_14,
    [0][3][5] = tile_anywhere_3_5,   [0][3][6] = tile_anywhere_3_6,   [0][3][7] = tile_anywhere_3_7,
    [0][3][8] = tile_anywhere_3_8,   [0][4][1] = tile_anywhere_4_1,   [0][4][2] = tile_anywhere_4_2,
    [0][4][3] = tile_anywhere_4_3,   [0][4][4] = tile_anywhere_4_4,   [0][4][5] = tile_anywhere_4_5,
    [0][4][6] = tile_anywhere_4_6,
#endif
#if HN_LANES == 16
    [1][1][14] = tile_row_1_1_14,    [1][2][7] = tile_row_1_2_7,      [1][2][8] = tile_row_1_2_8,
    [1][2][10] = tile_row_1_2_10,    [1][2][11] = tile_row_1_2_11,    [1][2][12] = tile_row_1_2_12,
    [1][2][13] = tile_row_1_2_13,    [1][2][14] = tile_row_1_2_14,    [1][3][7] = tile_row_1_3_7,
    [1][3][8] = tile_row_1_3_8,      [1][4][6] = tile_row_1_4_6,      [2][1][14] = tile_row_2_1_14,
    [2][2][14] = tile_row_2_2_14,    [2][3][8] = tile_row_2_3_8,      [2][4][6] = tile_row_2_4_6,
#elif HN_LANES == 8
    [1][1][10] = tile_row_1_1_10,  [1][2][4] = tile_row_1_2_4,    [1][2][5] = tile_row_1_2_5,
    [1][2][6] = tile_row_1_2_6,    [1][3][4] = tile_row_1_3_4,    [2][1][10] = tile_row_2_1_10,
    [2][2][6] = tile_row_2_2_6,    [2][3][4] = tile_row_2_3_4,
#else
    [1][1][3] = tile_row_1_1_3,    [1][1][4] = tile_row_1_1_4,    [1][2][2] = tile_row_1_2_2,
    [2][1][4] = tile_row_2_1_4,    [2][2][2] = tile_row_2_2_2,
#endif
};

/* Whether tiles should end with each row. Else they run over the rows' ends: for a narrow image, whose thinnest
 * tile would have too few independent sums, and at stride 2 below a full tile, where row tiles gain nothing. */
static int cuts_well(const hn_conv_f32 *c, int vectors, int most) {
  const int64_t width = c->out_width, over = width % most;
  const int64_t thinnest = width < most ? width : over ? (most + over) / 2 : most;
  return (width >= most || c->stride_width == 1) && thinnest * vectors >= 7;
}

void HN_BLOCKED_NAME(hn_conv_f32)(const hn_conv_f32 *conv, int64_t begin, int64_t end) {
  const conv_plan plan = conv_plan_make(conv, 0);
  const int64_t width = conv->out_width;
  conv_strip strip;
  for (int64_t at = begin; at < end; ++at) {
    const conv_unit u = conv_unit_at(conv, &plan, at);
    conv_tile t = conv_tile_make(conv, &plan, &u);
    if (conv->plain_output) conv_tile_to_strip(&t, &u, &strip);
    const int most = tile_pixels[u.blocks];
    const int along_rows = cuts_well(conv, u.blocks * HN_BLOCK_VECTORS, most);
    const int64_t stop = u.row_end * width;
    for (int64_t pixel = u.row_begin * width; pixel < stop; pixel += t.pixels) {
      t.y = (int32_t)(pixel / width);
      t.x = (int32_t)(pixel % width);
      t.pixels = tile_width(along_rows ? width - t.x : stop - pixel, most);
      conv_tile_begin(&t, &u, pixel);
      tile_function *run = is_row_tile(conv, t.x, t.pixels) ? tiles[conv->stride_width][u.blocks][t.pixels] : NULL;
      if (!run) run = tiles[0][u.blocks][t.pixels];
      run(&t);
      conv_tile_end(&t, pixel + t.pixels == stop);
    }
  }
}
