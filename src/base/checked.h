/* SPDX-License-Identifier: Apache-2.0 */
/* checked.h - arithmetic that says when it overflows: true when the result is right, false otherwise. */
#ifndef HN_BASE_CHECKED_H
#define HN_BASE_CHECKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline bool hn_add_size(size_t a, size_t b, size_t *out) { return !__builtin_add_overflow(a, b, out); }
static inline bool hn_mul_size(size_t a, size_t b, size_t *out) { return !__builtin_mul_overflow(a, b, out); }
static inline bool hn_add_i64(int64_t a, int64_t b, int64_t *out) { return !__builtin_add_overflow(a, b, out); }
static inline bool hn_sub_i64(int64_t a, int64_t b, int64_t *out) { return !__builtin_sub_overflow(a, b, out); }
static inline bool hn_mul_i64(int64_t a, int64_t b, int64_t *out) { return !__builtin_mul_overflow(a, b, out); }

/* Rounds up to a multiple of a power of two; false on overflow. */
static inline bool hn_align_size(size_t value, size_t alignment, size_t *out) {
  size_t sum;
  if (!hn_add_size(value, alignment - 1, &sum)) return false;
  *out = sum & ~(alignment - 1);
  return true;
}
static inline int64_t hn_ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; } /* a >= 0, b > 0, no overflow */

#endif
