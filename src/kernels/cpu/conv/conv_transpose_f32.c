/* SPDX-License-Identifier: Apache-2.0 */
/* conv_transpose_f32.c - transposed convolution on nChwBc, written as what each output pixel gathers.
 *
 * Output pixels whose distance is a multiple of the stride hear from the same taps, and from neighbouring input pixels:
 * each such phase of a row is a convolution with stride 1. A tile is some pixels of one phase; nothing is added up in
 * memory. Taps that leave the image for some of a tile's pixels read zeros there. Where stride and kernel are the same
 * and nothing is padded, a tap is a 1x1 convolution whose pixels are stored apart: tiles run over the rows' ends. */
/* isa: c avx2 avx512 */
#include "kernels/cpu/conv/conv_tile_f32.inc.h"

static const float zeros[HN_BLOCK];

/* A tile's taps along one axis: those of its phase, and where they point for the phase's first pixel. */
typedef struct phase {
  int64_t first, step, count; /* kernel positions first, first + step, ... */
  int64_t at, move;           /* input position of the first tap, and how it changes from tap to tap (not above 0) */
} phase;

/* Positions k with (place + pad - k * dilation) divisible by stride. */
static phase phase_find(int64_t place, int64_t pad, int64_t kernel, int64_t stride, int64_t dilation) {
  phase p = {.step = 1};
  int64_t k = 0;
  while (k < kernel && (place + pad - k * dilation) % stride) ++k;
  if (k == kernel) return p;
  p.first = k;
  while (p.step * dilation % stride) ++p.step;
  p.count = (kernel - k + p.step - 1) / p.step;
  p.at = (place + pad - k * dilation) / stride;
  p.move = -(p.step * dilation / stride);
  return p;
}

typedef struct transpose_tile {
  conv_tile t;
  phase y, x;
  int64_t column;                      /* the first pixel's place in its phase */
  int64_t places[HN_TILE_VECTORS_MAX]; /* where the pixels' outputs are, in floats from t.out */
} transpose_tile;

HN_INLINE void tile_transpose(const transpose_tile *tt, const int blocks, const int pixels) {
  const conv_tile *t = &tt->t;
  const hn_conv_f32 *c = t->conv;
  const int vectors = blocks * HN_BLOCK_VECTORS;
  const ptrdiff_t out_step = c->stride_width * HN_BLOCK;
  vf acc[HN_TILE_VECTORS_MAX];
  tile_start(acc, vectors, pixels, t->bias);
  const float *plane = t->in, *block_weights = t->weights;
  const int64_t tap_floats = ceil_div(t->in_channels, HN_BLOCK) * HN_BLOCK * HN_BLOCK;
  for (int64_t left = t->in_channels; left > 0; left -= HN_BLOCK) {
    const int64_t depth = left < HN_BLOCK ? left : HN_BLOCK;
    for (int64_t i = 0; i < tt->y.count; ++i) {
      const int64_t y = tt->y.at + i * tt->y.move;
      if (y < 0 || y >= c->in_height) continue;
      for (int64_t j = 0; j < tt->x.count; ++j) {
        const int64_t x = tt->column + tt->x.at + j * tt->x.move;
        const int64_t tap = (tt->y.first + i * tt->y.step) * c->kernel_width + tt->x.first + j * tt->x.step;
        const float *w = block_weights + tap * tap_floats, *in = plane + (y * c->in_width + x) * HN_BLOCK;
        if (x >= 0 && x + pixels <= c->in_width) {
          tile_run(acc, vectors, pixels, in, HN_BLOCK, w, t->weight_stride, depth);
          continue;
        }
        const float *at[HN_TILE_VECTORS_MAX];
        for (int p = 0; p < pixels; ++p) at[p] = x + p >= 0 && x + p < c->in_width ? in + p * HN_BLOCK : zeros;
        __asm__("" : "+m"(at)); /* keeps them an array: in registers they would not fit */
        tile_run_at(acc, vectors, pixels, at, w, t->weight_stride, depth);
      }
    }
    plane += t->in_plane;
    block_weights += HN_BLOCK * HN_BLOCK;
  }
  tile_bound(acc, vectors * pixels, t->low, t->high);
  HN_UNROLL
  for (int v = 0; v < vectors; ++v) {
    float *o = t->out + t->offset + v / HN_BLOCK_VECTORS * t->out_plane + v % HN_BLOCK_VECTORS * HN_LANES;
    HN_UNROLL
    for (int p = 0; p < pixels; ++p) v_store(o + p * out_step, acc[p * vectors + v]);
  }
}

/* One tap of the case without overlap. */
HN_INLINE void tile_scatter(const transpose_tile *tt, const int blocks, const int pixels) {
  const conv_tile *t = &tt->t;
  const int vectors = blocks * HN_BLOCK_VECTORS;
  vf acc[HN_TILE_VECTORS_MAX];
  const float *in = t->in, *w = t->weights;
  tile_start(acc, vectors, pixels, t->bias);
  for (int64_t left = t->in_channels; left > 0; left -= HN_BLOCK, in += t->in_plane, w += HN_BLOCK * HN_BLOCK)
    tile_run_ahead(acc, vectors, pixels, in, HN_BLOCK, w, t->weight_stride, left < HN_BLOCK ? left : HN_BLOCK);
  tile_bound(acc, vectors * pixels, t->low, t->high);
  HN_UNROLL
  for (int p = 0; p < pixels; ++p) {
    float *o = t->out + tt->places[p];
    HN_UNROLL
    for (int v = 0; v < vectors; ++v)
      v_store(o + v / HN_BLOCK_VECTORS * t->out_plane + v % HN_BLOCK_VECTORS * HN_LANES, acc[p * vectors + v]);
  }
}

HN_OUTLINE void tile_transpose_1_1(const transpose_tile *t) { tile_transpose(t, 1, 1); }
HN_OUTLINE void tile_transpose_1_2(const transpose_tile *t) { tile_transpose(t, 1, 2); }
HN_OUTLINE void tile_transpose_1_3(const transpose_tile *t) { tile_transpose(t, 1, 3); }
HN_OUTLINE void tile_transpose_1_4(const transpose_tile *t) { tile_transpose(t, 1, 4); }
HN_OUTLINE void tile_transpose_2_1(const transpose_tile *t) { tile_transpose(t, 2, 1); }
HN_OUTLINE void tile_transpose_2_2(const transpose_tile *t) { tile_transpose(t, 2, 2); }
#if HN_LANES >= 8
HN_OUTLINE void tile_transpose_1_5(const transpose_tile *t) { tile_transpose(t, 1, 5); }
HN_OUTLINE void tile_transpose_1_6(const transpose_tile *t) { tile_transpose(t, 1, 6); }
HN_OUTLINE void tile_transpose_1_7(const transpose_tile *t) { tile_transpose(t, 1, 7); }
HN_OUTLINE void tile_transpose_1_8(const transpose_tile *t) { tile_transpose(t, 1, 8); }
HN_OUTLINE void tile_transpose_1_9(const transpose_tile *t) { tile_transpose(t, 1, 9); }
HN_OUTLINE void tile_transpose_1_10(const transpose_tile *t) { tile_transpose(t, 1, 10); }
HN_OUTLINE void tile_transpose_2_3(const transpose_tile *t) { tile_transpose(t, 2, 3); }
HN_OUTLINE void tile_transpose_2_4(const transpose_tile *t) { tile_transpose(t, 2, 4); }
HN_OUTLINE void tile_transpose_2_5(const transpose_tile *t) { tile_transpose(t, 2, 5); }
HN_OUTLINE void tile_transpose_2_6(const transpose_tile *t) { tile_transpose(t, 2, 6); }
HN_OUTLINE void tile_transpose_3_1(const transpose_tile *t) { tile_transpose(t, 3, 1); }
HN_OUTLINE void tile_transpose_3_2(const transpose_tile *t) { tile_transpose(t, 3, 2); }
HN_OUTLINE void tile_transpose_3_3(const transpose_tile *t) { tile_transpose(t, 3, 3); }
HN_OUTLINE void tile_transpose_3_4(const transpose_tile *t) { tile_transpose(t, 3, 4); }
#endif
#if HN_LANES == 16
HN_OUTLINE void tile_transpose_1_11(const transpose_tile *t) { tile_transpose(t, 1, 11); }
HN_OUTLINE void tile_transpose_1_12(const transpose_tile *t) { tile_transpose(t, 1, 12); }
HN_OUTLINE void tile_transpose_1_13(const transpose_tile *t) { tile_transpose(t, 1, 13); }
HN_OUTLINE void tile_transpose_1_14(const transpose_tile *t) { tile_transpose(t, 1, 14); }
HN_OUTLINE void tile_transpose_2_7(const transpose_tile *t) { tile_transpose(t, 2, 7); }
HN_OUTLINE void tile_transpose_2_8(const transpose_tile *t) { tile_transpose(t, 2, 8); }
HN_OUTLINE void tile_transpose_2_9(const transpose_tile *t) { tile_transpose(t, 2, 9); }
HN_OUTLINE void tile_transpose_2_10(const transpose_tile *t) { tile_transpose(t, 2, 10); }
HN_OUTLINE void tile_transpose_2_11(const transpose_tile *t) { tile_transpose(t, 2, 11); }
HN_OUTLINE void tile_transpose_2_12(const transpose_tile *t) { tile_transpose(t, 2, 12); }
HN_OUTLINE void tile_transpose_2_13(const transpose_tile *t) { tile_transpose(t, 2, 13); }
HN_OUTLINE void tile_transpose_2_14(const transpose_tile *t) { tile_transpose(t, 2, 14); }
HN_OUTLINE void tile_transpose_3_5(const transpose_tile *t) { tile_transpose(t, 3, 5); }
HN_OUTLINE void tile_transpose_3_6(const transpose_tile *t) { tile_transpose(t, 3, 6); }
HN_OUTLINE void tile_transpose_3_7(const transpose_tile *t) { tile_transpose(t, 3, 7); }
HN_OUTLINE void tile_transpose_3_8(const transpose_tile *t) { tile_transpose(t, 3, 8); }
HN_OUTLINE void tile_transpose_4_1(const transpose_tile *t) { tile_transpose(t, 4, 1); }
HN_OUTLINE void tile_transpose_4_2(const transpose_tile *t) { tile_transpose(t, 4, 2); }
HN_OUTLINE void tile_transpose_4_3(const transpose_tile *t) { tile_transpose(t, 4, 3); }
HN_OUTLINE void tile_transpose_4_4(const transpose_tile *t) { tile_transpose(t, 4, 4); }
HN_OUTLINE void tile_transpose_4_5(const transpose_tile *t) { tile_transpose(t, 4, 5); }
HN_OUTLINE void tile_transpose_4_6(const transpose_tile *t) { tile_transpose(t, 4, 6); }
#endif

HN_OUTLINE void tile_scatter_1_1(const transpose_tile *t) { tile_scatter(t, 1, 1); }
HN_OUTLINE void tile_scatter_1_2(const transpose_tile *t) { tile_scatter(t, 1, 2); }
HN_OUTLINE void tile_scatter_1_3(const transpose_tile *t) { tile_scatter(t, 1, 3); }
HN_OUTLINE void tile_scatter_1_4(const transpose_tile *t) { tile_scatter(t, 1, 4); }
HN_OUTLINE void tile_scatter_2_1(const transpose_tile *t) { tile_scatter(t, 2, 1); }
HN_OUTLINE void tile_scatter_2_2(const transpose_tile *t) { tile_scatter(t, 2, 2); }
#if HN_LANES >= 8
HN_OUTLINE void tile_scatter_1_5(const transpose_tile *t) { tile_scatter(t, 1, 5); }
HN_OUTLINE void tile_scatter_1_6(const transpose_tile *t) { tile_scatter(t, 1, 6); }
HN_OUTLINE void tile_scatter_1_7(const transpose_tile *t) { tile_scatter(t, 1, 7); }
HN_OUTLINE void tile_scatter_1_8(const transpose_tile *t) { tile_scatter(t, 1, 8); }
HN_OUTLINE void tile_scatter_1_9(const transpose_tile *t) { tile_scatter(t, 1, 9); }
HN_OUTLINE void tile_scatter_1_10(const transpose_tile *t) { tile_scatter(t, 1, 10); }
HN_OUTLINE void tile_scatter_2_3(const transpose_tile *t) { tile_scatter(t, 2, 3); }
HN_OUTLINE void tile_scatter_2_4(const transpose_tile *t) { tile_scatter(t, 2, 4); }
HN_OUTLINE void tile_scatter_2_5(const transpose_tile *t) { tile_scatter(t, 2, 5); }
HN_OUTLINE void tile_scatter_2_6(const transpose_tile *t) { tile_scatter(t, 2, 6); }
HN_OUTLINE void tile_scatter_3_1(const transpose_tile *t) { tile_scatter(t, 3, 1); }
HN_OUTLINE void tile_scatter_3_2(const transpose_tile *t) { tile_scatter(t, 3, 2); }
HN_OUTLINE void tile_scatter_3_3(const transpose_tile *t) { tile_scatter(t, 3, 3); }
HN_OUTLINE void tile_scatter_3_4(const transpose_tile *t) { tile_scatter(t, 3, 4); }
#endif
#if HN_LANES == 16
HN_OUTLINE void tile_scatter_1_11(const transpose_tile *t) { tile_scatter(t, 1, 11); }
HN_OUTLINE void tile_scatter_1_12(const transpose_tile *t) { tile_scatter(t, 1, 12); }
HN_OUTLINE void tile_scatter_1_13(const transpose_tile *t) { tile_scatter(t, 1, 13); }
HN_OUTLINE void tile_scatter_1_14(const transpose_tile *t) { tile_scatter(t, 1, 14); }
HN_OUTLINE void tile_scatter_2_7(const transpose_tile *t) { tile_scatter(t, 2, 7); }
HN_OUTLINE void tile_scatter_2_8(const transpose_tile *t) { tile_scatter(t, 2, 8); }
HN_OUTLINE void tile_scatter_2_9(const transpose_tile *t) { tile_scatter(t, 2, 9); }
HN_OUTLINE void tile_scatter_2_10(const transpose_tile *t) { tile_scatter(t, 2, 10); }
HN_OUTLINE void tile_scatter_2_11(const transpose_tile *t) { tile_scatter(t, 2, 11); }
HN_OUTLINE void tile_scatter_2_12(const transpose_tile *t) { tile_scatter(t, 2, 12); }
HN_OUTLINE void tile_scatter_2_13(const transpose_tile *t) { tile_scatter(t, 2, 13); }
HN_OUTLINE void tile_scatter_2_14(const transpose_tile *t) { tile_scatter(t, 2, 14); }
HN_OUTLINE void tile_scatter_3_5(const transpose_tile *t) { tile_scatter(t, 3, 5); }
HN_OUTLINE void tile_scatter_3_6(const transpose_tile *t) { tile_scatter(t, 3, 6); }
HN_OUTLINE void tile_scatter_3_7(const transpose_tile *t) { tile_scatter(t, 3, 7); }
HN_OUTLINE void tile_scatter_3_8(const transpose_tile *t) { tile_scatter(t, 3, 8); }
HN_OUTLINE void tile_scatter_4_1(const transpose_tile *t) { tile_scatter(t, 4, 1); }
HN_OUTLINE void tile_scatter_4_2(const transpose_tile *t) { tile_scatter(t, 4, 2); }
HN_OUTLINE void tile_scatter_4_3(const transpose_tile *t) { tile_scatter(t, 4, 3); }
HN_OUTLINE void tile_scatter_4_4(const transpose_tile *t) { tile_scatter(t, 4, 4); }
HN_OUTLINE void tile_scatter_4_5(const transpose_tile *t) { tile_scatter(t, 4, 5); }
HN_OUTLINE void tile_scatter_4_6(const transpose_tile *t) { tile_scatter(t, 4, 6); }
#endif

static void (*const tiles[HN_TILE_BLOCKS + 1][15])(const transpose_tile *) = {
    [1][1] = tile_transpose_1_1,   [1][2] = tile_transpose_1_2,   [1][3] = tile_transpose_1_3,
    [1][4] = tile_transpose_1_4,   [2][1] = tile_transpose_2_1,   [2][2] = tile_transpose_2_2,
#if HN_LANES >= 8
    [1][5] = tile_transpose_1_5,   [1][6] = tile_transpose_1_6,   [1][7] = tile_transpose_1_7,
    [1][8] = tile_transpose_1_8,   [1][9] = tile_transpose_1_9,   [1][10] = tile_transpose_1_10,
    [2][3] = tile_transpose_2_3,   [2][4] = tile_transpose_2_4,   [2][5] = tile_transpose_2_5,
    [2][6] = tile_transpose_2_6,   [3][1] = tile_transpose_3_1,   [3][2] = tile_transpose_3_2,
    [3][3] = tile_transpose_3_3,   [3][4] = tile_transpose_3_4,
#endif
#if HN_LANES == 16
    [1][11] = tile_transpose_1_11, [1][12] = tile_transpose_1_12, [1][13] = tile_transpose_1_13,
    [1][14] = tile_transpose_1_14, [2][7] = tile_transpose_2_7,   [2][8] = tile_transpose_2_8,
    [2][9] = tile_transpose_2_9,   [2][10] = tile_transpose_2_10, [2][11] = tile_transpose_2_11,
    [2][12] = tile_transpose_2_12, [2][13] = tile_transpose_2_13, [2][14] = tile_transpose_2_14,
    [3][5] = tile_transpose_3_5,   [3][6] = tile_transpose_3_6,   [3][7] = tile_transpose_3_7,
    [3][8] = tile_transpose_3_8,   [4][1] = tile_transpose_4_1,   [4][2] = tile_transpose_4_2,
    [4][3] = tile_transpose_4_3,   [4][4] = tile_transpose_4_4,   [4][5] = tile_transpose_4_5,
    [4][6] = tile_transpose_4_6,
#endif
};
static void (*const scatter_tiles[HN_TILE_BLOCKS + 1][15])(const transpose_tile *) = {
    [1][1] = tile_scatter_1_1,   [1][2] = tile_scatter_1_2,   [1][3] = tile_scatter_1_3,   [1][4] = tile_scatter_1_4,
    [2][1] = tile_scatter_2_1,   [2][2] = tile_scatter_2_2,
#if HN_LANES >= 8
    [1][5] = tile_scatter_1_5,   [1][6] = tile_scatter_1_6,   [1][7] = tile_scatter_1_7,   [1][8] = tile_scatter_1_8,
    [1][9] = tile_scatter_1_9,   [1][10] = tile_scatter_1_10, [2][3] = tile_scatter_2_3,   [2][4] = tile_scatter_2_4,
    [2][5] = tile_scatter_2_5,   [2][6] = tile_scatter_2_6,   [3][1] = tile_scatter_3_1,   [3][2] = tile_scatter_3_2,
    [3][3] = tile_scatter_3_3,   [3][4] = tile_scatter_3_4,
#endif
#if HN_LANES == 16
    [1][11] = tile_scatter_1_11, [1][12] = tile_scatter_1_12, [1][13] = tile_scatter_1_13, [1][14] = tile_scatter_1_14,
    [2][7] = tile_scatter_2_7,   [2][8] = tile_scatter_2_8,   [2][9] = tile_scatter_2_9,   [2][10] = tile_scatter_2_10,
    [2][11] = tile_scatter_2_11, [2][12] = tile_scatter_2_12, [2][13] = tile_scatter_2_13, [2][14] = tile_scatter_2_14,
    [3][5] = tile_scatter_3_5,   [3][6] = tile_scatter_3_6,   [3][7] = tile_scatter_3_7,   [3][8] = tile_scatter_3_8,
    [4][1] = tile_scatter_4_1,   [4][2] = tile_scatter_4_2,   [4][3] = tile_scatter_4_3,   [4][4] = tile_scatter_4_4,
    [4][5] = tile_scatter_4_5,   [4][6] = tile_scatter_4_6,
#endif
};

/* One output row of a unit: phase after phase. */
static void transpose_row(transpose_tile *tt, int64_t row, int64_t row_offset, int most) {
  conv_tile *t = &tt->t;
  const hn_conv_f32 *c = t->conv;
  tt->y = phase_find(row, c->pad_top, c->kernel_height, c->stride_height, c->dilation_height);
  for (int64_t first = 0; first < c->stride_width && first < c->out_width; ++first) {
    const int64_t count = ceil_div(c->out_width - first, c->stride_width);
    tt->x = phase_find(first, c->pad_left, c->kernel_width, c->stride_width, c->dilation_width);
    for (tt->column = 0; tt->column < count; tt->column += t->pixels) {
      t->pixels = tile_width(count - tt->column, most);
      t->offset = row_offset + (first + tt->column * c->stride_width) * HN_BLOCK;
      tiles[t->blocks][t->pixels](tt);
    }
  }
}

/* All taps of one tile, so that what they read is in the first cache and what they write lies close together. */
static void scatter_taps(transpose_tile *tt, const float *weights, float *out) {
  conv_tile *t = &tt->t;
  const hn_conv_f32 *c = t->conv;
  const int64_t tap_floats = ceil_div(t->in_channels, HN_BLOCK) * HN_BLOCK * HN_BLOCK;
  for (int64_t ky = 0; ky < c->kernel_height; ++ky)
    for (int64_t kx = 0; kx < c->kernel_width; ++kx) {
      t->weights = weights + (ky * c->kernel_width + kx) * tap_floats;
      t->out = out + (ky * c->out_width + kx) * HN_BLOCK;
      scatter_tiles[t->blocks][t->pixels](tt);
    }
}

/* A unit of the case without overlap: tiles over the flat pixels of its input rows. */
static void transpose_scatter(const transpose_tile *first, const conv_unit *u) {
  transpose_tile tt = *first;
  conv_tile *t = &tt.t;
  const hn_conv_f32 *c = t->conv;
  const int64_t width = c->in_width, end = u->row_end / c->stride_height * width;
  int64_t y = u->row_begin / c->stride_height, x = 0;
  for (int64_t pixel = y * width; pixel < end; pixel += t->pixels) {
    t->pixels = tile_width(end - pixel, tile_pixels[u->blocks]);
    t->in = first->t.in + pixel * HN_BLOCK;
    for (int p = 0; p < t->pixels; ++p) {
      tt.places[p] = u->out_offset + (y * c->stride_height * c->out_width + x * c->stride_width) * HN_BLOCK;
      if (++x == width) x = 0, ++y;
    }
    scatter_taps(&tt, first->t.weights, first->t.out);
  }
}

void HN_BLOCKED_NAME(hn_conv_transpose_f32)(const hn_conv_f32 *conv, int64_t begin, int64_t end) {
  const conv_plan plan = conv_plan_make(conv, 0);
  const int scatters = hn_conv_transpose_f32_scatters(conv);
  for (int64_t at = begin; at < end; ++at) {
    const conv_unit u = conv_unit_at(conv, &plan, at);
    transpose_tile tt = {.t = conv_tile_make(conv, &plan, &u)};
    if (scatters) transpose_scatter(&tt, &u);
    for (int64_t y = u.row_begin; y < u.row_end; ++y) {
      const int64_t row_offset = u.out_offset + y * conv->out_width * HN_BLOCK;
      if (!scatters) transpose_row(&tt, y, row_offset, tile_pixels[u.blocks]);
      tt.t.offset = row_offset;
      tt.t.pixels = (int)conv->out_width;
      conv_tile_finish(&tt.t);
    }
  }
}
