/* SPDX-License-Identifier: Apache-2.0 */
/* common_sort.c - heapsort of indices. The C library's qsort may allocate, which eval must not. */
#include "ops/common_move.h"

static void sift_down(int64_t *heap, int64_t root, int64_t count, hn_before *before, const void *context) {
  const int64_t moved = heap[root];
  while (2 * root + 1 < count) {
    int64_t child = 2 * root + 1;
    if (child + 1 < count && before(context, heap[child], heap[child + 1])) ++child;
    if (!before(context, moved, heap[child])) break;
    heap[root] = heap[child];
    root = child;
  }
  heap[root] = moved;
}

bool hn_sort_indices(const hone_eval *eval, int64_t *indices, int64_t count, hn_before *before, const void *context) {
  for (int64_t i = 0; i < count; ++i) { /* fresh memory: the first touch of a page takes microseconds */
    if (hn_eval_ends(eval, i)) return false;
    indices[i] = i;
  }
  for (int64_t root = count / 2 - 1; root >= 0; --root) {
    if (hn_eval_ends(eval, root)) return false;
    sift_down(indices, root, count, before, context);
  }
  for (int64_t end = count - 1; end > 0; --end) {
    if (hn_eval_ends(eval, end)) return false;
    const int64_t last = indices[0];
    indices[0] = indices[end];
    indices[end] = last;
    sift_down(indices, 0, end, before, context);
  }
  return true;
}
