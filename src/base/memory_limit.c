/* SPDX-License-Identifier: Apache-2.0 */
/* memory_limit.c - counts the bytes that live. Whoever allocates holds a block of the same allocator (a context, an
 * engine, a session), so that the count reaches 0 only when nobody is left who could ask. */
#include "base/memory.h"
#include <stdatomic.h>

struct hn_memory_limit {
  hn_allocator inner;
  uint64_t most_bytes;
  _Atomic uint64_t used_bytes;
  atomic_bool hit;
};

static bool reserve(hn_memory_limit *limit, size_t bytes) {
  uint64_t used = atomic_load_explicit(&limit->used_bytes, memory_order_relaxed);
  do {
    if (bytes > limit->most_bytes - used) {
      atomic_store(&limit->hit, true);
      return false;
    }
  } while (!atomic_compare_exchange_weak(&limit->used_bytes, &used, used + bytes));
  return true;
}

/* While a block moves, both of its places count: that is what the inner allocator may need. */
static void *limited_resize(void *self, void *old, size_t old_bytes, size_t new_bytes) {
  hn_memory_limit *limit = self;
  const hn_allocator inner = limit->inner;
  if (new_bytes && !reserve(limit, new_bytes)) return NULL;
  void *block = inner.resize(inner.self, old, old_bytes, new_bytes);
  if (new_bytes && !block) {
    atomic_fetch_sub(&limit->used_bytes, new_bytes);
    return NULL;
  }
  if (old && atomic_fetch_sub(&limit->used_bytes, old_bytes) == old_bytes) hn_free(&inner, limit, sizeof *limit);
  return block;
}

bool hn_memory_limit_make(const hn_allocator *inner, uint64_t most_bytes, hn_allocator *out) {
  hn_memory_limit *limit = hn_alloc_zero(inner, sizeof *limit);
  if (!limit) return false;
  limit->inner = *inner;
  limit->most_bytes = most_bytes;
  *out = (hn_allocator){.resize = limited_resize, .self = limit};
  return true;
}

void hn_memory_limit_drop(const hn_allocator *allocator) {
  hn_memory_limit *limit = allocator->resize == limited_resize ? allocator->self : NULL;
  if (!limit) return;
  const hn_allocator inner = limit->inner;
  hn_free(&inner, limit, sizeof *limit);
}

const hn_memory_limit *hn_memory_limit_of(const hn_allocator *allocator) {
  return allocator->resize == limited_resize ? allocator->self : NULL;
}

uint64_t hn_memory_limit_hit(const hn_memory_limit *limit) {
  return limit && atomic_load(&limit->hit) ? limit->most_bytes : 0;
}

uint64_t hn_memory_limit_left(const hn_memory_limit *limit) {
  return limit ? limit->most_bytes - atomic_load(&limit->used_bytes) : UINT64_MAX;
}
