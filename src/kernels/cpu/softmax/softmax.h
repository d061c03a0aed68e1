/* SPDX-License-Identifier: Apache-2.0 */
/* softmax.h - softmax and log-softmax along one axis of a dense tensor of f32, bf16 or f16.
 *
 * The axis' largest value is taken away first, so that exp() cannot overflow. A NaN or +infinity anywhere along
 * the axis, or nothing but -infinity, makes the whole axis NaN, as the definition does. */
#ifndef HN_KERNELS_CPU_SOFTMAX_H
#define HN_KERNELS_CPU_SOFTMAX_H

#include <stdint.h>

/* Columns of one work unit where the axis is not the last. */
#define HN_SOFTMAX_COLUMNS INT64_C(64)

typedef struct {
  const void *x;              /* outer x axis x inner, dense */
  void *y;                    /* same layout; may be x */
  int64_t outer, axis, inner; /* elements; inner is 1 where the axis is the last */
} hn_softmax_args;

/* Work units: a row where inner is 1, otherwise up to HN_SOFTMAX_COLUMNS columns of one outer index. */
static inline int64_t hn_softmax_units(const hn_softmax_args *a) {
  return a->outer * ((a->inner + HN_SOFTMAX_COLUMNS - 1) / HN_SOFTMAX_COLUMNS);
}

/* Computes the units [begin, end). */
typedef void hn_softmax_fn(const hn_softmax_args *args, int64_t begin, int64_t end);

hn_softmax_fn hn_softmax_f32_avx512, hn_softmax_f32_avx2, hn_softmax_f32_c;
hn_softmax_fn hn_softmax_bf16_avx512, hn_softmax_bf16_avx2, hn_softmax_bf16_c;
hn_softmax_fn hn_softmax_f16_avx512, hn_softmax_f16_avx2, hn_softmax_f16_c;
hn_softmax_fn hn_softmax_f64_avx512, hn_softmax_f64_avx2, hn_softmax_f64_c;
hn_softmax_fn hn_log_softmax_f32_avx512, hn_log_softmax_f32_avx2, hn_log_softmax_f32_c;
hn_softmax_fn hn_log_softmax_bf16_avx512, hn_log_softmax_bf16_avx2, hn_log_softmax_bf16_c;
hn_softmax_fn hn_log_softmax_f16_avx512, hn_log_softmax_f16_avx2, hn_log_softmax_f16_c;
hn_softmax_fn hn_log_softmax_f64_avx512, hn_log_softmax_f64_avx2, hn_log_softmax_f64_c;

#endif
