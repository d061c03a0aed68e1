/* SPDX-License-Identifier: Apache-2.0 */
/* norm.h - normalisation of f32, bf16 and f16 with parameters in f32, and of f64: LayerNorm and RMSNorm over rows,
 * groups of channels, and a fixed scale and shift for each channel (what batch normalisation is after training).
 *
 * The variance is a second pass over x - mean, not E[x^2] - mean^2, which cancels. */
#ifndef HN_KERNELS_CPU_NORM_H
#define HN_KERNELS_CPU_NORM_H

#include <stdint.h>

/* y = (s - mean(s)) / sqrt(var(s) + epsilon) * scale + bias over each row, s = x + residual. */
typedef struct {
  const void *x;        /* rows x n, dense, of the type that the kernel names */
  const void *residual; /* rows x n, or NULL */
  const void *scale;    /* n reals (kernels/cpu/held.inc.h), or NULL: 1 */
  const void *bias;     /* n reals, or NULL: 0; RMSNorm adds it too where given */
  void *y;              /* rows x n; may be x or residual */
  void *sum;            /* rows x n: gets x + residual; or NULL; may be x or residual, not y */
  void *mean;           /* rows reals, or NULL; not written by RMSNorm */
  void *inv_std;        /* rows reals, or NULL; RMSNorm: 1 / root mean square */
  int64_t n;            /* elements of a row */
  double epsilon;
} hn_norm_rows_args;

/* Computes the rows [begin, end). */
typedef void hn_norm_rows_fn(const hn_norm_rows_args *args, int64_t begin, int64_t end);

hn_norm_rows_fn hn_layer_norm_f32_avx512, hn_layer_norm_f32_avx2, hn_layer_norm_f32_c;
hn_norm_rows_fn hn_layer_norm_bf16_avx512, hn_layer_norm_bf16_avx2, hn_layer_norm_bf16_c;
hn_norm_rows_fn hn_layer_norm_f16_avx512, hn_layer_norm_f16_avx2, hn_layer_norm_f16_c;
hn_norm_rows_fn hn_layer_norm_f64_avx512, hn_layer_norm_f64_avx2, hn_layer_norm_f64_c;
hn_norm_rows_fn hn_rms_norm_f32_avx512, hn_rms_norm_f32_avx2, hn_rms_norm_f32_c;
hn_norm_rows_fn hn_rms_norm_bf16_avx512, hn_rms_norm_bf16_avx2, hn_rms_norm_bf16_c;
hn_norm_rows_fn hn_rms_norm_f16_avx512, hn_rms_norm_f16_avx2, hn_rms_norm_f16_c;
hn_norm_rows_fn hn_rms_norm_f64_avx512, hn_rms_norm_f64_avx2, hn_rms_norm_f64_c;

/* y = x * scale[channel] + shift[channel], then max(y, 0) if relu is not 0. */
typedef struct {
  const void *x;
  void *y;           /* may be x */
  const void *scale; /* reals: channels rounded up to a multiple of block, or NULL: 1 */
  const void *shift; /* the same count, or NULL: 0 */
  int64_t channels;  /* of the whole tensor; a channel block is one unit */
  int64_t pixels;    /* of one plane */
  int32_t block;     /* 1: NCHW; 8, 16: nChw8c, nChw16c; 32: nChw32c, bf16 and f16 */
  int32_t relu;
} hn_channel_affine_args;

/* Computes the planes [begin, end); plane index = image * ceil(channels / block) + channel block. */
typedef void hn_channel_affine_fn(const hn_channel_affine_args *args, int64_t begin, int64_t end);

hn_channel_affine_fn hn_channel_affine_f32_avx512, hn_channel_affine_f32_avx2, hn_channel_affine_f32_c;
hn_channel_affine_fn hn_channel_affine_bf16_avx512, hn_channel_affine_bf16_avx2, hn_channel_affine_bf16_c;
hn_channel_affine_fn hn_channel_affine_f16_avx512, hn_channel_affine_f16_avx2, hn_channel_affine_f16_c;
hn_channel_affine_fn hn_channel_affine_f64_avx512, hn_channel_affine_f64_avx2, hn_channel_affine_f64_c;

/* Group normalisation: mean and variance over the channels of a group and all their pixels. groups = channels is
 * instance normalisation. */
typedef struct {
  const void *x;
  void *y;                          /* may be x */
  const void *scale;                /* channels reals, or NULL: 1 */
  const void *bias;                 /* channels reals, or NULL: 0 */
  int64_t channels, groups, pixels; /* groups divides channels */
  double epsilon;
  int32_t block; /* of the blocked kernel */
} hn_group_norm_args;

/* Computes the (image, group) pairs [begin, end); index = image * groups + group. */
typedef void hn_group_norm_fn(const hn_group_norm_args *args, int64_t begin, int64_t end);

hn_group_norm_fn hn_group_norm_f32_avx512, hn_group_norm_f32_avx2, hn_group_norm_f32_c;
hn_group_norm_fn hn_group_norm_bf16_avx512, hn_group_norm_bf16_avx2, hn_group_norm_bf16_c;
hn_group_norm_fn hn_group_norm_f16_avx512, hn_group_norm_f16_avx2, hn_group_norm_f16_c;
hn_group_norm_fn hn_group_norm_f64_avx512, hn_group_norm_f64_avx2, hn_group_norm_f64_c;

/* The same on nChwBc, where groups lie in blocks or blocks in groups: a group's channels divide the block, or are
 * divided by it. Units: (image, block), or (image, group) where a group has several blocks. */
static inline int64_t hn_group_norm_blocks(const hn_group_norm_args *a) { /* of one unit */
  const int64_t members = a->channels / a->groups;
  return members > a->block ? members / a->block : 1;
}
hn_group_norm_fn hn_group_norm_blocked_f32_avx512, hn_group_norm_blocked_f32_avx2, hn_group_norm_blocked_f32_c;
hn_group_norm_fn hn_group_norm_blocked_bf16_avx512, hn_group_norm_blocked_bf16_avx2, hn_group_norm_blocked_bf16_c;
hn_group_norm_fn hn_group_norm_blocked_f16_avx512, hn_group_norm_blocked_f16_avx2, hn_group_norm_blocked_f16_c;

#endif
