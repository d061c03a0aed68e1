/* SPDX-License-Identifier: Apache-2.0 */
/* part.c - copies of shared constants, and back. */
#include "prune/part.h"
#include "tensor/shape.h"

enum { MOST_PLACES = 1 << 16 };

static bool is_shared(const hn_value *value) {
  const hone_shape *shape = &value->fact.type.shape;
  if (!hn_value_is_constant(value) || value->use_count < 2 || value->fact.type.dtype == HONE_STRING) return false;
  int wide = 0;
  for (int a = 0; a < shape->rank; ++a) wide += shape->dim[a] != 1;
  return wide == 1 && hn_elems(shape) <= MOST_PLACES;
}

static hone_status part(hone_graph *graph, hn_arena *arena, hn_value *value, hn_parted *out) {
  hn_use *next;
  for (hn_use *use = value->uses->next; use; use = next) {
    next = use->next; /* the use moves to the copy's list */
    if (!use->node || use->node->owner != graph->main) continue;
    if (!hn_arena_grow(arena, (void **)&out->items, &out->capacity, out->count + 1, sizeof *out->items))
      return HN_FAIL_MEMORY(&graph->context->diag);
    hn_value *copy = hn_constant_create(graph, value->name, value->fact.constant, false);
    if (!copy) return HONE_NO_MEMORY;
    out->items[out->count++] = (hn_parted_constant){value->id, copy->id};
    hn_node_set_input(use->node, use->index, copy);
  }
  return HONE_OK;
}

hone_status hn_constants_part(hone_graph *graph, hn_arena *arena, hn_parted *out) {
  const int count = graph->value_count;
  *out = (hn_parted){0};
  for (int i = 0; i < count; ++i)
    if (is_shared(graph->values[i])) HN_TRY(part(graph, arena, graph->values[i], out));
  return HONE_OK;
}

void hn_constants_rejoin(hone_graph *graph, const hn_parted *parted) {
  for (int i = 0; i < parted->count; ++i) {
    hn_value *copy = graph->values[parted->items[i].copy], *original = graph->values[parted->items[i].original];
    /* What was cut has no uses any more: its replacement stays by itself. */
    if (copy->use_count > 0 && original->use_count > 0) hn_value_replace(copy, original);
  }
}
