/* SPDX-License-Identifier: Apache-2.0 */
/* transfers.c - a value brought to its reader. Where a reader wants another storage than the producer writes, a convert
 * step of its own stands between; where it works in another memory, a copy step. Both are named after the step that
 * caused them, and made once for all readers. */
#include "lower/lowering.h"
#include "tensor/shape.h"
#include "tensor/storage.h"
#include <stdio.h>
#include <string.h>

static hone_status no_memory(hn_lowering *lowering) { return HN_FAIL_MEMORY(&lowering->context->diag); }

/* The first tactic of this memory space that converts this way; *out_device is where it runs. */
static const hone_tactic *find_convert(const hn_lowering *lowering, hone_query *query, int space, int *out_device) {
  for (int d = 0; d < lowering->choices->device_count; ++d) {
    if (lowering->plan->spaces[d] != space) continue;
    const hone_device *device = lowering->choices->devices[d];
    query->facts = &device->facts;
    for (const hone_tactic *const *row = device->tactics; *row; ++row) {
      const hone_tactic *tactic = *row;
      if (strcmp(tactic->op, "convert") != 0 || (tactic->isa & device->facts.isa) != tactic->isa ||
          !hn_source_allowed(lowering->choices->options, device, tactic))
        continue;
      *out_device = d;
      hone_needs needs;
      query->tactic = tactic;
      if (!hn_tactic_plan(query, NULL, &needs)) return tactic;
    }
  }
  return NULL;
}

/* The step that turns a value from one storage into another; the tensor of the first is there. */
static hone_status emit_one_convert(hn_lowering *lowering, const hn_value *value, hone_storage made,
                                    hone_storage storage, int space, const hn_node *cause, int port, int *out) {
  hn_plan *plan = lowering->plan;
  const hone_op *op = hn_op_find(lowering->context->ops, "convert");
  hone_fact in = {0}, to = {0};
  in.type = value->fact.type;
  if (!hn_shape_eval(&lowering->graph->dims, &value->fact.type.shape, lowering->choices->symbols,
                     lowering->graph->dims.symbol_count, &in.type.shape))
    return HN_FAIL(&lowering->context->diag, HONE_INTERNAL, "the shape of %s is not known at opt", value->name);
  to.type = hn_stored_type(&in.type, storage);
  in.type = hn_stored_type(&in.type, made);
  static const hone_attrs no_attrs;
  static const hone_params no_params;
  hone_query query = {
      .op = op, .attrs = &no_attrs, .in_count = 1, .out_count = 1, .in = &in, .out = &to, .params = &no_params};
  int device;
  const hone_tactic *tactic = op ? find_convert(lowering, &query, space, &device) : NULL;
  if (!tactic)
    return HN_FAIL(&lowering->context->diag, HONE_INTERNAL, "nothing turns %s from %s into %s", value->name,
                   hn_storage_name(made), hn_storage_name(storage));
  const int from = hn_lowering_tensor(lowering, value, made, space);
  const int result = hn_lowering_tensor(lowering, value, storage, space);
  if (from < 0 || result < 0) return HONE_NO_MEMORY;
  char name[256];
  if (cause)
    snprintf(name, sizeof name, "%s/convert_%d%s", cause->name, port, storage == HONE_PLAIN ? "_plain" : "");
  else
    snprintf(name, sizeof name, "%s/convert_out", value->name);
  hn_plan_step *step = hn_lowering_new_step(lowering, HN_STEP_CALL, name, op, 1, 1, NULL);
  if (!step) return no_memory(lowering);
  plan->tensors[result].name = hn_arena_printf(&plan->arena, "%s:%s", value->name, hn_storage_name(storage));
  step->caused_by = hn_arena_text(&plan->arena, cause ? cause->name : value->name);
  if (!plan->tensors[result].name || !step->caused_by) return no_memory(lowering);
  step->tactic = tactic;
  step->provider = lowering->choices->devices[device]->backend->name;
  step->device = device;
  step->in[0] = from;
  step->out[0] = result;
  step->cost = (hone_cost){.bytes_read = (double)hn_bytes(&in.type), .bytes_written = (double)hn_bytes(&to.type)};
  step->error_rel_l2 = 0; /* moves elements unchanged */
  *out = result;
  return cause ? hn_lowering_origins(lowering, &cause->origins, step) : HONE_OK;
}

/* Where one step cannot do it, the way leads over plain. */
static hone_status emit_convert(hn_lowering *lowering, const hn_value *value, hone_storage storage, int space,
                                const hn_node *cause, int port, int *out) {
  const hone_storage made = lowering->made_in[value->id];
  if (hn_storage_is_direct(made, storage))
    return emit_one_convert(lowering, value, made, storage, space, cause, port, out);
  if (*hn_lowering_slot(lowering, value, HONE_PLAIN, space) < 0)
    HN_TRY(emit_one_convert(lowering, value, made, HONE_PLAIN, space, cause, port, out));
  return emit_one_convert(lowering, value, HONE_PLAIN, storage, space, cause, port, out);
}

/* Copies a value, plain at both ends, to a memory space where it is not yet. The device with memory of its own does it.
 */
static hone_status emit_copy(hn_lowering *lowering, const hn_value *value, int to_space, const hn_node *cause,
                             int port) {
  hn_plan *plan = lowering->plan;
  const int from_space = lowering->made_at[value->id];
  if (from_space != plan->host && to_space != plan->host) { /* between two such devices the way leads over the host */
    int at_host;
    HN_TRY(hn_lowering_transfer(lowering, value, HONE_PLAIN, plan->host, cause, port, &at_host));
    HN_TRY(hn_lowering_wait(lowering));
  }
  const int source = from_space != plan->host && to_space != plan->host ? plan->host : from_space;
  int from;
  HN_TRY(hn_lowering_transfer(lowering, value, HONE_PLAIN, source, cause, port, &from));
  const int result = hn_lowering_tensor(lowering, value, HONE_PLAIN, to_space);
  if (result < 0) return HONE_NO_MEMORY;
  char name[256];
  const int device = to_space == plan->host ? source : to_space;
  if (cause)
    snprintf(name, sizeof name, "%s/copy_%d", cause->name, port);
  else
    snprintf(name, sizeof name, "%s/copy_out", value->name);
  hn_plan_step *step = hn_lowering_new_step(lowering, HN_STEP_COPY, name, NULL, 1, 1, NULL);
  if (!step) return no_memory(lowering);
  plan->tensors[result].name = hn_arena_printf(&plan->arena, "%s@%s", value->name, plan->device_kinds[to_space]);
  step->caused_by = hn_arena_text(&plan->arena, cause ? cause->name : value->name);
  if (!plan->tensors[result].name || !step->caused_by) return no_memory(lowering);
  step->device = device;
  step->in[0] = from;
  step->out[0] = result;
  step->error_rel_l2 = 0;
  hone_type type = value->fact.type;
  if (hn_shape_eval(&lowering->graph->dims, &type.shape, lowering->choices->symbols, lowering->graph->dims.symbol_count,
                    &type.shape))
    step->cost = (hone_cost){.bytes_read = (double)hn_bytes(&type), .bytes_written = (double)hn_bytes(&type)};
  if (to_space == plan->host) lowering->unwaited[device] = true;
  return cause ? hn_lowering_origins(lowering, &cause->origins, step) : HONE_OK;
}

hone_status hn_lowering_wait(hn_lowering *lowering) {
  hn_plan *plan = lowering->plan;
  for (int d = 0; d < plan->device_count; ++d) {
    if (!lowering->unwaited[d]) continue;
    char name[64];
    snprintf(name, sizeof name, "wait_%s", plan->device_kinds[d]);
    hn_plan_step *step = hn_lowering_new_step(lowering, HN_STEP_WAIT, name, NULL, 0, 0, NULL);
    if (!step) return no_memory(lowering);
    step->device = d;
    step->error_rel_l2 = 0;
    lowering->unwaited[d] = false;
  }
  return HONE_OK;
}

hone_status hn_lowering_transfer(hn_lowering *lowering, const hn_value *value, hone_storage storage, int space,
                                 const hn_node *cause, int port, int *out) {
  *out = -1;
  if (!value) return HONE_OK;
  const int *plain = hn_lowering_slot(lowering, value, HONE_PLAIN, space);
  const int at = lowering->made_at[value->id];
  if (!value->fact.constant && *hn_lowering_slot(lowering, value, storage, space) < 0) {
    if (at == space) {
      if (lowering->made_in[value->id] != storage)
        return emit_convert(lowering, value, storage, space, cause, port, out);
    } else {
      if (*plain < 0 && lowering->view_of[value->id])
        HN_TRY(hn_lowering_view(lowering, lowering->view_of[value->id], space));
      else if (*plain < 0)
        HN_TRY(emit_copy(lowering, value, space, cause, port));
      if (storage != HONE_PLAIN && space == lowering->plan->host) HN_TRY(hn_lowering_wait(lowering));
      if (storage != HONE_PLAIN) return emit_one_convert(lowering, value, HONE_PLAIN, storage, space, cause, port, out);
    }
  }
  *out = hn_lowering_tensor(lowering, value, storage, space);
  return *out < 0 ? HONE_NO_MEMORY : HONE_OK;
}
