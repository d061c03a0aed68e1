/* SPDX-License-Identifier: Apache-2.0 */
/* steps.c - nodes with their choices become steps. Their inputs are brought to them by transfers.c. */
#include "lower/lowering.h"
#include "tensor/shape.h"
#include "tensor/storage.h"
#include <string.h>

static hone_status no_memory(hn_lowering *lowering) { return HN_FAIL_MEMORY(&lowering->context->diag); }

static int new_tensor(hn_lowering *lowering, const char *name, const hone_type *type, bool on_heap, int space) {
  hn_plan *plan = lowering->plan;
  if (!hn_arena_grow(&plan->arena, (void **)&plan->tensors, &lowering->tensor_capacity, plan->tensor_count + 1,
                     sizeof *plan->tensors))
    return -1;
  hn_plan_tensor *tensor = &plan->tensors[plan->tensor_count];
  *tensor = (hn_plan_tensor){.name = hn_arena_text(&plan->arena, name),
                             .type = *type,
                             .dtype = type->dtype,
                             .place = on_heap ? HN_PLACE_HEAP : HN_PLACE_ARENA,
                             .alias_of = -1,
                             .part_of = -1,
                             .device = space};
  if (!tensor->name) return -1;
  return plan->tensor_count++;
}

int *hn_lowering_slot(hn_lowering *lowering, const hn_value *value, hone_storage storage, int space) {
  return &lowering->tensor_of[(value->id * HONE_STORAGE_COUNT + (int)storage) * lowering->plan->device_count + space];
}

/* A constant's bytes go to the weights in the storage that is wanted. */
static hone_status place_constant(hn_lowering *lowering, const hn_value *value, hone_storage storage, int t) {
  hn_plan_tensor *tensor = &lowering->plan->tensors[t];
  const char **from = HN_NEW(&lowering->plan->arena, const char *, 1);
  if (!from || !(from[0] = hn_arena_text(&lowering->plan->arena, value->name))) return no_memory(lowering);
  int item;
  const hn_weight_item wanted = {.constant = value->fact.constant,
                                 .storage = storage,
                                 .how = "copy",
                                 .bytes = hn_bytes(&tensor->type),
                                 .from_count = 1,
                                 .from = from};
  HN_TRY(hn_lowering_add_weight(lowering, &wanted, &item));
  tensor->place = HN_PLACE_CONSTANT;
  tensor->index = item; /* turned into an offset when the weights are laid out */
  return HONE_OK;
}

int hn_lowering_tensor(hn_lowering *lowering, const hn_value *value, hone_storage storage, int space) {
  int *slot = hn_lowering_slot(lowering, value, storage, space);
  if (*slot >= 0) return *slot;
  const hone_type type = hn_stored_type(&value->fact.type, storage);
  const int t = new_tensor(lowering, value->name, &type, hn_value_on_heap(lowering->graph, value), space);
  if (t < 0) {
    (void)no_memory(lowering);
    return -1;
  }
  lowering->plan->tensors[t].dtype = value->fact.type.dtype;
  if (value->fact.constant && place_constant(lowering, value, storage, t) != HONE_OK) return -1;
  *slot = t;
  return t;
}

hn_plan_step *hn_lowering_new_step(hn_lowering *lowering, hn_step_kind kind, const char *name, const hone_op *op,
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

hone_status hn_lowering_origins(hn_lowering *lowering, const hn_origins *origins, hn_plan_step *step) {
  hn_arena *arena = &lowering->plan->arena;
  const char **names = HN_NEW(arena, const char *, origins->count ? origins->count : 1);
  if (!names) return no_memory(lowering);
  for (int i = 0; i < origins->count; ++i)
    if (!(names[i] = hn_arena_text(arena, origins->names[i]))) return no_memory(lowering);
  step->origin_count = origins->count;
  step->origins = names;
  return HONE_OK;
}

/* A constant that lives only in the packed weights still needs its type for the checks. */
static hone_status packed_tensor(hn_lowering *lowering, const hn_value *value, int *out) {
  hone_type type = value->fact.type;
  type.format = HONE_PLAIN;
  *out = new_tensor(lowering, value->name, &type, false, 0);
  if (*out < 0) return no_memory(lowering);
  lowering->plan->tensors[*out].place = HN_PLACE_PACKED;
  return HONE_OK;
}

static hone_status pack_weights(hn_lowering *lowering, const hn_choice *choice, const hn_candidate *candidate,
                                size_t bytes, int step_index) {
  const hn_node *node = choice->node;
  hn_arena *arena = &lowering->plan->arena;
  const char **from = HN_NEW(arena, const char *, node->in_count ? node->in_count : 1);
  if (!from) return no_memory(lowering);
  int from_count = 0;
  for (int i = 0; i < node->in_count; ++i)
    if (hn_mask_has(candidate->tactic->pack_mask, i) && node->in[i] && node->in[i]->fact.constant)
      if (!(from[from_count++] = hn_arena_text(arena, node->in[i]->name))) return no_memory(lowering);
  const hn_weight_item wanted = {
      .choice = choice, .bytes = bytes, .how = candidate->tactic->name, .from_count = from_count, .from = from};
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
  const int space = plan->spaces[candidate->device];
  hone_fact *in = HN_NEW(&plan->arena, hone_fact, node->in_count + node->out_count + 1);
  int *tensors = HN_NEW(&plan->arena, int, node->in_count + 1);
  if (!in || !tensors) return no_memory(lowering);
  hone_query query;
  hn_candidate_query(lowering->choices, choice, candidate, in, in + node->in_count, &query);
  for (int i = 0; i < node->in_count; ++i) { /* converts stand before the step */
    const bool packed = hn_mask_has(candidate->tactic->pack_mask, i) && node->in[i] && node->in[i]->fact.constant;
    HN_TRY(packed ? packed_tensor(lowering, node->in[i], &tensors[i])
                  : hn_lowering_transfer(lowering, node->in[i],
                                         hn_port_storage(node->op, i, &choice->in[i].type, &candidate->storages), space,
                                         node, i, &tensors[i]));
  }
  if (space == plan->host) HN_TRY(hn_lowering_wait(lowering));
  hn_plan_step *step =
      hn_lowering_new_step(lowering, HN_STEP_CALL, node->name, node->op, node->in_count, node->out_count, candidate);
  if (!step) return no_memory(lowering);
  memcpy(step->in, tensors, (size_t)node->in_count * sizeof *tensors);
  for (int i = 0; i < node->out_count; ++i) {
    step->out[i] = -1;
    if (!node->out[i]) continue;
    const hone_storage storage = hn_storage_fit(&choice->out[i].type, candidate->storages.out);
    lowering->made_in[node->out[i]->id] = storage;
    lowering->made_at[node->out[i]->id] = space;
    if ((step->out[i] = hn_lowering_tensor(lowering, node->out[i], storage, space)) < 0) return HONE_NO_MEMORY;
  }
  if (hn_attrs_copy(&plan->arena, &node->attrs, &step->attrs) != HONE_OK) return no_memory(lowering);
  HN_TRY(hn_lowering_origins(lowering, &node->origins, step));
  step->provider = candidate->provider;
  step->tactic = candidate->tactic;
  step->params = candidate->params;
  step->device = candidate->device;
  step->constant_mask = query.constant_mask;
  step->error_rel_l2 = candidate->error_rel_l2;
  step->error_bound = candidate->error_bound;
  step->time_ns = candidate->time_ns;
  step->cost = choice->cost;
  hone_needs needs;
  const char *reason = hn_tactic_plan(&query, NULL, &needs);
  if (reason) return HN_FAIL(&lowering->context->diag, HONE_INTERNAL, "%s: %s", candidate->tactic->name, reason);
  if (!choice->data_dependent) step->scratch_bytes = needs.scratch;
  return needs.packed ? pack_weights(lowering, choice, candidate, needs.packed, plan->step_count - 1) : HONE_OK;
}

/* The view's output in a memory space; its input is brought there. Made again in another when a reader there wants it,
 * so that what is copied is always the bytes themselves, once. */
hone_status hn_lowering_view(hn_lowering *lowering, const hn_choice *choice, int space) {
  const hn_node *node = choice->node;
  hn_plan *plan = lowering->plan;
  const hone_storage storage = space == lowering->made_at[node->out[0]->id] ? choice->viewed_in : HONE_PLAIN;
  int tensors[HONE_MAX_PORTS];
  for (int i = 0; i < node->in_count; ++i)
    HN_TRY(hn_lowering_transfer(lowering, node->in[i], i == 0 ? storage : HONE_PLAIN, space, node, i, &tensors[i]));
  hn_plan_step *step = hn_lowering_new_step(lowering, HN_STEP_VIEW, node->name, node->op, node->in_count, 1, NULL);
  if (!step) return no_memory(lowering);
  memcpy(step->in, tensors, (size_t)node->in_count * sizeof *tensors);
  for (int i = 0; i < node->in_count; ++i)
    if (node->in[i] && node->in[i]->fact.constant) step->constant_mask |= hn_mask_bit(i);
  if ((step->out[0] = hn_lowering_tensor(lowering, node->out[0], storage, space)) < 0) return HONE_NO_MEMORY;
  plan->tensors[step->out[0]].alias_of = tensors[0];
  plan->tensors[step->out[0]].place = plan->tensors[tensors[0]].place;
  plan->tensors[step->out[0]].index = plan->tensors[tensors[0]].index;
  step->error_rel_l2 = 0;
  step->device = space;
  if (hn_attrs_copy(&plan->arena, &node->attrs, &step->attrs) != HONE_OK) return no_memory(lowering);
  return hn_lowering_origins(lowering, &node->origins, step);
}

static hone_status emit_view(hn_lowering *lowering, const hn_choice *choice) {
  const hn_value *in = choice->node->in[0], *out = choice->node->out[0];
  const int space = in->fact.constant ? lowering->plan->host : lowering->made_at[in->id];
  lowering->made_in[out->id] = choice->viewed_in;
  lowering->made_at[out->id] = space;
  lowering->view_of[out->id] = choice;
  return hn_lowering_view(lowering, choice, space);
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
  for (int i = 0; i < node->in_count; ++i)
    HN_TRY(hn_lowering_transfer(lowering, node->in[i], HONE_PLAIN, plan->host, node, i, &tensors[i]));
  HN_TRY(hn_lowering_wait(lowering));
  const hn_step_kind kind = node->op->traits & HONE_RUNS_LOOP ? HN_STEP_LOOP : HN_STEP_BRANCH;
  hn_plan_step *step =
      hn_lowering_new_step(lowering, kind, node->name, node->op, node->in_count, node->out_count, NULL);
  if (!step) return no_memory(lowering);
  memcpy(step->in, tensors, (size_t)node->in_count * sizeof *tensors);
  for (int i = 0; i < node->in_count; ++i)
    if (node->in[i] && node->in[i]->fact.constant) step->constant_mask |= hn_mask_bit(i);
  step->blocks = HN_NEW(&plan->arena, int, node->block_count);
  if (!step->blocks) return no_memory(lowering);
  step->block_count = node->block_count;
  step->device = plan->host;
  for (int b = 0; b < node->block_count; ++b) step->blocks[b] = block_number(lowering, node->blocks[b]);
  for (int i = 0; i < node->out_count; ++i) {
    step->out[i] = -1;
    if (!node->out[i]) continue;
    lowering->made_in[node->out[i]->id] = HONE_PLAIN;
    if ((step->out[i] = hn_lowering_tensor(lowering, node->out[i], HONE_PLAIN, plan->host)) < 0) return HONE_NO_MEMORY;
  }
  if (hn_attrs_copy(&plan->arena, &node->attrs, &step->attrs) != HONE_OK) return no_memory(lowering);
  return hn_lowering_origins(lowering, &node->origins, step);
}

static hone_status emit(hn_lowering *lowering, const hn_choice *choice) {
  if (choice->control) return emit_control(lowering, choice);
  return choice->view ? emit_view(lowering, choice) : emit_call(lowering, choice);
}

static hone_status block_tensors(hn_lowering *lowering, hn_value *const *values, int count, int **out) {
  *out = HN_NEW(&lowering->plan->arena, int, count + 1);
  if (!*out) return no_memory(lowering);
  for (int i = 0; i < count; ++i)
    if (((*out)[i] = hn_lowering_tensor(lowering, values[i], HONE_PLAIN, lowering->plan->host)) < 0)
      return HONE_NO_MEMORY;
  return HONE_OK;
}

hn_port_place hn_lowering_result_place(const hn_lowering *lowering, int result) {
  const hn_port_place *places = lowering->choices->result_places;
  return places && places[result].device >= 0 ? places[result]
                                              : (hn_port_place){.storage = HONE_PLAIN, .device = lowering->plan->host};
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
    for (int i = 0; b == 0 && i < from->block->result_count; ++i) {
      const hn_port_place place = hn_lowering_result_place(lowering, i);
      int t;
      HN_TRY(hn_lowering_transfer(lowering, from->block->results[i], place.storage, place.device, NULL, i, &t));
    }
    if (b > 0) HN_TRY(block_tensors(lowering, from->block->results, block->result_count, &block->results));
    block->step_count = plan->step_count - block->first_step;
  }
  return HONE_OK;
}
