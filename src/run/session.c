/* SPDX-License-Identifier: Apache-2.0 */
/* session.c - sessions: shapes, buffers and runs. A run allocates nothing; whatever a changed shape needs is made
 * before it, and instances of earlier shapes are kept (least recently used first out). */
#include "run/session.h"
#include "base/arguments.h"
#include "base/clock.h"
#include "base/memory.h"
#include "tensor/shape.h"
#include <string.h>

enum { DEFAULT_INSTANCES = 4 };
static const uint64_t default_heap_bytes = (uint64_t)1 << 30;

/* One entry at a time; a second thread is refused. */
hone_status hn_session_enter(hone_session *session) {
  if (!session) return HONE_INVALID;
  if (atomic_flag_test_and_set_explicit(&session->busy, memory_order_acquire)) return HONE_INVALID;
  hn_diag_clear(&session->diag);
  hn_stop_begin(&session->stop);
  if (!session->failed) return HONE_OK;
  const hone_status status = HN_FAIL(&session->diag, HONE_DEVICE, "the session failed before: %s", session->failure);
  atomic_flag_clear_explicit(&session->busy, memory_order_release);
  return status;
}

hone_status hn_session_leave(hone_session *session, hone_status status) {
  if (status == HONE_DEVICE) {
    session->failed = true;
    const char *text = session->diag.count ? session->diag.entries[0].text : "a device failed";
    memcpy(session->failure, text, strlen(text) + 1); /* both have the same room */
  }
  atomic_flag_clear_explicit(&session->busy, memory_order_release);
  return status;
}

static hone_status given(hone_session *session, const char *function, const char *name, const void *argument) {
  return argument ? HONE_OK : hn_argument_missing(&session->diag, function, name);
}

int hn_port_find(const hn_plan_port *ports, int count, const char *name) {
  for (int i = 0; i < count; ++i)
    if (strcmp(ports[i].name, name) == 0) return i;
  return -1;
}

static hone_status fail_name(hone_session *session, const char *name) {
  const hn_plan *plan = hn_engine_common(session->engine);
  hn_text list;
  hn_text_init(&list, session->allocator);
  for (int i = 0; i < plan->input_count; ++i) hn_text_printf(&list, " %s", plan->inputs[i].name);
  hn_text_add(&list, "; outputs:");
  for (int i = 0; i < plan->output_count; ++i) hn_text_printf(&list, " %s", plan->outputs[i].name);
  const hone_status status =
      HN_FAIL(&session->diag, HONE_INVALID, "no input or output is called %s; inputs:%s", name, hn_text_string(&list));
  hn_text_deinit(&list);
  return status;
}

static hn_instance *find_instance(const hone_session *session) {
  const int inputs = hn_engine_common(session->engine)->input_count;
  for (int i = 0; i < session->instance_count; ++i) {
    bool same = true;
    for (int k = 0; same && k < inputs; ++k)
      same = hn_shape_equal(&session->instances[i]->shapes[k], &session->shapes[k]);
    if (same) return session->instances[i];
  }
  return NULL;
}

/* Room for one more instance: drops the least recently used when the cache is full. */
static void make_room(hone_session *session) {
  if (session->instance_count < session->instance_capacity) return;
  int oldest = 0;
  for (int i = 1; i < session->instance_count; ++i)
    if (session->instances[i]->used_at < session->instances[oldest]->used_at) oldest = i;
  hn_instance_destroy(session, session->instances[oldest]);
  session->instances[oldest] = session->instances[--session->instance_count];
}

/* The schedule that was asked for; -1: the shapes decide. */
static int wanted_schedule(const hone_session *session) {
  return session->options.one_schedule ? session->options.schedule : -1;
}

static void log_instance(const hone_session *session, const hn_instance *instance, int64_t begin_ns) {
  if (!hn_logs(&session->engine->logger, HONE_LOG_INFO)) return;
  hn_logger_say(&session->engine->logger, HONE_LOG_INFO, "%s: shapes prepared by schedule %d, in %.3f ms",
                session->engine->schedules->name, instance->schedule, (double)(hn_clock_ns() - begin_ns) * 1e-6);
}

/* Makes current the instance of the wanted shapes. On failure the old one stays. */
static hone_status select_instance(hone_session *session) {
  if (!session->shapes_changed && session->current) return HONE_OK;
  hn_instance *instance = find_instance(session);
  if (!instance) {
    int schedule;
    const int64_t begin_ns = hn_clock_ns();
    HN_TRY(hn_schedules_choose(session->engine->schedules, wanted_schedule(session), session->shapes, session->symbols,
                               &schedule, &session->diag));
    HN_TRY(hn_instance_create(session, schedule, session->shapes, &instance));
    if (session->instance_count == session->instance_capacity) session->current = NULL;
    make_room(session);
    session->instances[session->instance_count++] = instance;
    log_instance(session, instance, begin_ns);
  }
  session->current = instance;
  session->schedule = instance->schedule;
  session->shapes_changed = false;
  session->bindings_changed = true;
  return HONE_OK;
}

/* The pool that the session's steps on the host run on; NULL: none. */
static hn_pool *pool_of(const hone_engine *engine) {
  hn_pool *pool = NULL;
  for (int d = 0; d < engine->device_count && !pool; ++d) pool = hn_device_pool(engine->devices[d]);
  return pool;
}

static hone_status check_weights(hone_session *session) {
  hone_engine *engine = session->engine->origin ? session->engine->origin : session->engine;
  if (session->options.trust_weights || atomic_load(&engine->weights_state) == 1) return HONE_OK;
  const hone_status status =
      hn_schedules_check_weights(engine->schedules, pool_of(session->engine), &session->stop, &session->diag);
  if (status == HONE_LIMIT || status == HONE_CANCELLED) return status;
  atomic_store(&engine->weights_state, status == HONE_OK ? 1 : 2);
  return status;
}

/* The names of the debug taps stay for instances of other shapes. */
static hone_status copy_taps(hone_session *session) {
  hone_session_options *options = &session->options;
  if (options->tap_count == 0) return HONE_OK;
  if (!options->on_tap) return HN_FAIL(&session->diag, HONE_INVALID, "debug taps need names and a callback, on_tap");
  const char **names = HN_NEW(&session->arena, const char *, options->tap_count);
  if (!names) return HN_FAIL_MEMORY(&session->diag);
  for (int i = 0; i < options->tap_count; ++i)
    if (!(names[i] = hn_arena_text(&session->arena, options->taps[i]))) return HN_FAIL_MEMORY(&session->diag);
  options->taps = names;
  return HONE_OK;
}

/* The first device with memory of its own; -1: there is none. */
static int first_of_own(const hone_engine *engine) {
  for (int d = 0; d < engine->device_count; ++d)
    if (!engine->devices[d]->facts.host_memory) return d;
  return -1;
}

static hone_status open_stream(hone_session *session, int d, int mark_count) {
  hone_device *device = session->engine->devices[d];
  void *native = d == first_of_own(session->engine) ? session->options.native_stream : NULL;
  if (native)
    HN_TRY(hn_stream_adopt(device, native, mark_count, &session->streams[d], &session->diag));
  else
    HN_TRY(hn_stream_open(device, mark_count, &session->streams[d], &session->diag));
  hn_stream_stops(device, session->streams[d], &session->stop);
  return HONE_OK;
}

static hone_status allocate_session(hone_session *session) {
  const hn_schedules *schedules = session->engine->schedules;
  const hn_plan *common = hn_engine_common(session->engine);
  hn_arena *arena = &session->arena;
  int most_steps = 0, most_symbols = 1;
  for (int k = 0; k < schedules->count; ++k) {
    const hn_plan *plan = schedules->plans[k];
    if (plan->step_count > most_steps) most_steps = plan->step_count;
    if (plan->dims.symbol_count > most_symbols) most_symbols = plan->dims.symbol_count;
  }
  session->instance_capacity =
      session->options.instance_cache > 0 ? session->options.instance_cache : DEFAULT_INSTANCES;
  session->streams = HN_NEW(arena, hone_stream *, common->device_count);
  session->shapes = HN_NEW(arena, hone_shape, common->input_count);
  session->symbols = HN_NEW(arena, int64_t, most_symbols);
  session->bound_in = HN_NEW(arena, hone_tensor, common->input_count);
  session->lists = HN_NEW(arena, hone_tensor, common->input_count);
  session->bound_out = HN_NEW(arena, hone_tensor, common->output_count);
  session->instances = HN_NEW(arena, hn_instance *, session->instance_capacity);
  if (!session->streams || !session->shapes || !session->symbols || !session->bound_in || !session->bound_out ||
      !session->lists || !session->instances)
    return HN_FAIL_MEMORY(&session->diag);
  const int marks = 2 * most_steps + 2;
  for (int d = 0; d < common->device_count; ++d)
    HN_TRY(open_stream(session, d, marks + (session->options.parts ? HN_PARTS_MARKS : 0)));
  if (session->options.parts) HN_TRY(hn_parts_make(session, marks));
  const int wanted = wanted_schedule(session);
  const hn_plan *first = schedules->plans[wanted >= 0 ? wanted : 0];
  for (int i = 0; i < common->input_count; ++i) session->shapes[i] = first->inputs[i].opt;
  session->shapes_changed = true;
  if (session->options.profile) HN_TRY(hn_profile_start(session));
  HN_TRY(copy_taps(session));
  HN_TRY(hn_states_make(session));
  return select_instance(session);
}

static hone_status take_options(hone_diagnostics *diag, const hone_engine *engine, const hone_session_options *given,
                                hone_session_options *out) {
  HN_OPTIONS(diag, "session", given, hone_session_options, on_span_user, out);
  HN_TRY(hn_argument_range(diag, "session option instance_cache", out->instance_cache, 0, 65536));
  HN_TRY(hn_argument_range(diag, "session option deadline_ms", out->deadline_ms, 0, HN_MOST_MS));
  HN_TRY(hn_argument_range(diag, "session option trace_shares", out->trace_shares, 0, 1 << 20));
  HN_TRY(hn_argument_pointers(diag, "session option taps", out->taps, out->tap_count, INT32_MAX));
  HN_TRY(hn_argument_list(diag, "session option states", out->states, out->state_count, INT32_MAX));
  if (out->native_stream && first_of_own(engine) < 0)
    return HN_FAIL(diag, HONE_INVALID, "session option native_stream: no device of the engine has streams of its own");
  return out->one_schedule ? hn_engine_check_schedule(engine, out->schedule, diag) : HONE_OK;
}

hone_status hone_session_create(hone_engine *engine, const hone_session_options *given, hone_session **out_session,
                                hone_diagnostics *diag) {
  if (out_session) *out_session = NULL;
  HN_GIVEN(diag, engine);
  HN_GIVEN(diag, out_session);
  hone_session_options options;
  HN_TRY(take_options(diag, engine, given, &options));
  HN_TRY(hn_engine_check_weighted(engine, diag));
  if (engine->schedules->shown)
    return HN_FAIL(diag, HONE_DEVICE, "the engine was opened without devices: to look at, not to run");
  HN_TRY(hn_engine_check_real(engine, "run", diag));
  hone_session *session = hn_alloc_zero(&engine->allocator, sizeof *session);
  if (!session) return HN_FAIL_MEMORY(diag);
  session->engine = engine;
  session->allocator = engine->allocator;
  session->options = options;
  session->traced = -1;
  session->stop.cancel = session->options.cancel;
  session->stop.allowed_ms = session->options.deadline_ms;
  hn_stop_begin(&session->stop);
  hn_diag_init(&session->diag, session->entries, HN_SESSION_MESSAGES);
  session->diag.memory = hn_memory_limit_of(&session->allocator);
  hn_arena_init(&session->arena, session->allocator);
  hn_arena_init(&session->facts, session->allocator);
  hn_heap_init(&session->heap, session->allocator,
               (size_t)(options.heap_limit_bytes ? options.heap_limit_bytes : default_heap_bytes));
  atomic_flag_clear(&session->busy);
  hone_engine_retain(engine);
  hone_status status = check_weights(session);
  if (status == HONE_OK) status = hn_engine_upload(engine, &session->diag);
  if (status == HONE_OK) status = allocate_session(session);
  if (status != HONE_OK) {
    hn_diag_hand_over(&session->diag, diag); /* the session is gone after a failure */
    hone_session_destroy(session);
    return status;
  }
  *out_session = session;
  return HONE_OK;
}

void hone_session_destroy(hone_session *session) {
  if (!session) return;
  hn_async_end(session);
  const hn_allocator allocator = session->allocator;
  hone_engine *engine = session->engine;
  for (int i = 0; i < session->instance_count; ++i) hn_instance_destroy(session, session->instances[i]);
  hn_session_drop_lists(session);
  hn_states_drop(session);
  for (int d = 0; session->streams && d < engine->device_count; ++d)
    hn_stream_close(engine->devices[d], session->streams[d]);
  hn_arena_deinit(&session->facts);
  hn_heap_deinit(&session->heap);
  hn_arena_deinit(&session->arena);
  hn_free(&allocator, session, sizeof *session);
  hone_engine_release(engine);
}

static hone_status set_shape(hone_session *session, const char *input, int rank, const int64_t *dims) {
  const hn_plan *common = hn_engine_common(session->engine);
  const int at = hn_port_find(common->inputs, common->input_count, input);
  if (at < 0) return fail_name(session, input);
  const hone_shape shape = hn_shape(rank, dims);
  HN_TRY(hn_schedules_allow(session->engine->schedules, wanted_schedule(session), at, &shape, &session->diag));
  if (hn_shape_equal(&shape, &session->shapes[at])) return HONE_OK;
  session->shapes[at] = shape;
  session->bound_in[at].data = NULL; /* a buffer bound for another shape is no longer right */
  for (int i = 0; i < common->output_count; ++i) session->bound_out[i].data = NULL;
  session->shapes_changed = true;
  return HONE_OK;
}

hone_status hone_session_set_shape(hone_session *session, const char *input, int rank, const int64_t *dims) {
  HN_TRY(hn_session_enter(session));
  hone_status status = given(session, __func__, "input", input);
  if (status == HONE_OK) status = hn_argument_range(&session->diag, "rank", rank, 0, HONE_MAX_RANK);
  if (status == HONE_OK) status = hn_argument_list(&session->diag, "dims", dims, rank, HONE_MAX_RANK);
  return hn_session_leave(session, status == HONE_OK ? set_shape(session, input, rank, dims) : status);
}

static hone_status check_type(hone_session *session, const char *name, const hone_tensor *given,
                              const hone_tensor *want) {
  if (given->type.dtype != want->type.dtype)
    return HN_FAIL(&session->diag, HONE_INVALID, "%s is %s, not %s", name, hone_dtype_name(want->type.dtype),
                   hone_dtype_name(given->type.dtype));
  if (!hn_shape_equal(&given->type.shape, &want->type.shape) || given->type.format != want->type.format)
    return HN_FAIL(&session->diag, HONE_INVALID, "%s: the tensor's shape or format is not the one that is set", name);
  if (given->bytes < want->bytes)
    return HN_FAIL(&session->diag, HONE_INVALID, "%s needs %zu bytes, and %zu were given", name, want->bytes,
                   given->bytes);
  return HONE_OK;
}

static hone_status bind(hone_session *session, const char *name, const hone_tensor *tensor) {
  const hn_plan *common = hn_engine_common(session->engine);
  const int in = hn_port_find(common->inputs, common->input_count, name);
  const int out = in < 0 ? hn_port_find(common->outputs, common->output_count, name) : -1;
  if (in < 0 && out < 0) return fail_name(session, name);
  if (common->tensors[in >= 0 ? common->inputs[in].tensor : common->outputs[out].tensor].type.kind != HONE_TENSOR)
    return HN_FAIL(&session->diag, HONE_INVALID, "%s is a sequence or an optional, and cannot be bound", name);
  if (hn_state_of(session, in, out))
    return HN_FAIL(&session->diag, HONE_INVALID, "%s is a state of the session's, and cannot be bound", name);
  if (tensor->data && in >= 0) HN_TRY(set_shape(session, name, tensor->type.shape.rank, tensor->type.shape.dim));
  HN_TRY(select_instance(session));
  const hn_plan *plan = session->current->plan;
  const int t = in >= 0 ? plan->inputs[in].tensor : plan->outputs[out].tensor;
  if (tensor->data) {
    if (out >= 0 && plan->tensors[t].place != HN_PLACE_OUTPUT)
      return HN_FAIL(&session->diag, HONE_INVALID, "output %s has a data-dependent shape and cannot be bound", name);
    HN_TRY(check_type(session, name, tensor, &session->current->tensors[t]));
    if (plan->tensors[t].device != plan->host && (uintptr_t)tensor->data % 64)
      return HN_FAIL(&session->diag, HONE_INVALID, "%s: its address on the device is not a multiple of 64", name);
  }
  if (in >= 0)
    session->bound_in[in] = *tensor;
  else
    session->bound_out[out] = *tensor;
  session->bindings_changed = true;
  return HONE_OK;
}

hone_status hone_session_bind(hone_session *session, const char *name, const hone_tensor *tensor) {
  HN_TRY(hn_session_enter(session));
  hone_status status = given(session, __func__, "name", name);
  if (status == HONE_OK) status = given(session, __func__, "tensor", tensor);
  if (status == HONE_OK && tensor->data) status = hn_tensor_check(&session->diag, name, tensor);
  return hn_session_leave(session, status == HONE_OK ? bind(session, name, tensor) : status);
}

static hone_status rebind(hone_session *session) {
  if (!session->bindings_changed) return HONE_OK;
  HN_TRY(hn_instance_rebind(session, session->current));
  session->bindings_changed = false;
  return HONE_OK;
}

static hone_status copy_in(hone_session *session, const char *input, const hone_tensor *tensor) {
  const hn_plan *common = hn_engine_common(session->engine);
  const int at = hn_port_find(common->inputs, common->input_count, input);
  if (at < 0) return fail_name(session, input);
  const hone_type *planned = &common->tensors[common->inputs[at].tensor].type;
  if (planned->kind != HONE_TENSOR) return hn_session_put_list(session, at, tensor);
  HN_TRY(hn_tensor_check(&session->diag, input, tensor));
  HN_TRY(set_shape(session, input, tensor->type.shape.rank, tensor->type.shape.dim));
  HN_TRY(select_instance(session));
  const hn_plan *plan = session->current->plan;
  const hone_tensor *want = &session->current->tensors[plan->inputs[at].tensor];
  if (hn_port_on_device(plan, &plan->inputs[at])) {
    if (tensor->type.dtype != want->type.dtype && tensor->type.dtype != plan->tensors[plan->inputs[at].tensor].dtype)
      return check_type(session, input, tensor, want);
    HN_TRY(rebind(session));
    return hn_port_put(session, session->current, at, tensor);
  }
  HN_TRY(check_type(session, input, tensor, want));
  const hn_state *state = hn_state_of(session, at, -1);
  if (state) HN_TRY(rebind(session)); /* which makes its buffer */
  void *own = state ? state->memory.data : session->current->inputs[at].data;
  void *to = session->bound_in[at].data ? session->bound_in[at].data : own;
  memcpy(to, tensor->data, want->bytes);
  return HONE_OK;
}

hone_status hone_session_copy_in(hone_session *session, const char *input, const hone_tensor *tensor) {
  HN_TRY(hn_session_enter(session));
  hone_status status = given(session, __func__, "input", input);
  if (status == HONE_OK) status = given(session, __func__, "tensor", tensor);
  return hn_session_leave(session, status == HONE_OK ? copy_in(session, input, tensor) : status);
}

static hone_status wait_all(hone_session *session) {
  const hone_engine *engine = session->engine;
  for (int d = 0; d < engine->device_count; ++d)
    HN_TRY(hn_stream_wait(engine->devices[d], session->streams[d], &session->diag));
  return HONE_OK;
}

static hone_status run(hone_session *session, bool waits) {
  HN_TRY(select_instance(session));
  hn_instance *instance = session->current;
  const hn_plan *plan = instance->plan;
  instance->used_at = (uint64_t)++session->runs;
  HN_TRY(rebind(session));
  if (plan->after_run) {
    hn_heap_reset(&session->heap);
    memcpy(instance->symbols, instance->symbols_at_start, (size_t)plan->dims.symbol_count * sizeof(int64_t));
  }
  const int64_t begin_ns = hn_clock_ns();
  if (session->profiling) HN_TRY(hn_profile_begin(session));
  hn_parts_begin(session);
  HN_TRY(hn_taps_fire(session, instance, -1));
  HN_TRY(hn_interpret(session, instance, 0));
  HN_TRY(hn_parts_end(session));
  if (!waits && !session->profiling) return HONE_OK;
  HN_TRY(wait_all(session));
  return session->profiling ? hn_profile_collect(session, begin_ns, hn_clock_ns()) : HONE_OK;
}

/* A line for each run where somebody listens to these, and for each that failed. */
static void log_run(const hone_session *session, hone_status status, int64_t begin_ns) {
  const hn_logger *logger = &session->engine->logger;
  const char *name = session->engine->schedules->name;
  if (status == HONE_OK)
    hn_logger_say(logger, HONE_LOG_RUNS, "%s: run %lld: %.3f ms", name, (long long)session->runs,
                  (double)(hn_clock_ns() - begin_ns) * 1e-6);
  else
    hn_logger_say(logger, HONE_LOG_INFO, "%s: run %lld failed: %s", name, (long long)session->runs,
                  session->diag.count ? session->diag.entries[session->diag.count - 1].text : hone_status_name(status));
}

static hone_status run_and_leave(hone_session *session, bool waits) {
  const bool logs = hn_logs(&session->engine->logger, HONE_LOG_INFO);
  const int64_t begin_ns = hn_logs(&session->engine->logger, HONE_LOG_RUNS) ? hn_clock_ns() : 0;
  session->caller_mode = hn_float_mode_flush(!session->engine->schedules->keep_subnormals);
  const hone_status status = run(session, waits);
  hn_float_mode_set(session->caller_mode);
  if (logs) log_run(session, status, begin_ns);
  return hn_session_leave(session, status);
}

hone_status hn_session_run_entered(hone_session *session) { return run_and_leave(session, true); }

hone_status hone_session_run(hone_session *session) {
  HN_TRY(hn_session_enter(session));
  return run_and_leave(session, true);
}

hone_status hone_session_enqueue(hone_session *session) {
  HN_TRY(hn_session_enter(session));
  return run_and_leave(session, false);
}

hone_status hone_session_wait(hone_session *session) {
  HN_TRY(hn_async_wait(session));
  HN_TRY(hn_session_enter(session));
  return hn_session_leave(session, wait_all(session));
}

hone_status hone_session_parts(hone_session *session, hone_run_part *out, int *out_count) {
  if (out_count) *out_count = 0;
  HN_TRY(hn_session_enter(session));
  hone_status status = given(session, __func__, "out", out);
  if (status == HONE_OK) status = given(session, __func__, "out_count", out_count);
  return hn_session_leave(session, status == HONE_OK ? hn_parts_read(session, out, out_count) : status);
}

/* The first device with memory of its own, and its stream; UNSUPPORTED: there is none. */
static hone_status own_device(hone_session *session, hone_device **out, hone_stream **out_stream) {
  const int d = first_of_own(session->engine);
  if (d < 0) return HN_FAIL(&session->diag, HONE_UNSUPPORTED, "no device of the engine has a queue of its own");
  *out = session->engine->devices[d];
  *out_stream = session->streams[d];
  return HONE_OK;
}

static hone_status on_done(hone_session *session, void (*done)(void *user), void *user) {
  hone_device *device;
  hone_stream *stream;
  if (first_of_own(session->engine) < 0) {
    done(user);
    return HONE_OK;
  }
  HN_TRY(own_device(session, &device, &stream));
  return hn_stream_call(device, stream, done, user, &session->diag);
}

hone_status hone_session_on_done(hone_session *session, void (*done)(void *user), void *user) {
  HN_TRY(hn_session_enter(session));
  if (!done) return hn_session_leave(session, hn_argument_missing(&session->diag, __func__, "done"));
  return hn_session_leave(session, on_done(session, done, user));
}

static hone_status event(hone_session *session, const char *function, void *native_event,
                         hone_status (*entry)(hone_device *, hone_stream *, void *, hone_diagnostics *)) {
  hone_device *device;
  hone_stream *stream;
  HN_TRY(hn_session_enter(session));
  hone_status status = given(session, function, "native_event", native_event);
  if (status == HONE_OK) status = own_device(session, &device, &stream);
  return hn_session_leave(session, status == HONE_OK ? entry(device, stream, native_event, &session->diag) : status);
}

hone_status hone_session_wait_event(hone_session *session, void *native_event) {
  return event(session, __func__, native_event, hn_stream_follow);
}

hone_status hone_session_record_event(hone_session *session, void *native_event) {
  return event(session, __func__, native_event, hn_stream_signal);
}

static hone_status get_tensor(hone_session *session, const char *name, bool on_device, hone_tensor *out_tensor) {
  const hn_plan *common = hn_engine_common(session->engine);
  const int in = hn_port_find(common->inputs, common->input_count, name);
  const int out = in < 0 ? hn_port_find(common->outputs, common->output_count, name) : -1;
  if (in < 0 && out < 0) return fail_name(session, name);
  HN_TRY(select_instance(session));
  HN_TRY(rebind(session));
  const hn_plan *plan = session->current->plan;
  const hn_plan_port *port = in >= 0 ? &plan->inputs[in] : &plan->outputs[out];
  if (hn_port_on_device(plan, port) != on_device && (on_device || in >= 0))
    return HN_FAIL(&session->diag, HONE_INVALID, "%s lies in %s memory", name, on_device ? "the host's" : "a device's");
  if (hn_port_on_device(plan, port) && !on_device) return hn_port_get(session, session->current, out, out_tensor);
  *out_tensor = session->current->tensors[in >= 0 ? plan->inputs[in].tensor : plan->outputs[out].tensor];
  return HONE_OK;
}

static hone_status enter_and_get(hone_session *session, const char *function, const char *name, bool on_device,
                                 hone_tensor *out_tensor) {
  if (out_tensor) *out_tensor = (hone_tensor){0};
  HN_TRY(hn_session_enter(session));
  hone_status status = given(session, function, "name", name);
  if (status == HONE_OK) status = given(session, function, "out_tensor", out_tensor);
  return hn_session_leave(session, status == HONE_OK ? get_tensor(session, name, on_device, out_tensor) : status);
}

hone_status hone_session_tensor(hone_session *session, const char *name, hone_tensor *out_tensor) {
  return enter_and_get(session, __func__, name, false, out_tensor);
}

hone_status hone_session_device_tensor(hone_session *session, const char *name, hone_tensor *out_tensor) {
  return enter_and_get(session, __func__, name, true, out_tensor);
}

hone_diagnostics *hone_session_diagnostics(hone_session *session) { return session ? &session->diag : NULL; }

int hone_session_message_count(const hone_session *session) {
  return hone_diagnostics_count(session ? &session->diag : NULL);
}

const char *hone_session_message(const hone_session *session, int index, hone_status *out_status) {
  return hone_diagnostics_message(session ? &session->diag : NULL, index, out_status);
}

void hone_session_set_profile(hone_session *session, bool on) {
  if (hn_session_enter(session) != HONE_OK) return;
  if (!on)
    hn_profile_stop(session);
  else
    (void)hn_profile_start(session);
  (void)hn_session_leave(session, HONE_OK);
}

hone_status hone_session_get_stats(const hone_session *session, hone_session_stats *out_stats) {
  HN_RESULT(NULL, out_stats, hone_session_stats, schedule);
  HN_GIVEN(NULL, session);
  hone_session_stats stats = {.runs = session->runs,
                              .instances = session->instance_count,
                              .heap_bytes = session->heap.most_bytes,
                              .weights_bytes = session->engine->schedules->weights_bytes,
                              .schedule = session->schedule};
  for (int i = 0; i < session->state_count; ++i) stats.io_bytes += session->states[i].memory.bytes;
  for (int k = 0; k < session->instance_count; ++k) {
    const hn_instance *instance = session->instances[k];
    const hn_plan *plan = instance->plan;
    stats.state_bytes += instance->state_bytes;
    for (int d = 0; d < plan->device_count; ++d) {
      stats.arena_bytes += instance->device_arena[d].bytes;
      stats.scratch_bytes += instance->device_scratch[d].bytes;
    }
    for (int s = 0; instance->replays && s < plan->step_count; ++s) {
      if (!instance->steps[s].replay) continue;
      ++stats.replays;
      for (int r = s; r < instance->steps[s].replay_end; ++r)
        stats.replayed_steps += plan->steps[r].kind == HN_STEP_CALL;
    }
    for (int i = 0; i < plan->input_count; ++i) stats.io_bytes += instance->inputs[i].bytes;
    for (int i = 0; i < plan->output_count; ++i) stats.io_bytes += instance->outputs[i].bytes;
  }
  hn_result_give(&stats, out_stats);
  return HONE_OK;
}
