/* SPDX-License-Identifier: Apache-2.0 */
/* args.h - what the built-in CUDA kernels take by value: plain C, read by them and by those who launch them. Extents
 * and strides are in elements and fit in 31 bits. */
#ifndef HN_KERNELS_CUDA_ARGS_H
#define HN_KERNELS_CUDA_ARGS_H

#include "kernels/activation.h"

enum { HN_CUDA_AXES = 8, HN_CUDA_MOVE_THREADS = 256 };

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

/* Attention: see attention.cu. Steps in floats; columns of the mask are dense. */
typedef struct hn_cuda_attention {
  int heads, group, q_len, kv_len, size, v_size, is_causal, vectors;
  float scale;
  long long q_batch, q_head, q_row, k_batch, k_head, k_row, v_batch, v_head, v_row, y_batch, y_head, y_row;
  long long mask_batch, mask_head, mask_row;
} hn_cuda_attention;

/* y[m, n] = act(x . w + ...), k cut into slices of `slice` (a multiple of 16). */
typedef struct hn_cuda_product_args {
  int m, n, k, slice, slices, act; /* act: an hn_activation */
  float alpha, beta;
} hn_cuda_product_args;

/* y = x * factor(image, channel): see squeeze_excite.cu. c channels of `pitch` values a pixel. */
typedef struct hn_cuda_squeeze {
  int pixels, c, pitch, squeezed;
  int blocks, share, slice; /* of a cluster; pixels and channels of each (channels: a multiple of 8) */
  int squeeze_act, excite_act;
  float squeeze_alpha, squeeze_beta, excite_alpha, excite_beta;
} hn_cuda_squeeze;

#endif
