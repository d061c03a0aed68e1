/* SPDX-License-Identifier: Apache-2.0 */
/* resize.h - resizing of planes of f32, bf16 and f16 by tables: the caller turns scales, coordinate modes and rounding
 * into indices and weights once, so that one loop serves nearest, linear, cubic and antialiased resizing. */
#ifndef HN_KERNELS_CPU_RESIZE_H
#define HN_KERNELS_CPU_RESIZE_H

#include <stdint.h>

/* y[oy][ox] = sum over ty, tx of weight_y[ty][oy] * weight_x[tx][ox] * x[index_y[ty][oy]][index_x[tx][ox]], and the
 * same with a third dimension z outside of them. Every index lies inside the input. A tap of weight 0 is still read:
 * give it an index that is read anyway. */
typedef struct {
  const void *x; /* planes of in_d x in_h x in_w x block; in_w * block below 2^31 */
  void *y;       /* planes of out_d x out_h x out_w x block; not x */
  int64_t in_h, in_w, out_h, out_w;
  int32_t taps_y, taps_x; /* 2: linear, 4: cubic; not read by hn_resize_nearest */
  const int32_t *index_y; /* taps_y x out_h, or out_h for nearest */
  const int32_t *index_x; /* taps_x x out_w, or out_w */
  const void *weight_y;   /* taps_y x out_h reals (kernels/cpu/held.inc.h); not read by hn_resize_nearest */
  const void *weight_x;   /* taps_x x out_w; likewise */
  int32_t block;          /* 1: NCHW; 8, 16: nChw8c, nChw16c; 32: nChw32c, bf16 and f16 */
  int32_t taps_z;         /* as taps_y; 1 where there is no z */
  int64_t in_d, out_d;    /* likewise */
  const int32_t *index_z;
  const void *weight_z;
} hn_resize_args;

/* Computes the output rows [begin, end); index = (plane * out_d + level) * out_h + row. */
typedef void hn_resize_fn(const hn_resize_args *args, int64_t begin, int64_t end);

hn_resize_fn hn_resize_nearest_f32_avx512, hn_resize_nearest_f32_avx2, hn_resize_nearest_f32_c;
hn_resize_fn hn_resize_nearest_bf16_avx512, hn_resize_nearest_bf16_avx2, hn_resize_nearest_bf16_c;
hn_resize_fn hn_resize_nearest_f16_avx512, hn_resize_nearest_f16_avx2, hn_resize_nearest_f16_c;
hn_resize_fn hn_resize_nearest_f64_avx512, hn_resize_nearest_f64_avx2, hn_resize_nearest_f64_c;
hn_resize_fn hn_resize_taps_f32_avx512, hn_resize_taps_f32_avx2, hn_resize_taps_f32_c;
hn_resize_fn hn_resize_taps_bf16_avx512, hn_resize_taps_bf16_avx2, hn_resize_taps_bf16_c;
hn_resize_fn hn_resize_taps_f16_avx512, hn_resize_taps_f16_avx2, hn_resize_taps_f16_c;
hn_resize_fn hn_resize_taps_f64_avx512, hn_resize_taps_f64_avx2, hn_resize_taps_f64_c;

#endif
