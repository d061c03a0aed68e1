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

/* Where each pixel of a panel reads one tap: four elements of the plane, by bilinear weights times the mask. Element
 * in_h x in_w, which is behind the plane, by 0 where there is nothing to read. */
typedef struct hn_deform_place {
  int32_t at[HN_DEFORM_CORNERS][HN_DEFORM_PANEL];
  float weight[HN_DEFORM_CORNERS][HN_DEFORM_PANEL];
} hn_deform_place;

/* Of `count` pixels from `pixel` on; pixels behind them read nothing. in_h x in_w fits 31 bits. Panels are as wide as
 * those of the products in f32 (gemm.h). */
typedef void hn_deform_place_fn(const hn_deform_args *args, int64_t move, int64_t pixel, int count,
                                hn_deform_place *out);
hn_deform_place_fn hn_deform_place_f32_avx512, hn_deform_place_f32_avx2, hn_deform_place_f32_c;

/* One channel's rows of a panel: `taps` of them. Of groups of few channels. */
typedef void hn_deform_gather_fn(const float *plane, int64_t taps, const hn_deform_place *places, float *to);
hn_deform_gather_fn hn_deform_gather_f32_avx512, hn_deform_gather_f32_avx2, hn_deform_gather_f32_c;

/* `channels` planes of `pixels` (at most as many as a vector has lanes) side by side, a vector for each pixel, and
 * zeros behind the last one: (pixels + 1) vectors. */
typedef void hn_deform_join_fn(const float *planes, int64_t pixels, int channels, float *to);
hn_deform_join_fn hn_deform_join_f32_avx512, hn_deform_join_f32_avx2, hn_deform_join_f32_c;

/* The rows of a panel of joined channels: the rows of a channel, of which there are `taps`, after another's. */
typedef void hn_deform_blend_fn(const float *joined, int channels, int64_t taps, const hn_deform_place *places,
                                float *to);
hn_deform_blend_fn hn_deform_blend_f32_avx512, hn_deform_blend_f32_avx2, hn_deform_blend_f32_c;

#endif
