/* SPDX-License-Identifier: Apache-2.0 */
/* im2col_f32_c.c - a plain NCHW image as the matrix whose product with OIHW weights is the convolution. */
#include "kernels/cpu/conv/conv.h"

#include <string.h>

/* Output positions [*begin, *end) of 0..count whose input position at * stride + offset lies in 0..size. */
static void valid_range(int64_t count, int64_t stride, int64_t offset, int64_t size, int64_t *begin, int64_t *end) {
  int64_t first = offset < 0 ? (-offset + stride - 1) / stride : 0;
  int64_t last = size > offset ? (size - offset + stride - 1) / stride : 0;
  if (last > count) last = count;
  if (first > last) first = last;
  *begin = first;
  *end = last;
}

static void copy_row(float *to, const float *from, int64_t count, int64_t stride) {
  if (stride == 1) {
    memcpy(to, from, (size_t)count * sizeof(float));
    return;
  }
  for (int64_t i = 0; i < count; ++i) to[i] = from[i * stride];
}

void hn_im2col_f32_c(const hn_conv_f32 *c, float *columns, int64_t row_stride, int64_t begin, int64_t end) {
  const int64_t taps = c->kernel_height * c->kernel_width;
  for (int64_t row = begin; row < end; ++row) {
    const int64_t ky = row % taps / c->kernel_width, kx = row % c->kernel_width;
    const float *plane = c->input + row / taps * c->in_height * c->in_width;
    const int64_t y_offset = ky * c->dilation_height - c->pad_top, x_offset = kx * c->dilation_width - c->pad_left;
    float *to = columns + row * row_stride;
    int64_t x_begin, x_end;
    valid_range(c->out_width, c->stride_width, x_offset, c->in_width, &x_begin, &x_end);
    for (int64_t oy = 0; oy < c->out_height; ++oy, to += c->out_width) {
      const int64_t y = oy * c->stride_height + y_offset;
      if (y < 0 || y >= c->in_height || x_begin == x_end) {
        memset(to, 0, (size_t)c->out_width * sizeof(float));
        continue;
      }
      memset(to, 0, (size_t)x_begin * sizeof(float));
      copy_row(to + x_begin, plane + y * c->in_width + x_begin * c->stride_width + x_offset, x_end - x_begin,
               c->stride_width);
      memset(to + x_end, 0, (size_t)(c->out_width - x_end) * sizeof(float));
    }
  }
}
