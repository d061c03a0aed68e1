/* SPDX-License-Identifier: Apache-2.0 */
/* cumulate.h - running sums along one axis of a dense tensor: of f32 and f64 in double, as a long row's error would
 * grow with its length, each rounded when it is stored; of integers in arithmetic that wraps. */
#ifndef HN_KERNELS_CPU_CUMULATE_H
#define HN_KERNELS_CPU_CUMULATE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
  const void *x; /* outer x axis x inner */
  void *y;       /* the same; not x */
  int64_t axis, inner;
  bool exclusive; /* an element is not in its own sum */
  bool reverse;   /* from the last one on */
} hn_cumulate_args;

/* Computes the rows [begin, end) of outer x inner. */
typedef void hn_cumulate_fn(const hn_cumulate_args *args, int64_t begin, int64_t end);
hn_cumulate_fn hn_cumulate_f32_avx512, hn_cumulate_f32_avx2, hn_cumulate_f32_c;
hn_cumulate_fn hn_cumulate_f64_avx512, hn_cumulate_f64_avx2, hn_cumulate_f64_c;
hn_cumulate_fn hn_cumulate_i32_avx512, hn_cumulate_i32_avx2, hn_cumulate_i32_c;
hn_cumulate_fn hn_cumulate_i64_avx512, hn_cumulate_i64_avx2, hn_cumulate_i64_c;

#endif
