/* SPDX-License-Identifier: Apache-2.0 */
/* list.c - the nodes of a graph, or of a fused node's parts, as choices: facts at opt, what runs at all, identical
 * layers. */
#include "base/hash.h"
#include "tensor/shape.h"
#include "tune/tuning.h"

static hone_status no_memory(const hn_choices *choices) { return HN_FAIL_MEMORY(&choices->context->diag); }

/* Symbol values under one shape an input; -1 for those known only after running. */
hone_status hn_tune_symbols(hn_choices *choices, const hone_shape *shapes, int64_t **out) {
  const hone_graph *graph = choices->graph;
  int64_t *symbols = HN_NEW(&choices->arena, int64_t, graph->dims.symbol_count + 1);
  if (!symbols) return no_memory(choices);
  for (int s = 0; s < graph->dims.symbol_count; ++s) symbols[s] = -1;
  for (int i = 0; i < graph->main->param_count; ++i) {
    const hone_shape *shape = &graph->main->params[i]->fact.type.shape;
    for (int d = 0; d < shape->rank; ++d) {
      int number;
      if (!hn_dim_symbol_at(&graph->dims, shape->dim[d], &number)) continue;
      if (symbols[number] >= 0 && symbols[number] != shapes[i].dim[d])
        return HN_FAIL(&choices->context->diag, HONE_INVALID, "dim %s is %lld in one input and %lld in %s",
                       graph->dims.symbols[number].name, (long long)symbols[number], (long long)shapes[i].dim[d],
                       graph->main->params[i]->name);
      symbols[number] = shapes[i].dim[d];
    }
  }
  *out = symbols;
  return HONE_OK;
}

static bool is_data_dependent_type(const hone_graph *graph, const hone_type *type) {
  if (type->kind != HONE_TENSOR || type->dtype == HONE_STRING || type->shape.rank < 0) return true;
  for (int i = 0; i < type->shape.rank; ++i)
    if (hn_dim_is_after_run(&graph->dims, type->shape.dim[i])) return true;
  return false;
}

bool hn_value_on_heap(const hone_graph *graph, const hn_value *value) {
  if (value->fact.constant) return false;
  if (value->node && (value->node->block_count || value->node->owner != graph->main)) return true;
  if (value->param_of && value->param_of != graph->main) return true;
  return is_data_dependent_type(graph, &value->fact.type);
}

static bool is_data_dependent(const hn_choices *choices, const hn_value *value) {
  return !value->fact.constant && is_data_dependent_type(choices->graph, &value->fact.type);
}

/* A result lives in the caller's memory: it cannot be a view of something else. */
static bool is_result_of(const hn_block *block, const hn_value *value) {
  for (int i = 0; i < block->result_count; ++i)
    if (block->results[i] == value) return true;
  return false;
}

/* What crosses a block's border is as the model has it. Within a fused node nothing does. */
static bool any_crosses(const hn_choices *choices, hn_value *const *values, int count) {
  for (int i = 0; i < count; ++i) {
    const hn_value *value = values[i];
    if (!value) continue;
    if (is_data_dependent(choices, value)) return true;
    if (choices->root != choices->graph->main || !hn_value_on_heap(choices->graph, value)) continue;
    if (!value->node || value->node->block_count || is_result_of(value->node->owner, value)) return true;
  }
  return false;
}

/* The fused node's input that a parameter of its parts stands for: it may be a constant. */
static const hone_fact *outer_fact(const hn_choices *choices, const hn_value *value) {
  for (int i = 0; choices->outer && i < choices->root->param_count; ++i)
    if (choices->root->params[i] == value) return &choices->outer->in[i];
  return NULL;
}

/* The fact of a value at opt: numbers for dims and, where possible, for values. */
static hone_status fact_at_opt(hn_choices *choices, const hn_value *value, hone_fact *out, bool *data_dependent) {
  *out = (hone_fact){0};
  if (!value) return HONE_OK;
  const hone_fact *outer = outer_fact(choices, value);
  if (outer) {
    *out = *outer;
    return HONE_OK;
  }
  *out = value->fact;
  if (is_data_dependent(choices, value)) {
    *data_dependent = true;
    return HONE_OK;
  }
  const hone_dims *dims = &choices->graph->dims;
  if (!hn_shape_eval(dims, &value->fact.type.shape, choices->symbols, dims->symbol_count, &out->type.shape))
    return HN_FAIL(&choices->context->diag, HONE_INVALID, "the shape of %s cannot be computed from the profile",
                   value->name);
  if (!value->fact.value) return HONE_OK;
  int64_t *numbers = HN_NEW(&choices->arena, int64_t, value->fact.value_count + 1);
  if (!numbers) return no_memory(choices);
  out->value = numbers;
  for (int64_t i = 0; i < value->fact.value_count; ++i)
    if (!hn_dim_eval(dims, value->fact.value[i], choices->symbols, dims->symbol_count, &numbers[i])) out->value = NULL;
  return HONE_OK;
}

static hone_status make_choice(hn_choices *choices, hn_node *node, hn_choice *choice) {
  *choice = (hn_choice){.node = node, .same_as = -1, .chosen = -1};
  choice->control = node->block_count > 0;
  if (choice->control && !(node->op->traits & (HONE_RUNS_ONE | HONE_RUNS_LOOP)))
    return HN_FAIL(&choices->context->diag, HONE_UNSUPPORTED, "node \"%s\" (%s, opset %d): its body cannot be run yet",
                   node->name, node->op->name, choices->graph->opset);
  choice->nested = choices->root == choices->graph->main && node->owner != choices->root;
  choice->crosses_in = any_crosses(choices, node->in, node->in_count);
  choice->crosses_out = any_crosses(choices, node->out, node->out_count);
  choice->in = HN_NEW(&choices->arena, hone_fact, node->in_count + 1);
  choice->out = HN_NEW(&choices->arena, hone_fact, node->out_count + 1);
  if (!choice->in || !choice->out) return no_memory(choices);
  for (int i = 0; i < node->in_count; ++i)
    HN_TRY(fact_at_opt(choices, node->in[i], &choice->in[i], &choice->data_dependent));
  for (int i = 0; i < node->out_count; ++i)
    HN_TRY(fact_at_opt(choices, node->out[i], &choice->out[i], &choice->data_dependent));
  choice->view = (node->op->traits & HONE_ALIASES) && !choice->data_dependent && !choice->crosses_in &&
                 !choice->crosses_out && node->in_count > 0 && node->in[0] && node->out_count == 1 &&
                 node->owner == choices->root && !is_result_of(choices->root, node->out[0]);
  if (!choice->data_dependent && node->op->cost)
    choice->cost = node->op->cost(&node->attrs, choice->in, node->in_count, choice->out, node->out_count);
  return HONE_OK;
}

static hone_status add_block(hn_choices *choices, hn_block *block, int *capacity) {
  if (!hn_arena_grow(&choices->arena, (void **)&choices->blocks, capacity, choices->block_count + 1,
                     sizeof *choices->blocks))
    return no_memory(choices);
  choices->blocks[choices->block_count++] = (hn_choice_block){.block = block};
  return HONE_OK;
}

/* The blocks, each before those inside it; *out_nodes counts their nodes. */
static hone_status list_blocks(hn_choices *choices, int *out_nodes) {
  int capacity = 0;
  *out_nodes = 0;
  HN_TRY(add_block(choices, choices->root, &capacity));
  for (int b = 0; b < choices->block_count; ++b)
    for (const hn_node *node = choices->blocks[b].block->first; node; node = node->next) {
      ++*out_nodes;
      for (int k = 0; k < node->block_count; ++k) HN_TRY(add_block(choices, node->blocks[k], &capacity));
    }
  return HONE_OK;
}

hone_status hn_choices_list(hn_choices *choices) {
  int count;
  HN_TRY(list_blocks(choices, &count));
  choices->items = HN_NEW(&choices->arena, hn_choice, count + 1);
  if (!choices->items) return no_memory(choices);
  hone_status status = HONE_OK;
  for (int b = 0; b < choices->block_count; ++b) {
    hn_choice_block *block = &choices->blocks[b];
    block->first = choices->count;
    for (hn_node *node = block->block->first; node; node = node->next) {
      const hone_status one = make_choice(choices, node, &choices->items[choices->count++]);
      if (one == HONE_NO_MEMORY) return one;
      if (one != HONE_OK) status = one;
    }
    block->count = choices->count - block->first;
  }
  return status;
}

static bool same_candidates(const hn_choice *a, const hn_choice *b) {
  if (a->candidate_count != b->candidate_count) return false;
  for (int k = 0; k < a->candidate_count; ++k)
    if (a->candidates[k].tactic != b->candidates[k].tactic || a->candidates[k].state != b->candidates[k].state)
      return false;
  return true;
}

/* Choices with the same query share their measurements. */
hone_status hn_choices_find_identical(hn_choices *choices) {
  hn_table table;
  hn_table_init(&table, &choices->arena);
  for (int i = 0; i < choices->count; ++i) {
    if (!hn_choice_runs(&choices->items[i]) || choices->items[i].locked) continue;
    const char *key = hn_choice_key(choices, &choices->items[i]);
    if (!key) return no_memory(choices);
    hn_choice *first = hn_table_get(&table, key);
    if (first && same_candidates(first, &choices->items[i])) {
      choices->items[i].same_as = (int)(first - choices->items);
      ++first->identical_count;
    } else if (!hn_table_put(&table, key, &choices->items[i]))
      return no_memory(choices);
  }
  return HONE_OK;
}
