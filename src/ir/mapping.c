/* SPDX-License-Identifier: Apache-2.0 */
/* mapping.c - reference counts of the bytes that constants borrow. The count is atomic because clones may be destroyed
 * by other threads than their original's. */
#include "ir/build.h"
#include <stdatomic.h>
#include <string.h>

struct hn_mapping {
  atomic_int references;
  hn_allocator allocator;
  hn_blob blob;
};

/* Takes the blob, also when it fails (NULL: no memory). The caller holds the one reference. */
static hn_mapping *mapping_create(hn_allocator allocator, hn_blob *blob) {
  hn_mapping *mapping = hn_alloc_zero(&allocator, sizeof *mapping);
  if (!mapping) {
    hn_blob_close(blob);
    return NULL;
  }
  atomic_init(&mapping->references, 1);
  mapping->allocator = allocator;
  mapping->blob = *blob;
  *blob = (hn_blob){0};
  return mapping;
}

void hn_mapping_retain(hn_mapping *mapping) {
  atomic_fetch_add_explicit(&mapping->references, 1, memory_order_relaxed);
}

void hn_mapping_release(hn_mapping *mapping) {
  if (!mapping || atomic_fetch_sub_explicit(&mapping->references, 1, memory_order_acq_rel) != 1) return;
  const hn_allocator allocator = mapping->allocator;
  hn_blob_close(&mapping->blob);
  hn_free(&allocator, mapping, sizeof *mapping);
}

bool hn_graph_hold_mapping(hone_graph *graph, hn_mapping *mapping) {
  if (!mapping) return false;
  if (!hn_arena_grow(&graph->arena, (void **)&graph->mappings, &graph->mapping_capacity, graph->mapping_count + 1,
                     sizeof(hn_mapping *))) {
    hn_mapping_release(mapping);
    return false;
  }
  graph->mappings[graph->mapping_count++] = mapping;
  return true;
}

const void *hn_graph_keep_bytes(hone_graph *graph, const void *bytes, size_t count) {
  const hn_allocator allocator = graph->context->allocator;
  void *copy = hn_alloc(&allocator, count);
  if (!copy) return NULL;
  if (count > 0) memcpy(copy, bytes, count);
  hn_blob blob = {.data = copy, .bytes = count, .owned = true, .allocator = allocator};
  return hn_graph_hold_mapping(graph, mapping_create(allocator, &blob)) ? copy : NULL;
}

hone_status hn_graph_add_mapping(hone_graph *graph, hn_blob *blob) {
  if (!hn_graph_hold_mapping(graph, mapping_create(graph->context->allocator, blob)))
    return HN_FAIL_MEMORY(&graph->context->diag);
  return HONE_OK;
}
