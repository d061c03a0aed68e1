/* SPDX-License-Identifier: Apache-2.0 */
/* node.c - making, linking, editing and removing nodes. */
#include "ir/graph.h"
#include "ir/build.h"
#include <assert.h>
#include <limits.h>
#include <string.h>

void hn_node_link(hn_block *block, hn_node *node, hn_node *before) {
  node->owner = block;
  node->next = before;
  node->prev = before ? before->prev : block->last;
  if (node->prev) {
    node->prev->next = node;
  } else {
    block->first = node;
  }
  if (before) {
    before->prev = node;
  } else {
    block->last = node;
  }
}

static void unlink_node(hn_node *node) {
  hn_block *block = node->owner;
  if (node->prev) {
    node->prev->next = node->next;
  } else {
    block->first = node->next;
  }
  if (node->next) {
    node->next->prev = node->prev;
  } else {
    block->last = node->prev;
  }
  node->prev = node->next = NULL;
}

static bool is_visible(const hn_block *block, const hn_value *value) {
  if (value->node) return value->node->owner == block;
  return value->param_of ? value->param_of == block : value->fact.constant != NULL;
}

static hone_status check_inputs(hn_block *block, int in_count, hn_value *const *in) {
  for (int i = 0; i < in_count; ++i) {
    if (in[i] && !is_visible(block, in[i]))
      return HN_FAIL(&block->graph->context->diag, HONE_INVALID,
                     "input %d, %s, belongs to another block: a block's inputs are its parameters", i, in[i]->name);
    if (in[i] && in[i]->fact.type.kind == HONE_ABSENT)
      return HN_FAIL(&block->graph->context->diag, HONE_INVALID, "input %d, %s, stands for an absent value", i,
                     in[i]->name);
  }
  return HONE_OK;
}

/* The node without outputs, not linked to anything. */
static hn_node *allocate_node(hn_block *block, const hn_node_spec *spec, int in_count) {
  hn_arena *arena = &block->graph->arena;
  hn_node *node = HN_NEW(arena, hn_node, 1);
  if (!node) return NULL;
  node->in = HN_NEW(arena, hn_value *, in_count);
  node->in_use = HN_NEW(arena, hn_use *, in_count);
  node->out = HN_NEW(arena, hn_value *, spec->out_count);
  node->blocks = HN_NEW(arena, hn_block *, spec->block_count);
  hn_use *uses = HN_NEW(arena, hn_use, in_count);
  if (!node->in || !node->in_use || !node->out || !node->blocks || !uses) return NULL;
  for (int i = 0; i < in_count; ++i) {
    node->in[i] = spec->in[i];
    uses[i] = (hn_use){.node = node, .index = i};
    node->in_use[i] = &uses[i];
  }
  for (int i = 0; i < spec->block_count; ++i) {
    node->blocks[i] = HN_NEW(arena, hn_block, 1);
    if (!node->blocks[i]) return NULL;
    *node->blocks[i] = (hn_block){.graph = block->graph, .parent = node};
  }
  node->op = spec->op;
  node->owner = block;
  node->in_count = node->in_capacity = in_count;
  node->out_count = spec->out_count;
  node->block_count = spec->block_count;
  node->origins = spec->origins;
  return node;
}

/* One of many outputs is made even if nobody reads it: how many there are may say how large each is. A block's results
 * are matched one by one. */
static bool is_wanted(const hn_node_spec *spec, int index) {
  return !spec->out_names || !spec->out_names[index] || spec->out_names[index][0] || hn_out_is_counted(spec->op, index);
}

/* Undoes make_outputs: the values are the graph's newest. */
static void drop_outputs(hone_graph *graph, hn_node *node, int made) {
  while (made-- > 0) {
    if (!node->out[made]) continue;
    hn_value_forget(node->out[made]);
    --graph->value_count;
  }
}

static hone_status make_outputs(hone_graph *graph, const hn_node_spec *spec, hn_node *node, const hone_fact *facts) {
  for (int i = 0; i < spec->out_count; ++i) {
    if (!is_wanted(spec, i)) continue;
    const char *given = spec->out_names ? spec->out_names[i] : NULL;
    hn_value *value = hn_value_create(graph, given && *given ? given : node->name, &facts[i]);
    if (!value) {
      drop_outputs(graph, node, i);
      return HONE_NO_MEMORY;
    }
    value->node = node;
    value->out_index = i;
    node->out[i] = value;
  }
  return HONE_OK;
}

static hone_status check_spec(hn_block *block, const hn_node_spec *spec, int in_count, bool *out_wanted) {
  hone_diagnostics *diag = &block->graph->context->diag;
  for (int i = 0; i < spec->out_count; ++i) out_wanted[i] = is_wanted(spec, i);
  HN_TRY(hn_ports_check_counts(diag, spec->op, in_count, spec->in, spec->out_count, out_wanted));
  HN_TRY(check_inputs(block, in_count, spec->in));
  const bool has_blocks = (spec->op->traits & HONE_HAS_BLOCKS) != 0;
  if (has_blocks != (spec->block_count > 0))
    return HN_FAIL(diag, HONE_INVALID, has_blocks ? "its blocks are missing" : "it has no blocks");
  return HONE_OK;
}

static hone_status create_node(hn_block *block, const hn_node_spec *spec, hn_node **out) {
  hone_graph *graph = block->graph;
  hone_diagnostics *diag = &graph->context->diag;
  int in_count = spec->in_count;
  while (in_count > 0 && !spec->in[in_count - 1]) --in_count;
  const int room = spec->out_count > HONE_MAX_PORTS ? spec->out_count : HONE_MAX_PORTS;
  bool *wanted = HN_NEW(&graph->arena, bool, spec->out_count);
  hone_fact *facts = HN_NEW(&graph->arena, hone_fact, room);
  if (!wanted || !facts || graph->next_node_id == INT_MAX) return HN_FAIL_MEMORY(diag);
  HN_TRY(check_spec(block, spec, in_count, wanted));
  hn_node *node = allocate_node(block, spec, in_count);
  if (!node) return HN_FAIL_MEMORY(diag);
  HN_TRY(hn_attrs_complete(&graph->arena, diag, spec->op, &spec->attrs, &node->attrs));
  if (spec->block_count == 0) {
    HN_TRY(hn_infer_outputs(graph, node, &graph->arena, facts));
  } else {
    for (int i = 0; i < in_count; ++i) {
      if (node->in[i] && node->in[i]->fact.type.dtype == HONE_NONE)
        return HN_FAIL(diag, HONE_INVALID, "input %s has no type yet", node->in[i]->name);
    }
    for (int i = 0; i < room; ++i) facts[i].type = (hone_type){.kind = HONE_TENSOR, .shape = {.rank = -1}};
  }
  node->name = hn_name_unique(&graph->arena, &graph->node_names, &graph->node_counters,
                              spec->name && *spec->name ? spec->name : spec->op->name);
  if (!node->name) return HN_FAIL_MEMORY(diag);
  HN_TRY(make_outputs(graph, spec, node, facts));
  if (!hn_table_put(&graph->node_names, node->name, node)) {
    drop_outputs(graph, node, node->out_count);
    return HN_FAIL_MEMORY(diag);
  }
  node->id = graph->next_node_id++;
  for (int i = 0; i < in_count; ++i) hn_use_link(node->in[i], node->in_use[i]);
  hn_node_link(block, node, spec->before);
  *out = node;
  return HONE_OK;
}

hone_status hn_node_create(hn_block *block, const hn_node_spec *spec, hn_node **out) {
  assert(!spec->before || spec->before->owner == block);
  *out = NULL;
  HN_TRY_NOTE(&block->graph->context->diag, create_node(block, spec, out), "in node %s (%s)",
              spec->name && *spec->name ? spec->name : "without a name", spec->op->name);
  return HONE_OK;
}

void hn_node_set_input(hn_node *node, int index, hn_value *value) {
  assert(index >= 0 && index < node->in_count);
  hn_use_unlink(node->in[index], node->in_use[index]);
  node->in[index] = value;
  hn_use_link(value, node->in_use[index]);
}

static bool grow_inputs(hone_graph *graph, hn_node *node) {
  if (node->in_count < node->in_capacity) return true;
  const int capacity = node->in_capacity < 4 ? 4 : node->in_capacity * 2;
  hn_value **in = HN_NEW(&graph->arena, hn_value *, capacity);
  hn_use **uses = HN_NEW(&graph->arena, hn_use *, capacity);
  if (!in || !uses) return false;
  if (node->in_count > 0) {
    memcpy(in, node->in, (size_t)node->in_count * sizeof *in);
    memcpy(uses, node->in_use, (size_t)node->in_count * sizeof *uses);
  }
  node->in = in;
  node->in_use = uses;
  node->in_capacity = capacity;
  return true;
}

hone_status hn_node_add_input(hn_node *node, hn_value *value) {
  hone_graph *graph = node->owner->graph;
  hone_diagnostics *diag = &graph->context->diag;
  if (!hn_port_at(node->op->in, node->in_count))
    return HN_FAIL(diag, HONE_INVALID, "node %s (%s) has no input %d", node->name, node->op->name, node->in_count);
  hn_use *use = HN_NEW(&graph->arena, hn_use, 1);
  if (!use || !grow_inputs(graph, node)) return HN_FAIL_MEMORY(diag);
  *use = (hn_use){.node = node, .index = node->in_count};
  node->in[node->in_count] = value;
  node->in_use[node->in_count++] = use;
  hn_use_link(value, use);
  return HONE_OK;
}

void hn_value_replace(hn_value *old, hn_value *by) {
  if (old == by || !old->uses) return;
  for (hn_use *use = old->uses; use; use = use->next) {
    hn_value **slot = use->node ? &use->node->in[use->index] : &use->block->results[use->index];
    *slot = by;
  }
  old->uses->prev = by->last_use;
  if (by->last_use) {
    by->last_use->next = old->uses;
  } else {
    by->uses = old->uses;
  }
  by->last_use = old->last_use;
  by->use_count += old->use_count;
  old->uses = old->last_use = NULL;
  old->use_count = 0;
}

static void empty_block(hn_block *block) {
  for (int i = 0; i < block->result_count; ++i) hn_use_unlink(block->results[i], block->result_use[i]);
  block->result_count = 0;
  while (block->last) hn_node_remove(block->last);
  for (int i = 0; i < block->param_count; ++i) hn_value_forget(block->params[i]);
  block->param_count = 0;
}

bool hn_node_is_unused(const hn_node *node) {
  for (int i = 0; i < node->out_count; ++i)
    if (node->out[i] && node->out[i]->uses) return false;
  return true;
}

void hn_node_remove(hn_node *node) {
  hone_graph *graph = node->owner->graph;
  for (int i = 0; i < node->block_count; ++i) empty_block(node->blocks[i]);
  if (node->parts) empty_block(node->parts);
  for (int i = 0; i < node->in_count; ++i) hn_use_unlink(node->in[i], node->in_use[i]);
  for (int i = 0; i < node->out_count; ++i) {
    if (!node->out[i]) continue;
    assert(node->out[i]->use_count == 0);
    hn_value_forget(node->out[i]);
  }
  if (hn_table_get(&graph->node_names, node->name) == node) (void)hn_table_put(&graph->node_names, node->name, NULL);
  unlink_node(node);
}

void hn_node_move_before(hn_node *node, hn_node *before) {
  if (node == before || (node->next == before && before)) return;
  hn_block *block = node->owner;
  assert(!before || before->owner == block);
  unlink_node(node);
  hn_node_link(block, node, before);
}

void hn_block_move_nodes(hn_block *from, hn_node *before) {
  while (from->first) {
    hn_node *node = from->first;
    unlink_node(node);
    hn_node_link(before->owner, node, before);
  }
}

/* Both names are keys of the table already, so that putting them cannot fail. */
void hn_value_swap_names(hone_graph *graph, hn_value *a, hn_value *b) {
  const char *name = a->name;
  a->name = b->name;
  b->name = name;
  (void)hn_table_put(&graph->value_names, a->name, a);
  (void)hn_table_put(&graph->value_names, b->name, b);
}

void hn_node_swap_names(hone_graph *graph, hn_node *a, hn_node *b) {
  const char *name = a->name;
  a->name = b->name;
  b->name = name;
  (void)hn_table_put(&graph->node_names, a->name, a);
  (void)hn_table_put(&graph->node_names, b->name, b);
}
