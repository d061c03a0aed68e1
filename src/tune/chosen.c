/* SPDX-License-Identifier: Apache-2.0 */
/* chosen.c - what an engine whose kernels estimates chose takes, by the times of a tuning that has timed them beside
 * others: its steps are looked up among the candidates. */
#include "tensor/storage.h"
#include "tune/tuning.h"
#include <string.h>

static bool lies_so(const hn_plan *plan, int tensor, const hone_type *type, hone_storage storage) {
  if (tensor < 0) return true;
  const hone_type want = hn_stored_type(type, storage), *have = &plan->tensors[tensor].type;
  return want.dtype == have->dtype && want.format == have->format;
}

static bool is_candidate(const hn_plan *plan, const hn_plan_step *step, const hn_choice *choice,
                         const hn_candidate *candidate) {
  const hn_node *node = choice->node;
  if (candidate->tactic != step->tactic || !hn_params_equal(&candidate->params, &step->params)) return false;
  for (int i = 0; i < node->in_count && i < step->in_count; ++i)
    if (node->in[i] && !choice->in[i].constant &&
        !lies_so(plan, step->in[i], &choice->in[i].type,
                 hn_port_storage(node->op, i, &choice->in[i].type, &candidate->storages)))
      return false;
  for (int o = 0; o < node->out_count && o < step->out_count; ++o)
    if (node->out[o] && !lies_so(plan, step->out[o], &choice->out[o].type,
                                 hn_storage_fit(&choice->out[o].type, candidate->storages.out)))
      return false;
  return true;
}

/* 0: it has no time. */
static double chosen_ns(const hn_plan *plan, const hn_plan_step *step, const hn_choice *choice) {
  for (int k = 0; k < choice->candidate_count; ++k)
    if (choice->candidates[k].state == HN_CANDIDATE_TIMED && is_candidate(plan, step, choice, &choice->candidates[k]))
      return choice->candidates[k].time_low_ns;
  return 0;
}

static hone_storage storage_of(const hn_plan_tensor *tensor) {
  hone_storage storage;
  (void)hn_storage_find(tensor->type.dtype == tensor->dtype ? HONE_NONE : tensor->type.dtype, tensor->type.format,
                        &storage);
  return storage;
}

static double convert_ns(const hn_plan *plan, const hn_plan_step *step, const hn_choices *choices) {
  if (step->in_count < 1 || step->out_count < 1 || step->in[0] < 0 || step->out[0] < 0) return 0;
  const hn_plan_tensor *from = &plan->tensors[step->in[0]], *to = &plan->tensors[step->out[0]];
  hone_type type = from->type;
  type.dtype = from->dtype;
  type.format = HONE_PLAIN;
  return hn_convert_ns(choices, &type, storage_of(from), storage_of(to));
}

static const hn_split *split_of(const hn_choices *choices, const hn_plan_step *step) {
  for (int i = 0; i < choices->split_count; ++i)
    if (strcmp(choices->splits[i].node, step->name) == 0 && strcmp(choices->splits[i].op, step->op->name) == 0)
      return &choices->splits[i];
  return NULL;
}

/* A step of the engine in *ns, and whether it was timed. A layer that has no time is taken to stay what it is. false:
 * there is no such layer, since the passes made another network. */
static bool step_ns(const hn_choices *choices, const hn_table *by_name, const hn_plan *plan, const hn_plan_step *step,
                    double *ns, bool *timed) {
  const hn_split *split = split_of(choices, step);
  const hn_choice *choice = hn_table_get(by_name, step->name);
  const bool is_there = choice && choice->node->op == step->op;
  *ns = 0;
  *timed = false;
  if (step->caused_by) {
    *ns = convert_ns(plan, step, choices);
    return true;
  }
  if (split)
    *ns = split->fused_ns;
  else if (is_there)
    *ns = chosen_ns(plan, step, choice);
  *timed = *ns > 0;
  if (!*timed && is_there) *ns = choice->taken_ns;
  return *ns > 0;
}

hone_status hn_choices_sum_chosen(const hn_choices *choices, const hn_plan *plan, hn_arena *arena, double *out_ns) {
  hn_table by_name;
  double sum = 0, timed_sum = 0;
  hn_table_init(&by_name, arena);
  *out_ns = 0;
  for (int i = 0; i < choices->count; ++i)
    if (hn_choice_runs(&choices->items[i]) && !hn_table_put(&by_name, choices->items[i].node->name, &choices->items[i]))
      return HN_FAIL_MEMORY(&choices->context->diag);
  for (int i = 0; i < plan->step_count; ++i) {
    double ns;
    bool timed;
    if (plan->steps[i].kind != HN_STEP_CALL) continue;
    if (!step_ns(choices, &by_name, plan, &plan->steps[i], &ns, &timed)) return HONE_OK;
    sum += ns;
    timed_sum += timed ? ns : 0;
  }
  if (timed_sum > 0.5 * sum) *out_ns = sum;
  return HONE_OK;
}
