/* SPDX-License-Identifier: Apache-2.0 */
/* runtime_report.c - reports of engines and sessions, for users: gathers plan, trace and costs, and sends the text. */
#include "api/reports.h"
#include "base/arguments.h"
#include "base/file.h"
#include "device/isa.h"
#include "report/bound.h"
#include "report/explain.h"
#include "report/report.h"
#include "run/session.h"
#include "tensor/shape.h"
#include <string.h>

void hn_report_begin(hn_report_making *r, hn_allocator allocator, hone_diagnostics *diag) {
  hn_arena_init(&r->arena, allocator);
  hn_text_init(&r->text, allocator);
  r->diag = diag;
}

/* The same with options that may name one of the engine's schedules; hn_report_end() is due after OK alone. */
static hone_status begin_with(hn_report_making *r, const hone_engine *engine, const hone_report_options *given,
                              hn_allocator allocator, hone_diagnostics *diag) {
  HN_TRY(hn_report_options_take(diag, given, &r->options));
  if (r->options.one_schedule) HN_TRY(hn_engine_check_schedule(engine, r->options.schedule, diag));
  hn_report_begin(r, allocator, diag);
  return HONE_OK;
}

hone_status hn_report_end(hn_report_making *r, hone_status status, hone_write_fn write, void *user) {
  if (status == HONE_NO_MEMORY) (void)HN_FAIL_MEMORY(r->diag);
  if (status == HONE_OK && !write(user, hn_text_string(&r->text), r->text.length))
    status = HN_FAIL(r->diag, HONE_IO, "the report could not be written");
  hn_text_deinit(&r->text);
  hn_arena_deinit(&r->arena);
  return status;
}

/* The work of a step at the shapes of the current instance; of a schedule that has none, as at build. */
static hn_work step_work(const hone_session *session, const hn_plan *plan, const hn_plan_step *step) {
  const bool current = session->current && session->current->plan == plan;
  return hn_step_work(plan, step, current ? session->current->symbols : NULL);
}

/* Of the shapes that ran last; of a schedule that did not, its opt shapes'. */
static int64_t batch_of(const hone_session *session, const hn_plan *plan) {
  if (plan->input_count == 0) return 1;
  const bool current = session->current && session->current->plan == plan;
  const hone_shape *shape = current ? &session->current->shapes[0] : &plan->inputs[0].opt;
  return shape->rank > 0 ? shape->dim[0] : 1;
}

hone_status hn_session_profile(const hone_session *session, const hone_report_options *options, hn_arena *arena,
                               hn_trace *trace, hn_profile_input *out, hone_diagnostics *diag) {
  const hn_schedules *schedules = session->engine->schedules;
  const int schedule = options->one_schedule ? options->schedule : session->schedule;
  const hn_plan *plan = schedules->plans[schedule];
  HN_TRY(hn_session_trace(session, schedule, arena, trace, diag));
  hn_work *work = HN_NEW(arena, hn_work, plan->step_count + 1);
  if (!work) return HONE_NO_MEMORY;
  for (int s = 0; s < plan->step_count; ++s) work[s] = step_work(session, plan, &plan->steps[s]);
  *out = (hn_profile_input){.name = schedules->name,
                            .plan = plan,
                            .schedule_count = schedules->count,
                            .trace = trace,
                            .work = work,
                            .facts = &session->engine->devices[0]->facts,
                            .batch = batch_of(session, plan)};
  return hn_session_ledger(session, options->ledger_path, schedule, arena, &out->ledger, diag);
}

hone_status hn_session_ledger(const hone_session *session, const char *path, int schedule, hn_arena *arena,
                              const hn_json **out, hone_diagnostics *diag) {
  const hone_engine *engine = session->engine;
  hn_blob blob = {0};
  *out = NULL;
  if (!path && !engine->ledger) return HONE_OK;
  if (!path) return hn_ledger_read("the ledger", engine->ledger, strlen(engine->ledger), 0, schedule, arena, out, diag);
  HN_TRY(hn_file_read(diag, session->allocator, path, &blob));
  const hone_status status = hn_ledger_read(path, (const char *)blob.data, blob.bytes, engine->schedules->content_hash,
                                            schedule, arena, out, diag);
  hn_blob_close(&blob);
  return status;
}

static hone_status make_profile(hn_report_making *r, const hone_session *session) {
  hn_trace trace;
  hn_profile_input input;
  HN_TRY(hn_session_profile(session, &r->options, &r->arena, &trace, &input, r->diag));
  return hn_report_profile(&input, &r->options, &r->arena, &r->text);
}

hone_status hone_report_profile(const hone_session *session, const hone_report_options *given, hone_write_fn write,
                                void *user, hone_diagnostics *diag) {
  HN_GIVEN(diag, session);
  HN_GIVEN(diag, write);
  hn_report_making r;
  HN_TRY(begin_with(&r, session->engine, given, session->allocator, diag));
  return hn_report_end(&r, make_profile(&r, session), write, user);
}

hone_status hone_report_engine(const hone_engine *engine, const hone_report_options *given, hone_write_fn write,
                               void *user, hone_diagnostics *diag) {
  HN_GIVEN(diag, engine);
  HN_GIVEN(diag, write);
  hn_report_making r;
  HN_TRY(begin_with(&r, engine, given, engine->allocator, diag));
  return hn_report_end(&r, hn_report_engine(engine->schedules, &r.options, &r.arena, &r.text), write, user);
}

hone_status hone_report_memory(const hone_engine *engine, const hone_report_options *given, hone_write_fn write,
                               void *user, hone_diagnostics *diag) {
  HN_GIVEN(diag, engine);
  HN_GIVEN(diag, write);
  hn_report_making r;
  HN_TRY(begin_with(&r, engine, given, engine->allocator, diag));
  return hn_report_end(&r, hn_report_memory(engine->schedules, &r.options, &r.arena, &r.text, diag), write, user);
}

hone_status hone_engine_summarize(const hone_engine *engine, hone_engine_summary *out_summary) {
  return hone_engine_summarize_schedule(engine, 0, out_summary);
}

hone_status hone_engine_summarize_schedule(const hone_engine *engine, int schedule, hone_engine_summary *out_summary) {
  HN_RESULT(NULL, out_summary, hone_engine_summary, known_nodes);
  HN_GIVEN(NULL, engine);
  if (schedule < 0 || schedule >= engine->schedules->count) return HONE_INVALID;
  const hn_schedules *schedules = engine->schedules;
  const hn_plan *plan = schedules->plans[schedule];
  hone_engine_summary summary = {.name = schedules->name,
                                 .built_by = schedules->built_by,
                                 .device_name = schedules->device_name,
                                 .step_count = plan->step_count,
                                 .weights_bytes = schedules->weights_bytes,
                                 .arena_bytes = plan->arena_bytes,
                                 .scratch_bytes = plan->scratch_bytes,
                                 .max_error_rel_l2 = -1,
                                 .output_error_rel_l2 = -1,
                                 .dynamic = plan->dynamic,
                                 .after_run = plan->after_run,
                                 .schedule_count = schedules->count,
                                 .refittable = schedules->refit,
                                 .stripped = schedules->stripped,
                                 .onnx_bytes = schedules->onnx_bytes};
  for (int s = 0; s < plan->step_count; ++s) {
    const hn_plan_step *step = &plan->steps[s];
    summary.reference_steps += hn_step_is_reference(step);
    summary.flops += step->cost.flops;
    if (step->error_rel_l2 > summary.max_error_rel_l2) summary.max_error_rel_l2 = step->error_rel_l2;
  }
  for (int i = 0; i < plan->output_count; ++i)
    if (plan->outputs[i].error_rel_l2 > summary.output_error_rel_l2)
      summary.output_error_rel_l2 = plan->outputs[i].error_rel_l2;
  summary.time_spread = engine->time_spread;
  summary.timed_nodes = engine->timed_nodes;
  summary.known_nodes = engine->known_nodes;
  hn_report_cost(plan, &engine->devices[0]->facts, &summary);
  hn_arena arena;
  uint64_t shared;
  hn_arena_init(&arena, engine->allocator);
  const hone_status status = hn_report_weights(schedules, schedule, &arena, &summary.schedule_weights_bytes, &shared);
  hn_arena_deinit(&arena);
  hn_result_give(&summary, out_summary);
  return status;
}

hone_status hone_report_explain(const hone_engine *engine, const char *ledger_path, const hone_report_options *given,
                                hone_write_fn write, void *user, hone_diagnostics *diag) {
  HN_GIVEN(diag, write);
  if (!engine && !ledger_path)
    return HN_FAIL(diag, HONE_INVALID, "%s: engine and ledger_path are NULL; one must be given", __func__);
  hn_report_making r;
  HN_TRY(hn_report_options_take(diag, given, &r.options));
  if (!ledger_path && !engine->ledger)
    return HN_FAIL(diag, HONE_INVALID, "the engine was loaded from a file: its ledger is the file beside it");
  const hn_allocator allocator = engine ? engine->allocator : hn_allocator_default();
  hn_blob blob = {0};
  if (ledger_path) HN_TRY(hn_file_read(diag, allocator, ledger_path, &blob));
  const char *text = ledger_path ? (const char *)blob.data : engine->ledger;
  const size_t length = ledger_path ? blob.bytes : strlen(engine->ledger);
  hn_report_begin(&r, allocator, diag);
  const hone_status status = hn_report_explain(ledger_path ? ledger_path : "the ledger", text, length,
                                               ledger_path && engine ? engine->schedules->content_hash : 0, &r.options,
                                               &r.arena, &r.text, diag);
  hn_blob_close(&blob);
  return hn_report_end(&r, status, write, user);
}

/* ---- numbers for programs ---- */

static const hn_plan *latest_plan(const hone_session *session) {
  return session->engine->schedules->plans[session->schedule];
}

int hone_session_step_count(const hone_session *session) { return session ? latest_plan(session)->step_count : 0; }

hone_status hone_session_step(const hone_session *session, int index, hone_step_profile *out_profile) {
  HN_RESULT(NULL, out_profile, hone_step_profile, out_count);
  HN_GIVEN(NULL, session);
  const hn_plan *plan = latest_plan(session);
  if (index < 0 || index >= plan->step_count || !session->samples) return HONE_INVALID;
  hn_trace_step times;
  HN_TRY(hn_session_trace_step(session, session->schedule, index, &times, NULL));
  const hn_plan_step *step = &plan->steps[index];
  const hone_step_profile profile = {.name = step->name,
                                     .op = hn_step_type(step),
                                     .provider = step->provider,
                                     .tactic = step->tactic ? step->tactic->name : NULL,
                                     .mean_ns = times.runs ? times.total_ns / (double)times.runs : 0,
                                     .min_ns = times.min_ns,
                                     .max_ns = times.max_ns,
                                     .median_ns = times.median_ns,
                                     .p99_ns = times.p99_ns,
                                     .cost = step_work(session, plan, step).cost,
                                     .reference = hn_step_is_reference(step),
                                     .origin_count = step->origin_count,
                                     .origins = step->origins,
                                     .in_count = step->in_count,
                                     .out_count = step->out_count};
  hn_result_give(&profile, out_profile);
  return HONE_OK;
}

hone_status hone_session_step_type(const hone_session *session, int index, int port, hone_type *out_type) {
  if (!out_type) return HONE_INVALID;
  *out_type = (hone_type){0};
  if (!session || !session->current) return HONE_INVALID;
  const hn_plan *plan = session->current->plan;
  if (index < 0 || index >= plan->step_count || port < 0) return HONE_INVALID;
  const hn_plan_step *step = &plan->steps[index];
  if (port >= step->in_count + step->out_count) return HONE_INVALID;
  const int t = port < step->in_count ? step->in[port] : step->out[port - step->in_count];
  if (t >= 0) *out_type = session->current->tensors[t].type;
  return HONE_OK;
}

void hone_isa_text(uint32_t isa, char *out, size_t room) {
  static const struct {
    const char *name;
    uint32_t bit;
  } rows[] = {
#define HN_ISA(suffix, name, f32, own, type, flags, features) {#suffix, HONE_ISA_##name},
#include "device/isa.inc"
#undef HN_ISA
  };
  size_t length = 0;
  if (!out || room == 0) return;
  out[0] = 0;
  for (size_t i = 0; i < HN_COUNT(rows); ++i) {
    const size_t name_length = strlen(rows[i].name);
    if ((rows[i].bit & isa) != rows[i].bit || length + name_length + 2 > room) continue;
    if (length > 0) out[length++] = ' ';
    memcpy(out + length, rows[i].name, name_length + 1);
    length += name_length;
  }
}
