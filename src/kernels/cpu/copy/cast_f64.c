/* SPDX-License-Identifier: Apache-2.0 */
/* cast_f64.c - conversions from and to doubles: simple loops that the compiler vectorises. */
/* isa: c avx2 avx512 */
#include "kernels/cpu/copy/copy.h"
#include "kernels/cpu/simd.inc.h"

void HN_SIMD_NAME(hn_cast_f64_i64)(const void *restrict from, void *restrict to, int64_t begin, int64_t end) {
  const double *x = from;
  int64_t *y = to;
  for (int64_t i = begin; i < end; ++i)
    y[i] = x[i] >= -9223372036854775808.0 && x[i] < 9223372036854775808.0 ? (int64_t)x[i] : INT64_MIN;
}

HN_INLINE int32_t whole(double x) { return x > -2147483649.0 && x < 2147483648.0 ? (int32_t)x : INT32_MIN; }

void HN_SIMD_NAME(hn_cast_f64_i32)(const void *restrict from, void *restrict to, int64_t begin, int64_t end) {
  const double *x = from;
  int32_t *y = to;
  for (int64_t i = begin; i < end; ++i) y[i] = whole(x[i]);
}

void HN_SIMD_NAME(hn_cast_f64_i8)(const void *restrict from, void *restrict to, int64_t begin, int64_t end) {
  const double *x = from;
  int8_t *y = to;
  for (int64_t i = begin; i < end; ++i) y[i] = (int8_t)whole(x[i]);
}

void HN_SIMD_NAME(hn_cast_f64_u8)(const void *restrict from, void *restrict to, int64_t begin, int64_t end) {
  const double *x = from;
  uint8_t *y = to;
  for (int64_t i = begin; i < end; ++i) y[i] = (uint8_t)whole(x[i]);
}

void HN_SIMD_NAME(hn_cast_f64_bool)(const void *restrict from, void *restrict to, int64_t begin, int64_t end) {
  const double *x = from;
  uint8_t *y = to;
  for (int64_t i = begin; i < end; ++i) y[i] = x[i] != 0;
}

void HN_SIMD_NAME(hn_cast_f64_f32)(const void *restrict from, void *restrict to, int64_t begin, int64_t end) {
  const double *x = from;
  float *y = to;
  for (int64_t i = begin; i < end; ++i) y[i] = (float)x[i];
}

void HN_SIMD_NAME(hn_cast_f32_f64)(const void *restrict from, void *restrict to, int64_t begin, int64_t end) {
  const float *x = from;
  double *y = to;
  for (int64_t i = begin; i < end; ++i) y[i] = (double)x[i];
}

void HN_SIMD_NAME(hn_cast_i64_f64)(const void *restrict from, void *restrict to, int64_t begin, int64_t end) {
  const int64_t *x = from;
  double *y = to;
  for (int64_t i = begin; i < end; ++i) y[i] = (double)x[i];
}

void HN_SIMD_NAME(hn_cast_i32_f64)(const void *restrict from, void *restrict to, int64_t begin, int64_t end) {
  const int32_t *x = from;
  double *y = to;
  for (int64_t i = begin; i < end; ++i) y[i] = x[i];
}

void HN_SIMD_NAME(hn_cast_i8_f64)(const void *restrict from, void *restrict to, int64_t begin, int64_t end) {
  const int8_t *x = from;
  double *y = to;
  for (int64_t i = begin; i < end; ++i) y[i] = x[i];
}

void HN_SIMD_NAME(hn_cast_u8_f64)(const void *restrict from, void *restrict to, int64_t begin, int64_t end) {
  const uint8_t *x = from;
  double *y = to;
  for (int64_t i = begin; i < end; ++i) y[i] = x[i];
}
