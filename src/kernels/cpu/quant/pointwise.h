/* SPDX-License-Identifier: Apache-2.0 */
/* pointwise.h - bytes from bytes, one for one: sums and products of two quantised tensors, and tables; and the means of
 * quantised planes.
 *
 * i8 has flip 0x80, u8 has 0, for each operand by itself. */
#ifndef HN_KERNELS_CPU_QUANT_POINTWISE_H
#define HN_KERNELS_CPU_QUANT_POINTWISE_H

#include <stdint.h>

enum { HN_POINTWISE_RUN = 4096, HN_POINTWISE_RANK = 8 };

/* Where the elements lie: rows of `inner` bytes, one for each index of the outer dimensions. A row of y is dense. */
typedef struct hn_byte_rows {
  int32_t rank;                   /* of the outer dimensions */
  int64_t dim[HN_POINTWISE_RANK]; /* all but the first are part of an index; the first may be 0 */
  int64_t a_stride[HN_POINTWISE_RANK], b_stride[HN_POINTWISE_RANK];
  int64_t inner, a_step, b_step; /* step: 1, or 0: one byte for the whole row */
  /* Blocked tensors with a last block of `tail` channels, a row being one pixel of one block: zeros are stored behind
   * them. 0: all is stored. */
  int64_t tail, blocks, pixels;
} hn_byte_rows;

typedef struct hn_byte_pair {
  const uint8_t *a, *b;
  uint8_t *y;
  int32_t a_flip, b_flip, y_flip;
  /* Sums: fma(a, a_ratio, fma(b, b_ratio, shift)). Products: (a - a_zero) * (b - b_zero) * a_ratio + shift. */
  float a_ratio, b_ratio, shift, a_zero, b_zero;
  float low, high; /* of y, whole numbers */
  hn_byte_rows rows;
} hn_byte_pair;

/* Work units: runs of up to HN_POINTWISE_RUN elements of a row. */
static inline int64_t hn_byte_rows_runs(const hn_byte_rows *r) {
  return (r->inner + HN_POINTWISE_RUN - 1) / HN_POINTWISE_RUN;
}
static inline int64_t hn_byte_rows_units(const hn_byte_rows *r) {
  int64_t units = hn_byte_rows_runs(r);
  for (int32_t i = 0; i < r->rank; ++i) units *= r->dim[i];
  return units;
}

/* Computes the units [begin, end). */
typedef void hn_byte_pair_fn(const hn_byte_pair *args, int64_t begin, int64_t end);
hn_byte_pair_fn hn_byte_add_avx512, hn_byte_add_avx2, hn_byte_add_c;
hn_byte_pair_fn hn_byte_mul_avx512, hn_byte_mul_avx2, hn_byte_mul_c;

typedef struct hn_byte_lookup {
  const uint8_t *x, *table;
  uint8_t *y; /* may be x */
  int64_t count;
  int64_t tail, blocks, pixels; /* as in hn_byte_rows; 0: count bytes, else pixels of 64 */
} hn_byte_lookup;

/* Units: HN_POINTWISE_RUN bytes, whole pixels of 64 where there is a tail. */
static inline int64_t hn_byte_lookup_units(const hn_byte_lookup *a) {
  return (a->count + HN_POINTWISE_RUN - 1) / HN_POINTWISE_RUN;
}
typedef void hn_byte_lookup_fn(const hn_byte_lookup *args, int64_t begin, int64_t end);
hn_byte_lookup_fn hn_byte_lookup_avx512, hn_byte_lookup_avx2, hn_byte_lookup_c;

/* y = round(f32(sum of x - pixels * x_zero) * scale) + y_zero, saturated. */
typedef struct hn_byte_mean {
  const uint8_t *x; /* [image][channel][pixel], or blocked by 64 */
  uint8_t *y;
  int32_t x_flip, y_flip, x_zero, y_zero; /* zeros of u8: after the flip */
  float scale;
  int64_t channels, pixels;     /* fewer than 2^23 pixels */
  int32_t x_blocked, y_blocked; /* y_blocked: zeros behind the last channel */
} hn_byte_mean;

/* Units: 64 channels (or what is left) of one image. */
typedef void hn_byte_mean_fn(const hn_byte_mean *args, int64_t begin, int64_t end);
hn_byte_mean_fn hn_byte_mean_avx512, hn_byte_mean_avx2, hn_byte_mean_c;

#endif
