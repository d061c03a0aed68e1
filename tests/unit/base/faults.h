/* SPDX-License-Identifier: Apache-2.0 */
/* faults.h - an allocator whose n-th allocation fails, and which checks sizes given back and counts what lives. */
#ifndef TEST_BASE_FAULTS_H
#define TEST_BASE_FAULTS_H

#include "base/memory.h"
#include <string.h>

typedef struct faults {
  long countdown; /* allocations that still succeed; negative: all do */
  long calls;     /* allocations and moves asked for */
  long live;      /* blocks */
  size_t live_bytes;
} faults;

static inline void *faults_resize(void *self, void *old, size_t old_bytes, size_t new_bytes) {
  faults *f = self;
  const hn_allocator plain = hn_allocator_default();
  if (new_bytes > 0) {
    ++f->calls;
    if (f->countdown == 0) return NULL;
    if (f->countdown > 0) --f->countdown;
    ++f->live;
    f->live_bytes += new_bytes;
  }
  if (old) {
    --f->live;
    f->live_bytes -= old_bytes; /* ends at 0 only if every size given back was the size asked for */
  }
  void *block = plain.resize(plain.self, old, old_bytes, new_bytes);
  if (block && !old) memset(block, 0xa5, new_bytes); /* nothing may rely on fresh memory being zero */
  return block;
}

static inline hn_allocator faults_allocator(faults *f) { return (hn_allocator){faults_resize, f}; }

#endif
