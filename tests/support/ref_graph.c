/* SPDX-License-Identifier: Apache-2.0 */
/* ref_graph.c - a graph run node by node through its ops' own eval. */
#include "support/ref_graph.h"
#include "base/random.h"
#include "pass/evaluate.h"
#include <string.h>

typedef struct runner {
  const hone_graph *graph;
  hone_diagnostics *diag;
  hn_arena *arena;
  hone_tensor *tensors; /* by value id */
  int64_t *symbols;     /* by number; -1: not known */
} runner;

static void learn_symbols(runner *r, const hone_type *type, const hone_shape *actual) {
  for (int i = 0; i < type->shape.rank && i < actual->rank; ++i) {
    int number;
    if (hn_dim_symbol_at(&r->graph->dims, type->shape.dim[i], &number)) r->symbols[number] = actual->dim[i];
  }
}

static hone_tensor tensor_of(const runner *r, const hn_value *value) {
  if (!value) return (hone_tensor){0};
  return value->fact.constant ? *value->fact.constant : r->tensors[value->id];
}

static hone_status run_node(runner *r, const hn_node *node) {
  const hone_dims *dims = &r->graph->dims;
  hone_tensor *in = HN_NEW(r->arena, hone_tensor, node->in_count);
  hone_tensor *out = HN_NEW(r->arena, hone_tensor, node->out_count);
  if (!in || !out) return HN_FAIL_MEMORY(r->diag);
  if (node->block_count > 0)
    return HN_FAIL(r->diag, HONE_UNSUPPORTED, "%s (%s) has blocks", node->name, node->op->name);
  for (int i = 0; i < node->in_count; ++i) in[i] = tensor_of(r, node->in[i]);
  for (int i = 0; i < node->out_count; ++i) {
    if (!node->out[i]) continue;
    out[i].type = node->out[i]->fact.type;
    if (!hn_shape_eval(dims, &node->out[i]->fact.type.shape, r->symbols, dims->symbol_count, &out[i].type.shape))
      out[i].type.shape = node->out[i]->fact.type.shape;
  }
  HN_TRY(hn_evaluate_node(r->graph->context, node, r->arena, in, out, INT64_C(1) << 33, NULL));
  for (int i = 0; i < node->out_count; ++i) {
    if (!node->out[i]) continue;
    learn_symbols(r, &node->out[i]->fact.type, &out[i].type.shape);
    r->tensors[node->out[i]->id] = out[i];
  }
  return HONE_OK;
}

hone_status ref_graph_run(const hone_graph *graph, hn_arena *arena, const hone_tensor *inputs, hone_tensor *outputs) {
  runner r = {.graph = graph, .diag = &graph->context->diag, .arena = arena};
  r.tensors = HN_NEW(arena, hone_tensor, graph->value_count);
  r.symbols = HN_NEW(arena, int64_t, graph->dims.symbol_count + 1);
  if (!r.tensors || !r.symbols) return HN_FAIL_MEMORY(r.diag);
  memset(r.symbols, 0xff, (size_t)graph->dims.symbol_count * sizeof *r.symbols);
  for (int i = 0; i < graph->main->param_count; ++i) {
    const hn_value *param = graph->main->params[i];
    r.tensors[param->id] = inputs[i];
    learn_symbols(&r, &param->fact.type, &inputs[i].type.shape);
  }
  for (const hn_node *node = graph->main->first; node; node = node->next) HN_TRY(run_node(&r, node));
  for (int i = 0; i < graph->main->result_count; ++i) outputs[i] = tensor_of(&r, graph->main->results[i]);
  return HONE_OK;
}

static void fill(hone_tensor *tensor, hn_random *random) {
  const bool is_float = hn_dtype_is_float(tensor->type.dtype);
  for (int64_t i = 0; i < hn_elems(&tensor->type.shape); ++i) {
    if (is_float)
      hn_store_real(tensor, i, 2 * hn_random_unit(random) - 1);
    else
      hn_store_int(tensor, i, (int64_t)(hn_random_u64(random) % (tensor->type.dtype == HONE_BOOL ? 2 : 4)));
  }
}

hone_status ref_graph_inputs(const hone_graph *graph, hn_arena *arena, uint64_t seed, int64_t extent,
                             hone_tensor *inputs) {
  hn_random random = {seed};
  for (int i = 0; i < graph->main->param_count; ++i) {
    hone_tensor *tensor = &inputs[i];
    *tensor = (hone_tensor){.type = graph->main->params[i]->fact.type};
    for (int axis = 0; axis < tensor->type.shape.rank; ++axis)
      if (HONE_SYMBOLIC(tensor->type.shape.dim[axis])) tensor->type.shape.dim[axis] = extent;
    if (!hn_type_bytes(&tensor->type, &tensor->bytes))
      return HN_FAIL(&graph->context->diag, HONE_UNSUPPORTED, "input %s has no known type",
                     graph->main->params[i]->name);
    tensor->data = hn_arena_alloc(arena, tensor->bytes + 1, 64);
    if (!tensor->data) return HN_FAIL_MEMORY(&graph->context->diag);
    memset(tensor->data, 0, tensor->bytes);
    fill(tensor, &random);
  }
  return HONE_OK;
}
