/* SPDX-License-Identifier: Apache-2.0 */
/* compile_accuracy.c - what was chosen so far, run: lowered into an engine of its own, on the build's inputs at the
 * shapes that it tunes for, and held against the outputs of an earlier run. */
#include "api/compile.h"
#include "api/engine.h"
#include "base/random.h"
#include "lower/lower.h"
#include "tensor/element.h"
#include <math.h>
#include <string.h>

/* Real numbers in [-1, 1), integers and bools 0 or 1: small enough for any index or mask. */
static void fill(hone_context *context, hone_tensor *tensor, uint64_t seed) {
  hn_random random = {.state = seed};
  const int64_t count = hone_tensor_count(tensor);
  const bool real = hn_dtype_is_float(tensor->type.dtype);
  for (int64_t i = 0; i < count && !hn_stop_at(&context->stop, i); ++i) {
    if (real)
      hn_store_real(tensor, i, hn_random_unit(&random) * 2 - 1);
    else
      hn_store_int(tensor, i, (int64_t)(hn_random_u64(&random) >> 63));
  }
}

static const hone_tensor *find_given(const hone_build_options *options, const char *name) {
  for (int i = options->input_count - 1; i >= 0; --i)
    if (strcmp(options->inputs[i].name, name) == 0) return &options->inputs[i].tensor;
  return NULL;
}

static hone_status make_input(const hn_accuracy *a, int i, hn_arena *arena, hone_tensor *out) {
  const hn_value *value = a->graph->main->params[i];
  *out = (hone_tensor){.type = value->fact.type};
  out->type.shape = a->ranges->opt[i];
  out->bytes = hn_bytes(&out->type);
  if (out->type.kind != HONE_TENSOR || out->type.dtype == HONE_STRING)
    return HN_FAIL(&a->context->diag, HONE_UNSUPPORTED,
                   "input %s is not a numeric tensor: to measure the error of the outputs it must be given",
                   value->name);
  out->data = hn_arena_alloc(arena, out->bytes + 1, 64);
  if (!out->data) return HN_FAIL_MEMORY(&a->context->diag);
  fill(a->context, out, a->options->seed + (uint64_t)i);
  return hn_check_stop(a->context);
}

hone_status hn_accuracy_inputs(const hn_accuracy *a, hone_session *session) {
  const hn_block *main = a->graph->main;
  hn_arena arena;
  hn_arena_init(&arena, a->context->allocator);
  hone_status status = HONE_OK;
  for (int i = 0; i < main->param_count && status == HONE_OK; ++i) {
    hone_tensor drawn;
    const hone_tensor *given = find_given(a->options, main->params[i]->name);
    if (!given) status = make_input(a, i, &arena, &drawn);
    if (status == HONE_OK) status = hone_session_copy_in(session, main->params[i]->name, given ? given : &drawn);
  }
  hn_arena_deinit(&arena);
  return status;
}

static bool is_compared(const hone_tensor *tensor) {
  return tensor->type.kind == HONE_TENSOR && hn_dtype_is_float(tensor->type.dtype);
}

static hone_status keep(hn_accuracy *a, int i, const hone_tensor *got) {
  a->want[i] = *got;
  if (!is_compared(got)) return HONE_OK;
  a->want[i].data = hn_arena_copy(&a->arena, got->data, got->bytes);
  return a->want[i].data ? HONE_OK : HN_FAIL_MEMORY(&a->context->diag);
}

/* Without a limit other extents, as of detections, are no reason to leave narrow types. */
static double distance(const hn_accuracy *a, const hone_tensor *got, const hone_tensor *want) {
  if (!is_compared(want)) return -1;
  if (!hn_shape_equal(&got->type.shape, &want->type.shape)) return a->options->max_error > 0 ? HUGE_VAL : -1;
  const hn_error error = hn_compare(got, want, 0, 0, 0, -1);
  return isnan(error.rel_l2) ? HUGE_VAL : error.rel_l2;
}

static hone_status look(hn_accuracy *a, hone_session *session, bool as_reference, double *out_errors) {
  for (int i = 0; i < a->graph->main->result_count; ++i) {
    hone_tensor got;
    HN_TRY(hone_session_tensor(session, a->graph->output_names[i], &got));
    out_errors[i] = 0;
    if (as_reference)
      HN_TRY(keep(a, i, &got));
    else
      out_errors[i] = distance(a, &got, &a->want[i]);
  }
  return HONE_OK;
}

hone_status hn_accuracy_tell(const hn_accuracy *a, const hone_session *session, hone_status status) {
  if (status == HONE_OK || hone_session_message_count(session) == 0) return status;
  return HN_FAIL(&a->context->diag, status, "%s", hone_session_message(session, 0, NULL));
}

static hone_status run_session(hn_accuracy *a, hone_session *session, bool as_reference, double *out_errors) {
  const int64_t begin_ns = hn_span_begin(&a->spans);
  HN_TRY(hn_accuracy_inputs(a, session));
  HN_TRY(hone_session_run(session));
  HN_TRY(look(a, session, as_reference, out_errors));
  hn_span_end(&a->spans, HONE_SPAN_PHASE, "running", begin_ns, 1);
  return HONE_OK;
}

static hone_status run_engine(hn_accuracy *a, hone_engine *engine, bool as_reference, double *out_errors) {
  hone_diagnostics *diag = &a->context->diag;
  const hone_session_options options = {
      .struct_size = sizeof options, .trust_weights = true, .no_replay = true, .cancel = a->context->stop.cancel};
  hone_session *session;
  const int64_t begin_ns = hn_span_begin(&a->spans);
  HN_TRY(hone_session_create(engine, &options, &session, diag));
  hn_span_end(&a->spans, HONE_SPAN_PHASE, "session", begin_ns, 1);
  const hone_status status = hn_accuracy_tell(a, session, run_session(a, session, as_reference, out_errors));
  hone_session_destroy(session);
  return status;
}

hone_status hn_accuracy_engine(const hn_accuracy *a, const hn_choices *choices, hone_engine **out) {
  hone_context *context = a->context;
  hn_schedules *schedules;
  *out = NULL;
  HN_TRY(hn_schedules_create(context->allocator, &schedules, &context->diag));
  schedules->keep_subnormals = a->options->keep_subnormals;
  const int64_t begin_ns = hn_span_begin(&a->spans);
  const hone_status status = hn_lower(context, a->graph, choices, a->ranges, schedules);
  hn_span_end(&a->spans, HONE_SPAN_PHASE, "lowering", begin_ns, 1);
  if (status == HONE_OK)
    return hn_engine_create(context->allocator, schedules, choices->devices, choices->device_count, out,
                            &context->diag);
  hn_schedules_destroy(schedules);
  return status;
}

static hone_status run(void *user, const hn_choices *choices, bool as_reference, double *out_errors) {
  hn_accuracy *a = user;
  hone_context *context = a->context;
  hone_engine *engine;
  if (!a->want) a->want = HN_NEW(&a->arena, hone_tensor, a->graph->main->result_count + 1);
  if (!a->want) return HN_FAIL_MEMORY(&context->diag);
  hone_status status = hn_accuracy_engine(a, choices, &engine);
  if (status == HONE_OK) status = run_engine(a, engine, as_reference, out_errors);
  hone_engine_release(engine);
  return status == HONE_OK ? status : hone_note(&context->diag, status, "while measuring the error of the outputs");
}

hn_judge hn_accuracy_begin(hn_accuracy *a) {
  hn_arena_init(&a->arena, a->context->allocator);
  return (hn_judge){.run = run, .enter = hn_race_enter, .time = hn_race_time, .leave = hn_race_leave, .user = a};
}

void hn_accuracy_end(hn_accuracy *a) { hn_arena_deinit(&a->arena); }
