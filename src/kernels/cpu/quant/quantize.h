/* SPDX-License-Identifier: Apache-2.0 */
/* quantize.h - f32 to u8, i8, u16 or i16 and back: y = saturate(round(x / scale) + zero), half to even, NaN as 0; and
 * y = (x - zero) * scale. The words of 16 bits are plain.
 *
 * Blocked floats are [image][ceil(channels / B)][pixel][B], B = 16 for *_avx512 and 8 for *_avx2 and *_c; blocked bytes
 * are [image][ceil(channels / 64)][pixel][64]. Lanes behind the last channel are zeros on both sides. */
#ifndef HN_KERNELS_CPU_QUANT_QUANTIZE_H
#define HN_KERNELS_CPU_QUANT_QUANTIZE_H

#include <stdint.h>

enum { HN_QUANTIZE_RUN = 4096, HN_QUANTIZE_PIXELS = 64, HN_BYTES_BLOCK = 64 };

typedef struct hn_quantize_args {
  const void *x;
  void *y; /* not x */
  const float *scale;
  const uint8_t *zero; /* of the bytes' or words' type; NULL: zeros */
  int32_t each;        /* scale and zero have one element for each index of the axis, else one for all */
  int32_t flip;        /* 0x80: the bytes are i8, 0x8000: the words are i16, 0: u8 or u16 */
  int64_t outer;       /* plain: [outer][axis][inner], or blocked: images, channels (axis), pixels (inner) */
  int64_t axis, inner;
} hn_quantize_args;

/* Work units of plain tensors: runs of up to HN_QUANTIZE_RUN elements of one row; a row has one scale, or inner is 1
 * and it goes along the axis. */
static inline int64_t hn_quantize_row(const hn_quantize_args *a) {
  return !a->each ? a->outer * a->axis * a->inner : a->inner == 1 ? a->axis : a->inner;
}
static inline int64_t hn_quantize_runs(const hn_quantize_args *a) {
  return (hn_quantize_row(a) + HN_QUANTIZE_RUN - 1) / HN_QUANTIZE_RUN;
}
static inline int64_t hn_quantize_units(const hn_quantize_args *a) {
  const int64_t row = hn_quantize_row(a);
  return row ? a->outer * a->axis * a->inner / row * hn_quantize_runs(a) : 0;
}
/* Elements [first, last) of a row: what a unit of plain tensors is. */
typedef struct hn_quantize_piece {
  int64_t row, first, last;
} hn_quantize_piece;
static inline hn_quantize_piece hn_quantize_piece_at(const hn_quantize_args *a, int64_t unit) {
  const int64_t runs = hn_quantize_runs(a), row = hn_quantize_row(a), first = unit % runs * HN_QUANTIZE_RUN;
  const int64_t last = first + HN_QUANTIZE_RUN;
  return (hn_quantize_piece){unit / runs, first, last < row ? last : row};
}
/* Of blocked bytes: up to HN_QUANTIZE_PIXELS pixels of 64 channels of one image, in this order of nesting. */
static inline int64_t hn_quantize_blocks(const hn_quantize_args *a) {
  return a->outer * ((a->axis + HN_BYTES_BLOCK - 1) / HN_BYTES_BLOCK) *
         ((a->inner + HN_QUANTIZE_PIXELS - 1) / HN_QUANTIZE_PIXELS);
}

/* Computes the units [begin, end). */
typedef void hn_quantize_fn(const hn_quantize_args *args, int64_t begin, int64_t end);

/* The least and the greatest of count numbers and zero; a NaN is none. */
typedef void hn_quantize_range_fn(const float *x, int64_t count, float *low, float *high);

hn_quantize_fn hn_quantize_avx512, hn_quantize_avx2, hn_quantize_c; /* plain to plain */
/* Plain floats to blocked bytes. */
hn_quantize_fn hn_quantize_plain_blocked_avx512, hn_quantize_plain_blocked_avx2, hn_quantize_plain_blocked_c;
/* Blocked floats to blocked bytes. */
hn_quantize_fn hn_quantize_blocked_avx512, hn_quantize_blocked_avx2, hn_quantize_blocked_c;
hn_quantize_fn hn_dequantize_avx512, hn_dequantize_avx2, hn_dequantize_c;
/* Words of 16 bits. */
hn_quantize_fn hn_quantize_words_avx512, hn_quantize_words_avx2, hn_quantize_words_c;
hn_quantize_fn hn_dequantize_words_avx512, hn_dequantize_words_avx2, hn_dequantize_words_c;
hn_quantize_fn hn_dequantize_blocked_plain_avx512, hn_dequantize_blocked_plain_avx2, hn_dequantize_blocked_plain_c;
hn_quantize_fn hn_dequantize_blocked_avx512, hn_dequantize_blocked_avx2, hn_dequantize_blocked_c;
hn_quantize_range_fn hn_quantize_range_avx512, hn_quantize_range_avx2, hn_quantize_range_c;

#endif
