/* SPDX-License-Identifier: Apache-2.0 */
/* arg.h - where the largest or smallest element along one axis of a dense tensor is, of f32 or of integers. NaN beats
 * every number; of equal elements the first is meant, or the last. */
#ifndef HN_KERNELS_CPU_ARG_H
#define HN_KERNELS_CPU_ARG_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
  const void *x; /* outer x axis x inner */
  int64_t *y;    /* outer x inner */
  int64_t axis;  /* 1 to INT32_MAX */
  int64_t inner;
  bool largest, last;
} hn_arg_args;

/* Computes the rows [begin, end) of outer x inner. */
typedef void hn_arg_fn(const hn_arg_args *args, int64_t begin, int64_t end);
hn_arg_fn hn_arg_f32_avx512, hn_arg_f32_avx2, hn_arg_f32_c;
hn_arg_fn hn_arg_i32_avx512, hn_arg_i32_avx2, hn_arg_i32_c;
hn_arg_fn hn_arg_i64_avx512, hn_arg_i64_avx2, hn_arg_i64_c;

/* The first place in [begin, end) whose element of x is larger than x[than] (smaller, if not `largest`), NaN being
 * larger than every number; `end` if there is none. */
typedef int64_t hn_better_fn(const void *x, int64_t begin, int64_t end, int64_t than, bool largest);
hn_better_fn hn_better_f32_avx512, hn_better_f32_avx2, hn_better_f32_c;
hn_better_fn hn_better_i32_avx512, hn_better_i32_avx2, hn_better_i32_c;
hn_better_fn hn_better_i64_avx512, hn_better_i64_avx2, hn_better_i64_c;

#endif
