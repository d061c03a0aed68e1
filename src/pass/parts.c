/* SPDX-License-Identifier: Apache-2.0 */
/* parts.c - a fused node remembers the nodes that it stands for, so that a tuner may still run those instead.
 * Invariant: the copies compute from the fused node's inputs and from constants alone. */
#include "pass/fusion.h"

/* What values of the original became in a copy, by id: few, so that a list will do. */
typedef struct mapping {
  hone_graph *graph;
  hn_block *to;
  hn_value **from, **by;
  int count, capacity;
} mapping;

static hone_status no_memory(const hone_graph *graph) { return HN_FAIL_MEMORY(&graph->context->diag); }

static hone_status map_value(mapping *map, hn_value *from, hn_value *by) {
  int capacity = map->capacity;
  hn_arena *arena = &map->graph->arena;
  if (!hn_arena_grow(arena, (void **)&map->from, &capacity, map->count + 1, sizeof *map->from) ||
      !hn_arena_grow(arena, (void **)&map->by, &map->capacity, map->count + 1, sizeof *map->by))
    return no_memory(map->graph);
  map->from[map->count] = from;
  map->by[map->count++] = by;
  return HONE_OK;
}

static hn_value *mapped(const mapping *map, hn_value *value) {
  for (int i = 0; value && i < map->count; ++i)
    if (map->from[i] == value) return map->by[i];
  return value && hn_value_is_constant(value) ? value : NULL;
}

static hone_status copy_parts(const hn_block *from, hn_node *owner);

static hone_status copy_node(mapping *map, hn_node *node) {
  hone_graph *graph = map->graph;
  hn_value **in = HN_NEW(&graph->arena, hn_value *, node->in_count);
  const char **names = HN_NEW(&graph->arena, const char *, node->out_count);
  if (!in || !names) return no_memory(graph);
  for (int i = 0; i < node->in_count; ++i) {
    in[i] = mapped(map, node->in[i]);
    if (node->in[i] && !in[i])
      return HN_FAIL(&graph->context->diag, HONE_INTERNAL, "%s (%s) reads %s, which is not an input of the fused node",
                     node->name, node->op->name, node->in[i]->name);
  }
  for (int i = 0; i < node->out_count; ++i) names[i] = node->out[i] ? NULL : "";
  const hn_node_spec spec = {.op = node->op,
                             .name = node->name,
                             .attrs = node->attrs,
                             .in_count = node->in_count,
                             .out_count = node->out_count,
                             .in = in,
                             .out_names = names,
                             .origins = node->origins};
  hn_node *copy;
  HN_TRY(hn_node_create(map->to, &spec, &copy));
  hn_node_swap_names(graph, node, copy); /* the original is about to go */
  if (node->parts) HN_TRY(copy_parts(node->parts, copy));
  for (int i = 0; i < node->out_count; ++i)
    if (node->out[i]) HN_TRY(map_value(map, node->out[i], copy->out[i]));
  return HONE_OK;
}

static hone_status add_param(mapping *map, const char *name, const hone_type *type, hn_value *from) {
  hn_value *param = hn_block_add_param(map->to, name, type);
  if (!param) return HONE_NO_MEMORY;
  return from ? map_value(map, from, param) : HONE_OK;
}

static hone_status copy_parts(const hn_block *from, hn_node *owner) {
  hone_graph *graph = from->graph;
  mapping map = {.graph = graph, .to = hn_block_create(graph, NULL)};
  if (!map.to) return HONE_NO_MEMORY;
  for (int i = 0; i < from->param_count; ++i)
    HN_TRY(add_param(&map, from->params[i]->name, &from->params[i]->fact.type, from->params[i]));
  for (hn_node *node = from->first; node; node = node->next) HN_TRY(copy_node(&map, node));
  for (int i = 0; i < from->result_count; ++i)
    HN_TRY(hn_block_add_result(map.to, from->results[i] ? mapped(&map, from->results[i]) : NULL, NULL));
  owner->parts = map.to;
  return HONE_OK;
}

static bool is_ready(const mapping *map, hn_node *const *nodes, int node_count, const hn_node *node) {
  for (int i = 0; i < node->in_count; ++i)
    for (int j = 0; node->in[i] && j < node_count; ++j)
      if (node->in[i]->node == nodes[j] && !mapped(map, node->in[i])) return false;
  return true;
}

/* Copies in an order in which inputs come first. */
static hone_status copy_nodes(mapping *map, hn_node *const *nodes, int node_count) {
  hn_arena *arena = &map->graph->arena;
  bool *copied = HN_NEW(arena, bool, node_count);
  if (!copied) return no_memory(map->graph);
  for (int left = node_count; left > 0;) {
    const int before = left;
    for (int i = 0; i < node_count; ++i) {
      if (copied[i] || !is_ready(map, nodes, node_count, nodes[i])) continue;
      HN_TRY(copy_node(map, nodes[i]));
      copied[i] = true;
      --left;
    }
    if (left == before)
      return HN_FAIL(&map->graph->context->diag, HONE_INTERNAL, "the parts of a fused node feed each other");
  }
  return HONE_OK;
}

hone_status hn_parts_attach(hn_node *fused, hn_node *const *nodes, int node_count, hn_value *const *outputs) {
  static const hone_type absent = {.kind = HONE_ABSENT};
  hone_graph *graph = fused->owner->graph;
  mapping map = {.graph = graph, .to = hn_block_create(graph, NULL)};
  if (!map.to) return HONE_NO_MEMORY;
  for (int i = 0; i < fused->in_count; ++i) {
    hn_value *in = fused->in[i];
    HN_TRY(add_param(&map, in ? in->name : "absent", in ? &in->fact.type : &absent, in));
  }
  HN_TRY(copy_nodes(&map, nodes, node_count));
  for (int i = 0; i < fused->out_count; ++i)
    HN_TRY(hn_block_add_result(map.to, outputs[i] ? mapped(&map, outputs[i]) : NULL, NULL));
  fused->parts = map.to;
  return HONE_OK;
}
