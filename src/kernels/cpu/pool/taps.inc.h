/* SPDX-License-Identifier: Apache-2.0 */
/* taps.inc.h - which taps of a pooling window lie inside its input. */
#ifndef HN_KERNELS_CPU_POOL_TAPS_INC_H
#define HN_KERNELS_CPU_POOL_TAPS_INC_H

#include "kernels/cpu/pool/pool.h"
#include "kernels/cpu/simd.inc.h"

/* The taps of one dimension that lie inside the input, and the position that tap 0 would read. */
typedef struct {
  int64_t first, last, origin;
  int64_t padded; /* taps inside the padded input */
} taps;

HN_INLINE int64_t up_div(int64_t a, int64_t b) { return a <= 0 ? 0 : (a + b - 1) / b; }
HN_INLINE int64_t at_most(int64_t a, int64_t b) { return a < b ? a : b; }

HN_INLINE taps taps_at(int64_t out, int64_t stride, int64_t pad, int64_t dilation, int64_t kernel, int64_t size,
                       int64_t pad_behind) {
  const int64_t origin = out * stride - pad;
  /* Nearly every window; three divisions less. */
  if (origin >= 0 && origin + (kernel - 1) * dilation < size) return (taps){0, kernel, origin, kernel};
  taps t = {.first = up_div(-origin, dilation), .origin = origin};
  t.last = at_most(kernel, up_div(size - origin, dilation));
  t.padded = at_most(kernel, up_div(size + pad_behind - origin, dilation));
  if (t.last < t.first) t.last = t.first;
  return t;
}

/* The taps of a row of outputs in the two outer dimensions. */
typedef struct {
  taps z, y;
} row_taps;

HN_INLINE taps taps_x(const hn_pool_args *a, int64_t ox) {
  return taps_at(ox, a->stride_w, a->pad_left, a->dilation_w, a->kernel_w, a->in_w, a->pad_right);
}

/* Columns [*inside, *outside) of a row read no tap left or right of the input. */
HN_INLINE void whole_columns(const hn_pool_args *a, int64_t *inside, int64_t *outside) {
  const int64_t reach = a->in_w - 1 - (a->kernel_w - 1) * a->dilation_w + a->pad_left;
  *inside = at_most(up_div(a->pad_left, a->stride_w), a->out_w);
  *outside = reach < 0 ? 0 : at_most(reach / a->stride_w + 1, a->out_w);
  if (*outside < *inside) *outside = *inside;
}

/* Of output row `unit` of all planes' rows; deep: with a third dimension. */
HN_INLINE row_taps row_taps_at(const hn_pool_args *a, int64_t unit, const int deep) {
  const int64_t level = unit / a->out_h;
  row_taps t = {{0, 1, 0, 1},
                taps_at(unit % a->out_h, a->stride_h, a->pad_top, a->dilation_h, a->kernel_h, a->in_h, a->pad_bottom)};
  if (deep)
    t.z = taps_at(level % a->out_d, a->stride_d, a->pad_front, a->dilation_d, a->kernel_d, a->in_d, a->pad_back);
  return t;
}

#endif
