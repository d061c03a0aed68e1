/* SPDX-License-Identifier: Apache-2.0 */
/* conv.h - convolutions in f32, direct, on channel-blocked and plain layouts.
 *
 * Layouts (B = 16 for *_nchw16c_*, 8 for *_nchw8c_*; everything dense unless a batch stride says otherwise):
 *   NCHW     [N][C][H][W]
 *   nChwBc   [N][ceil(C / B)][H][W][B]; the lanes beyond C in the last block are written as zero and never
 *            read as input channels
 *   weights  blocked    [ceil(O / B)][ceil(I / B)][kh][kw][B in][B out]   I = input channels of one group
 *            first      [ceil(O / B)][I][kh][kw][B out]
 *            depthwise  [ceil(O / B)][kh][kw][B]
 *            transposed [ceil(O / B)][kh][kw][ceil(I / B)][B in][B out]
 *            lanes beyond O, I or C are zero; the pack functions below write them from OIHW
 *   bias     ceil(O / B) * B floats, zero beyond O; residual: as the output, its lanes beyond O zero too
 *
 * Work units: a kernel does units [begin, end) of hn_conv_f32_units(). A unit is unit_rows output rows (pixels
 * of the flattened image for 1x1) of one image x oc_blocks blocks of output channels (1 for depthwise). Units
 * are independent, in any order and on any thread; results (for finite weights) do not depend on the split,
 * on oc_blocks or on unit_rows. No pointer needs an alignment, 64 bytes are faster. The output must not overlap input
 * or weights; the residual may be the output itself. */
#ifndef HN_KERNELS_CPU_CONV_H
#define HN_KERNELS_CPU_CONV_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/cpu/epilogue.h"

typedef struct hn_conv_f32 {
  int64_t batch, in_channels, out_channels, groups; /* channels of all groups together */
  int64_t in_height, in_width, out_height, out_width;
  int64_t kernel_height, kernel_width;
  int64_t stride_height, stride_width, dilation_height, dilation_width;
  int64_t pad_top, pad_left;                 /* bottom and right follow from the output's size */
  int64_t in_batch_stride, out_batch_stride; /* floats between images; 0 means dense. The residual's is
                                                the output's */
  const float *input, *weights;
  float *output;
  hn_epilogue_f32 epilogue;

  int64_t unit_rows;    /* output rows (1x1: pixels) of one unit, >= 1 */
  int32_t oc_blocks;    /* blocks of output channels of one unit and tile, 1..HN_CONV_F32_OC_BLOCKS_*; a unit at the
                           end of a group has what is left */
  int32_t pixels_first; /* order of the units of an image: 1 walks all rows before the next channels (weights stay
                           in cache), 0 all channels before the next rows (input stays in cache) */
  int32_t plain_output; /* 1: output and residual are plain NCHW (general and 1x1 only); costs some three cycles an
                           output: for few channels */

  /* A third axis, before height; no kernel looks at it, callers that gather columns themselves do. */
  int64_t in_depth, out_depth, kernel_depth, stride_depth, dilation_depth, pad_front;
} hn_conv_f32;

/* The same of doubles, plain: the shape's own pointers and epilogue are not read. */
typedef struct hn_conv_f64 {
  hn_conv_f32 shape;
  const double *input, *weights;
  double *output;
  hn_epilogue_f64 epilogue;
} hn_conv_f64;

/* The largest oc_blocks; the tiles are 1x14 2x14 3x8 4x6, 1x10 2x6 3x4 and 1x4 2x2 blocks x pixels. */
#define HN_CONV_F32_OC_BLOCKS_AVX512 4
#define HN_CONV_F32_OC_BLOCKS_AVX2 3
#define HN_CONV_F32_OC_BLOCKS_C 2

/* Number of work units for channel block 16 or 8. For 1x1 give flat_pixels 1, otherwise 0. */
int64_t hn_conv_f32_units(const hn_conv_f32 *conv, int block, int flat_pixels);
/* The same for the depthwise kernels: oc_blocks is taken as 1. */
int64_t hn_conv_f32_dw_units(const hn_conv_f32 *conv, int block);

/* Fills oc_blocks, unit_rows and pixels_first with a fair first choice for oc_blocks up to most and a cache of
 * l2_bytes; threads is how many will share the units. A tuner may try others. */
void hn_conv_f32_choose(hn_conv_f32 *conv, int block, int most, int flat_pixels, size_t l2_bytes, int threads);

/* Packed sizes in floats, and packing from OIHW (O x I x kh x kw, I per group; depthwise: C x 1 x kh x kw).
 * A row of output blocks is independent of the others: block_begin..block_end of ceil(O / B). */
int64_t hn_conv_f32_packed_floats(int64_t out_channels, int64_t in_per_group, int64_t kernel_pixels, int block);
void hn_conv_f32_pack_c(const float *oihw, int64_t out_channels, int64_t in_per_group, int64_t kernel_pixels, int block,
                        int64_t block_begin, int64_t block_end, float *packed);
/* The weights of groups of which `together` make one of the packed convolution's, zero between them; the last ones may
 * be fewer. The packed size is that of the merged convolution. */
void hn_conv_f32_pack_merged_c(const float *oihw, int64_t groups, int64_t in_per_group, int64_t out_per_group,
                               int64_t together, int64_t kernel_pixels, int block, float *packed);
/* Such a convolution as it has run, with its pointers; each output that is NaN, since another group's infinity met a
 * zero weight, is computed again from its own group. Units are rows of one block: batch * blocks * out_height. The
 * residual must not be the output. */
typedef struct hn_conv_f32_mend {
  const hn_conv_f32 *conv;                                     /* merged */
  int64_t in_per_group, out_per_group, together, out_channels; /* of the groups themselves */
  int block;
} hn_conv_f32_mend;
void hn_conv_f32_mend_c(const hn_conv_f32_mend *mend, int64_t begin, int64_t end);
int64_t hn_conv_f32_first_packed_floats(int64_t out_channels, int64_t in_channels, int64_t kernel_pixels, int block);
void hn_conv_f32_first_pack_c(const float *oihw, int64_t out_channels, int64_t in_channels, int64_t kernel_pixels,
                              int block, float *packed);
int64_t hn_conv_f32_dw_packed_floats(int64_t channels, int64_t kernel_pixels, int block);
void hn_conv_f32_dw_pack_c(const float *oihw, int64_t channels, int64_t kernel_pixels, int block, float *packed);

/* General: any kernel, stride, dilation, padding; groups 1, or in_channels / groups and out_channels / groups
 * multiples of B. in_height * in_width below 2^31. */
void hn_conv_f32_nchw16c_avx512(const hn_conv_f32 *conv, int64_t begin, int64_t end);
void hn_conv_f32_nchw8c_avx2(const hn_conv_f32 *conv, int64_t begin, int64_t end);
void hn_conv_f32_nchw8c_c(const hn_conv_f32 *conv, int64_t begin, int64_t end);

/* 1x1, stride 1, no padding; groups as above. Kernel, stride, dilation and padding are not looked at. */
void hn_conv_f32_1x1_nchw16c_avx512(const hn_conv_f32 *conv, int64_t begin, int64_t end);
void hn_conv_f32_1x1_nchw8c_avx2(const hn_conv_f32 *conv, int64_t begin, int64_t end);
void hn_conv_f32_1x1_nchw8c_c(const hn_conv_f32 *conv, int64_t begin, int64_t end);

/* The same, of weights of which of each four input channels two are not zero; groups 1, input channels a multiple of 4.
 * "sparse" weights of an output block: for each input block the picked ones, [4 groups][2][16 out], then for each input
 * block the places of those in their four, 16 bits an output, two a weight. */
#define HN_CONV_F32_SPARSE_FLOATS 128
int64_t hn_conv_f32_sparse_block_floats(int64_t in_channels);
int hn_conv_f32_is_sparse(const float *weights, int64_t out_channels, int64_t in_channels); /* of O x I */
void hn_conv_f32_sparse_pack_c(const float *weights, int64_t out_channels, int64_t in_channels, float *packed);
void hn_conv_f32_sparse_nchw16c_avx512(const hn_conv_f32 *conv, int64_t begin, int64_t end);

/* The pixels that a 1x1 convolution with strides and no padding reads, as the image of one without: rows [begin, end)
 * of hn_conv_f32_gather_rows(), each a row of out_width pixels of one block. Any channels; groups do not matter. */
int64_t hn_conv_f32_gather_rows(const hn_conv_f32 *conv, int block);
void hn_conv_f32_gather_c(const hn_conv_f32 *conv, int block, float *to, int64_t begin, int64_t end);

/* First layer: plain NCHW input of few channels, groups 1, "first" weights; output blocked. oc_blocks 1 or 2. */
void hn_conv_f32_first_nchw16c_avx512(const hn_conv_f32 *conv, int64_t begin, int64_t end);
void hn_conv_f32_first_nchw8c_avx2(const hn_conv_f32 *conv, int64_t begin, int64_t end);
void hn_conv_f32_first_nchw8c_c(const hn_conv_f32 *conv, int64_t begin, int64_t end);

/* Depthwise: in_channels == out_channels == groups, "depthwise" weights. Fast for 3x3 and 5x5 without dilation
 * at stride 1 and 2. Units from hn_conv_f32_dw_units(). */
void hn_conv_dw_f32_nchw16c_avx512(const hn_conv_f32 *conv, int64_t begin, int64_t end);
void hn_conv_dw_f32_nchw8c_avx2(const hn_conv_f32 *conv, int64_t begin, int64_t end);
void hn_conv_dw_f32_nchw8c_c(const hn_conv_f32 *conv, int64_t begin, int64_t end);
/* The same on nChw32c in bf16 and f16: input, output and residual point at elements of that type; weights of block 32,
 * bias and slopes are floats. */
void hn_conv_dw_bf16_nchw32c_avx512_bf16(const hn_conv_f32 *conv, int64_t begin, int64_t end);
void hn_conv_dw_bf16_nchw32c_avx512(const hn_conv_f32 *conv, int64_t begin, int64_t end);
void hn_conv_dw_bf16_nchw32c_avx2(const hn_conv_f32 *conv, int64_t begin, int64_t end);
void hn_conv_dw_bf16_nchw32c_c(const hn_conv_f32 *conv, int64_t begin, int64_t end);
void hn_conv_dw_f16_nchw32c_avx512(const hn_conv_f32 *conv, int64_t begin, int64_t end);
void hn_conv_dw_f16_nchw32c_avx2(const hn_conv_f32 *conv, int64_t begin, int64_t end);
void hn_conv_dw_f16_nchw32c_c(const hn_conv_f32 *conv, int64_t begin, int64_t end);
/* The same with a channel multiplier: groups == in_channels, out_channels a multiple m of them; output channel o reads
 * input channel o / m. "depthwise" weights of the output's channels. */
void hn_conv_dw_multiplier_f32_nchw16c_avx512(const hn_conv_f32 *conv, int64_t begin, int64_t end);
void hn_conv_dw_multiplier_f32_nchw8c_avx2(const hn_conv_f32 *conv, int64_t begin, int64_t end);
void hn_conv_dw_multiplier_f32_nchw8c_c(const hn_conv_f32 *conv, int64_t begin, int64_t end);

/* Transposed: in_* is its input, out_* its output; stride, dilation and pads are the transposed convolution's. Groups
 * as in the general case; bias and activation, no residual. "transposed" weights, packed from [I][O per group][kh][kw],
 * I of all groups. Where it scatters - no output pixel hears from two taps - unit_rows must be a multiple of
 * stride_height. */
static inline int hn_conv_transpose_f32_scatters(const hn_conv_f32 *c) {
  return c->kernel_height == c->stride_height && c->kernel_width == c->stride_width && c->dilation_height == 1 &&
         c->dilation_width == 1 && c->pad_top == 0 && c->pad_left == 0 &&
         c->out_height == c->in_height * c->stride_height && c->out_width == c->in_width * c->stride_width;
}
void hn_conv_transpose_f32_nchw16c_avx512(const hn_conv_f32 *conv, int64_t begin, int64_t end);
void hn_conv_transpose_f32_nchw8c_avx2(const hn_conv_f32 *conv, int64_t begin, int64_t end);
void hn_conv_transpose_f32_nchw8c_c(const hn_conv_f32 *conv, int64_t begin, int64_t end);
void hn_conv_transpose_f32_pack_c(const float *iohw, int64_t groups, int64_t in_per_group, int64_t out_per_group,
                                  int64_t kernel_pixels, int block, float *packed);

/* Depthwise on plain NCHW, with a channel multiplier or without, batches dense, weights O x kh x kw of at most so many
 * taps, bias O floats. Units are output planes, batch * O of them; scratch is hn_conv_f32_dw_plain_scratch() reals of
 * the caller's own. */
#define HN_CONV_F32_DW_PLAIN_TAPS 128
void hn_conv_dw_plain_f32_avx512(const hn_conv_f32 *conv, int64_t begin, int64_t end, float *scratch);
void hn_conv_dw_plain_f32_avx2(const hn_conv_f32 *conv, int64_t begin, int64_t end, float *scratch);
void hn_conv_dw_plain_f32_c(const hn_conv_f32 *conv, int64_t begin, int64_t end, float *scratch);
void hn_conv_dw_plain_f64_avx512(const hn_conv_f64 *conv, int64_t begin, int64_t end, double *scratch);
void hn_conv_dw_plain_f64_avx2(const hn_conv_f64 *conv, int64_t begin, int64_t end, double *scratch);
void hn_conv_dw_plain_f64_c(const hn_conv_f64 *conv, int64_t begin, int64_t end, double *scratch);

/* Floats of one phase of a padded row: what whole vectors of outputs read of the last tap. */
static inline int64_t hn_conv_f32_dw_plain_run(const hn_conv_f32 *c) {
  return (c->out_width + 63) / 64 * 64 + (c->kernel_width - 1) * c->dilation_width / c->stride_width + 1;
}
static inline int64_t hn_conv_f32_dw_plain_scratch(const hn_conv_f32 *c) {
  const int64_t rows = (c->out_height - 1) * c->stride_height + (c->kernel_height - 1) * c->dilation_height + 1;
  return rows * hn_conv_f32_dw_plain_run(c) * c->stride_width;
}

/* 1x1 on plain NCHW, stride 1, no padding, any groups, batches dense; weights O x I as they come, bias O floats. For
 * few channels a group: nothing is packed. Units are runs of unit_rows pixels of one group and image, batch * groups *
 * ceil(pixels / unit_rows) of them; the residual may be the output. */
void hn_conv_f32_1x1_nchw_avx512(const hn_conv_f32 *conv, int64_t begin, int64_t end);
void hn_conv_f32_1x1_nchw_avx2(const hn_conv_f32 *conv, int64_t begin, int64_t end);
void hn_conv_f32_1x1_nchw_c(const hn_conv_f32 *conv, int64_t begin, int64_t end);

/* im2col of one image and group in plain NCHW: rows [begin, end) of the (I * kh * kw) x (OH * OW) matrix, row
 * (i * kh + ky) * kw + kx, padding written as zero. Only in_* (in_channels is the group's I), out_height,
 * out_width, kernel, stride, dilation, pad and input (the group's first channel) are looked at. columns points
 * at row 0; rows are row_stride floats apart. */
void hn_im2col_f32_c(const hn_conv_f32 *conv, float *columns, int64_t row_stride, int64_t begin, int64_t end);

#endif
