/* SPDX-License-Identifier: Apache-2.0 */
/* take.h - elements of a row by their places. */
#ifndef HN_KERNELS_CPU_TAKE_H
#define HN_KERNELS_CPU_TAKE_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
  const void *from; /* `extent` elements of 4 or 8 bytes */
  int64_t extent;   /* to INT32_MAX */
  int bytes;
  bool wide; /* indices are i64, else i32 */
} hn_take_args;

/* to[i] = from[indices[i]] for i < count, indices below zero counting from the end. Returns count, or the place of the
 * first index that is out of range; what is behind it may not be written. */
typedef int64_t hn_take_fn(const hn_take_args *args, const void *indices, void *to, int64_t count);
hn_take_fn hn_take_avx512, hn_take_avx2;

#endif
