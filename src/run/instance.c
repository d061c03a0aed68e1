/* SPDX-License-Identifier: Apache-2.0 */
/* instance.c - shape instances: what a run needs at one set of input shapes, made before it. */
#include "run/session.h"
#include "tensor/shape.h"
#include <string.h>

/* Evaluates every tensor's shape; those that wait for a run get bytes 0 and no data. */
static hone_status resolve_tensors(hone_session *session, hn_instance *instance) {
  const hn_plan *plan = instance->plan;
  for (int t = 0; t < plan->tensor_count; ++t) {
    const hn_plan_tensor *planned = &plan->tensors[t];
    hone_tensor *tensor = &instance->tensors[t];
    tensor->type = planned->type;
    if (planned->type.kind != HONE_TENSOR) continue;
    const bool known = hn_shape_eval(&plan->dims, &planned->type.shape, instance->symbols, plan->dims.symbol_count,
                                     &tensor->type.shape) &&
                       hn_type_bytes(&tensor->type, &tensor->bytes);
    if (!known && planned->place != HN_PLACE_HEAP)
      return HN_FAIL(&session->diag, HONE_INVALID, "the shape of %s cannot be computed from the input shapes",
                     planned->name);
    if (!known || planned->place == HN_PLACE_HEAP) tensor->bytes = 0;
    if (planned->alias_of >= 0 && tensor->bytes > instance->tensors[planned->alias_of].bytes)
      return HN_FAIL(&session->diag, HONE_INVALID,
                     "with these input shapes %s is larger than %s, whose storage it shares", planned->name,
                     plan->tensors[planned->alias_of].name);
  }
  return HONE_OK;
}

/* Bytes of each tensor that owns a place in the arena of one device. */
static void arena_sizes(const hn_plan *plan, const hn_instance *instance, int device, size_t *bytes) {
  for (int t = 0; t < plan->tensor_count; ++t) {
    const hn_plan_tensor *planned = &plan->tensors[t];
    const bool owns =
        planned->place == HN_PLACE_ARENA && planned->alias_of < 0 && planned->part_of < 0 && planned->device == device;
    bytes[t] = owns ? instance->tensors[t].bytes : 0;
  }
}

/* Offsets in the arenas: the plan's when every dim is a number, else placed anew. *out_bytes has one entry a device. */
static hone_status place_arena(hone_session *session, hn_instance *instance, size_t *offsets, size_t *out_bytes) {
  const hn_plan *plan = instance->plan;
  if (!plan->dynamic) {
    for (int t = 0; t < plan->tensor_count; ++t) offsets[t] = (size_t)plan->tensors[t].offset;
    for (int d = 0; d < plan->device_count; ++d) out_bytes[d] = (size_t)plan->space_arena_bytes[d];
    return HONE_OK;
  }
  hn_life *lives = HN_NEW(&instance->arena, hn_life, plan->tensor_count);
  int *order = HN_NEW(&instance->arena, int, plan->tensor_count);
  size_t *bytes = HN_NEW(&instance->arena, size_t, plan->tensor_count);
  size_t *placed = HN_NEW(&instance->arena, size_t, plan->tensor_count);
  if (!lives || !order || !bytes || !placed) return HN_FAIL_MEMORY(&session->diag);
  hn_plan_lives(plan, lives);
  for (int d = 0; d < plan->device_count; ++d) {
    arena_sizes(plan, instance, d, bytes);
    const hone_status status = hn_memory_place(&instance->arena, &session->stop, plan->tensor_count, bytes, lives,
                                               order, placed, &out_bytes[d]);
    HN_TRY(hn_stop_check(&session->stop, &session->diag));
    if (status != HONE_OK)
      return HN_FAIL(&session->diag, HONE_NO_MEMORY, "the activations are larger than memory can be");
    for (int t = 0; t < plan->tensor_count; ++t)
      if (bytes[t]) offsets[t] = placed[t];
  }
  return HONE_OK;
}

hone_status hn_session_host_alloc(hone_session *session, size_t bytes, hone_memory *out) {
  const hone_engine *engine = session->engine;
  if (engine->staging) return hn_staging_alloc(engine->staging, bytes, out, &session->diag);
  return hn_memory_alloc(engine->devices[hn_engine_common(engine)->host], bytes, out, &session->diag);
}

void hn_session_host_free(const hone_session *session, hone_memory *memory) {
  const hone_engine *engine = session->engine;
  hn_memory_free(engine->staging ? engine->staging : engine->devices[hn_engine_common(engine)->host], memory);
}

static hone_status allocate_buffers(hone_session *session, hn_instance *instance, const size_t *arena_bytes) {
  const hn_plan *plan = instance->plan;
  for (int d = 0; d < plan->device_count; ++d) {
    if (plan->spaces[d] != d) continue;
    if (d == plan->host)
      HN_TRY(hn_session_host_alloc(session, arena_bytes[d], &instance->device_arena[d]));
    else
      HN_TRY(hn_memory_alloc(session->engine->devices[d], arena_bytes[d], &instance->device_arena[d], &session->diag));
  }
  return hn_port_buffers(session, instance);
}

/* Addresses of what never moves: the arena's tensors and the constants. */
static void point_fixed(const hone_session *session, hn_instance *instance, const size_t *offsets) {
  const hn_plan *plan = instance->plan;
  for (int t = 0; t < plan->tensor_count; ++t) {
    const hn_plan_tensor *planned = &plan->tensors[t];
    hone_tensor *tensor = &instance->tensors[t];
    if (planned->alias_of >= 0) continue;
    if (planned->place == HN_PLACE_ARENA)
      tensor->data = (void *)(uintptr_t)(instance->device_arena[planned->device].address + offsets[t]);
    if (planned->place == HN_PLACE_CONSTANT)
      tensor->data = (void *)(uintptr_t)hn_engine_weight(session->engine, planned->device, planned->offset);
  }
}

static bool is_data_dependent(const hn_plan *plan, const hn_plan_step *step) {
  for (int i = 0; i < step->in_count; ++i)
    if (step->in[i] >= 0 && plan->tensors[step->in[i]].place == HN_PLACE_HEAP) return true;
  for (int i = 0; i < step->out_count; ++i)
    if (step->out[i] >= 0 && plan->tensors[step->out[i]].place == HN_PLACE_HEAP) return true;
  return false;
}

/* Types as far as they are known before the run. */
static void know_types(const hn_plan *plan, const hn_plan_step *step, const int64_t *symbols, hone_fact *facts) {
  for (int i = 0; i < step->in_count + step->out_count; ++i) {
    const int t = i < step->in_count ? step->in[i] : step->out[i - step->in_count];
    hone_shape shape;
    if (t < 0) continue;
    facts[i].type = plan->tensors[t].type;
    if (hn_shape_eval(&plan->dims, &facts[i].type.shape, symbols, plan->dims.symbol_count, &shape))
      facts[i].type.shape = shape;
  }
}

/* The facts of a query hold the host's bytes of its constants, whatever launch gets. */
static hone_status give_constants(hone_session *session, hn_instance *instance, int s, hone_fact *facts) {
  const hn_plan *plan = instance->plan;
  const hn_plan_step *step = &plan->steps[s];
  const bool apart = plan->spaces[step->device] != plan->host;
  hone_tensor *views = apart ? HN_NEW(&instance->arena, hone_tensor, step->in_count + 1) : NULL;
  if (apart && !views) return HN_FAIL_MEMORY(&session->diag);
  for (int i = 0; i < step->in_count; ++i) {
    if (step->in[i] < 0 || plan->tensors[step->in[i]].place != HN_PLACE_CONSTANT) continue;
    facts[i].constant = &instance->tensors[step->in[i]];
    if (!apart) continue;
    views[i] = instance->tensors[step->in[i]];
    int root = step->in[i];
    while (plan->tensors[root].alias_of >= 0) root = plan->tensors[root].alias_of;
    views[i].data = (void *)(uintptr_t)(plan->weights + plan->tensors[root].offset);
    facts[i].constant = &views[i];
  }
  return HONE_OK;
}

/* Makes one call ready: its tactic's state and its launch arrays. */
static hone_status prepare_step(hone_session *session, hn_instance *instance, int s, size_t *scratch_bytes) {
  const hn_plan *plan = instance->plan;
  const hn_plan_step *step = &plan->steps[s];
  hn_step_state *state = &instance->steps[s];
  hone_device *device = session->engine->devices[step->device];
  hone_tensor *ports = HN_NEW(&instance->arena, hone_tensor, step->in_count + step->out_count);
  hone_fact *facts = HN_NEW(&instance->arena, hone_fact, step->in_count + step->out_count);
  if (!ports || !facts) return HN_FAIL_MEMORY(&session->diag);
  state->data_dependent = is_data_dependent(plan, step);
  state->nested = s >= plan->blocks[0].step_count;
  state->launch = (hone_launch){
      .in_count = step->in_count,
      .out_count = step->out_count,
      .in = ports,
      .out = ports + step->in_count,
      .packed = step->packed_bytes ? hn_engine_weight(session->engine, plan->spaces[step->device], step->packed_offset)
                                   : NULL,
      .diagnostics = &session->diag,
      .state_length = session->state_count ? &session->state_length : NULL};
  if (step->kind != HN_STEP_CALL) return HONE_OK;
  hone_query query;
  state->fixed = state->data_dependent && !(step->tactic->flags & (HONE_TACTIC_REFERENCE | HONE_TACTIC_DATA_DEPENDENT));
  const bool known = !state->data_dependent || state->fixed;
  if (known)
    HN_TRY(hn_plan_step_facts(plan, step, instance->symbols, facts, facts + step->in_count, &session->diag));
  else
    know_types(plan, step, instance->symbols, facts);
  HN_TRY(give_constants(session, instance, s, facts));
  hn_plan_step_query(plan, step, &device->facts, facts, facts + step->in_count, &query);
  HN_TRY(hn_prepare(device, &query, &state->prepared, &session->diag));
  const size_t need = known ? state->prepared.scratch_bytes : 0;
  if (need > *scratch_bytes) *scratch_bytes = need;
  instance->state_bytes += state->prepared.state_bytes;
  return HONE_OK;
}

/* Behind the last such call of a run comes the first one of the next. */
static void tell_next_weights(hn_instance *instance) {
  const hn_plan *plan = instance->plan;
  const int count = plan->blocks[0].step_count;
  int next = -1;
  for (int i = 2 * count - 1; i >= 0; --i) {
    const hn_plan_step *step = &plan->steps[i % count];
    if (step->kind != HN_STEP_CALL || !step->packed_bytes || !(step->tactic->flags & HONE_TACTIC_STREAMS)) continue;
    hone_launch *launch = &instance->steps[i % count].launch;
    if (next >= 0 && plan->steps[next].device == step->device) {
      launch->next_packed = instance->steps[next].launch.packed;
      launch->next_bytes = plan->steps[next].packed_bytes;
    }
    next = i % count;
  }
}

static hone_status prepare_steps(hone_session *session, hn_instance *instance) {
  const hn_plan *plan = instance->plan;
  size_t *scratch_bytes = HN_NEW(&instance->arena, size_t, plan->device_count);
  if (!scratch_bytes) return HN_FAIL_MEMORY(&session->diag);
  for (int s = 0; s < plan->step_count; ++s)
    HN_TRY_NOTE(&session->diag, prepare_step(session, instance, s, &scratch_bytes[plan->steps[s].device]),
                "while preparing step %s", plan->steps[s].name);
  tell_next_weights(instance);
  for (int d = 0; d < plan->device_count; ++d) {
    const size_t lane_bytes = plan->lanes > 1 ? (scratch_bytes[d] + 255) / 256 * 256 : scratch_bytes[d];
    HN_TRY(hn_memory_alloc(session->engine->devices[d], lane_bytes * (size_t)plan->lanes, &instance->device_scratch[d],
                           &session->diag));
  }
  for (int s = 0; s < plan->step_count; ++s)
    instance->steps[s].launch.scratch = (void *)(uintptr_t)instance->device_scratch[plan->steps[s].device].address;
  return HONE_OK;
}

static hone_status allocate_arrays(hone_session *session, hn_instance *instance) {
  const hn_plan *plan = instance->plan;
  hn_arena *arena = &instance->arena;
  const int symbols = plan->dims.symbol_count ? plan->dims.symbol_count : 1;
  instance->shapes = HN_NEW(arena, hone_shape, plan->input_count);
  instance->symbols = HN_NEW(arena, int64_t, symbols);
  instance->symbols_at_start = HN_NEW(arena, int64_t, symbols);
  instance->tensors = HN_NEW(arena, hone_tensor, plan->tensor_count);
  instance->steps = HN_NEW(arena, hn_step_state, plan->step_count);
  instance->device_arena = HN_NEW(arena, hone_memory, plan->device_count);
  instance->device_scratch = HN_NEW(arena, hone_memory, plan->device_count);
  instance->inputs = HN_NEW(arena, hone_memory, plan->input_count);
  instance->outputs = HN_NEW(arena, hone_memory, plan->output_count);
  instance->staged_in = HN_NEW(arena, hone_memory, plan->input_count);
  instance->staged_out = HN_NEW(arena, hone_memory, plan->output_count);
  instance->plain_out = HN_NEW(arena, hone_memory, plan->output_count);
  const bool all = instance->shapes && instance->symbols && instance->symbols_at_start && instance->tensors &&
                   instance->steps && instance->device_arena && instance->device_scratch && instance->inputs &&
                   instance->outputs && instance->staged_in && instance->staged_out && instance->plain_out;
  return all ? HONE_OK : HN_FAIL_MEMORY(&session->diag);
}

static hone_status build_instance(hone_session *session, const hone_shape *shapes, hn_instance *instance) {
  const hn_plan *plan = instance->plan;
  HN_TRY(allocate_arrays(session, instance));
  memcpy(instance->shapes, shapes, (size_t)plan->input_count * sizeof *shapes);
  HN_TRY(hn_plan_bind_symbols(plan, shapes, instance->symbols, &session->diag));
  memcpy(instance->symbols_at_start, instance->symbols, (size_t)plan->dims.symbol_count * sizeof(int64_t));
  HN_TRY(hn_plan_check_extents(plan, instance->symbols, &session->diag));
  HN_TRY(resolve_tensors(session, instance));
  size_t *offsets = HN_NEW(&instance->arena, size_t, plan->tensor_count);
  size_t *arena_bytes = HN_NEW(&instance->arena, size_t, plan->device_count);
  if (!offsets || !arena_bytes) return HN_FAIL_MEMORY(&session->diag);
  HN_TRY(place_arena(session, instance, offsets, arena_bytes));
  HN_TRY(allocate_buffers(session, instance, arena_bytes));
  point_fixed(session, instance, offsets);
  HN_TRY(prepare_steps(session, instance));
  HN_TRY(hn_taps_make(session, instance, plan));
  if (!session->engine->staging) return HONE_OK;
  HN_TRY(hn_instance_rebind(session, instance)); /* fills the launches that are recorded */
  return hn_instance_record(session, instance);
}

/* As many elements as were given last: none at the beginning. */
static void point_list(const hone_tensor *given, hone_tensor *tensor) {
  static const int64_t none = 0;
  tensor->type.shape = given->data ? given->type.shape : hn_shape(1, &none);
  (void)hn_held_bytes(&tensor->type, &tensor->bytes);
}

/* The caller's buffer or the session's own. true: a device's tensor has moved. */
static bool point_ports(const hone_session *session, hn_instance *instance) {
  const hn_plan *plan = instance->plan;
  bool moved = false;
  for (int t = 0; t < plan->tensor_count; ++t) {
    const hn_plan_tensor *planned = &plan->tensors[t];
    hone_tensor *tensor = &instance->tensors[t];
    const void *before = tensor->data;
    if (planned->alias_of >= 0) continue;
    if (planned->place == HN_PLACE_INPUT) {
      void *bound = session->bound_in[planned->index].data;
      const hn_state *state = hn_state_of(session, planned->index, -1);
      const hone_memory *own = state ? &state->memory : &instance->inputs[planned->index];
      if (planned->type.kind != HONE_TENSOR) point_list(&session->bound_in[planned->index], tensor);
      tensor->data = bound ? bound : (void *)(uintptr_t)own->address;
    } else if (planned->place == HN_PLACE_OUTPUT) {
      void *bound = session->bound_out[planned->index].data;
      const hn_state *state = hn_state_of(session, -1, planned->index);
      const hone_memory *own = state ? &state->memory : &instance->outputs[planned->index];
      tensor->data = bound ? bound : (void *)(uintptr_t)own->address;
    }
    moved = moved || (planned->device != plan->host && tensor->data != before);
  }
  return moved;
}

hone_status hn_instance_rebind(hone_session *session, hn_instance *instance) {
  const hn_plan *plan = instance->plan;
  HN_TRY(hn_states_fit(session, instance));
  const bool moved = point_ports(session, instance);
  for (int t = 0; t < plan->tensor_count; ++t) { /* aliases point at earlier tensors' roots */
    int root = t;
    while (plan->tensors[root].alias_of >= 0) root = plan->tensors[root].alias_of;
    if (root != t) instance->tensors[t].data = instance->tensors[root].data;
  }
  for (int s = 0; s < plan->step_count; ++s) {
    const hn_plan_step *step = &plan->steps[s];
    hone_launch *launch = &instance->steps[s].launch;
    hone_tensor *in = (hone_tensor *)(uintptr_t)launch->in;
    for (int i = 0; i < step->in_count; ++i)
      if (step->in[i] >= 0) in[i] = instance->tensors[step->in[i]];
    for (int i = 0; i < step->out_count; ++i)
      if (step->out[i] >= 0) launch->out[i] = instance->tensors[step->out[i]];
  }
  if (!moved || !instance->replays) return HONE_OK;
  hn_instance_forget(session, instance);
  return hn_instance_record(session, instance);
}

void hn_instance_destroy(hone_session *session, hn_instance *instance) {
  if (!instance) return;
  const hn_plan *plan = instance->plan;
  hone_device *const *devices = session->engine->devices;
  hn_instance_forget(session, instance);
  hn_taps_drop(session, instance);
  for (int s = 0; instance->steps && s < plan->step_count; ++s) hn_unprepare(&instance->steps[s].prepared);
  for (int d = 0; instance->device_arena && d < plan->device_count; ++d) {
    if (d == plan->host)
      hn_session_host_free(session, &instance->device_arena[d]);
    else
      hn_memory_free(devices[d], &instance->device_arena[d]);
  }
  for (int d = 0; instance->device_scratch && d < plan->device_count; ++d)
    hn_memory_free(devices[d], &instance->device_scratch[d]);
  hn_port_free_buffers(session, instance);
  hn_arena_deinit(&instance->arena);
  hn_free(&session->allocator, instance, sizeof *instance);
}

hone_status hn_instance_create(hone_session *session, int schedule, const hone_shape *shapes, hn_instance **out) {
  *out = NULL;
  hn_instance *instance = hn_alloc_zero(&session->allocator, sizeof *instance);
  if (!instance) return HN_FAIL_MEMORY(&session->diag);
  instance->schedule = schedule;
  instance->plan = session->engine->schedules->plans[schedule];
  hn_arena_init(&instance->arena, session->allocator);
  const hone_status status = build_instance(session, shapes, instance);
  if (status != HONE_OK) {
    hn_instance_destroy(session, instance);
    return status;
  }
  *out = instance;
  return HONE_OK;
}
