/* SPDX-License-Identifier: Apache-2.0 */
/* hash.c - XXH3-64 from the system's header, and a string-keyed table with linear probing.
 * Invariant of the table: capacity is 0 or a power of two, and at most 3/4 of the slots are taken. */
#include "base/hash.h"
#include "base/checked.h"
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t hn_hash(const void *bytes, size_t count) { return XXH3_64bits(bytes, count); }

uint64_t hn_hash_text(const char *text) { return XXH3_64bits(text, strlen(text)); }

uint64_t hn_hash_join(uint64_t a, uint64_t b) {
  const uint64_t pair[2] = {a, b};
  return XXH3_64bits(pair, sizeof pair);
}

void hn_table_init(hn_table *table, hn_arena *arena) { *table = (hn_table){.arena = arena}; }

/* The key's slot, or the empty one where it belongs. */
static struct hn_table_slot *find(struct hn_table_slot *slots, size_t capacity, const char *key) {
  size_t at = (size_t)hn_hash_text(key) & (capacity - 1);
  while (slots[at].key && strcmp(slots[at].key, key) != 0) at = (at + 1) & (capacity - 1);
  return &slots[at];
}

static bool grow(hn_table *table) {
  size_t capacity = 16;
  if (table->capacity != 0 && !hn_mul_size(table->capacity, 2, &capacity)) return false;
  struct hn_table_slot *slots = HN_NEW(table->arena, struct hn_table_slot, capacity);
  if (!slots) return false;
  for (size_t i = 0; i < table->capacity; ++i) {
    if (table->slots[i].key) *find(slots, capacity, table->slots[i].key) = table->slots[i];
  }
  table->slots = slots;
  table->capacity = capacity;
  return true;
}

bool hn_table_put(hn_table *table, const char *key, void *value) {
  if (table->capacity != 0) {
    struct hn_table_slot *slot = find(table->slots, table->capacity, key);
    if (slot->key) {
      slot->value = value;
      return true;
    }
  }
  if (table->count + 1 > table->capacity / 4 * 3 && !grow(table)) return false;
  *find(table->slots, table->capacity, key) = (struct hn_table_slot){key, value};
  ++table->count;
  return true;
}

void *hn_table_get(const hn_table *table, const char *key) {
  return table->capacity == 0 ? NULL : find(table->slots, table->capacity, key)->value;
}
