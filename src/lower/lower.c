/* SPDX-License-Identifier: Apache-2.0 */
/* lower.c - graph + choices -> plan. */
#include "lower/lowering.h"
#include "tensor/shape.h"
#include <string.h>

static hone_status name_inputs(hn_lowering *lowering, const hn_ranges *ranges) {
  hn_plan *plan = lowering->plan;
  const hn_block *main = lowering->graph->main;
  plan->input_count = main->param_count;
  plan->output_count = main->result_count;
  plan->inputs = HN_NEW(&plan->arena, hn_plan_port, main->param_count ? main->param_count : 1);
  plan->outputs = HN_NEW(&plan->arena, hn_plan_port, main->result_count ? main->result_count : 1);
  if (!plan->inputs || !plan->outputs) return HN_FAIL_MEMORY(&lowering->context->diag);
  const hn_port_place *places = lowering->choices->param_places;
  for (int i = 0; i < main->param_count; ++i) {
    const hone_storage storage = places ? places[i].storage : HONE_PLAIN;
    const int space = places && places[i].device >= 0 ? places[i].device : plan->host;
    const int t = hn_lowering_tensor(lowering, main->params[i], storage, space);
    if (t < 0) return HONE_NO_MEMORY;
    lowering->made_in[main->params[i]->id] = storage;
    lowering->made_at[main->params[i]->id] = space;
    plan->tensors[t].place = HN_PLACE_INPUT;
    plan->tensors[t].index = i;
    plan->inputs[i] = (hn_plan_port){.name = plan->tensors[t].name,
                                     .tensor = t,
                                     .min = ranges->min[i],
                                     .opt = ranges->opt[i],
                                     .max = ranges->max[i]};
  }
  return HONE_OK;
}

static hone_status name_outputs(hn_lowering *lowering) {
  hn_plan *plan = lowering->plan;
  const hn_block *main = lowering->graph->main;
  for (int i = 0; i < main->result_count; ++i) {
    const hn_value *value = main->results[i];
    const hn_port_place place = hn_lowering_result_place(lowering, i);
    const int t = *hn_lowering_slot(lowering, value, place.storage, place.device);
    if (t < 0 || (plan->tensors[t].place != HN_PLACE_ARENA && plan->tensors[t].place != HN_PLACE_HEAP) ||
        plan->tensors[t].alias_of >= 0)
      return HN_FAIL(&lowering->context->diag, HONE_INTERNAL, "output %s has no storage of its own", value->name);
    if (plan->tensors[t].place == HN_PLACE_ARENA) {
      plan->tensors[t].place = HN_PLACE_OUTPUT;
      plan->tensors[t].index = i;
    }
    plan->outputs[i] =
        (hn_plan_port){.name = hn_arena_text(&plan->arena, lowering->graph->output_names[i]),
                       .tensor = t,
                       .error_rel_l2 = lowering->choices->output_errors ? lowering->choices->output_errors[i] : -1};
    if (!plan->outputs[i].name) return HN_FAIL_MEMORY(&lowering->context->diag);
  }
  for (int t = 0; t < plan->tensor_count; ++t) { /* views of outputs lie where those lie */
    const int root = plan->tensors[t].alias_of;  /* an earlier tensor, whose own place is final */
    if (root < 0) continue;
    plan->tensors[t].place = plan->tensors[root].place;
    plan->tensors[t].index = plan->tensors[root].index;
  }
  return HONE_OK;
}

static void describe(hn_lowering *lowering) {
  hn_plan *plan = lowering->plan;
  for (int t = 0; t < plan->tensor_count; ++t) {
    const hn_plan_tensor *tensor = &plan->tensors[t];
    if (tensor->place == HN_PLACE_HEAP) plan->after_run = true;
    for (int i = 0; i < tensor->type.shape.rank; ++i)
      if (HONE_SYMBOLIC(tensor->type.shape.dim[i])) plan->dynamic = true;
  }
  for (int s = 0; s < plan->step_count; ++s) {
    if (plan->steps[s].tactic && plan->spaces[plan->steps[s].device] == plan->host)
      lowering->schedules->device_isa |= plan->steps[s].tactic->isa;
    if (plan->steps[s].error_rel_l2 > plan->max_error_rel_l2) plan->max_error_rel_l2 = plan->steps[s].error_rel_l2;
  }
}

/* Devices in the host's memory share it: the first of them stands for all. */
static hone_status find_spaces(hn_lowering *lowering) {
  hn_plan *plan = lowering->plan;
  hone_device *const *devices = lowering->choices->devices;
  plan->spaces = HN_NEW(&plan->arena, int, plan->device_count);
  plan->space_arena_bytes = HN_NEW(&plan->arena, uint64_t, plan->device_count);
  lowering->unwaited = HN_NEW(&plan->arena, bool, plan->device_count);
  if (!plan->spaces || !plan->space_arena_bytes || !lowering->unwaited) return HN_FAIL_MEMORY(&lowering->context->diag);
  while (plan->host < plan->device_count && !devices[plan->host]->facts.host_memory) ++plan->host;
  if (plan->host == plan->device_count)
    return HN_FAIL(&lowering->context->diag, HONE_INTERNAL, "no device works in the host's memory");
  for (int d = 0; d < plan->device_count; ++d) plan->spaces[d] = devices[d]->facts.host_memory ? plan->host : d;
  return HONE_OK;
}

static hone_status start(hn_lowering *lowering) {
  hn_plan *plan = lowering->plan;
  const hone_graph *graph = lowering->graph;
  const hn_choices *choices = lowering->choices;
  const size_t slots = (size_t)(graph->value_count ? graph->value_count : 1);
  lowering->tensor_of = HN_NEW(&plan->arena, int, slots *HONE_STORAGE_COUNT *(size_t)choices->device_count);
  lowering->made_in = HN_NEW(&plan->arena, hone_storage, slots);
  lowering->made_at = HN_NEW(&plan->arena, int, slots);
  lowering->view_of = HN_NEW(&plan->arena, const hn_choice *, slots);
  const char **kinds = HN_NEW(&plan->arena, const char *, choices->device_count);
  plan->blocks = HN_NEW(&plan->arena, hn_plan_block, choices->block_count);
  if (!lowering->tensor_of || !lowering->made_in || !lowering->made_at || !lowering->view_of || !kinds ||
      !plan->blocks || !hn_dims_copy(&plan->dims, &graph->dims))
    return HN_FAIL_MEMORY(&lowering->context->diag);
  memset(lowering->tensor_of, -1,
         slots * HONE_STORAGE_COUNT * (size_t)choices->device_count * sizeof *lowering->tensor_of);
  plan->device_count = choices->device_count;
  HN_TRY(find_spaces(lowering));
  for (size_t v = 0; v < slots; ++v) lowering->made_at[v] = plan->host;
  for (int d = 0; d < choices->device_count; ++d) kinds[d] = choices->devices[d]->backend->name;
  plan->device_kinds = kinds;
  plan->block_count = choices->block_count;
  return HONE_OK;
}

static hone_status fill(hn_lowering *lowering, const hn_ranges *ranges) {
  HN_TRY(start(lowering));
  HN_TRY(name_inputs(lowering, ranges));
  HN_TRY(hn_lowering_steps(lowering));
  HN_TRY(name_outputs(lowering));
  HN_TRY(hn_lowering_storage(lowering));
  describe(lowering);
  HN_TRY(hn_lowering_weights(lowering));
  return hn_plan_check(lowering->plan, &lowering->context->diag);
}

/* What the schedules have in common is said once. */
static hone_status describe_all(hn_lowering *lowering) {
  hn_schedules *schedules = lowering->schedules;
  const hone_graph *graph = lowering->graph;
  if (schedules->count > 0) return HONE_OK;
  schedules->name = hn_arena_text(&schedules->arena, graph->name ? graph->name : "");
  schedules->device_name = hn_arena_text(&schedules->arena, lowering->choices->devices[0]->facts.name);
  schedules->built_by = "hone " HONE_VERSION_STRING;
  schedules->model_hash = graph->model_hash;
  return schedules->name && schedules->device_name ? HONE_OK : HN_FAIL_MEMORY(&lowering->context->diag);
}

hone_status hn_lower(hone_context *context, const hone_graph *graph, const hn_choices *choices, const hn_ranges *ranges,
                     hn_schedules *schedules) {
  hn_lowering lowering = {.context = context, .graph = graph, .choices = choices, .schedules = schedules};
  HN_TRY(describe_all(&lowering));
  HN_TRY(hn_plan_create(context->allocator, &lowering.plan, &context->diag));
  const hone_status status = fill(&lowering, ranges);
  if (status == HONE_OK) return hn_schedules_add(schedules, lowering.plan, &context->diag);
  hn_plan_destroy(lowering.plan);
  return hone_note(&context->diag, status, "while lowering %s", graph->name ? graph->name : "the graph");
}
