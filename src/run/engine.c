/* SPDX-License-Identifier: Apache-2.0 */
/* engine.c - checked schedules on opened devices; shared by sessions through a count of references. */
#include "run/engine.h"
#include "base/arguments.h"
#include "tensor/shape.h"
#include <string.h>

/* The opened device that serves a plan device of this kind; the reference runs beside any device on the host. */
static hone_device *device_for(const char *kind, hone_device *const *devices, int device_count) {
  for (int i = 0; i < device_count; ++i)
    if (strcmp(devices[i]->backend->name, kind) == 0) return devices[i];
  return NULL;
}

static hone_status take_devices(hone_engine *engine, hone_device *const *devices, int device_count,
                                hone_diagnostics *diag) {
  const hn_plan *plan = hn_engine_common(engine);
  engine->devices = hn_alloc_zero(&engine->allocator, (size_t)plan->device_count * sizeof(hone_device *));
  if (!engine->devices) return HN_FAIL_MEMORY(diag);
  engine->device_count = plan->device_count;
  for (int d = 0; d < plan->device_count; ++d) {
    hone_device *device = device_for(plan->device_kinds[d], devices, device_count);
    if (!device && engine->origin) device = engine->origin->devices[d];
    if (!device && engine->schedules->shown) continue;
    if (!device)
      return HN_FAIL(diag, HONE_INVALID, "the engine runs on a %s device, and none was given", plan->device_kinds[d]);
    hn_device_retain(device);
    engine->devices[d] = device;
    if ((plan->spaces[d] == plan->host) != device->facts.host_memory)
      return HN_FAIL(diag, HONE_INCOMPATIBLE, "device %s has %s, which the engine was not built for",
                     plan->device_kinds[d], device->facts.host_memory ? "the host's memory" : "memory of its own");
    if (!device->facts.host_memory && !engine->staging) engine->staging = device;
  }
  if (!engine->staging) return HONE_OK;
  engine->device_weights = HN_NEW(&engine->weights_arena, hn_device_weights, plan->device_count);
  return engine->device_weights ? HONE_OK : HN_FAIL_MEMORY(diag);
}

/* Do the devices here have what the chosen tactics need? */
static hone_status check_isa_of(const hone_engine *engine, const hn_plan *plan, hone_diagnostics *diag) {
  for (int s = 0; s < plan->step_count; ++s) {
    const hn_plan_step *step = &plan->steps[s];
    if (step->kind != HN_STEP_CALL) continue;
    const uint32_t have = engine->schedules->shown ? step->tactic->isa : engine->devices[step->device]->facts.isa,
                   need = step->tactic->isa;
    if ((have & need) != need)
      return HN_FAIL(diag, HONE_INCOMPATIBLE,
                     "step %s uses tactic %s, which needs features that %s does not have; build the engine again here",
                     step->name, step->tactic->name, engine->devices[step->device]->facts.name);
  }
  return HONE_OK;
}

static hone_status check_isa(const hone_engine *engine, hone_diagnostics *diag) {
  for (int k = 0; k < engine->schedules->count; ++k) HN_TRY(check_isa_of(engine, engine->schedules->plans[k], diag));
  return HONE_OK;
}

hone_status hn_engine_check_real(const hone_engine *engine, const char *what, hone_diagnostics *diag) {
  for (int d = 0; d < engine->device_count; ++d)
    if (engine->devices[d]->facts.described)
      return HN_FAIL(diag, HONE_UNSUPPORTED,
                     "an engine for the described machine %s cannot be %s: it only tells what would be built",
                     engine->devices[d]->facts.name, what);
  return HONE_OK;
}

hone_status hn_engine_check_weighted(const hone_engine *engine, hone_diagnostics *diag) {
  if (!engine->schedules->stripped) return HONE_OK;
  return HN_FAIL(diag, HONE_INCOMPATIBLE,
                 "the engine %s was written without its weights: hone refit ENGINE --model MODEL.onnx gives it some",
                 engine->schedules->name);
}

hone_status hn_engine_create(hn_allocator allocator, hn_schedules *take_schedules, hone_device *const *devices,
                             int device_count, hone_engine **out, hone_diagnostics *diag) {
  *out = NULL;
  hone_engine *engine = hn_alloc_zero(&allocator, sizeof *engine);
  if (!engine) {
    hn_schedules_destroy(take_schedules);
    return HN_FAIL_MEMORY(diag);
  }
  engine->allocator = allocator;
  engine->schedules = take_schedules;
  hn_arena_init(&engine->weights_arena, allocator);
  pthread_mutex_init(&engine->weights_mutex, NULL);
  atomic_init(&engine->references, 1);
  atomic_init(&engine->weights_state, 0);
  hone_status status = take_devices(engine, devices, device_count, diag);
  if (status == HONE_OK) status = check_isa(engine, diag);
  if (status != HONE_OK) {
    hone_engine_release(engine);
    return status;
  }
  *out = engine;
  return HONE_OK;
}

hone_status hone_engine_share(hone_engine *engine, hone_device *const *devices, int device_count,
                              hone_engine **out_engine, hone_diagnostics *diag) {
  if (out_engine) *out_engine = NULL;
  HN_GIVEN(diag, engine);
  HN_GIVEN(diag, out_engine);
  HN_TRY(hn_argument_pointers(diag, "devices", devices, device_count, INT32_MAX));
  hone_engine *other = hn_alloc_zero(&engine->allocator, sizeof *other);
  if (!other) return HN_FAIL_MEMORY(diag);
  other->allocator = engine->allocator;
  other->logger = engine->logger;
  other->schedules = engine->schedules;
  other->origin = engine->origin ? engine->origin : engine;
  hone_engine_retain(other->origin);
  hn_arena_init(&other->weights_arena, other->allocator);
  pthread_mutex_init(&other->weights_mutex, NULL);
  atomic_init(&other->references, 1);
  atomic_init(&other->weights_state, 0);
  hone_status status = take_devices(other, devices, device_count, diag);
  if (status == HONE_OK) status = check_isa(other, diag);
  if (status != HONE_OK) {
    hone_engine_release(other);
    return status;
  }
  *out_engine = other;
  return HONE_OK;
}

hone_status hn_engine_check_schedule(const hone_engine *engine, int schedule, hone_diagnostics *diag) {
  if (schedule >= 0 && schedule < engine->schedules->count) return HONE_OK;
  if (engine->schedules->count == 1)
    return HN_FAIL(diag, HONE_INVALID, "there is no schedule %d: the engine has one, number 0", schedule);
  return HN_FAIL(diag, HONE_INVALID, "there is no schedule %d: the engine has %d, from 0 on", schedule,
                 engine->schedules->count);
}

void hone_engine_retain(hone_engine *engine) {
  if (engine) atomic_fetch_add(&engine->references, 1);
}

void hone_engine_release(hone_engine *engine) {
  if (!engine || atomic_fetch_sub(&engine->references, 1) != 1) return;
  const hn_allocator allocator = engine->allocator;
  hn_engine_drop_weights(engine);
  if (!engine->origin) hn_schedules_destroy(engine->schedules);
  pthread_mutex_destroy(&engine->weights_mutex);
  hn_arena_deinit(&engine->weights_arena);
  for (int d = 0; engine->devices && d < engine->device_count; ++d) hn_device_release(engine->devices[d]);
  hn_free(&allocator, engine->devices, (size_t)engine->device_count * sizeof(hone_device *));
  hn_free(&allocator, engine->ledger, engine->ledger_bytes);
  hone_engine_release(engine->origin);
  hn_users_leave(engine->users, HN_USER_ENGINE);
  hn_free(&allocator, engine, sizeof *engine);
}

int hone_engine_input_count(const hone_engine *engine) { return engine ? hn_engine_common(engine)->input_count : 0; }
int hone_engine_output_count(const hone_engine *engine) { return engine ? hn_engine_common(engine)->output_count : 0; }
int hone_engine_schedule_count(const hone_engine *engine) { return engine ? engine->schedules->count : 0; }

static void describe(const hn_plan *plan, const hn_plan_port *port, hone_port_info *out) {
  const hn_plan_tensor *tensor = &plan->tensors[port->tensor];
  *out = (hone_port_info){.name = port->name,
                          .type = tensor->type,
                          .min = port->min,
                          .opt = port->opt,
                          .max = port->max,
                          .on_device = tensor->device != plan->host,
                          .held = tensor->type.dtype,
                          .format = tensor->type.format,
                          .data_dependent = tensor->place == HN_PLACE_HEAP};
  out->type.dtype = tensor->dtype;
  out->type.format = HONE_PLAIN;
  for (int i = 0; i < out->type.shape.rank; ++i)
    if (HONE_SYMBOLIC(out->type.shape.dim[i])) out->type.shape.dim[i] = -1;
}

/* From the least to the largest extent that some schedule takes; free where they differ. */
static void join(const hone_port_info *more, hone_port_info *out) {
  hone_shape *shape = &out->type.shape;
  if (more->type.shape.rank != shape->rank) {
    *shape = (hone_shape){.rank = -1};
    return;
  }
  for (int d = 0; d < shape->rank; ++d) {
    if (shape->dim[d] != more->type.shape.dim[d]) shape->dim[d] = -1;
    if (more->min.dim[d] < out->min.dim[d]) out->min.dim[d] = more->min.dim[d];
    if (more->max.dim[d] > out->max.dim[d]) out->max.dim[d] = more->max.dim[d];
  }
}

static const hn_plan_port *port_of(const hn_plan *plan, int index, bool input) {
  return input ? &plan->inputs[index] : &plan->outputs[index];
}

static hone_status describe_all(const hone_engine *engine, int index, bool input, hone_port_info *out) {
  HN_RESULT(NULL, out, hone_port_info, data_dependent);
  HN_GIVEN(NULL, engine);
  hn_plan *const *plans = engine->schedules->plans;
  if (index < 0 || index >= (input ? plans[0]->input_count : plans[0]->output_count)) return HONE_INVALID;
  hone_port_info all;
  describe(plans[0], port_of(plans[0], index, input), &all);
  for (int k = 1; k < engine->schedules->count; ++k) {
    hone_port_info more;
    describe(plans[k], port_of(plans[k], index, input), &more);
    join(&more, &all);
    all.data_dependent |= more.data_dependent;
  }
  hn_result_give(&all, out);
  return HONE_OK;
}

hone_status hone_engine_input(const hone_engine *engine, int index, hone_port_info *out_info) {
  return describe_all(engine, index, true, out_info);
}

hone_status hone_engine_output(const hone_engine *engine, int index, hone_port_info *out_info) {
  return describe_all(engine, index, false, out_info);
}

hone_status hone_engine_schedule_input(const hone_engine *engine, int schedule, int index, hone_port_info *out_info) {
  HN_RESULT(NULL, out_info, hone_port_info, data_dependent);
  HN_GIVEN(NULL, engine);
  if (schedule < 0 || schedule >= engine->schedules->count || index < 0 || index >= hone_engine_input_count(engine))
    return HONE_INVALID;
  const hn_plan *plan = engine->schedules->plans[schedule];
  hone_port_info one;
  describe(plan, &plan->inputs[index], &one);
  hn_result_give(&one, out_info);
  return HONE_OK;
}

uint64_t hone_engine_weights_read(const hone_engine *engine, int schedule) {
  if (!engine || schedule < 0 || schedule >= engine->schedules->count) return 0;
  const hn_plan *plan = engine->schedules->plans[schedule];
  uint64_t bytes = 0;
  for (int s = 0; s < plan->blocks[0].step_count; ++s) {
    const hn_plan_step *step = &plan->steps[plan->blocks[0].first_step + s];
    if (step->kind != HN_STEP_CALL || !step->packed_bytes || !step->tactic) continue;
    for (int i = 0; i < step->in_count && i < 32; ++i)
      if (step->in[i] >= 0 && (step->tactic->pack_mask & (1u << i)))
        bytes += hn_bytes(&plan->tensors[step->in[i]].type);
  }
  return bytes;
}

static const hn_plan_port *find_port(const hn_plan *plan, const char *name) {
  for (int i = 0; i < plan->input_count; ++i)
    if (strcmp(plan->inputs[i].name, name) == 0) return &plan->inputs[i];
  for (int i = 0; i < plan->output_count; ++i)
    if (strcmp(plan->outputs[i].name, name) == 0) return &plan->outputs[i];
  return NULL;
}

/* Of the first schedule in which the dim is free: in one of a single shape it is a number. */
void hone_engine_dim_text(const hone_engine *engine, const char *port, int dim, char *out, size_t room) {
  if (!out || room == 0) return;
  *out = 0;
  for (int k = 0; engine && port && k < engine->schedules->count; ++k) {
    const hn_plan *plan = engine->schedules->plans[k];
    const hn_plan_port *found = find_port(plan, port);
    const hone_shape *shape = found ? &plan->tensors[found->tensor].type.shape : NULL;
    if (!shape || dim < 0 || dim >= shape->rank || !HONE_SYMBOLIC(shape->dim[dim])) continue;
    hn_text text;
    hn_text_init(&text, engine->allocator);
    hn_text_dim(&text, shape->dim[dim], &plan->dims);
    hn_copy_text(out, room, hn_text_string(&text));
    hn_text_deinit(&text);
    return;
  }
}
