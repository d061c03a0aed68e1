/* SPDX-License-Identifier: Apache-2.0 */
/* transpose_plan.c - turns a permutation into runs or tiles; dimensions that stay neighbours become one. */
#include "kernels/cpu/transpose/transpose.h"

#include <string.h>

/* One destination dimension. */
typedef struct {
  int64_t dim, from, to; /* extent, strides in elements */
} axis;

/* Drops extents of 1 and joins dimensions that are neighbours on both sides. Returns the count left. */
static int32_t collapse(axis *x, int32_t rank) {
  int32_t kept = 0;
  for (int32_t i = 0; i < rank; ++i) {
    if (x[i].dim == 1) continue;
    if (kept > 0 && x[kept - 1].from == x[i].from * x[i].dim) {
      x[kept - 1] = (axis){x[kept - 1].dim * x[i].dim, x[i].from, x[i].to};
      continue;
    }
    x[kept++] = x[i];
  }
  return kept;
}

static int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

/* Runs of 2, 4, 8 or 16 bytes become the elements of a smaller problem: a move instead of a call of memcpy. */
static int32_t widen(axis *x, int32_t rank, int32_t *element_bytes) {
  if (rank < 2 || x[rank - 1].from != 1) return rank;
  const int64_t bytes = x[rank - 1].dim * *element_bytes;
  if (bytes != 2 && bytes != 4 && bytes != 8 && bytes != 16) return rank;
  const int64_t run = x[--rank].dim;
  for (int32_t i = 0; i < rank; ++i) {
    x[i].from /= run;
    x[i].to /= run;
  }
  *element_bytes = (int32_t)bytes;
  return collapse(x, rank);
}

void hn_transpose_plan_make(hn_transpose_plan *plan, int32_t rank, const int64_t *dim, const int32_t *perm,
                            int32_t element_bytes) {
  axis x[HN_TRANSPOSE_RANK];
  int64_t stride[HN_TRANSPOSE_RANK], step = 1;
  memset(plan, 0, sizeof *plan);
  for (int32_t i = rank - 1; i >= 0; --i) {
    stride[i] = step;
    step *= dim[i];
  }
  const int64_t total = step;
  step = 1;
  for (int32_t i = rank - 1; i >= 0; --i) {
    x[i] = (axis){dim[perm[i]], stride[perm[i]], step};
    step *= dim[perm[i]];
  }
  plan->element_bytes = element_bytes;
  if (total == 0) return;
  int32_t n = widen(x, collapse(x, rank), &plan->element_bytes);

  int32_t row = -1; /* where the source's innermost dimension went */
  for (int32_t i = 0; i < n; ++i)
    if (x[i].from == 1) row = i;
  if (n == 0 || row == n - 1) {
    plan->run = n == 0 ? 1 : x[n - 1].dim;
    plan->units = ceil_div(plan->run * plan->element_bytes, HN_TRANSPOSE_RUN_BYTES);
  } else {
    plan->rows = x[n - 1].dim;
    plan->row_stride = x[n - 1].from;
    plan->columns = x[row].dim;
    plan->column_stride = x[row].to;
    plan->units = ceil_div(plan->rows, HN_TRANSPOSE_TILE) * ceil_div(plan->columns, HN_TRANSPOSE_TILE);
  }
  for (int32_t i = 0; i + 1 < n; ++i) {
    if (plan->run == 0 && i == row) continue;
    plan->outer_dim[plan->outer_rank] = x[i].dim;
    plan->outer_from[plan->outer_rank] = x[i].from;
    plan->outer_to[plan->outer_rank++] = x[i].to;
    plan->units *= x[i].dim;
  }
}
