/* SPDX-License-Identifier: Apache-2.0 */
/* copy.h - strided copies of up to 8 dimensions (concat, slice, split, pad, expand) and fills. */
#ifndef HN_KERNELS_CPU_COPY_H
#define HN_KERNELS_CPU_COPY_H

#include <stdint.h>

enum { HN_COPY_RANK = 8 };

/* Filled by hn_copy_plan_make; plain data. */
typedef struct {
  int32_t element_bytes;
  int32_t outer_rank; /* dimensions outside the innermost loop */
  int64_t outer_dim[HN_COPY_RANK], outer_from[HN_COPY_RANK], outer_to[HN_COPY_RANK]; /* strides in elements */
  int64_t inner, inner_from, inner_to; /* the innermost loop: elements and strides */
  int64_t part, parts;                 /* elements of an inner loop that make one unit; units of an inner loop */
  int64_t units;                       /* work units in all */
} hn_copy_plan;

/* dim: extents; strides in elements of element_bytes (1, 2, 4 or 8). from_stride may be negative (the pointer given
 * to hn_copy_c is index 0's place) or 0 (repeats). Destination elements must not share memory with one another or
 * with the source. rank 0 .. HN_COPY_RANK; an extent of 0 gives no units. */
void hn_copy_plan_make(hn_copy_plan *plan, int32_t rank, const int64_t *dim, const int64_t *from_stride,
                       const int64_t *to_stride, int32_t element_bytes);

/* Computes the units [begin, end) of plan->units. */
void hn_copy_c(const hn_copy_plan *plan, const void *from, void *to, int64_t begin, int64_t end);

/* Sets the elements [begin, end) of `to` to *value; element_bytes is 1, 2, 4 or 8. */
void hn_fill_c(void *to, const void *value, int32_t element_bytes, int64_t begin, int64_t end);

#endif
