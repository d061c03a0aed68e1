/* SPDX-License-Identifier: Apache-2.0 */
/* graph.c - a graph's life, its values, blocks and names. */
#include "ir/graph.h"
#include "ir/build.h"
#include <assert.h>
#include <limits.h>
#include <string.h>

hone_status hn_graph_create(hone_context *context, const char *name, hone_graph **out) {
  *out = NULL;
  hone_graph *graph = hn_alloc_zero(&context->allocator, sizeof *graph);
  if (!graph) return HN_FAIL_MEMORY(&context->diag);
  graph->context = context;
  atomic_fetch_add(&context->graph_count, 1);
  hn_arena_init(&graph->arena, context->allocator);
  hn_dims_init(&graph->dims, &graph->arena);
  hn_table_init(&graph->value_names, &graph->arena);
  hn_table_init(&graph->node_names, &graph->arena);
  hn_table_init(&graph->value_counters, &graph->arena);
  hn_table_init(&graph->node_counters, &graph->arena);
  graph->name = hn_arena_text(&graph->arena, name ? name : "");
  graph->main = graph->name ? hn_block_create(graph, NULL) : NULL;
  if (!graph->main || graph->dims.failed) {
    const hone_status status = graph->name && graph->main ? HN_FAIL_MEMORY(&context->diag) : HONE_NO_MEMORY;
    if (!graph->name) (void)HN_FAIL_MEMORY(&context->diag);
    hn_graph_destroy(graph);
    return status;
  }
  *out = graph;
  return HONE_OK;
}

void hn_graph_destroy(hone_graph *graph) {
  if (!graph) return;
  for (int i = 0; i < graph->mapping_count; ++i) hn_mapping_release(graph->mappings[i]);
  const hn_allocator allocator = graph->arena.allocator;
  atomic_fetch_sub(&graph->context->graph_count, 1);
  hn_arena_deinit(&graph->arena);
  hn_free(&allocator, graph, sizeof *graph);
}

hn_block *hn_block_create(hone_graph *graph, hn_node *parent) {
  hn_block *block = HN_NEW(&graph->arena, hn_block, 1);
  if (!block) {
    (void)HN_FAIL_MEMORY(&graph->context->diag);
    return NULL;
  }
  block->graph = graph;
  block->parent = parent;
  return block;
}

const char *hn_name_unique(hn_arena *arena, const hn_table *taken, hn_table *counters, const char *wanted) {
  if (!hn_table_get(taken, wanted)) return hn_arena_text(arena, wanted);
  int64_t *counter = hn_table_get(counters, wanted);
  if (!counter) {
    counter = HN_NEW(arena, int64_t, 1);
    const char *key = hn_arena_text(arena, wanted);
    if (!counter || !key || !hn_table_put(counters, key, counter)) return NULL;
  }
  for (;;) {
    const char *name = hn_arena_printf(arena, "%s_%lld", wanted, (long long)++*counter);
    if (!name || !hn_table_get(taken, name)) return name;
  }
}

hn_value *hn_value_create(hone_graph *graph, const char *name, const hone_fact *fact) {
  hn_arena *arena = &graph->arena;
  hn_value *value = HN_NEW(arena, hn_value, 1);
  const char *unique = hn_name_unique(arena, &graph->value_names, &graph->value_counters, name && *name ? name : "v");
  if (!value || !unique || graph->value_count == INT_MAX ||
      !hn_arena_grow(arena, (void **)&graph->values, &graph->value_capacity, graph->value_count + 1,
                     sizeof(hn_value *)) ||
      !hn_table_put(&graph->value_names, unique, value)) {
    (void)HN_FAIL_MEMORY(&graph->context->diag);
    return NULL;
  }
  value->id = graph->value_count;
  value->name = unique;
  value->fact = *fact;
  graph->values[graph->value_count++] = value;
  return value;
}

void hn_value_forget(hn_value *value) {
  hone_graph *graph = value->node ? value->node->owner->graph : value->param_of->graph;
  /* Replacing a present key's value cannot fail. */
  if (hn_table_get(&graph->value_names, value->name) == value)
    (void)hn_table_put(&graph->value_names, value->name, NULL);
  value->node = NULL;
  value->param_of = NULL;
  value->fact.constant = NULL;
}

hn_value *hn_block_add_param(hn_block *block, const char *name, const hone_type *type) {
  hone_graph *graph = block->graph;
  if (!hn_arena_grow(&graph->arena, (void **)&block->params, &block->param_capacity, block->param_count + 1,
                     sizeof(hn_value *))) {
    (void)HN_FAIL_MEMORY(&graph->context->diag);
    return NULL;
  }
  const hone_fact fact = {.type = *type};
  hn_value *value = hn_value_create(graph, name && *name ? name : "p", &fact);
  if (!value) return NULL;
  value->param_of = block;
  value->out_index = block->param_count;
  block->params[block->param_count++] = value;
  return value;
}

static hone_status add_output_name(hone_graph *graph, const char *name) {
  const int at = graph->main->result_count;
  for (int i = 0; i < at; ++i) {
    if (strcmp(graph->output_names[i], name) == 0)
      return HN_FAIL(&graph->context->diag, HONE_INVALID, "two outputs are named %s", name);
  }
  const char *copy = hn_arena_text(&graph->arena, name);
  if (!copy || !hn_arena_grow(&graph->arena, (void **)&graph->output_names, &graph->output_name_capacity, at + 1,
                              sizeof(char *)))
    return HN_FAIL_MEMORY(&graph->context->diag);
  graph->output_names[at] = copy;
  return HONE_OK;
}

/* Room for one more result in both lists, which share a capacity. */
static bool grow_results(hn_block *block) {
  hn_arena *arena = &block->graph->arena;
  int capacity = block->result_capacity;
  if (!hn_arena_grow(arena, (void **)&block->results, &capacity, block->result_count + 1, sizeof(hn_value *)))
    return false;
  if (capacity == block->result_capacity) return true;
  hn_use **uses = HN_NEW(arena, hn_use *, capacity);
  if (!uses) return false; /* results has moved to a larger place, which the old capacity understates */
  if (block->result_count > 0) memcpy(uses, block->result_use, (size_t)block->result_count * sizeof *uses);
  block->result_use = uses;
  block->result_capacity = capacity;
  return true;
}

hone_status hn_block_add_result(hn_block *block, hn_value *value, const char *public_name) {
  hone_graph *graph = block->graph;
  hn_use *use = HN_NEW(&graph->arena, hn_use, 1);
  if (!use || !grow_results(block)) return HN_FAIL_MEMORY(&graph->context->diag);
  if (block == graph->main) {
    assert(value);
    HN_TRY(add_output_name(graph, public_name ? public_name : value->name));
  }
  *use = (hn_use){.block = block, .index = block->result_count};
  block->result_use[block->result_count] = use;
  block->results[block->result_count++] = value;
  hn_use_link(value, use);
  return HONE_OK;
}

void hn_block_set_result(hn_block *block, int index, hn_value *value) {
  assert(index >= 0 && index < block->result_count);
  hn_use *use = block->result_use[index];
  hn_use_unlink(block->results[index], use);
  block->results[index] = value;
  hn_use_link(value, use);
}

void hn_use_link(hn_value *value, hn_use *use) {
  if (!value) return;
  use->next = NULL;
  use->prev = value->last_use;
  if (value->last_use) {
    value->last_use->next = use;
  } else {
    value->uses = use;
  }
  value->last_use = use;
  ++value->use_count;
}

void hn_use_unlink(hn_value *value, hn_use *use) {
  if (!value) return;
  if (use->prev) {
    use->prev->next = use->next;
  } else {
    value->uses = use->next;
  }
  if (use->next) {
    use->next->prev = use->prev;
  } else {
    value->last_use = use->prev;
  }
  use->prev = use->next = NULL;
  --value->use_count;
}

int hn_value_use_count(const hn_value *value) { return value->use_count; }

bool hn_value_is_result(const hn_value *value) {
  for (const hn_use *use = value->uses; use; use = use->next) {
    if (use->block) return true;
  }
  return false;
}

static int count_nodes(const hn_block *block) {
  int count = 0;
  for (const hn_node *node = block->first; node; node = node->next) {
    ++count;
    for (int i = 0; i < node->block_count; ++i) count += count_nodes(node->blocks[i]);
  }
  return count;
}

int hn_graph_node_count(const hone_graph *graph) { return count_nodes(graph->main); }
