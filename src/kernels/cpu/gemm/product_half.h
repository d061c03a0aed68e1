/* SPDX-License-Identifier: Apache-2.0 */
/* product_half.h - products of halves (bf16, or f16) with f32 sums in tiles of 32 x 32 outputs: linear layers and
 * convolutions.
 *
 * "Pixels" are rows of A: rows of a matrix, or pixels of an image whose rows lie one behind the other. Output
 * (pixel p, channel o) is the sum over taps t, depth blocks d and k in 0 .. 31 of
 *   x[(tap_at[t] + p) * 32 + d * x_block + k] * w[o][t][d][k]
 * A convolution reads an image that the gather below has padded and, for strides, taken apart into phases, so that each
 * of its taps is a shift; a linear layer has one tap. Of row_pixels pixels in a row the first out_width are stored.
 *
 * Weights, packed: [group][ceil(O / 32)][tap][depth block] of 32 x 32: in bf16 two tiles of 16 channels, each
 * [k / 2][channel][k % 2]; in f16 [k][channel]. Zero beyond the last channel or k. Bias and slopes: f32, whole blocks
 * of 32 channels, zero behind the last. */
#ifndef HN_KERNELS_CPU_GEMM_PRODUCT_HALF_H
#define HN_KERNELS_CPU_GEMM_PRODUCT_HALF_H

#include <stdint.h>

#include "kernels/cpu/epilogue.h"

enum {
  HN_PRODUCT_HALF_TILE = 32,        /* pixels and channels of a tile, and k of a depth block */
  HN_PRODUCT_HALF_WEIGHTS = 32 * 32 /* halves of one block of channels, tap and depth block */
};

typedef struct hn_product_half {
  const uint16_t *x, *w;
  void *y;                                    /* halves or f32 */
  const void *residual;                       /* as y, NULL: none; may be y */
  const int64_t *tap_at;                      /* pixels */
  int64_t x_image, x_group, x_block;          /* elements */
  int64_t y_image, y_block, y_pixel;          /* elements; a block is y_lanes channels */
  int64_t images, groups, taps, depth_blocks; /* depth of one group */
  int64_t out_channels;                       /* of one group; with several groups whole blocks of 32 */
  int64_t row_pixels, out_width, out_height;
  int32_t y_lanes;                  /* 8, 16 or 32; channels of a block that lie beside each other */
  int32_t y_is_half, y_is_padded;   /* padded: lanes behind the last channel are there, and become zero */
  int32_t may_read_behind;          /* 32 pixels behind the last are readable; else there are at least 32 pixels */
  int64_t unit_pixels, unit_blocks; /* of a work unit: whole tiles, blocks of 32 channels */
  int32_t last_pairs;               /* pairs of k with weights in a tap's last depth block; 0: all 16 of them */
  int32_t f16_terms;                /* of f16: products that are summed in f16, 8, 16 or 32, before f32 takes them */
  int32_t skips;                    /* pixels behind out_width are not computed; where the kernel says it can */
  int32_t blocks_first;             /* order within a unit: weights are more than the second cache holds */
  hn_epilogue_f32 epilogue;         /* its residual is not used */
} hn_product_half;

/* Pixels of a row that are counted. */
static inline int64_t hn_product_half_row(const hn_product_half *p) { return p->skips ? p->out_width : p->row_pixels; }
static inline int64_t hn_product_half_pixels(const hn_product_half *p) {
  return (p->out_height - 1) * hn_product_half_row(p) + p->out_width;
}
static inline int64_t hn_product_half_blocks(const hn_product_half *p) {
  return (p->out_channels + HN_PRODUCT_HALF_TILE - 1) / HN_PRODUCT_HALF_TILE;
}
static inline int64_t hn_product_half_pixel_units(const hn_product_half *p) {
  return (hn_product_half_pixels(p) + p->unit_pixels - 1) / p->unit_pixels;
}
static inline int64_t hn_product_half_block_units(const hn_product_half *p) {
  return (hn_product_half_blocks(p) + p->unit_blocks - 1) / p->unit_blocks;
}
/* Pairs of k among the last of a depth of so many. */
static inline int32_t hn_product_half_last_pairs(int64_t depth) {
  return (int32_t)(((depth - 1) % HN_PRODUCT_HALF_TILE + 2) / 2);
}
/* Work units: [image][group][block unit][pixel unit]; independent of each other. */
static inline int64_t hn_product_half_units(const hn_product_half *p) {
  return p->images * p->groups * hn_product_half_block_units(p) * hn_product_half_pixel_units(p);
}

typedef void hn_product_half_fn(const hn_product_half *product, int64_t begin, int64_t end);
hn_product_half_fn hn_product_bf16_c, hn_product_bf16_avx512_bf16, hn_product_bf16_amx_bf16, hn_product_f16_c,
    hn_product_f16_avx512_fp16;

/* The same of one image, group and tap without a residual, all of it whatever the units are, where the depth is few
 * blocks. x has whole 16 pixels, y blocks of 32 bf16 or 16 f32; bias comes first in a sum. */
hn_product_half_fn hn_product_shallow_bf16_c, hn_product_shallow_bf16_amx_bf16;

/* Packs weights given in f32; element (o, k, tap) of group g is w[g * group + o * out + k * in + tap * step]; with
 * columns, k counts (column, channel) pairs, column * depth + channel, and the next column is the next float. */
typedef struct hn_product_half_weights {
  const float *w;
  int64_t groups, outs, depth, taps; /* outs and depth of one group */
  int64_t group, out, in, step;      /* strides in floats */
  int64_t columns;                   /* 0: none */
} hn_product_half_weights;
int64_t hn_product_half_packed(int64_t groups, int64_t outs, int64_t depth, int64_t taps); /* elements */
typedef void hn_product_half_pack_fn(const hn_product_half_weights *weights, uint16_t *to);
hn_product_half_pack_fn hn_product_bf16_pack_c, hn_product_f16_pack_c;

/* What a product's x is made from: an image that is padded, taken apart by the strides into phases and rounded.
 *
 * y: [image][depth block][phase row][phase column][row][row pixel][32]; zero where there is no pixel or channel. Phase
 * (a, b) holds the padded image's pixels (row * stride_height + a, column * stride_width + b). */
typedef struct hn_gather_half {
  const void *x; /* [image][block][row][column][lanes], f32 or halves; lanes 0: NHWC without pads */
  uint16_t *y;
  int64_t images, channels, in_height, in_width;
  int64_t rows, row_pixels; /* of a phase */
  int64_t phases_height, phases_width, stride_height, stride_width, pad_top, pad_left;
  int32_t lanes, x_is_half;
  /* Of halves in blocks of 32 without pads: x * scale + shift, then relu if it is rectified; floats, whole blocks, zero
   * behind the last channel. NULL: x as it is. */
  const float *scale, *shift;
  int32_t rectified;
} hn_gather_half;
static inline int64_t hn_gather_half_blocks(const hn_gather_half *g) {
  return (g->channels + HN_PRODUCT_HALF_TILE - 1) / HN_PRODUCT_HALF_TILE;
}
/* Units: rows of y, in its order. */
static inline int64_t hn_gather_half_units(const hn_gather_half *g) {
  return g->images * hn_gather_half_blocks(g) * g->phases_height * g->phases_width * g->rows;
}
typedef void hn_gather_half_fn(const hn_gather_half *gather, int64_t begin, int64_t end);
hn_gather_half_fn hn_gather_bf16_c, hn_gather_bf16_avx512_bf16, hn_gather_bf16_amx_bf16, hn_gather_f16_c,
    hn_gather_f16_avx512_fp16;

#endif
