/* SPDX-License-Identifier: Apache-2.0 */
/* fold.c - what does not depend on the model's inputs becomes a constant: nodes over constants through their op's eval,
 * and small integers that inference knows already, whatever they were computed from (shapes). */
#include "pass/passes.h"
#include "pass/evaluate.h"

/* Folding must not cost minutes, nor make an engine much larger than its model. */
enum { LARGE_BYTES = 1 << 20, MOST_GROWTH = 4 };
#define MOST_FLOPS 1e9

static bool is_cheap(const hn_node *node) {
  hone_fact in[HONE_MAX_PORTS] = {0}, out[HONE_MAX_PORTS] = {0};
  if (!node->op->cost || node->in_count > HONE_MAX_PORTS || node->out_count > HONE_MAX_PORTS) return true;
  for (int i = 0; i < node->in_count; ++i)
    if (node->in[i]) in[i] = node->in[i]->fact;
  for (int i = 0; i < node->out_count; ++i) {
    if (!node->out[i]) continue;
    out[i] = node->out[i]->fact;
    if (!hn_shape_known(&out[i].type.shape)) return true; /* known after running: no large sums are */
  }
  return node->op->cost(&node->attrs, in, node->in_count, out, node->out_count).flops <= MOST_FLOPS;
}

static bool is_foldable(const hn_node *node, int64_t max_bytes) {
  size_t in_bytes = 0;
  if ((node->op->traits & (HONE_IMPURE | HONE_HAS_BLOCKS)) || !node->op->eval || node->in_count == 0) return false;
  for (int i = 0; i < node->in_count; ++i) {
    const hn_value *in = node->in[i];
    if (in && (!hn_value_is_constant(in) || in->fact.type.dtype == HONE_STRING)) return false;
    if (in) in_bytes += in->fact.constant->bytes;
  }
  for (int i = 0; i < node->out_count; ++i) {
    if (!node->out[i]) continue;
    const hone_type *type = &node->out[i]->fact.type;
    size_t bytes;
    if (type->kind != HONE_TENSOR || type->dtype == HONE_STRING) return false;
    if (!hn_type_bytes(type, &bytes)) continue;
    if (bytes > (uint64_t)max_bytes || (bytes > LARGE_BYTES && bytes / MOST_GROWTH > in_bytes)) return false;
  }
  return is_cheap(node);
}

/* Every use of an output goes to a constant, which takes the output's name. */
static hone_status replace_output(hone_graph *graph, hn_value *out, const hone_tensor *tensor) {
  hn_value *constant = hn_constant_create(graph, out->name, tensor, false);
  if (!constant) return HONE_NO_MEMORY;
  hn_value_swap_names(graph, constant, out);
  hn_value_replace(out, constant);
  return HONE_OK;
}

static hone_status evaluate(hn_pass_run *run, hn_node *node, hn_arena *arena) {
  hone_context *context = run->context;
  hone_tensor *in = HN_NEW(arena, hone_tensor, node->in_count), *out = HN_NEW(arena, hone_tensor, node->out_count);
  if (!in || !out) return HN_FAIL_MEMORY(&context->diag);
  for (int i = 0; i < node->in_count; ++i)
    if (node->in[i]) in[i] = *node->in[i]->fact.constant;
  for (int i = 0; i < node->out_count; ++i)
    if (node->out[i]) out[i].type = node->out[i]->fact.type;
  HN_TRY(hn_evaluate_node(context, node, arena, in, out, context->limits.max_fold_bytes, run->pool));
  for (int i = 0; i < node->out_count; ++i)
    if (node->out[i]) HN_TRY(replace_output(run->graph, node->out[i], &out[i]));
  return HONE_OK;
}

/* A node that cannot be evaluated stays: it will say so when it runs, if it ever does. */
static hone_status fold_node(hn_pass_run *run, hn_node *node, bool *out_folded) {
  hone_diagnostics *diag = &run->context->diag;
  const int count = diag->count, dropped = diag->dropped;
  hn_arena arena;
  hn_arena_init(&arena, run->context->allocator);
  const hone_status status = evaluate(run, node, &arena);
  hn_arena_deinit(&arena);
  *out_folded = status == HONE_OK;
  if (status == HONE_OK || status == HONE_NO_MEMORY || status == HONE_CANCELLED || status == HONE_INTERNAL)
    return status;
  diag->count = count;
  diag->dropped = dropped;
  return hn_pass_log_event(run, "fold_constants", node, "its op cannot be evaluated on these constants");
}

static bool is_known(const hone_fact *fact) {
  if (fact->type.kind != HONE_TENSOR || !fact->value || !hn_shape_known(&fact->type.shape)) return false;
  for (int64_t i = 0; i < fact->value_count; ++i)
    if (HONE_SYMBOLIC(fact->value[i])) return false;
  return true;
}

static hone_status store_known(hone_graph *graph, hn_value *value) {
  const hone_fact *fact = &value->fact;
  uint64_t storage[HONE_MAX_FACT_VALUES];
  hone_tensor tensor = hn_tensor_over(fact->type.dtype, fact->type.shape.rank, fact->type.shape.dim, storage);
  for (int64_t i = 0; i < fact->value_count; ++i) hn_store_int(&tensor, i, fact->value[i]);
  return replace_output(graph, value, &tensor);
}

static bool is_used(const hn_node *node) {
  for (int i = 0; i < node->out_count; ++i)
    if (node->out[i] && node->out[i]->uses) return true;
  return false;
}

hone_status hn_fold_made(hn_pass_run *run, hn_node *first, const hn_node *end) {
  if (hn_pass_disabled(run, "fold_constants")) return HONE_OK;
  for (hn_node *node = first, *next; node && node != end; node = next) {
    bool folded = false;
    next = node->next;
    if (!is_foldable(node, run->context->limits.max_fold_bytes)) continue;
    HN_TRY(fold_node(run, node, &folded));
    if (folded) hn_node_remove(node);
  }
  return HONE_OK;
}

/* Might inference have known the output's numbers, had it known what folding found since? */
static bool is_open_number(const hone_fact *fact) {
  int64_t count;
  return (fact->type.dtype == HONE_BOOL || hn_dtype_is_int(fact->type.dtype)) && !is_known(fact) &&
         hn_elems_checked(&fact->type.shape, &count) && count <= HONE_MAX_FACT_VALUES;
}

/* Is an extent of an output known only after running, or a small integer not known, as far as inference could tell? */
static bool is_data_dependent(const hone_graph *graph, const hn_node *node) {
  for (int i = 0; i < node->out_count; ++i) {
    if (!node->out[i] || node->out[i]->fact.type.kind != HONE_TENSOR) continue;
    const hone_shape *shape = &node->out[i]->fact.type.shape;
    if (shape->rank < 0 || is_open_number(&node->out[i]->fact)) return true;
    for (int axis = 0; axis < shape->rank; ++axis)
      if (hn_dim_is_after_run(&graph->dims, shape->dim[axis])) return true;
  }
  return false;
}

static hone_status fold_block(hn_pass_run *run, hn_block *block) {
  for (hn_node *node = block->first, *next; node; node = next) {
    next = node->next;
    HN_TRY(hn_check_stop(run->context));
    /* What has become a constant may decide a shape, and that those that follow. */
    if (run->changes > 0 && is_data_dependent(run->graph, node)) HN_TRY(hn_infer_node(run->graph, node));
    for (int i = 0; i < node->block_count; ++i) HN_TRY(fold_block(run, node->blocks[i]));
    bool folded = false;
    for (int i = 0; i < node->out_count && !(node->op->traits & HONE_IMPURE); ++i) {
      if (!node->out[i] || !node->out[i]->uses || !is_known(&node->out[i]->fact)) continue;
      HN_TRY(store_known(run->graph, node->out[i]));
      folded = true;
    }
    if (!folded && is_used(node) && is_foldable(node, run->context->limits.max_fold_bytes))
      HN_TRY(fold_node(run, node, &folded));
    if (!folded) continue;
    ++run->changes;
    if (!is_used(node)) hn_node_remove(node);
  }
  return HONE_OK;
}

hone_status hn_pass_fold_constants(hn_pass_run *run) { return fold_block(run, run->graph->main); }
