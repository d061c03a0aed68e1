/* SPDX-License-Identifier: Apache-2.0 */
/* infer.c - facts of values: what each op's row says of its outputs, checked before anyone believes it. */
#include "ir/graph.h"
#include "ir/branch.h"
#include "ir/build.h"

enum { STACK_FACTS = 24 }; /* more than most nodes have; others borrow from the heap */

static const hone_fact absent_fact = {.type = {.kind = HONE_ABSENT}};

static hone_fact fact_of(const hn_value *value) { return value ? value->fact : absent_fact; }

/* What the blocks of a node return, as infer wants it; all in one arena. */
typedef struct returns {
  int *counts;
  const hone_fact **lists;
} returns;

static bool gather_returns(const hn_node *node, hn_arena *arena, returns *out) {
  out->counts = HN_NEW(arena, int, node->block_count);
  out->lists = HN_NEW(arena, const hone_fact *, node->block_count);
  if (!out->counts || !out->lists) return false;
  for (int b = 0; b < node->block_count; ++b) {
    const hn_block *block = node->blocks[b];
    hone_fact *facts = HN_NEW(arena, hone_fact, block->result_count);
    if (!facts) return false;
    for (int i = 0; i < block->result_count; ++i) facts[i] = fact_of(block->results[i]);
    out->counts[b] = (node->op->traits & HONE_RUNS_ONE) && hn_block_failure(block) ? -1 : block->result_count;
    out->lists[b] = facts;
  }
  return true;
}

/* A small value must have as many elements as the shape says; a wrong one is forgotten rather than believed. */
static void drop_wrong_value(hone_fact *fact) {
  int64_t count;
  const bool right = fact->value && fact->value_count <= HONE_MAX_FACT_VALUES && fact->type.kind == HONE_TENSOR &&
                     hn_elems_checked(&fact->type.shape, &count) && count == fact->value_count;
  if (right) return;
  fact->value = NULL;
  fact->value_count = 0;
}

static hone_status check_output(hone_graph *graph, const hone_op *op, int index, hone_fact *fact) {
  hone_diagnostics *diag = &graph->context->diag;
  const char *port = hn_port_at(op->out, index)->name;
  const hone_type *type = &fact->type;
  const char *plugin = hn_plugin_of_op(graph->context, op);
  if (type->kind <= HONE_ABSENT || type->kind > HONE_OPTIONAL_SEQUENCE || type->dtype <= HONE_NONE ||
      type->dtype >= HONE_DTYPE_COUNT)
    return HN_FAIL(diag, plugin ? HONE_INVALID : HONE_INTERNAL, "%s%sthe infer of operator %s gives output %s no type",
                   plugin ? plugin : "", plugin ? ": " : "", op->name, port);
  if (type->shape.rank < -1 || type->shape.rank > HONE_MAX_RANK)
    return HN_FAIL(diag, HONE_LIMIT, "output %s has rank %d, at most %d is supported", port, type->shape.rank,
                   HONE_MAX_RANK);
  for (int i = 0; i < type->shape.rank; ++i) {
    if (type->shape.dim[i] >= 0 || HONE_SYMBOLIC(type->shape.dim[i])) continue;
    if (plugin)
      return HN_FAIL(diag, HONE_INVALID, "%s: the infer of operator %s gives output %s extent %lld on axis %d", plugin,
                     op->name, port, (long long)type->shape.dim[i], i);
    return HN_FAIL(diag, HONE_MALFORMED, "output %s has extent %lld on axis %d", port, (long long)type->shape.dim[i],
                   i);
  }
  drop_wrong_value(fact);
  fact->type.format = HONE_PLAIN;
  fact->constant = NULL; /* only constants are */
  return HONE_OK;
}

/* An op that makes a fresh after-run symbol at every call would give a value another extent each time it is inferred:
 * where the old extent was such a symbol with the same bounds, or was stated by the model, it stays. */
static void keep_symbols(const hone_dims *dims, int symbols_before, const hn_value *value, hone_type *type) {
  const hone_type *old = &value->fact.type;
  if (old->kind != type->kind || old->dtype != type->dtype) return;
  if (value->refined && type->shape.rank < 0) type->shape = old->shape;
  if (old->shape.rank != type->shape.rank) return;
  for (int i = 0; i < type->shape.rank; ++i) {
    int number = 0, old_number = 0;
    const hn_dim_symbol *now = hn_dim_symbol_at(dims, type->shape.dim[i], &number);
    const hn_dim_symbol *then = hn_dim_symbol_at(dims, old->shape.dim[i], &old_number);
    if (!now || number < symbols_before || !now->after_run) continue;
    const bool stated = value->refined && (then || !HONE_SYMBOLIC(old->shape.dim[i]));
    if (stated || (then && then->after_run && now->high == then->high)) type->shape.dim[i] = old->shape.dim[i];
  }
}

static hone_status run_row(hone_graph *graph, const hn_node *node, hn_arena *arena, const hone_fact *in,
                           hone_fact *out) {
  hone_diagnostics *diag = &graph->context->diag;
  hone_infer infer = {.op = node->op,
                      .attrs = &node->attrs,
                      .in_count = node->in_count,
                      .out_count = node->out_count,
                      .in = in,
                      .out = out,
                      .dims = &graph->dims,
                      .block_count = node->block_count,
                      .diagnostics = diag,
                      .arena = arena};
  returns results = {0};
  hn_arena scratch;
  hn_arena_init(&scratch, graph->context->allocator);
  hone_status status = HONE_OK;
  if (node->block_count > 0 && !gather_returns(node, &scratch, &results)) status = HN_FAIL_MEMORY(diag);
  infer.block_result_counts = results.counts;
  infer.block_results = results.lists;
  if (status == HONE_OK) {
    status = node->op->infer(&infer);
    graph->refusals += status == HONE_MALFORMED || status == HONE_UNSUPPORTED;
  }
  hn_arena_deinit(&scratch);
  if (status == HONE_OK && graph->dims.failed)
    status = HN_FAIL(diag, HONE_NO_MEMORY, "no room for more symbolic extents");
  return status;
}

static hone_status infer_with(hone_graph *graph, const hn_node *node, hn_arena *arena, hone_fact *in, hone_fact *out) {
  for (int i = 0; i < node->in_count; ++i) in[i] = fact_of(node->in[i]);
  HN_TRY(hn_ports_bind(&graph->context->diag, node->op, node->in_count, in, node->out_count, out));
  const int symbols_before = graph->dims.symbol_count;
  HN_TRY(run_row(graph, node, arena, in, out));
  for (int i = 0; i < node->out_count; ++i) {
    HN_TRY(check_output(graph, node->op, i, &out[i]));
    if (node->out[i]) keep_symbols(&graph->dims, symbols_before, node->out[i], &out[i].type);
  }
  return HONE_OK;
}

hone_status hn_infer_outputs(hone_graph *graph, const hn_node *node, hn_arena *arena, hone_fact *out) {
  if (node->in_count <= STACK_FACTS) {
    hone_fact in[STACK_FACTS];
    return infer_with(graph, node, arena, in, out);
  }
  const hn_allocator *allocator = &graph->context->allocator;
  const size_t bytes = (size_t)node->in_count * sizeof(hone_fact);
  hone_fact *in = hn_alloc(allocator, bytes);
  if (!in) return HN_FAIL_MEMORY(&graph->context->diag);
  const hone_status status = infer_with(graph, node, arena, in, out);
  hn_free(allocator, in, bytes);
  return status;
}

hone_status hn_infer_params(hone_graph *graph, hn_node *node, int block) {
  if (!node->op->infer_params) return HONE_OK;
  hn_block *body = node->blocks[block];
  hone_diagnostics *diag = &graph->context->diag;
  hn_arena scratch;
  hn_arena_init(&scratch, graph->context->allocator);
  hone_fact *in = HN_NEW(&scratch, hone_fact, node->in_count);
  hone_fact *params = HN_NEW(&scratch, hone_fact, body->param_count);
  hone_status status = in && params ? HONE_OK : HN_FAIL_MEMORY(diag);
  for (int i = 0; status == HONE_OK && i < node->in_count; ++i) in[i] = fact_of(node->in[i]);
  for (int i = 0; status == HONE_OK && i < body->param_count; ++i) params[i].type = body->params[i]->fact.type;
  if (status == HONE_OK) {
    hone_infer infer = {.op = node->op,
                        .attrs = &node->attrs,
                        .in_count = node->in_count,
                        .out_count = node->out_count,
                        .in = in,
                        .dims = &graph->dims,
                        .block_count = node->block_count,
                        .diagnostics = diag,
                        .arena = &graph->arena};
    status = node->op->infer_params(&infer, block, params, body->param_count);
  }
  for (int i = 0; status == HONE_OK && i < body->param_count; ++i) {
    if (params[i].type.kind != HONE_ABSENT && params[i].type.dtype != HONE_NONE) body->params[i]->fact = params[i];
  }
  hn_arena_deinit(&scratch);
  if (status != HONE_OK) hone_note(diag, status, "in block %d of node %s (%s)", block, node->name, node->op->name);
  return status;
}

/* Follow-up errors would hide the first: after a failure the outputs have what the ports say and nothing more. */
static void forget_outputs(hn_node *node) {
  for (int i = 0; i < node->out_count; ++i) {
    if (!node->out[i]) continue;
    hone_fact *fact = &node->out[i]->fact;
    *fact = (hone_fact){.type = {.kind = fact->type.kind, .dtype = fact->type.dtype, .shape = {.rank = -1}}};
  }
}

static bool must_end(hone_status status) {
  return status == HONE_NO_MEMORY || status == HONE_CANCELLED || status == HONE_LIMIT || status == HONE_INTERNAL;
}

/* Returns the first failure, having gone on to find the others. */
static hone_status infer_block(hone_graph *graph, hn_block *block) {
  hone_status first = HONE_OK;
  for (hn_node *node = block->first; node; node = node->next) {
    const hone_status status = hn_infer_node(graph, node);
    if (status == HONE_OK) continue;
    if (first == HONE_OK) first = status;
    if (must_end(status)) return status;
    forget_outputs(node);
  }
  return first;
}

/* One of two: a block that does not fit fails when it is taken, unless that is known to be so, or no block fits. */
static hone_status infer_branches(hone_graph *graph, hn_node *node) {
  hone_diagnostics *diag = &graph->context->diag;
  hone_status status[2];
  int first_message[2];
  bool holds, failed;
  for (int i = 0; i < 2; ++i) {
    first_message[i] = diag->count;
    status[i] = hn_infer_params(graph, node, i);
    if (status[i] == HONE_OK) status[i] = infer_block(graph, node->blocks[i]);
    if (must_end(status[i])) return status[i];
  }
  const int taken = node->in_count > 0 && node->in[0] && hn_fact_decides(&node->in[0]->fact, &holds) ? !holds : -1;
  if (status[0] != HONE_OK && status[1] != HONE_OK) return status[0];
  for (int i = 0; i < 2; ++i) {
    if (status[i] == HONE_OK) continue;
    if (taken == i) return status[i];
    HN_TRY(hn_branch_fail(node, i, first_message[i], &failed));
    if (!failed) return status[i];
  }
  const char *failure = taken >= 0 ? hn_block_failure(node->blocks[taken]) : NULL;
  return failure ? HN_FAIL(diag, HONE_MALFORMED, "%s", failure) : HONE_OK;
}

static hone_status infer_blocks(hone_graph *graph, hn_node *node) {
  if ((node->op->traits & HONE_RUNS_ONE) && node->block_count == 2) return infer_branches(graph, node);
  hone_status first = HONE_OK;
  for (int i = 0; i < node->block_count; ++i) {
    hone_status status = hn_infer_params(graph, node, i);
    if (status == HONE_OK) status = infer_block(graph, node->blocks[i]);
    if (first == HONE_OK) first = status;
    if (must_end(status)) return status;
  }
  return first;
}

hone_status hn_infer_node(hone_graph *graph, hn_node *node) {
  hone_diagnostics *diag = &graph->context->diag;
  HN_TRY(hn_check_stop(graph->context));
  HN_TRY_NOTE(diag, infer_blocks(graph, node), "in node %s (%s)", node->name, node->op->name);
  hone_fact small[STACK_FACTS];
  const hn_allocator *allocator = &graph->context->allocator;
  const size_t bytes = (size_t)node->out_count * sizeof(hone_fact);
  hone_fact *out = node->out_count <= STACK_FACTS ? small : hn_alloc(allocator, bytes);
  if (!out) return HN_FAIL_MEMORY(diag);
  const hone_status status = hn_infer_outputs(graph, node, &graph->arena, out);
  for (int i = 0; status == HONE_OK && i < node->out_count; ++i) {
    if (node->out[i]) node->out[i]->fact = out[i];
  }
  if (out != small) hn_free(allocator, out, bytes);
  if (status != HONE_OK) hone_note(diag, status, "in node %s (%s)", node->name, node->op->name);
  return status;
}

hone_status hn_value_refine(hone_graph *graph, hn_value *value, const hone_type *said) {
  hone_type type = value->fact.type;
  bool fits = type.kind == said->kind && type.dtype == said->dtype, refined = value->refined;
  if (fits && type.shape.rank < 0 && said->shape.rank >= 0) {
    type.shape = said->shape;
    refined = true;
  }
  fits = fits && (said->shape.rank < 0 || said->shape.rank == type.shape.rank);
  for (int i = 0; fits && i < type.shape.rank && i < said->shape.rank; ++i) {
    const int64_t old = type.shape.dim[i], now = said->shape.dim[i];
    const hn_dim_symbol *found = hn_dim_symbol_at(&graph->dims, old, NULL);
    const hn_dim_symbol *given = hn_dim_symbol_at(&graph->dims, now, NULL);
    if (!HONE_SYMBOLIC(old)) fits = HONE_SYMBOLIC(now) || old == now;
    if (old == now || !found || !found->after_run || (!given && HONE_SYMBOLIC(now))) continue;
    type.shape.dim[i] = now;
    refined = refined || !given || !given->after_run;
  }
  if (!fits) return HN_FAIL(&graph->context->diag, HONE_MALFORMED, "%s has another type than is stated", value->name);
  value->fact.type = type;
  value->refined = refined;
  return HONE_OK;
}

hone_status hn_infer_graph(hone_graph *graph) { return infer_block(graph, graph->main); }
