/* SPDX-License-Identifier: Apache-2.0 */
/* top_k.h - the k largest or smallest elements along one axis of a dense tensor, best first, and where they are. NaN is
 * larger than every number; of equal elements the one with the lower index comes first. */
#ifndef HN_KERNELS_CPU_TOP_K_H
#define HN_KERNELS_CPU_TOP_K_H

#include "kernels/cpu/reduce/arg.h"

typedef struct {
  const void *x;        /* outer x axis x inner */
  void *values;         /* outer x k x inner */
  int64_t *indices;     /* the same, or NULL */
  hn_better_fn *better; /* of x's type */
  int64_t axis;         /* to INT32_MAX */
  int64_t inner, k;     /* k from 1 to axis */
  bool largest;
} hn_top_k_args;

/* Elements that a row keeps at a time, each of which takes HN_TOP_K_ENTRY bytes of scratch. */
enum { HN_TOP_K_ENTRY = 16 };
static inline int64_t hn_top_k_kept(int64_t axis, int64_t k) { return axis - k < k + 64 ? axis : 2 * k + 64; }

/* Computes the rows [begin, end) of outer x inner. */
typedef void hn_top_k_fn(const hn_top_k_args *args, void *scratch, int64_t begin, int64_t end);
hn_top_k_fn hn_top_k_f32_c, hn_top_k_i32_c, hn_top_k_i64_c;

#endif
