/* SPDX-License-Identifier: Apache-2.0 */
/* args.h - what the built-in CUDA kernels take by value: plain C, read by them and by those who launch them. Extents
 * and strides are in elements and fit in 31 bits. */
#ifndef HN_KERNELS_CUDA_ARGS_H
#define HN_KERNELS_CUDA_ARGS_H

#include "kernels/activation.h"

enum { HN_CUDA_AXES = 8, HN_CUDA_MOVE_THREADS = 256 };

/* Divides 0 to 2^31 - 1 by a number that is known when a kernel is launched, since a device takes hundreds of clocks to
 * divide: n * by >> 32 >> shift; by 1: `by` is 0. Source: Granlund and Montgomery, "Division by invariant integers
 * using multiplication", 1994. */
typedef struct hn_cuda_divisor {
  unsigned by, shift;
} hn_cuda_divisor;

/* Element (i0, i1, ...) of `dim` is read at sum i * from and written at sum i * to. */
typedef struct hn_cuda_walk {
  int rank;
  unsigned count; /* product of dim */
  int dim[HN_CUDA_AXES], from[HN_CUDA_AXES], to[HN_CUDA_AXES];
} hn_cuda_walk;

/* y of `out` extents is x of `in` extents from `begin` on; outside, by mode: 0 a value, 1 the edge, 2 mirrored at it,
 * 3 around the other end. */
typedef struct hn_cuda_pad {
  int rank, mode;
  unsigned count;
  int out[HN_CUDA_AXES], in[HN_CUDA_AXES], begin[HN_CUDA_AXES], stride[HN_CUDA_AXES];
} hn_cuda_pad;

/* Output o (over the kept axes) is the fold of n elements (over the reduced ones). */
enum { HN_CUDA_FOLD_SUM, HN_CUDA_FOLD_MAX, HN_CUDA_FOLD_MIN, HN_CUDA_FOLD_PROD };
enum { HN_CUDA_OF_SELF, HN_CUDA_OF_ABS, HN_CUDA_OF_SQUARE };
enum { HN_CUDA_THEN_SELF, HN_CUDA_THEN_MEAN, HN_CUDA_THEN_ROOT, HN_CUDA_THEN_LOG };
typedef struct hn_cuda_fold {
  int fold, of, then;
  int kept_rank, rank;
  unsigned outputs, n;
  int kept_dim[HN_CUDA_AXES], kept[HN_CUDA_AXES], dim[HN_CUDA_AXES], stride[HN_CUDA_AXES];
} hn_cuda_fold;

/* Windows over planes of in_h x in_w. For averages: pads up to pad_end count when count_pads is set. */
typedef struct hn_cuda_window {
  int in_h, in_w, out_h, out_w, kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w;
  int pad_h, pad_w, pad_end_h, pad_end_w, count_pads, channels;
  unsigned count; /* outputs, all planes */
} hn_cuda_window;

/* n images of c channels and p pixels, from plain to rows of `pitch` channels or back. */
typedef struct hn_cuda_convert {
  int c, p, pitch;
  unsigned count; /* threads that have work: images x pixels x eights of channels, or elements */
} hn_cuda_convert;

/* Windows over images with their channels last, a thread eight channels of neighbouring pixels: of `tiles` in a row,
 * `lines` in an image. */

/* Rows held in halves: scale and bias may be read before the wait when `early`. */
typedef struct hn_cuda_rows {
  unsigned rows;
  int length, early;
  int to_f32; /* of norms: y is f32 */
  float epsilon;
} hn_cuda_rows;

/* y[o, i, :] = x[o, indices[i], :], in words of `inner` a row; x has `length` rows for each o. */
typedef struct hn_cuda_gather {
  unsigned words; /* of y */
  int length, inner, count;
} hn_cuda_gather;

/* Windows over images with their channels last, a thread eight channels of so many neighbouring pixels. */
typedef struct hn_cuda_image_window {
  hn_cuda_window window;
  int pitch, tiles, lines;
  unsigned threads; /* that have work */
  int act;          /* an hn_activation */
  float alpha, beta;
} hn_cuda_image_window;

/* Images of c channels as one pixel each; parts: blocks that share an image. */
enum { HN_CUDA_POOL_PARTS = 16 };
typedef struct hn_cuda_global_pool {
  int pixels, pitch, c, y_pitch, parts;
  float scale;
} hn_cuda_global_pool;

/* Channels of all inputs, one after the other, to those of all outputs: f is read at first + (f % groups) * (total /
 * groups) + f / groups, a shuffle where there are several groups. Pixels are rows of their own pitch. */
enum { HN_CUDA_PARTS = 64 }; /* these arguments are 2 KiB of at most 4 */
typedef struct hn_cuda_channels {
  int ins, outs, first, groups, total, pixels; /* pixels: of an image */
  unsigned eights, count; /* eights of channels of a pixel, over all outputs; threads that have work */
  int in_begin[HN_CUDA_PARTS + 1], in_pitch[HN_CUDA_PARTS];
  int out_begin[HN_CUDA_PARTS + 1], out_eight[HN_CUDA_PARTS + 1]; /* its first channel, and its first eight */
  const void *in[HN_CUDA_PARTS];
  void *out[HN_CUDA_PARTS];
} hn_cuda_channels;

/* conv_transpose whose windows lie side by side: rows (pixels of x) times columns (taps x channels of y). depth: of
 * packed rows, a multiple of 64. */
typedef struct hn_cuda_spread {
  int rows, columns, depth, pitch;                /* pitch: of x */
  int c, y_pitch, in_h, in_w, kernel_h, kernel_w; /* c, y_pitch: of y */
  int act;
  float alpha, beta;
} hn_cuda_spread;

/* A 1x1 convolution to at most four channels, which leave as plain planes. */
typedef struct hn_cuda_few {
  unsigned pixels, plane; /* of all images, of one */
  int pitch, outputs, to_f32, act;
  float alpha, beta;
} hn_cuda_few;

/* Resampling along two axes; scale is out / in before out was rounded. Words as ONNX has them. */
enum {
  HN_CUDA_HALF_PIXEL,
  HN_CUDA_HALF_PIXEL_SYMMETRIC,
  HN_CUDA_PYTORCH_HALF_PIXEL,
  HN_CUDA_ASYMMETRIC,
  HN_CUDA_ALIGN_CORNERS,
  HN_CUDA_TF_HALF_PIXEL
};
enum { HN_CUDA_PREFER_FLOOR, HN_CUDA_PREFER_CEIL, HN_CUDA_FLOOR, HN_CUDA_CEIL };
typedef struct hn_cuda_resize_axis {
  int in, out, active; /* active 0: copied as it is */
  double scale;
} hn_cuda_resize_axis;
typedef struct hn_cuda_resize {
  hn_cuda_resize_axis h, w;
  int is_linear, transform, rounding;
  int eights;     /* of channels; plain: 1 */
  unsigned count; /* threads that have work */
} hn_cuda_resize;

/* Attention: see attention.cu and attention_half.cuh. Steps in elements; columns of the mask are dense. */
typedef struct hn_cuda_attention {
  int heads, group, q_len, kv_len, size, v_size, is_causal, vectors;
  float scale;
  long long q_batch, q_head, q_row, k_batch, k_head, k_row, v_batch, v_head, v_row, y_batch, y_head, y_row;
  long long mask_batch, mask_head, mask_row;
} hn_cuda_attention;

/* Recurrent layers: see rnn.cuh. Steps in elements; packed are the state's weights, those of the inputs and the biases,
 * of each direction. */
typedef struct hn_cuda_rnn {
  int time, batch, input, hidden, gates, is_reverse;
  int blocks, units;      /* of a cluster; of a block */
  int x_groups, h_groups; /* of 128 columns: a lane's four */
  int keeps_w, keeps_r;   /* in shared memory: weights that do not stay in registers, and fit */
  int wants_y;            /* beside the last state */
  long long w_at, bias_at, direction_floats;
  long long x_step, x_batch, y_step, y_batch, y_direction, state_batch, state_direction;
} hn_cuda_rnn;

/* y[m, n] = act(x . w + ...), k cut into slices of `slice` (a multiple of 16, of each group of threads). A stage of a
 * tile has `depth` of k, in rows of `pitch` floats. */
enum { HN_CUDA_STAGE_DEPTH = 16, HN_CUDA_STAGE_PITCH = HN_CUDA_STAGE_DEPTH + 4 };
typedef struct hn_cuda_product_args {
  int m, n, k, slice, slices, act; /* act: an hn_activation */
  int early;                       /* w may be read before the wait: a constant */
  float alpha, beta;
} hn_cuda_product_args;

/* Bytes, sixteen of `pitch` channels of a pixel a thread; pixels: of an image. x_pitch: of the side that is no bytes,
 * or is the output. A plain tensor is pixels of sixteen channels, the last one of fewer. */
enum { HN_CUDA_BYTES_THREADS = 256 };
typedef struct hn_cuda_sixteens {
  int c, pixels, pitch, x_pitch;
  unsigned count; /* threads that have work */
} hn_cuda_sixteens;

/* rne(fma(a, a_ratio, fma(b, b_ratio, shift))), or rne((a - a_zero) * (b - b_zero) * a_ratio + shift). */
typedef struct hn_cuda_byte_pair {
  hn_cuda_sixteens at;
  int b_of_images; /* b is one pixel for each image */
  float a_ratio, b_ratio, shift, a_zero, b_zero, low, high;
} hn_cuda_byte_pair;

/* Below HN_CUDA_ROUNDED a float added to HN_CUDA_ROUNDING is rounded to an integer, half to even. */
enum { HN_CUDA_ROUNDED = 1 << 22, HN_CUDA_ROUNDING = 3 << 22 };
/* What the loops of roof/ do in a round: each thread's multiplications and additions; each warpgroup's products of
 * 64 x HN_ROOF_COLUMNS by 32 bytes of k. */
enum { HN_ROOF_ADDS = 64, HN_ROOF_ADD_THREADS = 512 };
enum { HN_ROOF_PRODUCTS = 4, HN_ROOF_GROUPS = 2, HN_ROOF_COLUMNS = 256, HN_ROOF_ROW_BYTES = 128 };

/* How sums of bytes become bytes (tensor/bytes.cuh): rounded, `zero` added, held within low and high (bounded: these
 * are narrower than the type); with a residual, the sum of both by their ratios and shift, held within its own bounds.
 */
typedef struct hn_cuda_bytes {
  unsigned pad; /* four times the byte that pads of x are */
  int zero, low, high, bounded;
  int own_last, sum_low, sum_high, sum_bounded;
  float own_ratio, residual_ratio, shift;
  float own_top, own_span, residual_256th, shift_256th; /* of the short way to the sum (tensor/bytes.cuh) */
} hn_cuda_bytes;

/* A convolution of images with their channels last, or a product of rows, on tensor cores: see tensor/tensor.cuh. Its
 * m outputs (pixels, rows) have n channels in each group; k runs over `blocks` of 128 bytes over kernel_h x kernel_w
 * taps of `depth` channels, a multiple of 16 bytes. A block in k is step_c channels, step_x taps along and step_y over.
 */
typedef struct hn_cuda_tensor {
  int in_h, in_w, in_pitch, out_h, out_w, out_pitch;
  int kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w, pad_h, pad_w;
  int m, n, depth, blocks, step_c, step_x, step_y;
  int split, n_tiles, group_tiles; /* blocks a tile of outputs; tiles of channels, in all and of each group */
  int per_tap, band;               /* by bulk copies: blocks of k of a tap; channels from one row of taps to the next */
  hn_cuda_divisor by_split, by_n_tiles, by_group_tiles, by_per_tap, by_kernel_w, by_depth, by_plane, by_out_w;
  int act, is_wide, residual_at; /* an hn_activation; is_wide: the output is f32, or sums; bytes in shared memory */
  float alpha, beta;
  int scales_at;       /* of bytes: from what sums begin with, in words */
  hn_cuda_bytes bytes; /* of bytes alone */
} hn_cuda_tensor;

enum { HN_SQUEEZE_THREADS = 512, HN_SQUEEZE_BARRIER = 16 /* bytes, first in shared memory */ };
/* y = x * factor(image, channel): see squeeze_excite.cu. c channels of `pitch` values a pixel. */
typedef struct hn_cuda_squeeze {
  int pixels, c, pitch, squeezed;
  int blocks, share, slice; /* of a cluster; pixels and channels of each (channels: a multiple of 8) */
  int all;                  /* channels of the packed weights */
  int squeeze_act, excite_act;
  float squeeze_alpha, squeeze_beta, excite_alpha, excite_beta;
} hn_cuda_squeeze;

#endif
