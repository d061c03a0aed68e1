/* SPDX-License-Identifier: Apache-2.0 */
/* memory_limit.h - an allocator over another one that gives at most so many bytes at a time. */
#ifndef HN_BASE_MEMORY_LIMIT_H
#define HN_BASE_MEMORY_LIMIT_H

#include "base/memory.h"

typedef struct hn_memory_limit hn_memory_limit;

/* The allocator frees itself with the last block that it gave; before the first one hn_memory_limit_drop() does.
 * false: no memory. */
bool hn_memory_limit_make(const hn_allocator *inner, uint64_t most_bytes, hn_allocator *out);
void hn_memory_limit_drop(const hn_allocator *allocator);

/* NULL: not limited. */
const hn_memory_limit *hn_memory_limit_of(const hn_allocator *allocator);
/* The limit that refused memory; 0: it never did. */
uint64_t hn_memory_limit_hit(const hn_memory_limit *limit);

#endif
