/* SPDX-License-Identifier: Apache-2.0 */
/* steps.c - nodes with their choices become steps; where a consumer wants another format than the producer writes, a
 * reformat step of its own stands between, named after the step that caused it. */
#include "lower/lowering.h"
#include "tensor/layout.h"
#include "tensor/shape.h"
#include <stdio.h>
#include <string.h>

static hone_status no_memory(hn_lowering *lowering) { return HN_FAIL_MEMORY(&lowering->context->diag); }

static int new_tensor(hn_lowering *lowering, const char *name, const hone_type *type, bool on_heap) {
  hn_plan *plan = lowering->plan;
  if (!hn_arena_grow(&plan->arena, (void **)&plan->tensors, &lowering->tensor_capacity, plan->tensor_count + 1,
                     sizeof *plan->tensors))
    return -1;
  hn_plan_tensor *tensor = &plan->tensors[plan->tensor_count];
  *tensor = (hn_plan_tensor){.name = hn_arena_text(&plan->arena, name),
                             .type = *type,
                             .place = on_heap ? HN_PLACE_HEAP : HN_PLACE_ARENA,
                             .alias_of = -1,
                             .part_of = -1};
  if (!tensor->name) return -1;
  return plan->tensor_count++;
}

static int *slot_of(hn_lowering *lowering, const hn_value *value, hone_format format) {
  return &lowering->tensor_of[value->id * HONE_FORMAT_COUNT + (int)format];
}

/* A constant's bytes go to the weights in the format that is wanted. */
static hone_status place_constant(hn_lowering *lowering, const hn_value *value, int t) {
  hn_plan_tensor *tensor = &lowering->plan->tensors[t];
  const char **from = HN_NEW(&lowering->plan->arena, const char *, 1);
  if (!from || !(from[0] = hn_arena_text(&lowering->plan->arena, value->name))) return no_memory(lowering);
  int item;
  const hn_weight_item wanted = {.constant = value->fact.constant,
                                 .format = tensor->type.format,
                                 .how = "copy",
                                 .bytes = hn_bytes(&tensor->type),
                                 .from_count = 1,
                                 .from = from};
  HN_TRY(hn_lowering_add_weight(lowering, &wanted, &item));
  tensor->place = HN_PLACE_CONSTANT;
  tensor->index = item; /* turned into an offset when the weights are laid out */
  return HONE_OK;
}

int hn_lowering_tensor(hn_lowering *lowering, const hn_value *value, hone_format format) {
  int *slot = slot_of(lowering, value, format);
  if (*slot >= 0) return *slot;
  hone_type type = value->fact.type;
  type.format = format;
  const int t = new_tensor(lowering, value->name, &type, hn_value_on_heap(lowering->graph, value));
  if (t < 0) {
    (void)no_memory(lowering);
    return -1;
  }
  if (value->fact.constant && place_constant(lowering, value, t) != HONE_OK) return -1;
  *slot = t;
  return t;
}

static hn_plan_step *new_step(hn_lowering *lowering, hn_step_kind kind, const char *name, const hone_op *op,
                              int in_count, int out_count, const hn_candidate *candidate) {
  hn_plan *plan = lowering->plan;
  if (!hn_arena_grow(&plan->arena, (void **)&plan->steps, &lowering->step_capacity, plan->step_count + 1,
                     sizeof *plan->steps) ||
      !hn_arena_grow(&plan->arena, (void **)&lowering->candidate_of, &lowering->candidate_capacity,
                     plan->step_count + 1, sizeof *lowering->candidate_of))
    return NULL;
  hn_plan_step *step = &plan->steps[plan->step_count];
  *step = (hn_plan_step){.kind = kind, .op = op, .in_count = in_count, .out_count = out_count, .error_rel_l2 = -1};
  step->name = hn_arena_text(&plan->arena, name);
  step->in = HN_NEW(&plan->arena, int, in_count ? in_count : 1);
  step->out = HN_NEW(&plan->arena, int, out_count ? out_count : 1);
  if (!step->name || !step->in || !step->out) return NULL;
  lowering->candidate_of[plan->step_count++] = candidate;
  return step;
}

static hone_status copy_origins(hn_lowering *lowering, const hn_origins *origins, hn_plan_step *step) {
  hn_arena *arena = &lowering->plan->arena;
  const char **names = HN_NEW(arena, const char *, origins->count ? origins->count : 1);
  if (!names) return no_memory(lowering);
  for (int i = 0; i < origins->count; ++i)
    if (!(names[i] = hn_arena_text(arena, origins->names[i]))) return no_memory(lowering);
  step->origin_count = origins->count;
  step->origins = names;
  return HONE_OK;
}

/* The first tactic that reformats this way; *out_device is where it runs. */
static const hone_tactic *find_reformat(const hn_lowering *lowering, hone_query *query, int *out_device) {
  for (int d = 0; d < lowering->choices->device_count; ++d) {
    const hone_device *device = lowering->choices->devices[d];
    query->facts = &device->facts;
    for (const hone_tactic *const *row = device->backend->tactics; *row; ++row) {
      const hone_tactic *tactic = *row;
      if (strcmp(tactic->op, "reformat") != 0 || (tactic->isa & device->facts.isa) != tactic->isa) continue;
      *out_device = d;
      if (!tactic->reject || !tactic->reject(query)) return tactic;
    }
  }
  return NULL;
}

/* The step that turns a value from one format into another; the tensor of the first is there. */
static hone_status emit_one_reformat(hn_lowering *lowering, const hn_value *value, hone_format made, hone_format format,
                                     const hn_node *cause, int port, int *out) {
  hn_plan *plan = lowering->plan;
  const hone_op *op = hn_op_find(lowering->context->ops, "reformat");
  hone_fact in = {0}, to = {0};
  in.type = value->fact.type;
  if (!hn_shape_eval(&lowering->graph->dims, &value->fact.type.shape, lowering->choices->symbols,
                     lowering->graph->dims.symbol_count, &in.type.shape))
    return HN_FAIL(&lowering->context->diag, HONE_INTERNAL, "the shape of %s is not known at opt", value->name);
  to.type = in.type;
  in.type.format = made;
  to.type.format = format;
  static const hone_attrs no_attrs;
  static const hone_params no_params;
  hone_query query = {
      .op = op, .attrs = &no_attrs, .in_count = 1, .out_count = 1, .in = &in, .out = &to, .params = &no_params};
  int device;
  const hone_tactic *tactic = op ? find_reformat(lowering, &query, &device) : NULL;
  if (!tactic)
    return HN_FAIL(&lowering->context->diag, HONE_INTERNAL, "nothing turns %s from %s into %s", value->name,
                   hone_format_name(made), hone_format_name(format));
  const int from = hn_lowering_tensor(lowering, value, made);
  const int result = hn_lowering_tensor(lowering, value, format);
  if (from < 0 || result < 0) return HONE_NO_MEMORY;
  char name[256];
  snprintf(name, sizeof name, "%s/reformat_%d%s", cause->name, port, format == HONE_PLAIN ? "_plain" : "");
  hn_plan_step *step = new_step(lowering, HN_STEP_CALL, name, op, 1, 1, NULL);
  if (!step) return no_memory(lowering);
  plan->tensors[result].name = hn_arena_printf(&plan->arena, "%s:%s", value->name, hone_format_name(format));
  step->caused_by = hn_arena_text(&plan->arena, cause->name);
  if (!plan->tensors[result].name || !step->caused_by) return no_memory(lowering);
  step->tactic = tactic;
  step->provider = lowering->choices->devices[device]->backend->name;
  step->device = device;
  step->in[0] = from;
  step->out[0] = result;
  step->cost = (hone_cost){.bytes_read = (double)hn_bytes(&in.type), .bytes_written = (double)hn_bytes(&to.type)};
  step->error_rel_l2 = 0; /* moves elements unchanged */
  HN_TRY(copy_origins(lowering, &cause->origins, step));
  *out = result;
  return HONE_OK;
}

/* Between two blocked formats the way leads over plain. */
static hone_status emit_reformat(hn_lowering *lowering, const hn_value *value, hone_format format, const hn_node *cause,
                                 int port, int *out) {
  const hone_format made = lowering->made_in[value->id];
  if (made == HONE_PLAIN || format == HONE_PLAIN)
    return emit_one_reformat(lowering, value, made, format, cause, port, out);
  if (*slot_of(lowering, value, HONE_PLAIN) < 0)
    HN_TRY(emit_one_reformat(lowering, value, made, HONE_PLAIN, cause, port, out));
  return emit_one_reformat(lowering, value, HONE_PLAIN, format, cause, port, out);
}

/* The tensor that a port reads, reformatted when needed. *out -1 for absent inputs. */
static hone_status input_tensor(hn_lowering *lowering, const hn_node *node, int port, hone_format format, int *out) {
  const hn_value *value = node->in[port];
  *out = -1;
  if (!value) return HONE_OK;
  if (!value->fact.constant && lowering->made_in[value->id] != format && *slot_of(lowering, value, format) < 0)
    return emit_reformat(lowering, value, format, node, port, out);
  *out = hn_lowering_tensor(lowering, value, format);
  return *out < 0 ? HONE_NO_MEMORY : HONE_OK;
}

/* A constant that lives only in the packed weights still needs its type for the checks. */
static hone_status packed_tensor(hn_lowering *lowering, const hn_value *value, int *out) {
  hone_type type = value->fact.type;
  type.format = HONE_PLAIN;
  *out = new_tensor(lowering, value->name, &type, false);
  if (*out < 0) return no_memory(lowering);
  lowering->plan->tensors[*out].place = HN_PLACE_PACKED;
  return HONE_OK;
}

static hone_status pack_weights(hn_lowering *lowering, const hn_choice *choice, const hn_candidate *candidate,
                                const hone_query *query, int step_index) {
  const hn_node *node = choice->node;
  hn_arena *arena = &lowering->plan->arena;
  const char **from = HN_NEW(arena, const char *, node->in_count ? node->in_count : 1);
  if (!from) return no_memory(lowering);
  int from_count = 0;
  for (int i = 0; i < node->in_count; ++i)
    if ((candidate->tactic->pack_mask >> i & 1) && node->in[i] && node->in[i]->fact.constant)
      if (!(from[from_count++] = hn_arena_text(arena, node->in[i]->name))) return no_memory(lowering);
  const hn_weight_item wanted = {.choice = choice,
                                 .bytes = candidate->tactic->pack_bytes(query),
                                 .how = candidate->tactic->name,
                                 .from_count = from_count,
                                 .from = from};
  int item;
  if (wanted.bytes) {
    HN_TRY(hn_lowering_add_weight(lowering, &wanted, &item));
    lowering->plan->steps[step_index].packed_bytes = wanted.bytes;
    lowering->plan->steps[step_index].packed_offset = (uint64_t)item; /* turned into an offset later */
  }
  return HONE_OK;
}

static hone_status emit_call(hn_lowering *lowering, const hn_choice *choice) {
  const hn_node *node = choice->node;
  const hn_candidate *candidate = &choice->candidates[choice->chosen];
  hn_plan *plan = lowering->plan;
  hone_fact *in = HN_NEW(&plan->arena, hone_fact, node->in_count + node->out_count + 1);
  int *tensors = HN_NEW(&plan->arena, int, node->in_count + 1);
  if (!in || !tensors) return no_memory(lowering);
  hone_query query;
  hn_candidate_query(lowering->choices, choice, candidate, in, in + node->in_count, &query);
  for (int i = 0; i < node->in_count; ++i) { /* reformats stand before the step */
    const bool packed = (candidate->tactic->pack_mask >> i & 1) && node->in[i] && node->in[i]->fact.constant;
    HN_TRY(packed ? packed_tensor(lowering, node->in[i], &tensors[i])
                  : input_tensor(lowering, node, i, in[i].type.format, &tensors[i]));
  }
  hn_plan_step *step =
      new_step(lowering, HN_STEP_CALL, node->name, node->op, node->in_count, node->out_count, candidate);
  if (!step) return no_memory(lowering);
  memcpy(step->in, tensors, (size_t)node->in_count * sizeof *tensors);
  for (int i = 0; i < node->out_count; ++i) {
    step->out[i] = -1;
    if (!node->out[i]) continue;
    const hone_format format = query.out[i].type.format;
    lowering->made_in[node->out[i]->id] = format;
    if ((step->out[i] = hn_lowering_tensor(lowering, node->out[i], format)) < 0) return HONE_NO_MEMORY;
  }
  HN_TRY(hn_attrs_copy(&plan->arena, &node->attrs, &step->attrs));
  HN_TRY(copy_origins(lowering, &node->origins, step));
  step->provider = candidate->provider;
  step->tactic = candidate->tactic;
  step->params = candidate->params;
  step->device = candidate->device;
  step->constant_mask = query.constant_mask;
  step->error_rel_l2 = candidate->error_rel_l2;
  step->error_bound = candidate->error_bound;
  step->time_ns = candidate->time_ns;
  step->cost = choice->cost;
  if (candidate->tactic->scratch && !choice->late) step->scratch_bytes = candidate->tactic->scratch(&query);
  return candidate->tactic->pack_bytes ? pack_weights(lowering, choice, candidate, &query, plan->step_count - 1)
                                       : HONE_OK;
}

static hone_status emit_view(hn_lowering *lowering, const hn_choice *choice) {
  const hn_node *node = choice->node;
  hn_plan *plan = lowering->plan;
  int tensors[HONE_MAX_PORTS];
  for (int i = 0; i < node->in_count; ++i) HN_TRY(input_tensor(lowering, node, i, HONE_PLAIN, &tensors[i]));
  hn_plan_step *step = new_step(lowering, HN_STEP_VIEW, node->name, node->op, node->in_count, 1, NULL);
  if (!step) return no_memory(lowering);
  memcpy(step->in, tensors, (size_t)node->in_count * sizeof *tensors);
  for (int i = 0; i < node->in_count; ++i)
    if (node->in[i] && node->in[i]->fact.constant) step->constant_mask |= 1u << i;
  lowering->made_in[node->out[0]->id] = HONE_PLAIN;
  if ((step->out[0] = hn_lowering_tensor(lowering, node->out[0], HONE_PLAIN)) < 0) return HONE_NO_MEMORY;
  plan->tensors[step->out[0]].alias_of = tensors[0];
  plan->tensors[step->out[0]].place = plan->tensors[tensors[0]].place;
  plan->tensors[step->out[0]].index = plan->tensors[tensors[0]].index;
  step->error_rel_l2 = 0;
  HN_TRY(hn_attrs_copy(&plan->arena, &node->attrs, &step->attrs));
  return copy_origins(lowering, &node->origins, step);
}

static int block_number(const hn_lowering *lowering, const hn_block *block) {
  int b = 0;
  while (lowering->choices->blocks[b].block != block) ++b;
  return b;
}

/* If and Loop: a step that runs other blocks of the plan. */
static hone_status emit_control(hn_lowering *lowering, const hn_choice *choice) {
  const hn_node *node = choice->node;
  hn_plan *plan = lowering->plan;
  int *tensors = HN_NEW(&plan->arena, int, node->in_count + 1);
  if (!tensors) return no_memory(lowering);
  for (int i = 0; i < node->in_count; ++i) HN_TRY(input_tensor(lowering, node, i, HONE_PLAIN, &tensors[i]));
  const hn_step_kind kind = node->op->traits & HONE_RUNS_LOOP ? HN_STEP_LOOP : HN_STEP_BRANCH;
  hn_plan_step *step = new_step(lowering, kind, node->name, node->op, node->in_count, node->out_count, NULL);
  if (!step) return no_memory(lowering);
  memcpy(step->in, tensors, (size_t)node->in_count * sizeof *tensors);
  for (int i = 0; i < node->in_count && i < 32; ++i)
    if (node->in[i] && node->in[i]->fact.constant) step->constant_mask |= 1u << i;
  step->blocks = HN_NEW(&plan->arena, int, node->block_count);
  if (!step->blocks) return no_memory(lowering);
  step->block_count = node->block_count;
  for (int b = 0; b < node->block_count; ++b) step->blocks[b] = block_number(lowering, node->blocks[b]);
  for (int i = 0; i < node->out_count; ++i) {
    step->out[i] = -1;
    if (!node->out[i]) continue;
    lowering->made_in[node->out[i]->id] = HONE_PLAIN;
    if ((step->out[i] = hn_lowering_tensor(lowering, node->out[i], HONE_PLAIN)) < 0) return HONE_NO_MEMORY;
  }
  HN_TRY(hn_attrs_copy(&plan->arena, &node->attrs, &step->attrs));
  return copy_origins(lowering, &node->origins, step);
}

static hone_status emit(hn_lowering *lowering, const hn_choice *choice) {
  if (choice->control) return emit_control(lowering, choice);
  return choice->view ? emit_view(lowering, choice) : emit_call(lowering, choice);
}

static hone_status block_tensors(hn_lowering *lowering, hn_value *const *values, int count, int **out) {
  *out = HN_NEW(&lowering->plan->arena, int, count + 1);
  if (!*out) return no_memory(lowering);
  for (int i = 0; i < count; ++i)
    if (((*out)[i] = hn_lowering_tensor(lowering, values[i], HONE_PLAIN)) < 0) return HONE_NO_MEMORY;
  return HONE_OK;
}

hone_status hn_lowering_steps(hn_lowering *lowering) {
  hn_plan *plan = lowering->plan;
  const hn_choices *choices = lowering->choices;
  for (int b = 0; b < choices->block_count; ++b) {
    const hn_choice_block *from = &choices->blocks[b];
    hn_plan_block *block = &plan->blocks[b];
    block->first_step = plan->step_count;
    if (b > 0) { /* the main block's are the inputs and outputs */
      block->param_count = from->block->param_count;
      block->result_count = from->block->result_count;
      HN_TRY(block_tensors(lowering, from->block->params, block->param_count, &block->params));
    }
    for (int i = from->first; i < from->first + from->count; ++i)
      HN_TRY_NOTE(&lowering->context->diag, emit(lowering, &choices->items[i]), "while lowering node %s (%s)",
                  choices->items[i].node->name, choices->items[i].node->op->name);
    if (b > 0) HN_TRY(block_tensors(lowering, from->block->results, block->result_count, &block->results));
    block->step_count = plan->step_count - block->first_step;
  }
  return HONE_OK;
}
