/* SPDX-License-Identifier: Apache-2.0 */
/* few_rows.h - products of one to four rows with a dense right side that is read once, as it lies. */
#ifndef HN_KERNELS_CPU_FEW_ROWS_H
#define HN_KERNELS_CPU_FEW_ROWS_H

#include <stdint.h>

enum { HN_FEW_ROWS = 4 };

typedef struct {
  int64_t m, k, n; /* m: 1 to HN_FEW_ROWS */
  const float *a;  /* m x k, dense */
  const float *b;  /* k x n, dense */
  float *y;        /* m x n, dense */
} hn_few_rows_args;

/* Computes the columns [first, last): sums of eight products each, added in their order. */
typedef void hn_few_rows_fn(const hn_few_rows_args *args, int64_t first, int64_t last);
hn_few_rows_fn hn_few_rows_f32_avx512, hn_few_rows_f32_avx2, hn_few_rows_f32_c;

#endif
