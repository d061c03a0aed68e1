/* SPDX-License-Identifier: Apache-2.0 */
/* scope.c - names of values, and what the graphs inside a node take from around them. */
#include "import/importer.h"

hone_status hn_scope_init(hn_importer *importer, hn_scope *scope, const hn_scope *outer, hn_block *block) {
  *scope = (hn_scope){.outer = outer, .block = block};
  if (outer) {
    scope->opsets = outer->opsets;
    scope->frame = outer->frame;
  }
  hn_table_init(&scope->names, &importer->arena);
  return HONE_OK;
}

hn_value *hn_scope_find(const hn_scope *scope, const char *name) {
  for (; scope; scope = scope->outer) {
    hn_value *value = hn_table_get(&scope->names, name);
    if (value) return value;
  }
  return NULL;
}

hone_status hn_scope_bind(hn_importer *importer, hn_scope *scope, const char *name, hn_value *value) {
  const hn_value *old = hn_table_get(&scope->names, name);
  if (old && old != &importer->bad) return HN_FAIL(importer->diag, HONE_MALFORMED, "two values are named \"%s\"", name);
  if (!hn_table_put(&scope->names, name, value)) return HN_FAIL_MEMORY(importer->diag);
  return HONE_OK;
}

static bool add_name(hn_table *names, const char *name) {
  static const char known; /* any address will do */
  void *mark = (void *)(uintptr_t)&known;
  return hn_table_put(names, name, mark);
}

static bool define_own_names(const hn_onnx_graph *graph, hn_table *own) {
  const hn_onnx_value_info *inputs = graph->inputs.items;
  const hn_onnx_tensor *tensors = graph->initializers.items;
  const hn_onnx_sparse *sparse = graph->sparse_initializers.items;
  for (int64_t i = 0; i < graph->inputs.count; ++i)
    if (!add_name(own, inputs[i].name)) return false;
  for (int64_t i = 0; i < graph->initializers.count; ++i)
    if (!add_name(own, tensors[i].name)) return false;
  for (int64_t i = 0; i < graph->sparse_initializers.count; ++i)
    if (sparse[i].values && !add_name(own, sparse[i].values->name)) return false;
  return true;
}

/* The names that a graph uses and does not make; nested graphs included. Recursion is bounded by the decoder's depth.
 */
static bool free_names(hn_importer *importer, const hn_onnx_graph *graph, hn_table *found, hn_captures *order);

static bool use_name(const hn_table *own, const char *name, hn_importer *importer, hn_table *found,
                     hn_captures *order) {
  if (!*name || hn_table_get(own, name) || hn_table_get(found, name)) return true;
  if (!hn_arena_grow(&importer->arena, (void **)&order->names, &order->capacity, order->count + 1, sizeof(char *)))
    return false;
  order->names[order->count++] = name;
  return add_name(found, name);
}

static bool names_of_node(hn_importer *importer, const hn_onnx_node *node, hn_table *own, hn_table *found,
                          hn_captures *order) {
  const char *const *inputs = node->inputs.items, *const *outputs = node->outputs.items;
  const hn_onnx_attribute *attributes = node->attributes.items;
  for (int64_t i = 0; i < node->inputs.count; ++i)
    if (!use_name(own, inputs[i], importer, found, order)) return false;
  for (int64_t a = 0; a < node->attributes.count; ++a) {
    if (!attributes[a].g) continue;
    hn_captures inner = {0};
    hn_table inner_found;
    hn_table_init(&inner_found, &importer->arena);
    if (!free_names(importer, attributes[a].g, &inner_found, &inner)) return false;
    for (int i = 0; i < inner.count; ++i)
      if (!use_name(own, inner.names[i], importer, found, order)) return false;
  }
  for (int64_t i = 0; i < node->outputs.count; ++i)
    if (*outputs[i] && !add_name(own, outputs[i])) return false;
  return true;
}

static bool free_names(hn_importer *importer, const hn_onnx_graph *graph, hn_table *found, hn_captures *order) {
  hn_table own;
  hn_table_init(&own, &importer->arena);
  if (!define_own_names(graph, &own)) return false;
  const hn_onnx_node *nodes = graph->nodes.items;
  for (int64_t i = 0; i < graph->nodes.count; ++i)
    if (!names_of_node(importer, &nodes[i], &own, found, order)) return false;
  const hn_onnx_value_info *outputs = graph->outputs.items;
  for (int64_t i = 0; i < graph->outputs.count; ++i)
    if (!use_name(&own, outputs[i].name, importer, found, order)) return false;
  return true;
}

static bool is_captured(const hn_importer *importer, const hn_value *value) {
  return value && value != &importer->bad && value != &importer->absent && !hn_value_is_constant(value);
}

hone_status hn_import_captures(hn_importer *importer, const hn_scope *scope, const hn_onnx_graph *graph,
                               hn_captures *captures) {
  hn_captures names = {0};
  hn_table found;
  hn_table_init(&found, &importer->arena);
  if (!captures->seen.arena) hn_table_init(&captures->seen, &importer->arena);
  if (!free_names(importer, graph, &found, &names)) return HN_FAIL_MEMORY(importer->diag);
  for (int i = 0; i < names.count; ++i) {
    hn_value *value = hn_scope_find(scope, names.names[i]);
    if (!is_captured(importer, value) || hn_table_get(&captures->seen, names.names[i])) continue;
    int capacity = captures->capacity;
    if (!hn_arena_grow(&importer->arena, (void **)&captures->names, &capacity, captures->count + 1, sizeof(char *)) ||
        !hn_arena_grow(&importer->arena, (void **)&captures->values, &captures->capacity, captures->count + 1,
                       sizeof(hn_value *)) ||
        !add_name(&captures->seen, names.names[i]))
      return HN_FAIL_MEMORY(importer->diag);
    captures->names[captures->count] = names.names[i];
    captures->values[captures->count++] = value;
  }
  return HONE_OK;
}
