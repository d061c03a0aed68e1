/* SPDX-License-Identifier: Apache-2.0 */
/* pool.h - maximum and average pooling of f32, bf16 and f16, maximum of bytes, over up to three dimensions, NC(D)HW or
 * channel-blocked; p-norms of plain f32. */
#ifndef HN_KERNELS_CPU_POOL_H
#define HN_KERNELS_CPU_POOL_H

#include <stdint.h>

/* Floats hold the fourth powers of 4e-10 to 4e9; higher powers want doubles, as the reference's are. */
enum { HN_POOL_MOST_POWER = 4 };

/* Window tap (ky, kx) of output (oy, ox) reads input (oy * stride_h - pad_top + ky * dilation_h, likewise in x and z);
 * taps outside the input are left out. The maximum of a window holding a NaN is NaN, that of an empty one
 * -infinity; the average of an empty window is 0. */
typedef struct {
  const void *x; /* planes of in_d x in_h x in_w x block, elements of the type that the kernel names */
  void *y;       /* planes of out_d x out_h x out_w x block; not x */
  int64_t in_h, in_w, out_h, out_w;
  int64_t kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w;
  int64_t pad_top, pad_left;
  int64_t pad_bottom, pad_right; /* read where count_include_pad is set: what lies behind them is never counted */
  int32_t count_include_pad;     /* averages only: divide by the taps inside the padded input */
  int32_t block; /* 1: NCHW; 8, 16: nChw8c, nChw16c, f32; 32: nChw32c, bf16 and f16; 64: nChw64c, bytes */
  int32_t flip;  /* bytes only: 0x80 where they are i8, else 0 */
  int64_t power; /* norms only: their p, 1 to HN_POOL_MOST_POWER */
  /* The outermost dimension, 1 and 0 where there is none. */
  int64_t in_d, out_d, kernel_d, stride_d, dilation_d, pad_front, pad_back;
  /* hn_pool_index_* only: where each maximum was, in elements of x; -1 for an empty window. */
  int64_t *indices;
  int32_t by_column; /* within a plane they count the outermost dimension fastest */
} hn_pool_args;

/* Computes the output rows [begin, end); index = (plane * out_d + level) * out_h + row, a plane being one image's
 * channel (block). */
typedef void hn_pool_fn(const hn_pool_args *args, int64_t begin, int64_t end);

hn_pool_fn hn_pool_max_f32_avx512, hn_pool_max_f32_avx2, hn_pool_max_f32_c;
/* Of bytes, block 1 or 64: the maximum of an empty window is the least byte. in_w of at most HN_POOL_BYTES_WIDTH. */
enum { HN_POOL_BYTES_WIDTH = 8192 };
hn_pool_fn hn_pool_max_bytes_avx512, hn_pool_max_bytes_avx2, hn_pool_max_bytes_c;
hn_pool_fn hn_pool_average_f32_avx512, hn_pool_average_f32_avx2, hn_pool_average_f32_c;
hn_pool_fn hn_pool_max_bf16_avx512, hn_pool_max_bf16_avx2, hn_pool_max_bf16_c;
hn_pool_fn hn_pool_max_f16_avx512, hn_pool_max_f16_avx2, hn_pool_max_f16_c;
hn_pool_fn hn_pool_max_f64_avx512, hn_pool_max_f64_avx2, hn_pool_max_f64_c;
/* The p-norm of plain f32; taps outside the input are zeros. */
hn_pool_fn hn_pool_norm_f32_avx512, hn_pool_norm_f32_avx2, hn_pool_norm_f32_c;
/* Plain f32 with indices: of equal numbers the first one's, of a NaN the first NaN's. Planes of fewer than 2^31. */
hn_pool_fn hn_pool_index_f32_avx512, hn_pool_index_f32_avx2, hn_pool_index_f32_c;
hn_pool_fn hn_pool_average_bf16_avx512, hn_pool_average_bf16_avx2, hn_pool_average_bf16_c;
hn_pool_fn hn_pool_average_f16_avx512, hn_pool_average_f16_avx2, hn_pool_average_f16_c;
hn_pool_fn hn_pool_average_f64_avx512, hn_pool_average_f64_avx2, hn_pool_average_f64_c;

typedef struct {
  const void *x; /* planes of pixels x block, of the kernel's type */
  void *y;       /* planes of block, of the kernel's type or of floats */
  int64_t pixels;
  int32_t block;        /* 1, 8, 16; 32 of bf16 and f16 */
  int32_t is_sum;       /* averages only: do not divide */
  int32_t y_is_f32;     /* whatever the kernel's type is */
  int64_t power;        /* norms only: their p, as above */
  int64_t plane_pixels; /* from one plane's first pixel to the next one's; 0: pixels */
} hn_pool_global_args;

/* Computes the planes [begin, end). */
typedef void hn_pool_global_fn(const hn_pool_global_args *args, int64_t begin, int64_t end);

hn_pool_global_fn hn_pool_global_max_f32_avx512, hn_pool_global_max_f32_avx2, hn_pool_global_max_f32_c;
hn_pool_global_fn hn_pool_global_average_f32_avx512, hn_pool_global_average_f32_avx2, hn_pool_global_average_f32_c;
hn_pool_global_fn hn_pool_global_norm_f32_avx512, hn_pool_global_norm_f32_avx2, hn_pool_global_norm_f32_c;
hn_pool_global_fn hn_pool_global_max_bf16_avx512, hn_pool_global_max_bf16_avx2, hn_pool_global_max_bf16_c;
hn_pool_global_fn hn_pool_global_max_f16_avx512, hn_pool_global_max_f16_avx2, hn_pool_global_max_f16_c;
hn_pool_global_fn hn_pool_global_max_f64_avx512, hn_pool_global_max_f64_avx2, hn_pool_global_max_f64_c;
hn_pool_global_fn hn_pool_global_average_bf16_avx512, hn_pool_global_average_bf16_avx2, hn_pool_global_average_bf16_c;
hn_pool_global_fn hn_pool_global_average_f16_avx512, hn_pool_global_average_f16_avx2, hn_pool_global_average_f16_c;
hn_pool_global_fn hn_pool_global_average_f64_avx512, hn_pool_global_average_f64_avx2, hn_pool_global_average_f64_c;

#endif
