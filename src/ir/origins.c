/* SPDX-License-Identifier: Apache-2.0 */
/* origins.c - sets of ONNX node names. A set is never changed once made, so that nodes share it. */
#include "ir/graph.h"
#include <string.h>

/* Merges two sorted lists; returns the count. out may be NULL: counts only. */
static int merge(const hn_origins *a, const hn_origins *b, const char **out) {
  int count = 0;
  for (int i = 0, j = 0; i < a->count || j < b->count; ++count) {
    const int order = i == a->count ? 1 : j == b->count ? -1 : strcmp(a->names[i], b->names[j]);
    const char *name = order <= 0 ? a->names[i] : b->names[j];
    i += order <= 0;
    j += order >= 0;
    if (out) out[count] = name;
  }
  return count;
}

hone_status hn_origins_union(hone_graph *graph, const hn_origins *a, const hn_origins *b, hn_origins *out) {
  const int count = merge(a, b, NULL);
  if (count == a->count || count == b->count) { /* one holds the other */
    *out = count == a->count ? *a : *b;
    return HONE_OK;
  }
  const char **names = HN_NEW(&graph->arena, const char *, count);
  if (!names) return HN_FAIL_MEMORY(&graph->context->diag);
  merge(a, b, names);
  *out = (hn_origins){count, names};
  return HONE_OK;
}

hone_status hn_origins_one(hone_graph *graph, const char *name, hn_origins *out) {
  const char **names = HN_NEW(&graph->arena, const char *, 1);
  const char *copy = hn_arena_text(&graph->arena, name);
  if (!names || !copy) return HN_FAIL_MEMORY(&graph->context->diag);
  names[0] = copy;
  *out = (hn_origins){1, names};
  return HONE_OK;
}
