/* SPDX-License-Identifier: Apache-2.0 */
/* col2im.h - columns of blocks added back into images, over one or two axes. Source: ONNX operator Col2Im. */
#ifndef HN_KERNELS_CPU_COL2IM_H
#define HN_KERNELS_CPU_COL2IM_H

#include <stdint.h>

typedef struct hn_col2im_args {
  const float *x;                                           /* planes x block_h x block_w x count_h x count_w */
  float *y;                                                 /* planes x out_h x out_w */
  int64_t out_h, out_w, block_h, block_w, count_h, count_w; /* count: places of the block */
  int64_t stride_h, stride_w, dilation_h, dilation_w, pad_top, pad_left;
} hn_col2im_args;

/* Work units: output rows of all planes; neighbours in one call share what is read. */
typedef void hn_col2im_fn(const hn_col2im_args *args, int64_t begin, int64_t end);
hn_col2im_fn hn_col2im_f32_avx512, hn_col2im_f32_avx2, hn_col2im_f32_c;

#endif
