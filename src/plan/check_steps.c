/* SPDX-License-Identifier: Apache-2.0 */
/* check_steps.c - every step: what it reads is there, its outputs have the shapes that the operator's own infer gives,
 * and its tactic accepts it with the parameters, packed bytes and scratch that are written down. */
#include "base/checked.h"
#include "ops/ports.h"
#include "plan/check.h"
#include "tensor/shape.h"
#include <string.h>

enum { ALIGNMENT = 64, MAX_VARIANTS = 64, OWN_PARAMS = 2 };

#define BAD(checker, ...) HN_FAIL((checker)->diag, HONE_MALFORMED, __VA_ARGS__)

/* The inputs must have been made; their facts are what earlier steps' infer found. */
static hone_status gather_inputs(hn_plan_checker *checker, const hn_plan_step *step, int block, hone_fact *in) {
  const hn_plan *plan = checker->plan;
  uint32_t mask = 0;
  for (int i = 0; i < step->in_count; ++i) {
    const int t = step->in[i];
    if (t < 0) continue;
    const hn_place place = plan->tensors[t].place;
    const bool constant = place == HN_PLACE_CONSTANT || place == HN_PLACE_PACKED;
    const bool given = (constant && checker->written_at[t] < 0) ||
                       (place == HN_PLACE_INPUT && checker->written_at[t] < 0 && block == 0);
    if (!given && checker->block_of[t] != block)
      return BAD(checker, "input %d (%s) is read before it is written", i, plan->tensors[t].name);
    if (constant && checker->written_at[t] < 0) mask |= hn_mask_bit(i);
    in[i] = checker->facts[t];
  }
  return mask == step->constant_mask ? HONE_OK : BAD(checker, "its mask of constant inputs is wrong");
}

static hone_status claim_outputs(hn_plan_checker *checker, const hn_plan_step *step, int s, int block) {
  const hn_plan *plan = checker->plan;
  for (int i = 0; i < step->out_count; ++i) {
    const int t = step->out[i];
    if (t < 0) continue;
    const hn_plan_tensor *tensor = &plan->tensors[t];
    const bool fixed =
        tensor->place == HN_PLACE_CONSTANT || tensor->place == HN_PLACE_PACKED || tensor->place == HN_PLACE_INPUT;
    if (checker->block_of[t] >= 0 || (block > 0 && tensor->place != HN_PLACE_HEAP) ||
        (fixed && !(step->kind == HN_STEP_VIEW && tensor->alias_of >= 0)))
      return BAD(checker, "output %d (%s) is not this step's to write", i, tensor->name);
    checker->written_at[t] = s;
    checker->block_of[t] = block;
  }
  return HONE_OK;
}

static hone_status check_counts(hn_plan_checker *checker, const hn_plan_step *step) {
  const void **given = HN_NEW(&checker->arena, const void *, step->in_count + 1);
  bool *wanted = HN_NEW(&checker->arena, bool, step->out_count + 1);
  if (!given || !wanted) return HN_FAIL_MEMORY(checker->diag);
  for (int i = 0; i < step->in_count; ++i) given[i] = step->in[i] >= 0 ? step : NULL;
  for (int i = 0; i < step->out_count; ++i) wanted[i] = step->out[i] >= 0;
  return hn_ports_check(checker->diag, step->op, step->in_count, given, step->out_count, wanted) == HONE_OK
             ? HONE_OK
             : BAD(checker, "its inputs or outputs do not fit operator %s", step->op->name);
}

/* A recorded type against an inferred one. Extents known only after running are fresh symbols on both sides. */
static bool same_type(const hn_plan_checker *checker, const hone_type *recorded, const hone_type *inferred) {
  if (recorded->kind != inferred->kind || recorded->dtype != inferred->dtype) return false;
  if (recorded->kind != HONE_TENSOR) return true;
  if (recorded->shape.rank != inferred->shape.rank) return recorded->shape.rank < 0;
  for (int i = 0; i < recorded->shape.rank; ++i) {
    const int64_t a = recorded->shape.dim[i], b = inferred->shape.dim[i];
    const bool both_after_run = HONE_SYMBOLIC(a) && HONE_SYMBOLIC(b) && hn_dim_is_after_run(&checker->dims, a) &&
                                hn_dim_is_after_run(&checker->dims, b);
    if (a != b && !both_after_run) return false;
  }
  return true;
}

/* Before the block itself is checked: its numbers are not to be trusted. */
static bool block_fails(const hn_plan *plan, const hn_plan_block *block) {
  for (int s = 0; s < block->step_count; ++s) {
    const int64_t number = (int64_t)block->first_step + s;
    if (number < 0 || number >= plan->step_count) return false;
    if (plan->steps[number].op && (plan->steps[number].op->traits & HONE_FAILS)) return true;
  }
  return false;
}

/* What a step's blocks return, as written down; the blocks themselves are checked in their turn. */
typedef struct block_facts {
  int counts[2];
  hone_fact *lists[2];
} block_facts;

static hone_status gather_results(hn_plan_checker *checker, const hn_plan_step *step, block_facts *out) {
  for (int b = 0; b < step->block_count; ++b) {
    const hn_plan_block *block = &checker->plan->blocks[step->blocks[b]];
    const bool fails = (step->op->traits & HONE_RUNS_ONE) && block_fails(checker->plan, block);
    out->counts[b] = fails ? -1 : block->result_count;
    out->lists[b] = HN_NEW(&checker->arena, hone_fact, block->result_count + 1);
    if (!out->lists[b]) return HN_FAIL_MEMORY(checker->diag);
    for (int i = 0; i < block->result_count; ++i) out->lists[b][i] = checker->facts[block->results[i]];
  }
  return HONE_OK;
}

static hone_status check_shapes(hn_plan_checker *checker, const hn_plan_step *step, const hone_fact *in) {
  hone_fact *out = HN_NEW(&checker->arena, hone_fact, step->out_count + HONE_MAX_PORTS);
  block_facts returned = {0};
  if (!out) return HN_FAIL_MEMORY(checker->diag);
  HN_TRY(gather_results(checker, step, &returned));
  HN_TRY(hn_ports_bind(checker->diag, step->op, step->in_count, in, step->out_count, out));
  hone_infer infer = {.op = step->op,
                      .attrs = &step->attrs,
                      .in_count = step->in_count,
                      .out_count = step->out_count,
                      .in = in,
                      .out = out,
                      .dims = &checker->dims,
                      .block_count = step->block_count,
                      .block_result_counts = returned.counts,
                      .block_results = (const hone_fact *const *)returned.lists,
                      .diagnostics = checker->diag,
                      .arena = &checker->arena};
  HN_TRY(step->op->infer(&infer));
  if (checker->dims.failed) return HN_FAIL_MEMORY(checker->diag);
  for (int i = 0; i < step->out_count; ++i) {
    const int t = step->out[i];
    if (t < 0) continue;
    hone_type recorded = checker->plan->tensors[t].type;
    recorded.dtype = checker->plan->tensors[t].dtype;
    if (!same_type(checker, &recorded, &out[i].type)) {
      hn_text wrote, found;
      hn_text_init(&wrote, checker->plan->allocator);
      hn_text_init(&found, checker->plan->allocator);
      hn_text_type(&wrote, &recorded, &checker->dims);
      hn_text_type(&found, &out[i].type, &checker->dims);
      const hone_status status =
          BAD(checker, "output %d is written down as %s, but is %s", i, hn_text_string(&wrote), hn_text_string(&found));
      hn_text_deinit(&wrote);
      hn_text_deinit(&found);
      return status;
    }
    checker->facts[t].value = out[i].value;
    checker->facts[t].value_count = out[i].value_count;
  }
  return HONE_OK;
}

static hone_status check_view(hn_plan_checker *checker, const hn_plan_step *step) {
  const hn_plan *plan = checker->plan;
  if (!(step->op->traits & HONE_ALIASES) || step->in_count < 1 || step->in[0] < 0 || step->out_count != 1 ||
      step->out[0] < 0)
    return BAD(checker, "operator %s is not a view", step->op->name);
  const hn_plan_tensor *in = &plan->tensors[step->in[0]], *out = &plan->tensors[step->out[0]];
  if (out->alias_of != step->in[0] || in->type.format != HONE_PLAIN || out->type.format != HONE_PLAIN ||
      (in->dtype == out->dtype && in->type.dtype != out->type.dtype))
    return BAD(checker, "its output does not share the bytes of its plain input");
  return HONE_OK;
}

/* The numbers of a step's shapes at opt; false when some are known only after running. */
static bool facts_at_opt(const hn_plan_checker *checker, const hn_plan_step *step, const hone_fact *in,
                         hone_fact *in_at, hone_fact *out_at) {
  const hn_plan *plan = checker->plan;
  for (int i = 0; i < step->in_count; ++i) {
    in_at[i] = in[i];
    if (step->in[i] < 0) continue;
    in_at[i].type = plan->tensors[step->in[i]].type;
    if (!hn_shape_eval(&plan->dims, &in_at[i].type.shape, checker->symbols, plan->dims.symbol_count,
                       &in_at[i].type.shape))
      return false;
  }
  for (int i = 0; i < step->out_count; ++i) {
    out_at[i] = (hone_fact){0};
    if (step->out[i] < 0) continue;
    out_at[i].type = plan->tensors[step->out[i]].type;
    if (!hn_shape_eval(&plan->dims, &out_at[i].type.shape, checker->symbols, plan->dims.symbol_count,
                       &out_at[i].type.shape))
      return false;
  }
  return true;
}

static bool known_params(const hone_tactic *tactic, const hone_query *query, const hone_params *params) {
  if (!tactic->variants) return params->count == 0;
  hone_params rows[MAX_VARIANTS];
  const int count = tactic->variants(query, rows, MAX_VARIANTS);
  for (int v = 0; v < count; ++v) {
    bool same = rows[v].count == params->count;
    for (int p = 0; same && p < params->count; ++p)
      same =
          rows[v].items[p].value == params->items[p].value && strcmp(rows[v].items[p].name, params->items[p].name) == 0;
    if (same) return true;
  }
  return false;
}

/* Inputs that live in packed weights alone are for a tactic that packs them. */
static hone_status check_inputs_have_bytes(hn_plan_checker *checker, const hn_plan_step *step, uint32_t pack_mask) {
  for (int i = 0; i < step->in_count; ++i)
    if (step->in[i] >= 0 && checker->plan->tensors[step->in[i]].place == HN_PLACE_PACKED && !hn_mask_has(pack_mask, i))
      return BAD(checker, "tactic %s reads input %d, which has no bytes", step->tactic->name, i);
  return HONE_OK;
}

static hone_status check_packed(hn_plan_checker *checker, const hn_plan_step *step, size_t want) {
  const hone_tactic *tactic = step->tactic;
  size_t end;
  if (want != step->packed_bytes)
    return BAD(checker, "tactic %s packs %zu bytes, and %llu are written down", tactic->name, want,
               (unsigned long long)step->packed_bytes);
  if (want && (step->packed_offset % ALIGNMENT || !hn_add_size((size_t)step->packed_offset, want, &end) ||
               end > checker->plan->weights_bytes))
    return BAD(checker, "its packed bytes do not lie in the weights");
  return check_inputs_have_bytes(checker, step, tactic->pack_mask);
}

static hone_status check_call(hn_plan_checker *checker, const hn_plan_step *step, const hone_fact *in) {
  const hn_plan *plan = checker->plan;
  const hone_tactic *tactic = step->tactic;
  if (strcmp(step->provider, plan->device_kinds[step->device]) != 0)
    return BAD(checker, "tactic %s:%s stands on a %s device", step->provider, tactic->name,
               plan->device_kinds[step->device]);
  if (!tactic->launch || plan->stripped) { /* its device or its constants are not here: the plan is looked at only */
    size_t end;
    return hn_add_size((size_t)step->packed_offset, (size_t)step->packed_bytes, &end) && end <= plan->weights_bytes
               ? HONE_OK
               : BAD(checker, "its packed bytes do not lie in the weights");
  }
  if (!hn_tactic_covers(tactic, step->op))
    return BAD(checker, "tactic %s is not for operator %s", tactic->name, step->op->name);
  hone_fact *in_at = HN_NEW(&checker->arena, hone_fact, step->in_count + 1);
  hone_fact *out_at = HN_NEW(&checker->arena, hone_fact, step->out_count + 1);
  if (!in_at || !out_at) return HN_FAIL_MEMORY(checker->diag);
  if (!facts_at_opt(checker, step, in, in_at, out_at)) {
    if (!(tactic->flags & (HONE_TACTIC_REFERENCE | HONE_TACTIC_DATA_DEPENDENT)) || step->packed_bytes)
      return BAD(checker, "tactic %s does not run steps with data-dependent shapes", tactic->name);
    return check_inputs_have_bytes(checker, step, 0);
  }
  hone_facts facts = {.isa = tactic->isa, .threads = 1, .host_memory = plan->spaces[step->device] == plan->host};
  hone_query query;
  hn_plan_step_query(plan, step, &facts, in_at, out_at, &query);
  if (!known_params(tactic, &query, &step->params))
    return BAD(checker, "tactic %s does not know these parameters", tactic->name);
  hone_needs needs;
  const char *reason = hn_tactic_plan(&query, NULL, &needs);
  if (reason) return BAD(checker, "tactic %s does not accept the step: %s", tactic->name, reason);
  return check_packed(checker, step, needs.packed);
}

/* One block of a branch or loop: nobody else's, later than its owner, its parameters of the inputs' kinds. The first
 * OWN_PARAMS of a loop (whose parameters begin with its first input) are the step's to make: iteration, condition. */
static hone_status check_block(hn_plan_checker *checker, const hn_plan_step *step, int block_number, int own_block,
                               int first_input) {
  const hn_plan *plan = checker->plan;
  const hn_plan_block *block = &plan->blocks[block_number];
  if (block_number <= own_block || checker->block_owned[block_number])
    return BAD(checker, "block %d is not this step's to run", block_number);
  checker->block_owned[block_number] = true;
  if (block->param_count != step->in_count - first_input)
    return BAD(checker, "block %d has %d parameters for %d inputs", block_number, block->param_count,
               step->in_count - first_input);
  for (int i = 0; i < block->param_count; ++i) {
    const int t = block->params[i], from = step->in[first_input + i];
    const hone_type *type = &plan->tensors[t].type;
    if (checker->block_of[t] >= 0 || plan->tensors[t].place != HN_PLACE_HEAP)
      return BAD(checker, "parameter %d of block %d is made elsewhere", i, block_number);
    if (from < 0 && !(first_input == 0 && i < OWN_PARAMS))
      return BAD(checker, "parameter %d of block %d stands for an input that is absent", i, block_number);
    if (from >= 0 && (plan->tensors[from].type.dtype != type->dtype || plan->tensors[from].type.kind != type->kind))
      return BAD(checker, "parameter %d of block %d has another type than its input", i, block_number);
    checker->block_of[t] = block_number;
  }
  return HONE_OK;
}

static bool is_scalar(const hone_type *type, hone_dtype dtype) {
  return type->kind == HONE_TENSOR && type->dtype == dtype && type->shape.rank <= 1;
}

/* A step that runs blocks. Inputs and outputs are plain; outputs lie on the heap. */
static hone_status check_control(hn_plan_checker *checker, const hn_plan_step *step, int own_block) {
  const hn_plan *plan = checker->plan;
  const bool loop = step->kind == HN_STEP_LOOP;
  if (!(step->op->traits & (loop ? HONE_RUNS_LOOP : HONE_RUNS_ONE)) || step->block_count != (loop ? 1 : 2))
    return BAD(checker, "operator %s does not run %d blocks", step->op->name, step->block_count);
  if (step->in_count < (loop ? 2 : 1)) return BAD(checker, "it has too few inputs");
  for (int i = 0; i < step->in_count; ++i)
    if (step->in[i] >= 0 &&
        (plan->tensors[step->in[i]].type.format != HONE_PLAIN || plan->tensors[step->in[i]].place == HN_PLACE_PACKED))
      return BAD(checker, "input %d has no plain bytes", i);
  for (int i = 0; i < step->out_count; ++i)
    if (step->out[i] >= 0 && plan->tensors[step->out[i]].place != HN_PLACE_HEAP)
      return BAD(checker, "output %d does not lie on the heap", i);
  for (int b = 0; b < step->block_count; ++b)
    HN_TRY(check_block(checker, step, step->blocks[b], own_block, loop ? 0 : 1));
  if (!loop) return step->in[0] >= 0 ? HONE_OK : BAD(checker, "it has no condition");
  const hn_plan_block *body = &plan->blocks[step->blocks[0]];
  if (!is_scalar(&plan->tensors[body->params[0]].type, HONE_I64) ||
      !is_scalar(&plan->tensors[body->params[1]].type, HONE_BOOL) || body->result_count < 1 ||
      !is_scalar(&plan->tensors[body->results[0]].type, HONE_BOOL))
    return BAD(checker, "its block does not count iterations and test a condition");
  return HONE_OK;
}

static hone_status check_kind(hn_plan_checker *checker, const hn_plan_step *step, int block, const hone_fact *in) {
  switch (step->kind) {
  case HN_STEP_CALL: return check_call(checker, step, in);
  case HN_STEP_VIEW: return check_view(checker, step);
  default: return check_control(checker, step, block);
  }
}

static hone_status check_step(hn_plan_checker *checker, int s, int block) {
  const hn_plan_step *step = &checker->plan->steps[s];
  if (step->kind == HN_STEP_WAIT) return hn_check_wait(checker, step, s, block);
  if (step->kind == HN_STEP_COPY) {
    hone_fact copied;
    if (step->in_count == 1) HN_TRY(gather_inputs(checker, step, block, &copied));
    HN_TRY(hn_check_copy(checker, step, block));
    return claim_outputs(checker, step, s, block);
  }
  for (int b = 0; b < step->block_count; ++b)
    if (step->blocks[b] >= checker->plan->block_count) return BAD(checker, "there is no block %d", step->blocks[b]);
  const bool control = step->kind == HN_STEP_BRANCH || step->kind == HN_STEP_LOOP;
  if (step->block_count > (control ? 2 : 0)) return BAD(checker, "it has too many blocks");
  HN_TRY(check_counts(checker, step));
  hone_fact *in = HN_NEW(&checker->arena, hone_fact, step->in_count + 1);
  if (!in) return HN_FAIL_MEMORY(checker->diag);
  HN_TRY(gather_inputs(checker, step, block, in));
  HN_TRY(hn_check_in_space(checker, step));
  if (!checker->plan->stripped) HN_TRY(check_shapes(checker, step, in));
  HN_TRY(check_kind(checker, step, block, in));
  return claim_outputs(checker, step, s, block);
}

/* Blocks stand one after the other and cover all steps; each but the first belongs to one earlier step. */
static hone_status check_one_block(hn_plan_checker *checker, int b) {
  const hn_plan *plan = checker->plan;
  const hn_plan_block *block = &plan->blocks[b];
  const int begin = b ? plan->blocks[b - 1].first_step + plan->blocks[b - 1].step_count : 0;
  if (block->first_step != begin || (b > 0 && !checker->block_owned[b]))
    return BAD(checker, "block %d does not follow the one before it, or nobody runs it", b);
  for (int s = block->first_step; s < block->first_step + block->step_count; ++s)
    HN_TRY_NOTE(checker->diag, check_step(checker, s, b), "in step %d (%s)", s, plan->steps[s].name);
  for (int i = 0; i < block->result_count; ++i) {
    const int t = block->results[i];
    const hn_place place = plan->tensors[t].place;
    if (checker->block_of[t] != b && place != HN_PLACE_CONSTANT)
      return BAD(checker, "result %d of block %d is not made in it", i, b);
  }
  return HONE_OK;
}

hone_status hn_check_steps(hn_plan_checker *checker) {
  const hn_plan *plan = checker->plan;
  if (plan->block_count < 1) return BAD(checker, "there is no block");
  for (int b = 0; b < plan->block_count; ++b) HN_TRY(check_one_block(checker, b));
  const hn_plan_block *last = &plan->blocks[plan->block_count - 1];
  if (last->first_step + last->step_count != plan->step_count) return BAD(checker, "some steps belong to no block");
  for (int i = 0; i < plan->output_count; ++i)
    if (checker->block_of[plan->outputs[i].tensor] != 0 || checker->written_at[plan->outputs[i].tensor] < 0)
      return BAD(checker, "output %s is never written", plan->outputs[i].name);
  return HONE_OK;
}
