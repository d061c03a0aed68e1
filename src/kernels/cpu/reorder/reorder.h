/* SPDX-License-Identifier: Apache-2.0 */
/* reorder.h - NCHW and NHWC to and from nChw8c and nChw16c, elements of 4 bytes; NCHW to and from
 * nChw64c, bytes.
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

enum { HN_REORDER_BYTES = 64 };

typedef struct {
  const uint8_t *x;
  uint8_t *y;     /* not x */
  int64_t images; /* used for the count of units alone */
  int64_t channels, pixels;
} hn_reorder_bytes_args;

/* As those of 4 bytes, blocks of 64. */
static inline int64_t hn_reorder_bytes_units(const hn_reorder_bytes_args *a) {
  return a->images * ((a->channels + HN_REORDER_BYTES - 1) / HN_REORDER_BYTES) *
         ((a->pixels + HN_REORDER_PIXELS - 1) / HN_REORDER_PIXELS);
}

typedef void hn_reorder_bytes_fn(const hn_reorder_bytes_args *args, int64_t begin, int64_t end);

hn_reorder_bytes_fn hn_reorder_to_blocked_bytes_avx512, hn_reorder_to_blocked_bytes_avx2, hn_reorder_to_blocked_bytes_c;
hn_reorder_bytes_fn hn_reorder_from_blocked_bytes_avx512, hn_reorder_from_blocked_bytes_avx2,
    hn_reorder_from_blocked_bytes_c;
/* From any of f32, bf16 and f16, plain or in blocks of 8, 16 or 32 channels, to any other. */
typedef enum { HN_HELD_F32, HN_HELD_BF16, HN_HELD_F16 } hn_held;
typedef struct {
  const void *x;
  void *y; /* not x */
  int64_t images, channels, pixels;
  int32_t x_lanes, y_lanes; /* channels that lie beside each other; 1: plain */
  hn_held x_held, y_held;
} hn_reorder_held_args;

#define HN_REORDER_HELD_MOST 32 /* lanes */

/* Units: as above with blocks of 32 channels and HN_REORDER_HELD_PIXELS; where lanes agree, runs of HN_REORDER_RUN
 * elements. */
#define HN_REORDER_HELD_PIXELS INT64_C(64)
#define HN_REORDER_RUN INT64_C(4096)
int64_t hn_reorder_held_units(const hn_reorder_held_args *a);
typedef void hn_reorder_held_fn(const hn_reorder_held_args *args, int64_t begin, int64_t end);
hn_reorder_held_fn hn_reorder_held_avx512, hn_reorder_held_avx2, hn_reorder_held_c;

#endif
