/* SPDX-License-Identifier: Apache-2.0 */
/* heap.c - the heap's limit, which its arenas share. Blocks are whole lines of 64 bytes, so that a run that repeats
 * another one finds room for all of them in what the other one left. */
#include "run/session.h"
#include "base/checked.h"

enum { LINE_BYTES = 64 };

void hn_heap_init(hn_heap *heap, hn_allocator allocator, size_t limit_bytes) {
  *heap = (hn_heap){.limit_bytes = limit_bytes};
  for (int side = 0; side < 2; ++side) hn_arena_init(&heap->sides[side], allocator);
  hn_arena_init(&heap->slices, allocator);
  hn_arena_init(&heap->kept, allocator);
}

void hn_heap_deinit(hn_heap *heap) {
  for (int side = 0; side < 2; ++side) hn_arena_deinit(&heap->sides[side]);
  hn_arena_deinit(&heap->slices);
  hn_arena_deinit(&heap->kept);
}

void hn_heap_reset(hn_heap *heap) {
  for (int side = 0; side < 2; ++side) hn_arena_reset(&heap->sides[side]);
  hn_arena_reset(&heap->slices);
  hn_arena_reset(&heap->kept);
  heap->side = 0;
  heap->most_bytes = 0;
}

static size_t used(const hn_heap *heap) {
  return heap->sides[0].used_bytes + heap->sides[1].used_bytes + heap->slices.used_bytes + heap->kept.used_bytes;
}

/* false: no memory has so many */
static bool whole_lines(size_t bytes, size_t *out) {
  if (!hn_add_size(bytes ? bytes : 1, LINE_BYTES - 1, out)) return false;
  *out &= ~(size_t)(LINE_BYTES - 1);
  return true;
}

bool hn_heap_leaves(const hn_heap *heap, size_t bytes) {
  size_t lines, total;
  return whole_lines(bytes, &lines) && hn_add_size(used(heap), lines, &total) && total <= heap->limit_bytes;
}

static void *from(hn_heap *heap, hn_arena *arena, size_t bytes) {
  size_t lines;
  if (!hn_heap_leaves(heap, bytes) || !whole_lines(bytes, &lines)) return NULL;
  void *block = hn_arena_alloc(arena, lines, LINE_BYTES);
  if (block && used(heap) > heap->most_bytes) heap->most_bytes = used(heap);
  return block;
}

void *hn_heap_alloc(hn_heap *heap, size_t bytes) { return from(heap, &heap->sides[heap->side], bytes); }

void *hn_heap_slice(hn_heap *heap, size_t bytes) { return from(heap, &heap->slices, bytes); }

void *hn_heap_keep(hn_heap *heap, size_t bytes) { return from(heap, &heap->kept, bytes); }
