/* SPDX-License-Identifier: Apache-2.0 */
/* reorder.h - NCHW and NHWC to and from nChw8c and nChw16c, elements of 4 bytes.
 *
 * Blocked: [image][ceil(channels / block)][pixel][block]; channels behind the last one are zero. */
#ifndef HN_KERNELS_CPU_REORDER_H
#define HN_KERNELS_CPU_REORDER_H

#include <stdint.h>

/* Pixels of one work unit: 16 channels of it, twice, fill a 32 KiB L1 cache. */
#define HN_REORDER_PIXELS INT64_C(256)

typedef struct {
  const float *x;
  float *y;       /* not x */
  int64_t images; /* used for the count of units alone */
  int64_t channels, pixels;
  int32_t block; /* 8 or 16 */
} hn_reorder_args;

/* Work units: up to HN_REORDER_PIXELS pixels of one channel block of one image, in this order of nesting. */
static inline int64_t hn_reorder_units(const hn_reorder_args *a) {
  return a->images * ((a->channels + a->block - 1) / a->block) *
         ((a->pixels + HN_REORDER_PIXELS - 1) / HN_REORDER_PIXELS);
}

/* Computes the units [begin, end). */
typedef void hn_reorder_f32_fn(const hn_reorder_args *args, int64_t begin, int64_t end);

hn_reorder_f32_fn hn_reorder_to_blocked_f32_avx512, hn_reorder_to_blocked_f32_avx2, hn_reorder_to_blocked_f32_c;
hn_reorder_f32_fn hn_reorder_from_blocked_f32_avx512, hn_reorder_from_blocked_f32_avx2, hn_reorder_from_blocked_f32_c;

/* The same between blocked and [image][pixel][channel]. */
hn_reorder_f32_fn hn_reorder_last_to_blocked_f32_avx512, hn_reorder_last_to_blocked_f32_avx2,
    hn_reorder_last_to_blocked_f32_c;
hn_reorder_f32_fn hn_reorder_blocked_to_last_f32_avx512, hn_reorder_blocked_to_last_f32_avx2,
    hn_reorder_blocked_to_last_f32_c;

#endif
