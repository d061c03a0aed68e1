/* SPDX-License-Identifier: Apache-2.0 */
/* compare.c - what a tuning gains over an engine of the same network on the same device. The engine's kernels are
 * looked up among the candidates, and where another was chosen, the two are timed again in turns: the rest of both
 * engines is the same, and cancels. */
#include "plan/plan.h"
#include "tensor/storage.h"
#include "tune/tuning.h"
#include <math.h>
#include <string.h>

static bool lies_so(const hn_plan *plan, int tensor, const hone_type *type, hone_storage storage) {
  if (tensor < 0) return true;
  const hone_type want = hn_stored_type(type, storage), *have = &plan->tensors[tensor].type;
  bool same = want.dtype == have->dtype && want.format == have->format && want.shape.rank == have->shape.rank;
  for (int d = 0; d < want.shape.rank && same; ++d) same = want.shape.dim[d] == have->shape.dim[d];
  return same;
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

/* NULL: it is not among them, or has no time. */
static hn_candidate *candidate_of(const hn_plan *plan, const hn_plan_step *step, hn_choice *choice) {
  for (int k = 0; k < choice->candidate_count; ++k)
    if (choice->candidates[k].state == HN_CANDIDATE_TIMED && is_candidate(plan, step, choice, &choice->candidates[k]))
      return &choice->candidates[k];
  return NULL;
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

/* ---- two candidates of a layer, in turns ---- */

enum { ROUNDS = 15 };

static hone_status time_side(hn_bench *bench, int slot, int *repeat, double sample_ns, double *least_ns) {
  double ns;
  if (*repeat == 0) {
    HN_TRY(hn_bench_time(bench, slot, 1, true, &ns));
    *repeat = ns > 0 && ns < sample_ns ? (int)fmin(ceil(sample_ns / ns), 200) : 1;
  }
  HN_TRY(hn_bench_time(bench, slot, *repeat, true, &ns));
  *least_ns = fmin(*least_ns, ns / *repeat);
  return HONE_OK;
}

/* The least of one among many times is less than what it takes: noise chose it, too. So both are timed anew, and a
 * change of the machine's speed meets both. */
static hone_status time_both(hn_choices *choices, const hn_choice *choice, hn_candidate *sides[2], double out_ns[2]) {
  const hn_tuning *tuning = choices->tuning;
  hn_bench *bench;
  int repeat[2] = {0};
  HN_TRY(hn_bench_open(choices, choice, tuning->options->seed + 1, false, &bench));
  hone_status status = HONE_OK;
  for (int k = 0; k < 2 && status == HONE_OK; ++k) {
    out_ns[k] = HUGE_VAL;
    status = hn_bench_prepare(bench, sides[k], k, true);
  }
  for (int round = 0; round < ROUNDS && status == HONE_OK; ++round)
    for (int turn = 0; turn < 2 && status == HONE_OK; ++turn) {
      const int k = (round + turn) % 2;
      status = time_side(bench, k, &repeat[k], tuning->level->sample_ns, &out_ns[k]);
    }
  hn_bench_close(bench);
  return status == HONE_OK ? hn_check_stop(choices->context) : status;
}

/* ---- the whole ---- */

typedef struct comparing {
  hn_choices *choices;
  const hn_plan *plan;
  hn_table by_name;       /* [node]: its hn_choice */
  double now_ns, gain_ns; /* of the engine; and what the choices gain in layers whose kernel changes */
  double timed_ns;        /* of now_ns, what has times */
  double converts_ns;     /* of the engine, beside its layers */
} comparing;

/* A layer whose kernel has no time here is taken to stay what it is. Identical layers gain the same. */
static hone_status compare_layer(comparing *c, const hn_plan_step *step, hn_choice *choice) {
  hn_choice *first = choice->same_as >= 0 ? &c->choices->items[choice->same_as] : choice;
  hn_candidate *sides[2] = {candidate_of(c->plan, step, choice), NULL};
  double ns[2];
  if (!sides[0] || choice->chosen < 0) {
    c->now_ns += choice->taken_ns;
    return HONE_OK;
  }
  sides[1] = &choice->candidates[choice->chosen];
  c->now_ns += hn_candidate_ns(sides[0]);
  c->timed_ns += hn_candidate_ns(sides[0]);
  if (sides[1] == sides[0]) return HONE_OK;
  if (sides[1]->state != HN_CANDIDATE_TIMED || hn_tuning_stopped(c->choices->tuning)) {
    c->gain_ns += hn_candidate_ns(sides[0]) - hn_candidate_ns(sides[1]);
    return HONE_OK;
  }
  HN_TRY(time_both(c->choices, first, sides, ns));
  c->gain_ns += ns[0] - ns[1];
  return HONE_OK;
}

/* false: there is no such layer, since the passes made another network. */
static hone_status compare_step(comparing *c, const hn_plan_step *step, bool *out_known) {
  const hn_tuning *tuning = c->choices->tuning;
  hn_choice *choice = hn_table_get(&c->by_name, step->name);
  *out_known = true;
  for (int i = 0; i < tuning->split_count; ++i) {
    const hn_split *split = &tuning->splits[i];
    if (strcmp(split->node, step->name) != 0 || strcmp(split->op, step->op->name) != 0 || split->fused_ns <= 0)
      continue;
    c->now_ns += split->fused_ns;
    c->timed_ns += split->fused_ns;
    c->gain_ns += split->fused_ns - split->parts_ns; /* of a contest in turns */
    return HONE_OK;
  }
  *out_known = choice && choice->node->op == step->op;
  return *out_known ? compare_layer(c, step, choice) : HONE_OK;
}

static hone_status compare_steps(comparing *c, bool *out_known) {
  *out_known = true;
  for (int i = 0; i < c->plan->step_count && *out_known; ++i) {
    const hn_plan_step *step = &c->plan->steps[i];
    if (step->kind != HN_STEP_CALL) continue;
    if (step->caused_by)
      c->converts_ns += convert_ns(c->plan, step, c->choices);
    else
      HN_TRY(compare_step(c, step, out_known));
  }
  return HONE_OK;
}

hone_status hn_sample_compare(hn_choices *choices) {
  hn_sampling *told = choices->tuning->sampling;
  comparing c = {.choices = choices, .plan = told->plan};
  double converts_ns = choices->total_ns;
  bool known;
  hn_table_init(&c.by_name, &choices->arena);
  for (int i = 0; i < choices->count; ++i) {
    hn_choice *choice = &choices->items[i];
    if (!hn_choice_runs(choice)) continue;
    converts_ns -= choice->taken_ns;
    if (!hn_table_put(&c.by_name, choice->node->name, choice)) return HN_FAIL_MEMORY(&choices->context->diag);
  }
  choices->tuning->stopped = false;
  const hone_status status = compare_steps(&c, &known);
  choices->tuning->stopped = true;
  if (status != HONE_OK || !known || c.timed_ns <= 0.5 * c.now_ns) return status;
  told->plan_ns = c.now_ns + c.converts_ns;
  told->gain_ns = c.gain_ns + c.converts_ns - converts_ns;
  return HONE_OK;
}
