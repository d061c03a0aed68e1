/* SPDX-License-Identifier: Apache-2.0 */
/* hash.h - XXH3-64 (xxHash specification 0.2.0) and a small string-keyed table. */
#ifndef HN_BASE_HASH_H
#define HN_BASE_HASH_H

#include "base/memory.h"

uint64_t hn_hash(const void *bytes, size_t count);
uint64_t hn_hash_text(const char *text);
uint64_t hn_hash_join(uint64_t a, uint64_t b); /* order matters */

/* Maps strings (borrowed, must outlive the table) to pointers; open addressing in an arena. */
typedef struct hn_table {
  hn_arena *arena;
  struct hn_table_slot {
    const char *key;
    void *value;
  } * slots;
  size_t count, capacity;
} hn_table;
void hn_table_init(hn_table *table, hn_arena *arena);
bool hn_table_put(hn_table *table, const char *key, void *value); /* replaces; false when out of memory */
void *hn_table_get(const hn_table *table, const char *key);       /* NULL when absent */

#endif
