/* SPDX-License-Identifier: Apache-2.0 */
/* compile_lanes.c - auxiliary streams: branches of a device's recording side by side, where that was timed faster than
 * one behind another. The engine is not yet anybody else's, so that its plan may be placed anew between two sessions.
 */
#include "api/compile.h"
#include "api/engine.h"
#include "run/session.h"
#include <stdlib.h>

enum { DEFAULT_AUX = 3, ROUNDS = 15, BURST = 4 };
static const double least_gain = 0.02; /* what two sessions of the same plan may differ by */

static int by_size(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* In turns, so that a drift of the clock is no side's. */
static hone_status compare(hone_session *const *sessions, double *out_one_ns, double *out_lanes_ns) {
  double times[2][ROUNDS];
  for (int round = -1; round < ROUNDS; ++round) /* the first one warms up */
    for (int side = 0; side < 2; ++side)
      HN_TRY(hn_race_burst(sessions[side], BURST, &times[side][round < 0 ? 0 : round]));
  for (int side = 0; side < 2; ++side) qsort(times[side], ROUNDS, sizeof times[side][0], by_size);
  *out_one_ns = times[0][ROUNDS / 2];
  *out_lanes_ns = times[1][ROUNDS / 2];
  return HONE_OK;
}

static hone_status open_session(hone_engine *engine, int schedule, hone_session **out, hone_diagnostics *diag) {
  const hone_session_options options = {
      .struct_size = sizeof options, .trust_weights = true, .parts = true, .one_schedule = true, .schedule = schedule};
  return hone_session_create(engine, &options, out, diag);
}

static hone_status try_lanes(hone_context *context, hone_engine *engine, int schedule, int lanes, hn_arena *arena,
                             bool *out_faster) {
  hn_plan *plan = engine->schedules->plans[schedule];
  hone_session *sessions[2] = {NULL, NULL};
  double one_ns = 0, lanes_ns = 0;
  hone_status status = open_session(engine, schedule, &sessions[0], &context->diag);
  if (status == HONE_OK) status = hn_plan_place(plan, arena, lanes, &context->diag);
  if (status == HONE_OK) status = open_session(engine, schedule, &sessions[1], &context->diag);
  if (status == HONE_OK) status = compare(sessions, &one_ns, &lanes_ns);
  /* Inputs are zeros, which a step may refuse (a mask of no tokens): nothing is known of lanes then. */
  if (sessions[1] && (status == HONE_INVALID || status == HONE_MALFORMED)) status = HONE_OK, lanes_ns = 0;
  *out_faster = status == HONE_OK && lanes_ns > 0 && lanes_ns < (1 - least_gain) * one_ns;
  if (status == HONE_OK)
    hn_log(context, HONE_LOG_VERBOSE, "%d streams for branches: %.1f us, one: %.1f us; %s", lanes, lanes_ns * 1e-3,
           one_ns * 1e-3, *out_faster ? "kept" : "left out");
  for (int side = 0; side < 2; ++side) hone_session_destroy(sessions[side]);
  return status;
}

static bool has_lanes(const hone_engine *engine) {
  for (int d = 0; d < engine->device_count; ++d)
    if (!engine->devices[d]->facts.host_memory && hn_stream_has_lanes(engine->devices[d])) return true;
  return false;
}

hone_status hn_engine_choose_lanes(hone_context *context, hone_engine *engine, const hone_build_options *options) {
  const int most = 1 + (options->max_aux_streams ? options->max_aux_streams : DEFAULT_AUX);
  const bool times = options->level >= 0 && !options->reference_only && !options->timing_cache_only;
  if (options->max_aux_streams < 0 || !times || !has_lanes(engine)) return HONE_OK;
  hone_status status = HONE_OK;
  for (int k = 0; k < engine->schedules->count && status == HONE_OK; ++k) {
    hn_plan *plan = engine->schedules->plans[k];
    hn_arena arena;
    int lanes = 1;
    bool faster = false;
    hn_arena_init(&arena, context->allocator);
    status = hn_plan_width(plan, &arena, most, &lanes, &context->diag);
    if (status == HONE_OK && lanes > 1) status = try_lanes(context, engine, k, lanes, &arena, &faster);
    if (plan->lanes > 1 && !faster) {
      const hone_status placed = hn_plan_place(plan, &arena, 1, &context->diag);
      if (status == HONE_OK) status = placed;
    }
    hn_arena_deinit(&arena);
  }
  return status;
}

hone_status hn_engine_refuse_host_steps(hone_context *context, const hn_schedules *schedules) {
  enum { NAMED = 8 };
  hn_text names;
  int count = 0, own = 0;
  hn_text_init(&names, context->allocator);
  for (int k = 0; k < schedules->count; ++k) {
    const hn_plan *plan = schedules->plans[k];
    for (int d = 0; d < plan->device_count; ++d) own += plan->spaces[d] != plan->host;
    for (int s = 0; s < plan->step_count; ++s) {
      const hn_plan_step *step = &plan->steps[s];
      const bool runs = step->kind == HN_STEP_CALL || step->kind == HN_STEP_BRANCH || step->kind == HN_STEP_LOOP;
      if (!runs || plan->spaces[step->device] != plan->host) continue;
      if (count++ < NAMED)
        hn_text_printf(&names, "%s%s (%s)", count > 1 ? ", " : "", step->name,
                       step->op ? step->op->name : hn_step_kind_name(step->kind));
    }
  }
  hone_status status = HONE_OK;
  if (own == 0)
    status = HN_FAIL(&context->diag, HONE_INVALID, "build option strict_device: no device has memory of its own");
  else if (count > 0)
    status = HN_FAIL(&context->diag, HONE_UNSUPPORTED, "%d step%s would run on the host: %s%s", count,
                     count == 1 ? "" : "s", hn_text_string(&names), count > NAMED ? ", ..." : "");
  hn_text_deinit(&names);
  return status;
}
