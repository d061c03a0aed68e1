/* SPDX-License-Identifier: Apache-2.0 */
/* clone.c - a second graph that is equal to the first: same names, ids and dim codes.
 * Values are made first and linked later, so that one index by id serves all references. */
#include "ir/graph.h"
#include "ir/build.h"

typedef struct copier {
  const hone_graph *from;
  hone_graph *to;
  hn_arena *arena;
} copier;

static hn_value *mapped(const copier *c, const hn_value *value) { return value ? c->to->values[value->id] : NULL; }

/* A param may know that it is bound to a constant: its fact points to the tensor of the owning node's input. */
static const hone_tensor *param_constant(const copier *c, const hn_value *param) {
  const hn_node *owner = param->param_of->parent;
  for (int i = 0; owner && i < owner->in_count; ++i) {
    if (owner->in[i] && owner->in[i]->fact.constant == param->fact.constant)
      return mapped(c, owner->in[i])->fact.constant;
  }
  return NULL;
}

static bool copy_value(copier *c, const hn_value *from, hn_value *to) {
  to->id = from->id;
  to->out_index = from->out_index;
  to->content_hash = from->content_hash;
  to->refined = from->refined;
  to->name = hn_arena_text(c->arena, from->name);
  to->fact = from->fact;
  to->fact.constant = NULL;
  if (!to->name) return false;
  if (from->fact.value) {
    to->fact.value = hn_arena_copy(c->arena, from->fact.value, (size_t)from->fact.value_count * sizeof(int64_t));
    if (!to->fact.value) return false;
  }
  if (hn_value_is_constant(from)) {
    to->fact.constant = hn_tensor_keep(c->to, from->fact.constant, !from->in_arena, &to->in_arena);
    if (!to->fact.constant) return false;
  }
  return hn_value_is_dead(from) || hn_table_put(&c->to->value_names, to->name, to);
}

static bool copy_values(copier *c) {
  const int count = c->from->value_count;
  hn_value *values = HN_NEW(c->arena, hn_value, count);
  c->to->values = HN_NEW(c->arena, hn_value *, count);
  if (!values || !c->to->values) return false;
  c->to->value_count = c->to->value_capacity = count;
  for (int i = 0; i < count; ++i) c->to->values[i] = &values[i];
  for (int i = 0; i < count; ++i) {
    if (!copy_value(c, c->from->values[i], &values[i])) return false;
  }
  return true;
}

static bool copy_origins(copier *c, const hn_origins *from, hn_origins *to) {
  *to = (hn_origins){0};
  if (from->count == 0) return true;
  const char **names = HN_NEW(c->arena, const char *, from->count);
  for (int i = 0; names && i < from->count; ++i) {
    if (!(names[i] = hn_arena_text(c->arena, from->names[i]))) return false;
  }
  *to = (hn_origins){from->count, names};
  return names != NULL;
}

static bool copy_block(copier *c, const hn_block *from, hn_block *to);

static hn_block *new_block(copier *c, const hn_block *from, hn_node *parent) {
  hn_block *block = HN_NEW(c->arena, hn_block, 1);
  if (!block) return NULL;
  block->graph = c->to;
  block->parent = parent;
  return copy_block(c, from, block) ? block : NULL;
}

static bool copy_lists(copier *c, const hn_node *from, hn_node *to) {
  to->in = HN_NEW(c->arena, hn_value *, from->in_count);
  to->in_use = HN_NEW(c->arena, hn_use *, from->in_count);
  to->out = HN_NEW(c->arena, hn_value *, from->out_count);
  hn_use *uses = HN_NEW(c->arena, hn_use, from->in_count);
  if (!to->in || !to->in_use || !to->out || !uses) return false;
  to->in_count = to->in_capacity = from->in_count;
  to->out_count = from->out_count;
  for (int i = 0; i < from->in_count; ++i) {
    uses[i] = (hn_use){.node = to, .index = i};
    to->in[i] = mapped(c, from->in[i]);
    to->in_use[i] = &uses[i];
    hn_use_link(to->in[i], to->in_use[i]);
  }
  for (int i = 0; i < from->out_count; ++i) {
    to->out[i] = mapped(c, from->out[i]);
    if (to->out[i]) to->out[i]->node = to;
  }
  return true;
}

static bool copy_node(copier *c, const hn_node *from, hn_block *owner) {
  hn_node *to = HN_NEW(c->arena, hn_node, 1);
  if (!to) return false;
  to->id = from->id;
  to->op = from->op;
  to->name = hn_arena_text(c->arena, from->name);
  to->blocks = HN_NEW(c->arena, hn_block *, from->block_count);
  to->block_count = from->block_count;
  if (!to->name || !to->blocks || !hn_table_put(&c->to->node_names, to->name, to)) return false;
  if (hn_attrs_copy(c->arena, &from->attrs, &to->attrs) != HONE_OK) return false;
  if (!copy_origins(c, &from->origins, &to->origins) || !copy_lists(c, from, to)) return false;
  hn_node_link(owner, to, NULL);
  for (int i = 0; i < from->block_count; ++i) {
    if (!(to->blocks[i] = new_block(c, from->blocks[i], to))) return false;
  }
  if (from->parts && !(to->parts = new_block(c, from->parts, NULL))) return false;
  return true;
}

static bool copy_block(copier *c, const hn_block *from, hn_block *to) {
  to->param_count = to->param_capacity = from->param_count;
  to->result_count = to->result_capacity = from->result_count;
  to->params = HN_NEW(c->arena, hn_value *, from->param_count);
  to->results = HN_NEW(c->arena, hn_value *, from->result_count);
  to->result_use = HN_NEW(c->arena, hn_use *, from->result_count);
  hn_use *uses = HN_NEW(c->arena, hn_use, from->result_count);
  if (!to->params || !to->results || !to->result_use || !uses) return false;
  for (int i = 0; i < from->param_count; ++i) {
    to->params[i] = mapped(c, from->params[i]);
    to->params[i]->param_of = to;
    if (from->params[i]->fact.constant) to->params[i]->fact.constant = param_constant(c, from->params[i]);
  }
  for (const hn_node *node = from->first; node; node = node->next) {
    if (!copy_node(c, node, to)) return false;
  }
  for (int i = 0; i < from->result_count; ++i) {
    uses[i] = (hn_use){.block = to, .index = i};
    to->results[i] = mapped(c, from->results[i]);
    to->result_use[i] = &uses[i];
    hn_use_link(to->results[i], &uses[i]);
  }
  return true;
}

static bool copy_counters(copier *c, const hn_table *from, hn_table *to) {
  for (size_t i = 0; i < from->capacity; ++i) {
    if (!from->slots[i].key) continue;
    const char *key = hn_arena_text(c->arena, from->slots[i].key);
    int64_t *counter = hn_arena_copy(c->arena, from->slots[i].value, sizeof *counter);
    if (!key || !counter || !hn_table_put(to, key, counter)) return false;
  }
  return true;
}

static bool copy_rest(copier *c) {
  const hone_graph *from = c->from;
  hone_graph *to = c->to;
  to->next_node_id = from->next_node_id;
  to->model_hash = from->model_hash;
  to->opset = from->opset;
  to->source_path = hn_arena_text(c->arena, from->source_path);
  to->notes = hn_arena_text(c->arena, from->notes);
  to->recipe = hn_arena_text(c->arena, from->recipe);
  if ((from->source_path && !to->source_path) || (from->notes && !to->notes) || (from->recipe && !to->recipe))
    return false;
  to->output_names = HN_NEW(c->arena, const char *, from->main->result_count);
  to->output_name_capacity = from->main->result_count;
  if (!to->output_names) return false;
  for (int i = 0; i < from->main->result_count; ++i) {
    if (!(to->output_names[i] = hn_arena_text(c->arena, from->output_names[i]))) return false;
  }
  return copy_counters(c, &from->value_counters, &to->value_counters) &&
         copy_counters(c, &from->node_counters, &to->node_counters);
}

static bool share_mappings(copier *c) {
  for (int i = 0; i < c->from->mapping_count; ++i) {
    hn_mapping_retain(c->from->mappings[i]);
    if (!hn_graph_hold_mapping(c->to, c->from->mappings[i])) return false;
  }
  return true;
}

hone_status hn_graph_clone(const hone_graph *graph, hone_graph **out) {
  hone_graph *to = NULL;
  *out = NULL;
  HN_TRY(hn_graph_create(graph->context, graph->name, &to));
  copier c = {graph, to, &to->arena};
  if (!share_mappings(&c) || !hn_dims_copy(&to->dims, &graph->dims) || !copy_values(&c) ||
      !copy_block(&c, graph->main, to->main) || !copy_rest(&c)) {
    hn_graph_destroy(to);
    return HN_FAIL_MEMORY(&graph->context->diag);
  }
  *out = to;
  return HONE_OK;
}
