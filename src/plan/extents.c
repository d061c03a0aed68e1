/* SPDX-License-Identifier: Apache-2.0 */
/* extents.c - a plan's shapes at one set of input shapes, step by step through the operators' own infer. */
#include "ops/ports.h"
#include "plan/plan.h"

typedef struct walk {
  const hn_plan *plan;
  const int64_t *symbols;
  hone_diagnostics *diag;
  hn_arena arena;
  hone_fact *facts; /* one a tensor; shape of rank -1 while its extents are not known */
  hone_tensor *constants;
  hone_fact *in, *out; /* of one step */
} walk;

static hone_status start(walk *w) {
  const hn_plan *plan = w->plan;
  int most_in = 1, most_out = HONE_MAX_PORTS;
  for (int s = 0; s < plan->step_count; ++s) {
    if (plan->steps[s].in_count > most_in) most_in = plan->steps[s].in_count;
    if (plan->steps[s].out_count > most_out) most_out = plan->steps[s].out_count;
  }
  w->facts = HN_NEW(&w->arena, hone_fact, plan->tensor_count + 1);
  w->constants = HN_NEW(&w->arena, hone_tensor, plan->tensor_count + 1);
  w->in = HN_NEW(&w->arena, hone_fact, most_in);
  w->out = HN_NEW(&w->arena, hone_fact, most_out);
  if (!w->facts || !w->constants || !w->in || !w->out) return HN_FAIL_MEMORY(w->diag);
  for (int t = 0; t < plan->tensor_count; ++t) {
    hone_fact *fact = &w->facts[t];
    fact->type = plan->tensors[t].type;
    fact->type.dtype = plan->tensors[t].dtype; /* infer reads what a value is, not what it is held in */
    fact->type.format = HONE_PLAIN;
    (void)hn_shape_eval(&plan->dims, &fact->type.shape, w->symbols, plan->dims.symbol_count, &fact->type.shape);
    const int64_t *none;
    if (hn_plan_constant(plan, t, &w->constants[t], NULL, &none, &fact->value_count)) fact->constant = &w->constants[t];
  }
  return HONE_OK;
}

/* false: some extent of an input is known only after running, or nothing is to be inferred. */
static bool gather(walk *w, const hn_plan_step *step) {
  if (step->kind != HN_STEP_CALL && step->kind != HN_STEP_VIEW) return false;
  for (int i = 0; i < step->in_count; ++i) {
    w->in[i] = step->in[i] < 0 ? (hone_fact){0} : w->facts[step->in[i]];
    if (w->in[i].type.kind == HONE_TENSOR && w->in[i].type.shape.rank < 0) return false;
  }
  return true;
}

static hone_status check_step(walk *w, const hn_plan_step *step) {
  if (step->kind == HN_STEP_COPY) {
    w->facts[step->out[0]].value = w->facts[step->in[0]].value;
    w->facts[step->out[0]].value_count = w->facts[step->in[0]].value_count;
  }
  if (!gather(w, step)) return HONE_OK;
  hone_dims dims;
  hone_infer call = {.op = step->op,
                     .attrs = &step->attrs,
                     .in_count = step->in_count,
                     .out_count = step->out_count,
                     .in = w->in,
                     .out = w->out,
                     .diagnostics = w->diag};
  HN_TRY(hn_extents_infer(&call, &w->arena, &dims));
  for (int i = 0; i < step->out_count; ++i) {
    if (step->out[i] < 0) continue;
    hone_fact *fact = &w->facts[step->out[i]];
    HN_TRY(hn_extents_agree(w->diag, w->plan->tensors[step->out[i]].name, &w->out[i].type.shape, &fact->type.shape));
    bool plain = true; /* a symbol of this step's own table means nothing to others */
    for (int64_t k = 0; w->out[i].value && k < w->out[i].value_count; ++k)
      plain = plain && !HONE_SYMBOLIC(w->out[i].value[k]);
    if (!plain) continue;
    fact->value = w->out[i].value;
    fact->value_count = w->out[i].value_count;
  }
  return HONE_OK;
}

static hone_status check_main(walk *w) {
  const hn_plan *plan = w->plan;
  HN_TRY(start(w));
  for (int s = 0; s < plan->blocks[0].step_count; ++s)
    HN_TRY_NOTE(w->diag, check_step(w, &plan->steps[s]), "in step %s (%s)", plan->steps[s].name,
                plan->steps[s].op ? plan->steps[s].op->name : "copy");
  return HONE_OK;
}

hone_status hn_plan_check_extents(const hn_plan *plan, const int64_t *symbols, hone_diagnostics *diag) {
  if (!plan->dynamic) return HONE_OK; /* the plan's own check inferred everything from numbers */
  walk w = {.plan = plan, .symbols = symbols, .diag = diag};
  hn_arena_init(&w.arena, plan->allocator);
  const hone_status status = check_main(&w);
  hn_arena_deinit(&w.arena);
  return status;
}
