/* SPDX-License-Identifier: Apache-2.0 */
/* memory.c - the default allocator and arenas.
 * Invariants: a block of 0 bytes is kept as one of 1; an arena's newest chunk is the one with room, full ones and
 * those made for one big block hang behind it. */
#include "base/memory.h"
#include "base/checked.h"
#include <assert.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
  BLOCK_ALIGNMENT = 64,
  HUGE_PAGE_BYTES = 2 << 20,
  CHUNK_FIRST_BYTES = 4 << 10,
  CHUNK_LAST_BYTES = 1 << 20,
  ALIGNMENT_LIMIT = 4096,
};

static size_t at_least_one(size_t bytes) { return bytes == 0 ? 1 : bytes; }

/* The C library's realloc keeps no alignment beyond 16, so moving is done here. */
static void *default_resize(void *self, void *old, size_t old_bytes, size_t new_bytes) {
  (void)self;
  if (new_bytes == 0) {
    free(old);
    return NULL;
  }
  void *block = NULL;
  const bool is_large = new_bytes >= 4 * (size_t)HUGE_PAGE_BYTES;
  if (posix_memalign(&block, is_large ? HUGE_PAGE_BYTES : BLOCK_ALIGNMENT, new_bytes) != 0) return NULL;
#ifdef MADV_HUGEPAGE
  /* Weights are read once a run: with small pages every 4 KiB of them cost a walk through the page table. A hint; whole
   * pages only, so that nothing is held beyond the block. */
  if (is_large) (void)madvise(block, new_bytes / HUGE_PAGE_BYTES * HUGE_PAGE_BYTES, MADV_HUGEPAGE);
#endif
  if (old) {
    memcpy(block, old, old_bytes < new_bytes ? old_bytes : new_bytes);
    free(old);
  }
  return block;
}

hn_allocator hn_allocator_default(void) { return (hn_allocator){.resize = default_resize}; }

void *hn_alloc(const hn_allocator *allocator, size_t bytes) {
  return allocator->resize(allocator->self, NULL, 0, at_least_one(bytes));
}

void *hn_alloc_zero(const hn_allocator *allocator, size_t bytes) {
  void *block = hn_alloc(allocator, bytes);
  if (block) memset(block, 0, at_least_one(bytes));
  return block;
}

void *hn_resize(const hn_allocator *allocator, void *old, size_t old_bytes, size_t new_bytes) {
  if (!old) return hn_alloc(allocator, new_bytes);
  return allocator->resize(allocator->self, old, at_least_one(old_bytes), at_least_one(new_bytes));
}

void hn_free(const hn_allocator *allocator, void *block, size_t bytes) {
  if (block) allocator->resize(allocator->self, block, at_least_one(bytes), 0);
}

struct hn_arena_chunk {
  hn_arena_chunk *next; /* older */
  size_t bytes;         /* of the whole chunk, this header included */
  size_t used;          /* from the chunk's start */
  uint64_t number;      /* younger chunks have higher ones */
};

void hn_arena_init(hn_arena *arena, hn_allocator allocator) { *arena = (hn_arena){.allocator = allocator}; }

static void free_chunks(hn_arena *arena, hn_arena_chunk **list) {
  while (*list) {
    hn_arena_chunk *chunk = *list;
    *list = chunk->next;
    hn_free(&arena->allocator, chunk, chunk->bytes);
  }
}

void hn_arena_deinit(hn_arena *arena) {
  free_chunks(arena, &arena->chunk);
  free_chunks(arena, &arena->spare);
  arena->used_bytes = 0;
  arena->most_bytes = 0;
}

static size_t bytes_of(const hn_arena_chunk *chunk) {
  size_t bytes = 0;
  for (; chunk; chunk = chunk->next) bytes += chunk->bytes;
  return bytes;
}

void hn_arena_reset(hn_arena *arena) {
  const size_t held = bytes_of(arena->chunk) + bytes_of(arena->spare), most = arena->most_bytes;
  const size_t wanted = sizeof(hn_arena_chunk) + BLOCK_ALIGNMENT + most; /* as long as it lived in one chunk */
  if (held && (arena->spare || arena->chunk->next || held < most)) {
    const size_t bytes = held > wanted ? held : wanted;
    hn_arena_deinit(arena);
    arena->most_bytes = most;
    arena->chunk = hn_alloc(&arena->allocator, bytes);
    if (arena->chunk) *arena->chunk = (hn_arena_chunk){.bytes = bytes, .number = ++arena->numbered};
  }
  if (arena->chunk) arena->chunk->used = sizeof *arena->chunk;
  arena->used_bytes = 0;
}

hn_arena_mark hn_arena_here(const hn_arena *arena) {
  return (hn_arena_mark){.chunk = arena->chunk,
                         .numbered = arena->numbered,
                         .chunk_used = arena->chunk ? arena->chunk->used : 0,
                         .used_bytes = arena->used_bytes};
}

void hn_arena_back(hn_arena *arena, const hn_arena_mark *mark) {
  hn_arena_chunk **link = &arena->chunk;
  while (*link) {
    hn_arena_chunk *chunk = *link;
    if (chunk->number <= mark->numbered) {
      link = &chunk->next;
      continue;
    }
    *link = chunk->next;
    chunk->next = arena->spare;
    arena->spare = chunk;
  }
  assert(arena->chunk == mark->chunk);
  if (arena->chunk) arena->chunk->used = mark->chunk_used;
  arena->used_bytes = mark->used_bytes;
}

bool hn_arena_is_younger(const hn_arena *arena, const hn_arena_mark *mark, const void *address) {
  const uintptr_t at = (uintptr_t)address;
  for (const hn_arena_chunk *chunk = arena->chunk; chunk; chunk = chunk->next)
    if (at >= (uintptr_t)chunk && at - (uintptr_t)chunk < chunk->bytes)
      return chunk->number > mark->numbered || (chunk == mark->chunk && at - (uintptr_t)chunk >= mark->chunk_used);
  return false;
}

/* Takes bytes from a chunk, or NULL when they do not fit. Alignment is of the address: a user's allocator may give
 * chunks that are less aligned than ours. */
static void *take(hn_arena_chunk *chunk, size_t bytes, size_t alignment) {
  const uintptr_t free_at = (uintptr_t)chunk + chunk->used;
  const size_t padding = (size_t)(-free_at & (alignment - 1));
  const size_t room = chunk->bytes - chunk->used;
  if (padding > room || bytes > room - padding) return NULL;
  void *block = (char *)chunk + chunk->used + padding;
  chunk->used += padding + bytes;
  return block;
}

static size_t next_chunk_bytes(const hn_arena *arena) {
  if (!arena->chunk || arena->chunk->bytes < CHUNK_FIRST_BYTES) return CHUNK_FIRST_BYTES;
  return arena->chunk->bytes >= CHUNK_LAST_BYTES / 2 ? CHUNK_LAST_BYTES : arena->chunk->bytes * 2;
}

/* The smallest spare chunk of at least so many bytes, out of its list. When there is none the others are given back:
 * what they were for has grown. */
static hn_arena_chunk *take_spare(hn_arena *arena, size_t needed) {
  hn_arena_chunk **best = NULL;
  for (hn_arena_chunk **link = &arena->spare; *link; link = &(*link)->next)
    if ((*link)->bytes >= needed && (!best || (*link)->bytes < (*best)->bytes)) best = link;
  if (!best) {
    free_chunks(arena, &arena->spare);
    return NULL;
  }
  hn_arena_chunk *chunk = *best;
  *best = chunk->next;
  return chunk;
}

/* A chunk with room for so many bytes, among the arena's. */
static hn_arena_chunk *add_chunk(hn_arena *arena, size_t needed) {
  const size_t usual = next_chunk_bytes(arena);
  const bool big = needed > usual / 2;
  size_t bytes = big ? needed : usual;
  hn_arena_chunk *chunk = take_spare(arena, needed);
  if (chunk)
    bytes = chunk->bytes;
  else
    chunk = hn_alloc(&arena->allocator, bytes);
  if (!chunk) return NULL;
  *chunk = (hn_arena_chunk){.bytes = bytes, .used = sizeof *chunk, .number = ++arena->numbered};
  if (big && arena->chunk) { /* the current chunk still has room: it stays the newest */
    chunk->next = arena->chunk->next;
    arena->chunk->next = chunk;
  } else {
    chunk->next = arena->chunk;
    arena->chunk = chunk;
  }
  return chunk;
}

void *hn_arena_alloc(hn_arena *arena, size_t bytes, size_t alignment) {
  assert(alignment > 0 && alignment <= ALIGNMENT_LIMIT && (alignment & (alignment - 1)) == 0);
  bytes = at_least_one(bytes);
  size_t total, needed; /* the latter with the worst padding, so that taking from a new chunk cannot fail */
  if (!hn_add_size(bytes, sizeof(hn_arena_chunk) + alignment, &needed)) return NULL;
  if (!hn_add_size(arena->used_bytes, (bytes + alignment - 1) & ~(alignment - 1), &total)) return NULL;
  if (arena->limit_bytes != 0 && total > arena->limit_bytes) return NULL;
  void *block = arena->chunk ? take(arena->chunk, bytes, alignment) : NULL;
  if (!block) {
    hn_arena_chunk *chunk = add_chunk(arena, needed);
    if (!chunk) return NULL;
    block = take(chunk, bytes, alignment);
  }
  arena->used_bytes = total;
  if (total > arena->most_bytes) arena->most_bytes = total;
  return block;
}

void *hn_arena_zero(hn_arena *arena, size_t count, size_t size) {
  size_t bytes;
  if (!hn_mul_size(count, size, &bytes)) return NULL;
  void *block = hn_arena_alloc(arena, bytes, 16);
  if (block) memset(block, 0, at_least_one(bytes));
  return block;
}

void *hn_arena_copy(hn_arena *arena, const void *bytes, size_t count) {
  void *block = hn_arena_alloc(arena, count, 16);
  if (block && count > 0) memcpy(block, bytes, count);
  return block;
}

char *hn_arena_text(hn_arena *arena, const char *text) {
  if (!text) return NULL;
  const size_t bytes = strlen(text) + 1;
  char *copy = hn_arena_alloc(arena, bytes, 1);
  if (copy) memcpy(copy, text, bytes);
  return copy;
}

char *hn_arena_printf(hn_arena *arena, const char *format, ...) {
  va_list arguments, again;
  va_start(arguments, format);
  va_copy(again, arguments);
  const int length = vsnprintf(NULL, 0, format, arguments);
  char *text = length < 0 ? NULL : hn_arena_alloc(arena, (size_t)length + 1, 1);
  if (text) vsnprintf(text, (size_t)length + 1, format, again);
  va_end(again);
  va_end(arguments);
  return text;
}

bool hn_arena_grow(hn_arena *arena, void **items, int *capacity, int need, size_t item_bytes) {
  if (need <= *capacity) return true;
  int wanted = *capacity > INT_MAX / 2 ? INT_MAX : *capacity * 2;
  if (wanted < 8) wanted = 8;
  if (wanted < need) wanted = need;
  size_t bytes;
  if (!hn_mul_size((size_t)wanted, item_bytes, &bytes)) return false;
  void *moved = hn_arena_alloc(arena, bytes, 16);
  if (!moved) return false;
  void *old; /* by memcpy: callers pass the address of a pointer of their own type */
  memcpy(&old, items, sizeof old);
  if (*capacity > 0) memcpy(moved, old, (size_t)*capacity * item_bytes);
  memcpy(items, &moved, sizeof moved);
  *capacity = wanted;
  return true;
}
