/* SPDX-License-Identifier: Apache-2.0 */
/* buckets.c - rows found by a number. Capacities are powers of two, doubled when full. */
#include "base/buckets.h"
#include <string.h>

static int *head_of(const hn_buckets *buckets, uint64_t key) {
  return &buckets->heads[(key ^ key >> 32) & (uint64_t)(buckets->capacity - 1)];
}

static void link_row(hn_buckets *buckets, int row) {
  int *head = head_of(buckets, buckets->rows[row].key);
  buckets->rows[row].next = *head;
  *head = row + 1;
}

static bool grow(hn_buckets *buckets, hn_arena *arena) {
  if (buckets->capacity > INT32_MAX / 2) return false;
  const int capacity = buckets->capacity ? 2 * buckets->capacity : 64;
  int *heads = HN_NEW(arena, int, capacity);
  struct hn_bucket_row *rows = HN_NEW(arena, struct hn_bucket_row, capacity);
  if (!heads || !rows) return false;
  if (buckets->count) memcpy(rows, buckets->rows, (size_t)buckets->count * sizeof *rows);
  buckets->heads = heads;
  buckets->rows = rows;
  buckets->capacity = capacity;
  for (int i = 0; i < buckets->count; ++i) link_row(buckets, i);
  return true;
}

bool hn_buckets_add(hn_buckets *buckets, hn_arena *arena, uint64_t key) {
  if (buckets->count == buckets->capacity && !grow(buckets, arena)) return false;
  buckets->rows[buckets->count].key = key;
  link_row(buckets, buckets->count++);
  return true;
}

int hn_buckets_find(const hn_buckets *buckets, uint64_t key, int after) {
  if (buckets->count == 0) return -1;
  int row = after < 0 ? *head_of(buckets, key) : buckets->rows[after].next;
  while (row > 0 && buckets->rows[row - 1].key != key) row = buckets->rows[row - 1].next;
  return row - 1;
}
