/* SPDX-License-Identifier: Apache-2.0 */
/* deform.h - the columns of convolutions whose taps are moved (Dai et al. 2017), gathered into panels as products of
 * matrices take them. Source: ONNX operator DeformConv. */
#ifndef HN_KERNELS_CPU_DEFORM_H
#define HN_KERNELS_CPU_DEFORM_H

#include <stdint.h>

enum { HN_DEFORM_PANEL = 16 /* pixels at most */, HN_DEFORM_CORNERS = 4 };

/* Two spatial axes. A move is a tap of an offset group: their moves come after each other. */
typedef struct hn_deform_args {
  const float *offset; /* of one image: moves x {y, x} planes of out_h x out_w */
  const float *mask;   /* moves planes; NULL: ones */
  int64_t in_h, in_w, out_h, out_w, kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w, pad_top, pad_left;
} hn_deform_args;

/* Where each pixel of a panel reads one tap: four elements of the plane, by bilinear weights times the mask; 0 outside.
 */
typedef struct hn_deform_place {
  int32_t at[HN_DEFORM_CORNERS][HN_DEFORM_PANEL];
  float weight[HN_DEFORM_CORNERS][HN_DEFORM_PANEL];
} hn_deform_place;

/* Of `count` pixels from `pixel` on; pixels behind them have weights of zero. in_h x in_w fits 31 bits. */
void hn_deform_place_c(const hn_deform_args *args, int64_t move, int64_t pixel, int count, hn_deform_place *out);

/* One channel's rows of a panel: `taps` of them. Panels are as wide as those of the products in f32 (gemm.h). */
typedef void hn_deform_gather_fn(const float *plane, int64_t taps, const hn_deform_place *places, float *to);
hn_deform_gather_fn hn_deform_gather_f32_avx512, hn_deform_gather_f32_avx2, hn_deform_gather_f32_c;

#endif
