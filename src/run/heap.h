/* SPDX-License-Identifier: Apache-2.0 */
/* heap.h - a session's memory for what is known only after running: two sides, so that a loop's turn can overwrite
 * what the turn before the last one left while it reads the last one's, and the slices that loops stack. */
#ifndef HN_RUN_HEAP_H
#define HN_RUN_HEAP_H

#include "base/memory.h"

typedef struct hn_heap {
  hn_arena sides[2];
  hn_arena slices;
  int side;           /* that steps take from now */
  size_t limit_bytes; /* over all three */
  size_t most_bytes;  /* of this run, at one time */
} hn_heap;

void hn_heap_init(hn_heap *heap, hn_allocator allocator, size_t limit_bytes);
void hn_heap_deinit(hn_heap *heap);
/* Before a run: all is free, its memory is kept. */
void hn_heap_reset(hn_heap *heap);

/* Does the limit leave so many bytes? */
bool hn_heap_leaves(const hn_heap *heap, size_t bytes);
/* 64-aligned, not zeroed; NULL beyond the limit or without memory. */
void *hn_heap_alloc(hn_heap *heap, size_t bytes);
void *hn_heap_slice(hn_heap *heap, size_t bytes);

#endif
