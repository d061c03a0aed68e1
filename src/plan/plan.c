/* SPDX-License-Identifier: Apache-2.0 */
/* plan.c - a plan's life, and the questions about it that building, reading and running share. */
#include "plan/plan.h"
#include "tensor/element.h"
#include "tensor/shape.h"

hone_status hn_plan_create(hn_allocator allocator, hn_plan **out, hone_diagnostics *diag) {
  *out = NULL;
  hn_plan *plan = hn_alloc_zero(&allocator, sizeof *plan);
  if (!plan) return HN_FAIL_MEMORY(diag);
  plan->allocator = allocator;
  plan->lanes = 1;
  hn_arena_init(&plan->arena, allocator);
  hn_dims_init(&plan->dims, &plan->arena);
  *out = plan;
  return HONE_OK;
}

void hn_plan_destroy(hn_plan *plan) {
  if (!plan) return;
  const hn_allocator allocator = plan->allocator;
  hn_arena_deinit(&plan->arena);
  hn_free(&allocator, plan, sizeof *plan);
}

/* Small integer values of a constant input, as infer reads them. NULL when it is none. The room is the caller's. */
static const int64_t *constant_value(const hone_tensor *tensor, int64_t *room, int64_t *out_count) {
  const hone_dtype dtype = tensor->type.dtype;
  const int64_t count = hn_elems(&tensor->type.shape);
  if (count > HONE_MAX_FACT_VALUES || !(hn_dtype_is_int(dtype) || dtype == HONE_BOOL)) return NULL;
  for (int64_t i = 0; i < count; ++i) room[i] = hn_int(tensor, i);
  *out_count = count;
  return room;
}

bool hn_plan_constant(const hn_plan *plan, int t, hone_tensor *out, int64_t *room, const int64_t **out_value,
                      int64_t *out_count) {
  const hn_plan_tensor *planned = &plan->tensors[t];
  *out_value = NULL;
  *out_count = 0;
  if (planned->place != HN_PLACE_CONSTANT || planned->alias_of >= 0 || plan->stripped) return false;
  *out = (hone_tensor){.type = planned->type, .data = (void *)(uintptr_t)(plan->weights + planned->offset)};
  if (!hn_type_bytes(&planned->type, &out->bytes)) return false;
  if (room) *out_value = constant_value(out, room, out_count);
  return true;
}

static hone_status tensor_fact(const hn_plan *plan, int t, const int64_t *symbols, hone_fact *out,
                               hone_diagnostics *diag) {
  *out = (hone_fact){0};
  if (t < 0) return HONE_OK;
  const hn_plan_tensor *planned = &plan->tensors[t];
  out->type = planned->type;
  if (!symbols || planned->type.kind != HONE_TENSOR) return HONE_OK;
  if (!hn_shape_eval(&plan->dims, &planned->type.shape, symbols, plan->dims.symbol_count, &out->type.shape))
    return HN_FAIL(diag, HONE_INVALID, "the shape of %s cannot be computed from the input shapes", planned->name);
  return HONE_OK;
}

hone_status hn_plan_step_facts(const hn_plan *plan, const hn_plan_step *step, const int64_t *symbols, hone_fact *in,
                               hone_fact *out, hone_diagnostics *diag) {
  for (int i = 0; i < step->in_count; ++i) HN_TRY(tensor_fact(plan, step->in[i], symbols, &in[i], diag));
  for (int i = 0; i < step->out_count; ++i) HN_TRY(tensor_fact(plan, step->out[i], symbols, &out[i], diag));
  return HONE_OK;
}

void hn_plan_step_query(const hn_plan *plan, const hn_plan_step *step, const hone_facts *facts, const hone_fact *in,
                        const hone_fact *out, hone_query *query) {
  (void)plan;
  *query = (hone_query){.tactic = step->tactic,
                        .op = step->op,
                        .attrs = &step->attrs,
                        .in_count = step->in_count,
                        .out_count = step->out_count,
                        .in = in,
                        .out = out,
                        .constant_mask = step->constant_mask,
                        .facts = facts,
                        .params = &step->params};
}

/* One dim of one input: a number must equal it; a symbol takes it or must already have it. */
static hone_status bind_dim(const hn_plan *plan, const hn_plan_port *port, int axis, int64_t given, int64_t *symbols,
                            hone_diagnostics *diag) {
  const int64_t planned = plan->tensors[port->tensor].type.shape.dim[axis];
  if (given < port->min.dim[axis] || given > port->max.dim[axis])
    return HN_FAIL(diag, HONE_INVALID, "input %s: dim %d is %lld; allowed: %lld to %lld", port->name, axis,
                   (long long)given, (long long)port->min.dim[axis], (long long)port->max.dim[axis]);
  int number;
  const hn_dim_symbol *symbol = hn_dim_symbol_at(&plan->dims, planned, &number);
  if (!symbol) return HONE_OK;
  if (symbols[number] >= 0 && symbols[number] != given)
    return HN_FAIL(diag, HONE_INVALID, "input %s: dim %d is %lld, but %s is %lld elsewhere", port->name, axis,
                   (long long)given, symbol->name, (long long)symbols[number]);
  symbols[number] = given;
  return HONE_OK;
}

hone_status hn_plan_bind_symbols(const hn_plan *plan, const hone_shape *inputs, int64_t *symbols,
                                 hone_diagnostics *diag) {
  for (int s = 0; s < plan->dims.symbol_count; ++s) symbols[s] = -1;
  for (int i = 0; i < plan->input_count; ++i) {
    const hn_plan_port *port = &plan->inputs[i];
    if (inputs[i].rank != port->opt.rank)
      return HN_FAIL(diag, HONE_INVALID, "input %s has rank %d, not %d", port->name, port->opt.rank, inputs[i].rank);
    for (int axis = 0; axis < inputs[i].rank; ++axis)
      HN_TRY(bind_dim(plan, port, axis, inputs[i].dim[axis], symbols, diag));
  }
  return HONE_OK;
}
