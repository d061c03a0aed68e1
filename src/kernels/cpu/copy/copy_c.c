/* SPDX-License-Identifier: Apache-2.0 */
/* copy_c.c - strided copies: memcpy where both sides are contiguous, a typed loop elsewhere. */
#include "kernels/cpu/copy/copy.h"
#include "kernels/cpu/walk.inc.h"

#include <stddef.h>
#include <string.h>

enum { UNIT_BYTES = 16384 }; /* a longer inner loop is cut, so that threads can share it */

void hn_copy_plan_make(hn_copy_plan *plan, int32_t rank, const int64_t *dim, const int64_t *from_stride,
                       const int64_t *to_stride, int32_t element_bytes) {
  int64_t d[HN_COPY_RANK + 1], from[HN_COPY_RANK + 1], to[HN_COPY_RANK + 1], total = 1;
  int32_t n = 0;
  for (int32_t i = 0; i < rank; ++i) {
    total *= dim[i];
    if (dim[i] == 1) continue;
    /* Neighbours on both sides become one dimension. */
    if (n > 0 && from[n - 1] == from_stride[i] * dim[i] && to[n - 1] == to_stride[i] * dim[i])
      d[--n] *= dim[i];
    else
      d[n] = dim[i];
    from[n] = from_stride[i];
    to[n++] = to_stride[i];
  }
  memset(plan, 0, sizeof *plan);
  plan->element_bytes = element_bytes;
  if (total == 0) return;
  if (n == 0) {
    d[0] = from[0] = to[0] = 1;
    n = 1;
  }
  plan->outer_rank = n - 1;
  memcpy(plan->outer_dim, d, (size_t)(n - 1) * sizeof *d);
  memcpy(plan->outer_from, from, (size_t)(n - 1) * sizeof *d);
  memcpy(plan->outer_to, to, (size_t)(n - 1) * sizeof *d);
  plan->inner = d[n - 1];
  plan->inner_from = from[n - 1];
  plan->inner_to = to[n - 1];
  plan->part = UNIT_BYTES / element_bytes;
  plan->parts = (plan->inner + plan->part - 1) / plan->part;
  plan->units = plan->parts * (total / plan->inner);
}

#define STRIDED(type)                                                                                                  \
  for (int64_t i = 0; i < n; ++i)                                                                                      \
  memcpy(to + i * to_stride * (int64_t)sizeof(type), from + i * from_stride * (int64_t)sizeof(type), sizeof(type))

static void copy_line(const char *from, int64_t from_stride, char *to, int64_t to_stride, int64_t n, int32_t bytes) {
  if (from_stride == 1 && to_stride == 1) {
    memcpy(to, from, (size_t)(n * bytes));
    return;
  }
  if (from_stride == 0 && to_stride == 1) {
    hn_fill_c(to, from, bytes, 0, n);
    return;
  }
  switch (bytes) {
  case 1: STRIDED(uint8_t); break;
  case 2: STRIDED(uint16_t); break;
  case 4: STRIDED(uint32_t); break;
  default: STRIDED(uint64_t); break;
  }
}

void hn_copy_c(const hn_copy_plan *p, const void *from, void *to, int64_t begin, int64_t end) {
  if (begin >= end) return;
  int64_t part = begin % p->parts;
  walk w = walk_start(p->outer_rank, p->outer_dim, p->outer_from, p->outer_to, begin / p->parts);
  for (int64_t unit = begin; unit < end; ++unit) {
    const int64_t first = part * p->part, n = p->inner - first < p->part ? p->inner - first : p->part;
    copy_line((const char *)from + (w.at_from + first * p->inner_from) * p->element_bytes, p->inner_from,
              (char *)to + (w.at_to + first * p->inner_to) * p->element_bytes, p->inner_to, n, p->element_bytes);
    if (++part < p->parts) continue;
    part = 0;
    walk_next(&w);
  }
}

#define FILL(type)                                                                                                     \
  do {                                                                                                                 \
    type v;                                                                                                            \
    memcpy(&v, value, sizeof v);                                                                                       \
    for (int64_t i = begin; i < end; ++i) memcpy((char *)to + i * (int64_t)sizeof v, &v, sizeof v);                    \
  } while (0)

void hn_fill_c(void *to, const void *value, int32_t element_bytes, int64_t begin, int64_t end) {
  switch (element_bytes) {
  case 1: memset((char *)to + begin, *(const unsigned char *)value, (size_t)(end > begin ? end - begin : 0)); break;
  case 2: FILL(uint16_t); break;
  case 4: FILL(uint32_t); break;
  default: FILL(uint64_t); break;
  }
}
