/* SPDX-License-Identifier: Apache-2.0 */
/* tune.c - graph -> choices. */
#include "base/file.h"
#include "base/hash.h"
#include "tensor/shape.h"
#include "tune/tuning.h"
#include <string.h>

static hone_status no_memory(const hn_choices *choices) { return HN_FAIL_MEMORY(&choices->context->diag); }

/* Symbol values under one shape an input; -1 for those known only after running. */
static hone_status symbols_of(hn_choices *choices, const hone_shape *shapes, int64_t **out) {
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

static bool is_late_type(const hone_graph *graph, const hone_type *type) {
  if (type->kind != HONE_TENSOR || type->dtype == HONE_STRING || type->shape.rank < 0) return true;
  for (int i = 0; i < type->shape.rank; ++i)
    if (hn_dim_is_after_run(&graph->dims, type->shape.dim[i])) return true;
  return false;
}

bool hn_value_on_heap(const hone_graph *graph, const hn_value *value) {
  if (value->fact.constant) return false;
  if (value->node && (value->node->block_count || value->node->owner != graph->main)) return true;
  if (value->param_of && value->param_of != graph->main) return true;
  return is_late_type(graph, &value->fact.type);
}

/* The fact of a value at opt: numbers for dims and, where possible, for values. */
static hone_status fact_at_opt(hn_choices *choices, const hn_value *value, hone_fact *out, bool *late) {
  *out = (hone_fact){0};
  if (!value) return HONE_OK;
  *out = value->fact;
  if (hn_value_on_heap(choices->graph, value)) {
    *late = true;
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

/* A result lives in the caller's memory: it cannot be a view of something else. */
static bool is_result(const hone_graph *graph, const hn_value *value) {
  for (int i = 0; i < graph->main->result_count; ++i)
    if (graph->main->results[i] == value) return true;
  return false;
}

static hone_status make_choice(hn_choices *choices, hn_node *node, hn_choice *choice) {
  *choice = (hn_choice){.node = node, .same_as = -1, .chosen = -1};
  choice->control = node->block_count > 0;
  if (choice->control && !(node->op->traits & (HONE_RUNS_ONE | HONE_RUNS_LOOP)))
    return HN_FAIL(&choices->context->diag, HONE_UNSUPPORTED, "node \"%s\" (%s, opset %d): its body cannot be run yet",
                   node->name, node->op->name, choices->graph->opset);
  if (node->owner != choices->graph->main) choice->late = true;
  choice->in = HN_NEW(&choices->arena, hone_fact, node->in_count + 1);
  choice->out = HN_NEW(&choices->arena, hone_fact, node->out_count + 1);
  if (!choice->in || !choice->out) return no_memory(choices);
  for (int i = 0; i < node->in_count; ++i) HN_TRY(fact_at_opt(choices, node->in[i], &choice->in[i], &choice->late));
  for (int i = 0; i < node->out_count; ++i) HN_TRY(fact_at_opt(choices, node->out[i], &choice->out[i], &choice->late));
  choice->view = (node->op->traits & HONE_ALIASES) && !choice->late && node->in_count > 0 && node->in[0] &&
                 node->out_count == 1 && !is_result(choices->graph, node->out[0]);
  if (!choice->late && node->op->cost)
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
  HN_TRY(add_block(choices, choices->graph->main, &capacity));
  for (int b = 0; b < choices->block_count; ++b)
    for (const hn_node *node = choices->blocks[b].block->first; node; node = node->next) {
      ++*out_nodes;
      for (int k = 0; k < node->block_count; ++k) HN_TRY(add_block(choices, node->blocks[k], &capacity));
    }
  return HONE_OK;
}

static hone_status make_choices(hn_choices *choices) {
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
static hone_status find_twins(hn_choices *choices) {
  hn_table table;
  hn_table_init(&table, &choices->arena);
  for (int i = 0; i < choices->count; ++i) {
    if (!hn_choice_runs(&choices->items[i]) || choices->items[i].locked) continue;
    const char *key = hn_choice_key(choices, &choices->items[i]);
    if (!key) return no_memory(choices);
    hn_choice *first = hn_table_get(&table, key);
    if (first && same_candidates(first, &choices->items[i]))
      choices->items[i].same_as = (int)(first - choices->items);
    else if (!hn_table_put(&table, key, &choices->items[i]))
      return no_memory(choices);
  }
  return HONE_OK;
}

static void copy_measurements(const hn_choices *choices, hn_choice *choice) {
  const hn_choice *first = &choices->items[choice->same_as];
  for (int k = 0; k < choice->candidate_count; ++k) choice->candidates[k] = first->candidates[k];
}

static hone_status measure_all(hn_choices *choices, const hone_build_options *options, hn_timing_cache *cache) {
  for (int i = 0; i < choices->count; ++i) {
    hn_choice *choice = &choices->items[i];
    if (options->progress) options->progress(options->progress_user, choice->node->name, i, choices->count);
    HN_TRY(hn_check_stop(choices->context));
    if (!hn_choice_runs(choice) || choice->late) continue;
    if (choice->same_as >= 0) {
      copy_measurements(choices, choice);
      continue;
    }
    HN_TRY(hn_tune_measure(choices, choice, options, cache, choice->locked ? choice->chosen : -1));
    if (choice->locked && !hn_candidate_usable(&choice->candidates[choice->chosen]))
      return HN_FAIL(&choices->context->diag, HONE_UNSUPPORTED, "the lock wants %s for node %s, but %s (%.3g > %.3g)",
                     choice->candidates[choice->chosen].tactic->name, choice->node->name,
                     choice->candidates[choice->chosen].reason, choice->candidates[choice->chosen].error_rel_l2,
                     choice->candidates[choice->chosen].error_bound);
  }
  if (options->progress) options->progress(options->progress_user, "done", choices->count, choices->count);
  return HONE_OK;
}

/* Must the error of what was chosen still be measured? A candidate that was not timed may win for the sake of its
 * formats; and a twin shares its first's times, but its weights are its own. */
static bool is_unproved(const hn_choice *choice) {
  if (!hn_choice_runs(choice) || choice->late || choice->locked) return false;
  const hn_candidate *candidate = &choice->candidates[choice->chosen];
  if (candidate->tactic->flags & HONE_TACTIC_REFERENCE) return false;
  return candidate->error_rel_l2 < 0 || choice->same_as >= 0;
}

/* Chooses until everything chosen is within its bound. A round that finds an inexact candidate takes it away, so that
 * this ends. */
static hone_status assign(hn_choices *choices, const hone_build_options *options, hn_timing_cache *cache) {
  bool lost;
  do {
    lost = false;
    HN_TRY(hn_tune_assign(choices));
    for (int i = 0; i < choices->count; ++i) {
      hn_choice *choice = &choices->items[i];
      if (!is_unproved(choice)) continue;
      HN_TRY(hn_check_stop(choices->context));
      HN_TRY(hn_tune_measure(choices, choice, options, cache, choice->chosen));
      lost |= !hn_candidate_usable(&choice->candidates[choice->chosen]);
    }
  } while (lost);
  return HONE_OK;
}

/* The tactics tried and the fastest, for --verbose. */
static void log_choices(const hn_choices *choices) {
  for (int i = 0; i < choices->count; ++i) {
    const hn_choice *choice = &choices->items[i];
    if (!hn_choice_runs(choice)) continue;
    hn_log(choices->context, HONE_LOG_VERBOSE, "%s (%s):", choice->node->name, choice->node->op->name);
    for (int k = 0; k < choice->candidate_count; ++k) {
      const hn_candidate *c = &choice->candidates[k];
      if (c->state == HN_CANDIDATE_TIMED)
        hn_log(choices->context, HONE_LOG_VERBOSE, "  %s %s->%s: %.1f us%s", c->tactic->name,
               hone_format_name(c->formats.in), hone_format_name(c->formats.out), c->time_ns / 1e3,
               k == choice->chosen ? "  <- chosen" : "");
      else
        hn_log(choices->context, HONE_LOG_VERBOSE, "  %s %s->%s: %s%s", c->tactic->name,
               hone_format_name(c->formats.in), hone_format_name(c->formats.out), c->reason ? c->reason : "estimated",
               k == choice->chosen ? "  <- chosen" : "");
    }
  }
}

/* Reads the lock when the file is there. *out_found tells. */
static hone_status read_lock(hn_choices *choices, const char *path, bool *out_found) {
  hn_blob blob;
  hone_diagnostics quiet = {0};
  *out_found = hn_file_read(&quiet, choices->context->allocator, path, &blob) == HONE_OK;
  if (!*out_found) return HONE_OK;
  const hone_status status = hn_lock_apply(choices, path, (const char *)blob.data, blob.bytes);
  hn_blob_close(&blob);
  return status;
}

static hone_status write_lock(const hn_choices *choices, const char *path) {
  hn_text text;
  hn_text_init(&text, choices->context->allocator);
  hone_status status = hn_lock_write(choices, &text);
  if (status == HONE_OK) status = hn_file_replace(&choices->context->diag, path, text.data, text.length);
  hn_text_deinit(&text);
  return status;
}

static hone_status tune(hn_choices *choices, const hone_build_options *options, const hone_shape *min,
                        const hone_shape *opt, const hone_shape *max) {
  int64_t *min_symbols, *max_symbols;
  hn_timing_cache *cache;
  bool locked = false;
  HN_TRY(symbols_of(choices, opt, &choices->symbols));
  HN_TRY(symbols_of(choices, min, &min_symbols));
  HN_TRY(symbols_of(choices, max, &max_symbols));
  HN_TRY(make_choices(choices));
  HN_TRY(hn_tune_enumerate(choices, options, min_symbols, max_symbols));
  if (options->lock_path) HN_TRY(read_lock(choices, options->lock_path, &locked));
  HN_TRY(find_twins(choices));
  HN_TRY(hn_timing_cache_open(choices->context, &choices->arena, options->timing_cache_path, &cache));
  HN_TRY(measure_all(choices, options, cache));
  HN_TRY(hn_timing_cache_save(choices->context, cache));
  HN_TRY(assign(choices, options, cache));
  if (choices->context->log_level >= HONE_LOG_VERBOSE) log_choices(choices);
  return options->lock_path && !locked ? write_lock(choices, options->lock_path) : HONE_OK;
}

hone_status hn_tune(hone_context *context, hone_graph *graph, hone_device *const *devices, int device_count,
                    const hone_build_options *options, const hone_shape *min, const hone_shape *opt,
                    const hone_shape *max, hn_choices **out) {
  *out = NULL;
  hn_choices *choices = hn_alloc_zero(&context->allocator, sizeof *choices);
  if (!choices) return HN_FAIL_MEMORY(&context->diag);
  choices->context = context;
  choices->graph = graph;
  choices->devices = devices;
  choices->device_count = device_count;
  choices->reformat_ns_per_byte = 0.1; /* read, write, and the time to notice: about 10 GB/s each way */
  hn_arena_init(&choices->arena, context->allocator);
  const hone_status status = tune(choices, options, min, opt, max);
  if (status != HONE_OK) {
    hn_choices_destroy(choices);
    return hone_note(&context->diag, status, "while choosing tactics");
  }
  *out = choices;
  return HONE_OK;
}

void hn_choices_destroy(hn_choices *choices) {
  if (!choices) return;
  hone_context *context = choices->context;
  hn_arena_deinit(&choices->arena);
  hn_free(&context->allocator, choices, sizeof *choices);
}
