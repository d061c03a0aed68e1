/* SPDX-License-Identifier: Apache-2.0 */
/* memory.h - the allocator given at context creation, and arenas over it.
 * Everything is 64-aligned, so that vector loads of tensors are aligned. */
#ifndef HN_BASE_MEMORY_H
#define HN_BASE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* resize(self, NULL, 0, n) allocates, resize(self, p, n, 0) frees and returns NULL, else it moves like realloc.
 * Thread-safe. NULL when there is no memory; then the old block is untouched. */
typedef struct hn_allocator {
  void *(*resize)(void *self, void *old, size_t old_bytes, size_t new_bytes);
  void *self;
} hn_allocator;

hn_allocator hn_allocator_default(void);
void *hn_alloc(const hn_allocator *allocator, size_t bytes); /* bytes 0 gives a valid, unique block of 1 */
void *hn_alloc_zero(const hn_allocator *allocator, size_t bytes);
void *hn_resize(const hn_allocator *allocator, void *old, size_t old_bytes, size_t new_bytes);
void hn_free(const hn_allocator *allocator, void *block, size_t bytes); /* bytes as allocated; NULL is fine */

/* Blocks that live and die together. Not thread-safe. */
typedef struct hn_arena_chunk hn_arena_chunk;
typedef struct hn_arena {
  hn_allocator allocator;
  hn_arena_chunk *chunk; /* newest first */
  hn_arena_chunk *spare; /* emptied by going back to a mark, to be used again */
  uint64_t numbered;     /* chunks so far */
  size_t used_bytes;     /* over all chunks, each block rounded up to its alignment */
  size_t most_bytes;     /* that were used at one time */
  size_t limit_bytes;    /* 0: none; beyond it allocations fail */
} hn_arena;

/* A point in an arena's history. */
typedef struct hn_arena_mark {
  hn_arena_chunk *chunk;
  uint64_t numbered;
  size_t chunk_used, used_bytes;
} hn_arena_mark;

void hn_arena_init(hn_arena *arena, hn_allocator allocator);
void hn_arena_deinit(hn_arena *arena); /* frees everything; the arena may be used again */
/* Frees all blocks, but keeps the memory, as one chunk: who asks for as much again asks the allocator for nothing. */
void hn_arena_reset(hn_arena *arena);
/* hn_arena_back() frees all blocks younger than the mark, but keeps their memory for those to come. */
hn_arena_mark hn_arena_here(const hn_arena *arena);
void hn_arena_back(hn_arena *arena, const hn_arena_mark *mark);
/* Does the address lie in a block younger than the mark? */
bool hn_arena_is_younger(const hn_arena *arena, const hn_arena_mark *mark, const void *address);
void *hn_arena_alloc(hn_arena *arena, size_t bytes, size_t alignment); /* not zeroed; NULL when out of memory */
void *hn_arena_zero(hn_arena *arena, size_t count, size_t size);       /* zeroed, 16-aligned, count * size checked */
void *hn_arena_copy(hn_arena *arena, const void *bytes, size_t count); /* 16-aligned */
char *hn_arena_text(hn_arena *arena, const char *text);                /* a copy; NULL stays NULL */
char *hn_arena_printf(hn_arena *arena, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Zeroed storage for count objects of a type in an arena, NULL when out of memory. */
#define HN_NEW(arena, type, count) ((type *)hn_arena_zero((arena), (size_t)(count), sizeof(type)))

/* Grows a list kept in an arena to hold at least need items (capacity doubles; old storage stays in the arena). */
bool hn_arena_grow(hn_arena *arena, void **items, int *capacity, int need, size_t item_bytes);

/* ---- an allocator over another one that gives at most so many bytes at a time (memory_limit.c) ---- */
typedef struct hn_memory_limit hn_memory_limit;

/* The allocator frees itself with the last block that it gave; before the first one hn_memory_limit_drop() does.
 * false: no memory. */
bool hn_memory_limit_make(const hn_allocator *inner, uint64_t most_bytes, hn_allocator *out);
void hn_memory_limit_drop(const hn_allocator *allocator);

/* NULL: not limited. */
const hn_memory_limit *hn_memory_limit_of(const hn_allocator *allocator);
/* The limit that refused memory; 0: it never did. */
uint64_t hn_memory_limit_hit(const hn_memory_limit *limit);
/* What is left of it now; NULL: any amount. */
uint64_t hn_memory_limit_left(const hn_memory_limit *limit);

#endif
