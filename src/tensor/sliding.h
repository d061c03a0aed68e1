/* SPDX-License-Identifier: Apache-2.0 */
/* sliding.h - the geometry of windows that slide over spatial axes: convolution and pooling, for the compiler, ref and
 * the kernels' tactics alike. Source: ONNX operator specifications of Conv, ConvTranspose, MaxPool, AveragePool. */
#ifndef HN_TENSOR_SLIDING_H
#define HN_TENSOR_SLIDING_H

#include "base/diag.h"
#include "tensor/attrs.h"
#include "tensor/dims.h"

#define HN_MAX_SPATIAL (HONE_MAX_RANK - 2)

typedef struct hn_sliding {
  int spatial;                                     /* number of spatial axes, 1..HN_MAX_SPATIAL */
  int64_t in[HN_MAX_SPATIAL], out[HN_MAX_SPATIAL]; /* extents; may be symbolic when dims was given */
  int64_t kernel[HN_MAX_SPATIAL], stride[HN_MAX_SPATIAL], dilation[HN_MAX_SPATIAL];
  int64_t pad_begin[HN_MAX_SPATIAL], pad_end[HN_MAX_SPATIAL];
} hn_sliding;

/* From the attributes auto_pad, strides, dilations, pads, ceil_mode (those a row declares), an input [N, C, d...] and
 * the kernel's extents. dims may be NULL when all extents are numbers. Checks counts, signs, overflow and that the
 * padded input holds the kernel; MALFORMED in words. auto_pad SAME_* with symbolic extents keeps pads of stride-1 form
 * when stride is 1, else UNSUPPORTED. */
hone_status hn_sliding_make(hone_diagnostics *diag, hone_dims *dims, const hone_attrs *attrs, const hone_shape *input,
                            const int64_t *kernel, hn_sliding *out);
/* The same for transposed convolution, with output_padding and output_shape. */
hone_status hn_sliding_make_transposed(hone_diagnostics *diag, hone_dims *dims, const hone_attrs *attrs,
                                       const hone_shape *input, const int64_t *kernel, hn_sliding *out);

#endif
