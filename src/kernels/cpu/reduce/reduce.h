/* SPDX-License-Identifier: Apache-2.0 */
/* reduce.h - sums, products and extremes along one axis of a dense tensor of f32, bf16 or f16.
 *
 * Sums are kept in many partial sums joined with Kahan's correction: the error stays near the rounding of one
 * add, whatever the length. The order depends on the shape alone. */
#ifndef HN_KERNELS_CPU_REDUCE_H
#define HN_KERNELS_CPU_REDUCE_H

#include <stdint.h>

/* Columns of one work unit where inner is not 1. */
#define HN_REDUCE_COLUMNS INT64_C(64)

typedef enum {
  HN_REDUCE_SUM,
  HN_REDUCE_MEAN,
  HN_REDUCE_MAX, /* NaN if any element is, as for MIN */
  HN_REDUCE_MIN,
  HN_REDUCE_PRODUCT,
  HN_REDUCE_SUM_SQUARE,
  HN_REDUCE_L1,
  HN_REDUCE_L2
} hn_reduce_kind;

typedef struct {
  const void *x; /* outer x axis x inner, dense */
  void *y;       /* outer x inner, dense; not x */
  int64_t outer, axis, inner;
  hn_reduce_kind kind;
} hn_reduce_args;

/* Work units: an outer index where inner is 1, otherwise up to HN_REDUCE_COLUMNS columns of one outer index. */
static inline int64_t hn_reduce_units(const hn_reduce_args *a) {
  return a->outer * ((a->inner + HN_REDUCE_COLUMNS - 1) / HN_REDUCE_COLUMNS);
}

/* Computes the units [begin, end). An axis of 0 elements gives the fold's neutral value (NaN for MEAN). */
typedef void hn_reduce_fn(const hn_reduce_args *args, int64_t begin, int64_t end);

/* The same of integers, in arithmetic that wraps; no MEAN and no L2. x, y: of one of the types below. */
typedef enum {
  HN_REDUCE_I8,
  HN_REDUCE_U8,
  HN_REDUCE_I16,
  HN_REDUCE_U16,
  HN_REDUCE_I32,
  HN_REDUCE_U32,
  HN_REDUCE_I64,
  HN_REDUCE_U64
} hn_reduce_type;
void hn_reduce_ints_c(const hn_reduce_args *args, hn_reduce_type type, const void *x, void *y, int64_t begin,
                      int64_t end);

hn_reduce_fn hn_reduce_f32_avx512, hn_reduce_f32_avx2, hn_reduce_f32_c;
/* SUM, MEAN and MAX alone. */
hn_reduce_fn hn_reduce_bf16_avx512, hn_reduce_bf16_avx2, hn_reduce_bf16_c;
hn_reduce_fn hn_reduce_f16_avx512, hn_reduce_f16_avx2, hn_reduce_f16_c;
hn_reduce_fn hn_reduce_f64_avx512, hn_reduce_f64_avx2, hn_reduce_f64_c;

#endif
