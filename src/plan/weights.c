/* SPDX-License-Identifier: Apache-2.0 */
/* weights.c - the region of weights that the schedules of an engine share while it is made: blobs one after the other,
 * 64-aligned, each content once. */
#include "base/checked.h"
#include "base/hash.h"
#include "plan/schedules.h"
#include <string.h>

enum { ALIGNMENT = 64 };

static void bind_plans(hn_schedules *schedules) {
  for (int k = 0; k < schedules->count; ++k) {
    schedules->plans[k]->weights = schedules->weights;
    schedules->plans[k]->weights_bytes = schedules->weights_bytes;
  }
}

hone_status hn_schedules_reserve(hn_schedules *schedules, uint64_t bytes, hone_diagnostics *diag) {
  size_t need;
  if (!hn_add_size((size_t)schedules->weights_bytes, (size_t)bytes, &need) || !hn_align_size(need, ALIGNMENT, &need))
    return HN_FAIL(diag, HONE_LIMIT, "the weights are larger than memory can be");
  schedules->weights_checked = true; /* made here, not read */
  if (need == 0) need = ALIGNMENT;
  if (need <= schedules->owned_bytes) return HONE_OK;
  uint8_t *moved = hn_resize(&schedules->allocator, schedules->owned_weights, schedules->owned_bytes, need);
  if (!moved) return HN_FAIL_MEMORY(diag);
  schedules->weights = schedules->owned_weights = moved;
  schedules->owned_bytes = need;
  bind_plans(schedules);
  return HONE_OK;
}

hone_status hn_schedules_room(hn_schedules *schedules, uint64_t bytes, uint8_t **out, hone_diagnostics *diag) {
  const size_t left = schedules->owned_bytes - (size_t)schedules->weights_bytes;
  if (bytes > left) /* by a quarter at least, so that many rooms do not copy the region many times */
    HN_TRY(hn_schedules_reserve(schedules, bytes > schedules->weights_bytes / 4 ? bytes : schedules->weights_bytes / 4,
                                diag));
  *out = schedules->owned_weights + schedules->weights_bytes;
  return HONE_OK;
}

static const hn_weight_blob *find_equal(const hn_schedules *schedules, uint64_t hash, const uint8_t *bytes,
                                        uint64_t count) {
  for (int i = -1; (i = hn_buckets_find(&schedules->rows_of, hash, i)) >= 0;) {
    const hn_weight_blob *blob = &schedules->weights_table[i];
    if (blob->bytes == count && memcmp(schedules->owned_weights + blob->offset, bytes, (size_t)count) == 0) return blob;
  }
  return NULL;
}

/* The table says once how each blob was made: bytes that two ways of packing share have two rows. */
static hone_status add_row(hn_schedules *schedules, const hn_weight_blob *blob, hone_diagnostics *diag) {
  hn_arena *arena = &schedules->arena;
  for (int i = -1; (i = hn_buckets_find(&schedules->rows_of, blob->hash, i)) >= 0;) {
    const hn_weight_blob *row = &schedules->weights_table[i];
    if (row->offset == blob->offset && row->bytes == blob->bytes && strcmp(row->how, blob->how) == 0) return HONE_OK;
  }
  if (!hn_arena_grow(arena, (void **)&schedules->weights_table, &schedules->weight_capacity,
                     schedules->weight_count + 1, sizeof *schedules->weights_table))
    return HN_FAIL_MEMORY(diag);
  const char **from = HN_NEW(arena, const char *, blob->from_count + 1);
  hn_weight_blob *row = &schedules->weights_table[schedules->weight_count];
  *row = *blob;
  row->how = hn_arena_text(arena, blob->how);
  row->from = from;
  if (!from || !row->how) return HN_FAIL_MEMORY(diag);
  for (int i = 0; i < blob->from_count; ++i)
    if (!(from[i] = hn_arena_text(arena, blob->from[i]))) return HN_FAIL_MEMORY(diag);
  if (!hn_buckets_add(&schedules->rows_of, arena, blob->hash)) return HN_FAIL_MEMORY(diag);
  ++schedules->weight_count;
  return HONE_OK;
}

hone_status hn_schedules_keep(hn_schedules *schedules, const hn_weight_blob *blob, const uint8_t *bytes,
                              uint64_t *out_offset, hone_diagnostics *diag) {
  hn_weight_blob row = *blob;
  const hn_weight_blob *equal = find_equal(schedules, row.hash, bytes, row.bytes);
  row.offset = equal ? equal->offset : schedules->weights_bytes;
  HN_TRY(add_row(schedules, &row, diag));
  if (!equal) {
    const uint64_t room = (row.bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    uint8_t *to = schedules->owned_weights + row.offset;
    if (to != bytes) memmove(to, bytes, (size_t)room); /* zeros up to its end, too */
    schedules->weights_bytes += room;
  }
  bind_plans(schedules);
  *out_offset = row.offset;
  return HONE_OK;
}
