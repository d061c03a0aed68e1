/* SPDX-License-Identifier: Apache-2.0 */
/* profile.c - times of steps: marks around each, read after the run; medians over the latest samples. */
#include "run/session.h"
#include <stdlib.h>
#include <string.h>

hone_status hn_profile_start(hone_session *session) {
  const hn_schedules *schedules = session->engine->schedules;
  if (!session->samples) {
    hn_step_samples **samples = HN_NEW(&session->arena, hn_step_samples *, schedules->count);
    for (int k = 0; samples && k < schedules->count; ++k) {
      samples[k] = HN_NEW(&session->arena, hn_step_samples, schedules->plans[k]->step_count + 1);
      if (!samples[k]) return HN_FAIL_MEMORY(&session->diag);
    }
    if (!samples) return HN_FAIL_MEMORY(&session->diag);
    session->samples = samples;
  }
  for (int k = 0; k < schedules->count; ++k)
    memset(session->samples[k], 0, (size_t)(schedules->plans[k]->step_count + 1) * sizeof **session->samples);
  session->profiling = true;
  return HONE_OK;
}

void hn_profile_stop(hone_session *session) { session->profiling = false; }

static void add_sample(hn_step_samples *samples, double elapsed_ns) {
  if (samples->runs == 0 || elapsed_ns < samples->min_ns) samples->min_ns = elapsed_ns;
  if (samples->runs == 0 || elapsed_ns > samples->max_ns) samples->max_ns = elapsed_ns;
  samples->latest_ns[samples->runs % HN_PROFILE_SAMPLES] = (float)elapsed_ns;
  samples->total_ns += elapsed_ns;
  ++samples->runs;
}

hone_status hn_profile_collect(hone_session *session, double run_ns) {
  const hn_plan *plan = session->current->plan;
  hn_step_samples *samples = session->samples[session->current->schedule];
  for (int s = 0; s < plan->blocks[0].step_count; ++s) {
    const int at = plan->blocks[0].first_step + s, device = plan->steps[at].device;
    double elapsed_ns = 0;
    HN_TRY(
        hn_stream_between(session->engine->devices[device], session->streams[device], 2 * at, 2 * at + 1, &elapsed_ns));
    add_sample(&samples[at], elapsed_ns);
    if (session->options.on_step)
      session->options.on_step(session->options.on_step_user, plan->steps[at].name, elapsed_ns);
  }
  add_sample(&samples[plan->step_count], run_ns);
  return HONE_OK;
}

static int compare_floats(const void *a, const void *b) {
  const float x = *(const float *)a, y = *(const float *)b;
  return (x > y) - (x < y);
}

/* Of the latest samples; the 99th percentile is the least that 99 % are not above. */
static void percentiles(const hn_step_samples *samples, float *sorted, double *out_median_ns, double *out_p99_ns) {
  const int64_t count = samples->runs < HN_PROFILE_SAMPLES ? samples->runs : HN_PROFILE_SAMPLES;
  *out_median_ns = *out_p99_ns = 0;
  if (count == 0) return;
  memcpy(sorted, samples->latest_ns, (size_t)count * sizeof *sorted);
  qsort(sorted, (size_t)count, sizeof *sorted, compare_floats);
  const double upper = (double)sorted[count / 2];
  *out_median_ns = count % 2 ? upper : ((double)sorted[count / 2 - 1] + upper) / 2;
  *out_p99_ns = (double)sorted[(99 * count + 99) / 100 - 1];
}

hone_status hn_session_trace(const hone_session *session, int schedule, hn_arena *arena, hn_trace *out,
                             hone_diagnostics *diag) {
  const hn_plan *plan = session->engine->schedules->plans[schedule];
  const hn_step_samples *samples = session->samples ? session->samples[schedule] : NULL;
  *out = (hn_trace){0};
  if (!samples || samples[plan->step_count].runs == 0)
    return HN_FAIL(diag, HONE_INVALID, "nothing was profiled: turn profiling on and run first");
  float sorted[HN_PROFILE_SAMPLES];
  hn_trace_step *steps = HN_NEW(arena, hn_trace_step, plan->step_count);
  if (!steps) return HN_FAIL_MEMORY(diag);
  for (int s = 0; s < plan->step_count; ++s) {
    steps[s] = (hn_trace_step){.step = s,
                               .runs = samples[s].runs,
                               .total_ns = samples[s].total_ns,
                               .min_ns = samples[s].min_ns,
                               .max_ns = samples[s].max_ns};
    percentiles(&samples[s], sorted, &steps[s].median_ns, &steps[s].p99_ns);
  }
  const hn_step_samples *whole = &samples[plan->step_count];
  *out = (hn_trace){.schedule = schedule,
                    .runs = whole->runs,
                    .step_count = plan->step_count,
                    .steps = steps,
                    .total_ns = whole->total_ns};
  percentiles(whole, sorted, &out->median_ns, &out->p99_ns);
  return HONE_OK;
}
