/* SPDX-License-Identifier: Apache-2.0 */
/* profile.c - times of steps: marks around each, read after the run; medians over the latest samples; spans of the run,
 * its steps and the threads' shares of their loops for who listens. */
#include "run/session.h"
#include <stdlib.h>
#include <string.h>

static void set_log(hone_session *session, hn_pool_log *log) {
  for (int d = 0; d < session->engine->device_count; ++d)
    hn_stream_logs(session->engine->devices[d], session->streams[d], log);
}

/* The threads of the engine's devices that work in the host's memory. */
static hone_status make_log(hone_session *session) {
  if (session->pool_log || session->options.trace_shares == 0 || !session->options.on_span) return HONE_OK;
  int threads = 1;
  for (int d = 0; d < session->engine->device_count; ++d) {
    const hone_device *device = session->engine->devices[d];
    if (hn_is_host_unit(device) && device->facts.threads > threads) threads = device->facts.threads;
  }
  session->pool_log = hn_pool_log_create(&session->arena, threads, session->options.trace_shares);
  return session->pool_log ? HONE_OK : HN_FAIL_MEMORY(&session->diag);
}

hone_status hn_profile_start(hone_session *session) {
  const hn_schedules *schedules = session->engine->schedules;
  if (!session->samples) {
    hn_step_samples **samples = HN_NEW(&session->arena, hn_step_samples *, schedules->count);
    for (int k = 0; samples && k < schedules->count; ++k) {
      samples[k] = HN_NEW(&session->arena, hn_step_samples, schedules->plans[k]->step_count + 1);
      if (!samples[k]) return HN_FAIL_MEMORY(&session->diag);
    }
    if (!samples) return HN_FAIL_MEMORY(&session->diag);
    session->queues = HN_NEW(&session->arena, hn_queue_samples, schedules->count);
    if (!session->queues) return HN_FAIL_MEMORY(&session->diag);
    session->samples = samples;
  }
  memset(session->queues, 0, (size_t)schedules->count * sizeof *session->queues);
  for (int k = 0; k < schedules->count; ++k)
    memset(session->samples[k], 0, (size_t)(schedules->plans[k]->step_count + 1) * sizeof **session->samples);
  HN_TRY(make_log(session));
  set_log(session, session->pool_log);
  session->profiling = true;
  return hn_profile_trace(session, true);
}

void hn_profile_stop(hone_session *session) {
  set_log(session, NULL);
  session->profiling = false;
  (void)hn_profile_trace(session, false); /* what cannot be recorded again is launched step by step */
}

/* The mark behind those of all steps. */
static int base_mark(const hone_session *session) { return 2 * session->current->plan->step_count; }

hone_status hn_profile_begin(hone_session *session) {
  if (session->pool_log) hn_pool_log_clear(session->pool_log);
  for (int d = 0; session->options.on_span && d < session->engine->device_count; ++d)
    HN_TRY(hn_stream_mark(session->engine->devices[d], session->streams[d], base_mark(session)));
  return HONE_OK;
}

static void add_sample(hn_step_samples *samples, double elapsed_ns) {
  if (samples->runs == 0 || elapsed_ns < samples->min_ns) samples->min_ns = elapsed_ns;
  if (samples->runs == 0 || elapsed_ns > samples->max_ns) samples->max_ns = elapsed_ns;
  samples->latest_ns[samples->runs % HN_PROFILE_SAMPLES] = (float)elapsed_ns;
  samples->total_ns += elapsed_ns;
  ++samples->runs;
}

/* A step that a replay stands for has no marks of its own. */
static bool in_replay(const hone_session *session, int at) {
  const hn_instance *instance = session->current;
  for (int s = at; s >= 0; --s)
    if (instance->steps[s].replay) return at < instance->steps[s].replay_end;
  return false;
}

static hone_status step_times(const hone_session *session, int at, int64_t run_begin_ns, int64_t *out_begin_ns,
                              int64_t *out_end_ns) {
  const int d = session->current->plan->steps[at].device, base = base_mark(session);
  const hn_step_samples *samples = &session->samples[session->current->schedule][at];
  if (d == session->traced && (samples->pieces > 0 || in_replay(session, at))) {
    *out_begin_ns = samples->pieces > 0 ? samples->begin_ns : run_begin_ns;
    *out_end_ns = samples->pieces > 0 ? samples->end_ns : run_begin_ns;
    return HONE_OK;
  }
  hone_device *device = session->engine->devices[d];
  HN_TRY(hn_stream_time(device, session->streams[d], 2 * at, base, run_begin_ns, out_begin_ns));
  return hn_stream_time(device, session->streams[d], 2 * at + 1, base, run_begin_ns, out_end_ns);
}

static void tell(const hone_session *session, hone_span span) {
  span.run = session->runs;
  span.schedule = session->current->schedule;
  session->options.on_span(session->options.on_span_user, &span);
}

static int64_t dropped_shares(const hn_pool_log *log) {
  int64_t dropped = 0;
  for (int t = 0; log && t < log->threads; ++t) dropped += log->of[t].dropped;
  return dropped;
}

/* A device's own clock may end its last step behind what the host's says of the run: the run ends with it then. */
static hone_status tell_run(const hone_session *session, int64_t begin_ns, int64_t end_ns) {
  const hn_plan *plan = session->current->plan;
  const hn_plan_block *block = &plan->blocks[0];
  int64_t step_begin_ns, step_end_ns;
  for (int at = block->first_step; at < block->first_step + block->step_count; ++at) {
    HN_TRY(step_times(session, at, begin_ns, &step_begin_ns, &step_end_ns));
    if (step_end_ns > end_ns) end_ns = step_end_ns;
  }
  tell(session, (hone_span){.kind = HONE_SPAN_RUN,
                            .name = session->engine->schedules->name,
                            .begin_ns = begin_ns,
                            .end_ns = end_ns,
                            .step = -1,
                            .device = -1,
                            .dropped = dropped_shares(session->pool_log)});
  for (int at = block->first_step; at < block->first_step + block->step_count; ++at) {
    HN_TRY(step_times(session, at, begin_ns, &step_begin_ns, &step_end_ns));
    const hn_plan_step *step = &plan->steps[at];
    tell(session, (hone_span){.kind = HONE_SPAN_STEP,
                              .name = step->name,
                              .begin_ns = step_begin_ns,
                              .end_ns = step_end_ns,
                              .step = at,
                              .device = step->device,
                              .queued = !hn_is_host_unit(session->engine->devices[step->device])});
  }
  const hn_pool_log *log = session->pool_log;
  for (int t = 0; log && t < log->threads; ++t)
    for (int64_t i = 0; i < log->of[t].count; ++i) {
      const hn_pool_share *share = &log->of[t].items[i];
      tell(session, (hone_span){.kind = HONE_SPAN_SHARE,
                                .name = plan->steps[share->tag].name,
                                .begin_ns = share->begin_ns,
                                .end_ns = share->end_ns,
                                .step = share->tag,
                                .device = plan->steps[share->tag].device,
                                .thread = t,
                                .parts = share->ranges});
    }
  return HONE_OK;
}

hone_status hn_profile_collect(hone_session *session, int64_t begin_ns, int64_t end_ns) {
  const hn_plan *plan = session->current->plan;
  hn_step_samples *samples = session->samples[session->current->schedule];
  if (session->traced >= 0) HN_TRY(hn_profile_activities(session, begin_ns));
  for (int s = 0; s < plan->blocks[0].step_count; ++s) {
    const int at = plan->blocks[0].first_step + s, device = plan->steps[at].device;
    double elapsed_ns = samples[at].run_ns;
    if (device != session->traced || (samples[at].pieces == 0 && !in_replay(session, at)))
      HN_TRY(hn_stream_between(session->engine->devices[device], session->streams[device], 2 * at, 2 * at + 1,
                               &elapsed_ns));
    add_sample(&samples[at], elapsed_ns);
  }
  add_sample(&samples[plan->step_count], (double)(end_ns - begin_ns));
  return session->options.on_span ? tell_run(session, begin_ns, end_ns) : HONE_OK;
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

static hone_status find_samples(const hone_session *session, int schedule, const hn_step_samples **out,
                                hone_diagnostics *diag) {
  *out = session->samples ? session->samples[schedule] : NULL;
  if (!*out || (*out)[session->engine->schedules->plans[schedule]->step_count].runs == 0)
    return HN_FAIL(diag, HONE_INVALID, "nothing was profiled: turn profiling on and run first");
  return HONE_OK;
}

static hn_trace_step summarize(const hn_step_samples *samples, int step) {
  float sorted[HN_PROFILE_SAMPLES];
  hn_trace_step out = {.step = step,
                       .runs = samples->runs,
                       .total_ns = samples->total_ns,
                       .min_ns = samples->min_ns,
                       .max_ns = samples->max_ns,
                       .pieces = samples->pieces,
                       .kernel = samples->kernel};
  if (samples->runs > 0) {
    out.busy_ns = samples->busy_ns / (double)samples->runs;
    out.gap_ns = samples->gap_ns / (double)samples->runs;
    out.beside_ns = samples->beside_ns / (double)samples->runs;
  }
  percentiles(samples, sorted, &out.median_ns, &out.p99_ns);
  return out;
}

static hn_trace_queue queue_means(const hn_queue_samples *queue, double launch_ns) {
  if (queue->runs == 0) return (hn_trace_queue){0};
  const double runs = (double)queue->runs;
  return (hn_trace_queue){.runs = queue->runs,
                          .unknown = queue->unknown,
                          .work_ns = queue->work_ns / runs,
                          .gap_ns = queue->gap_ns / runs,
                          .beside_ns = queue->beside_ns / runs,
                          .span_ns = (queue->work_ns + queue->gap_ns - queue->beside_ns) / runs,
                          .apart_ns = queue->apart_ns / runs,
                          .to_device_ns = queue->to_device_ns / runs,
                          .to_host_ns = queue->to_host_ns / runs,
                          .replays = queue->replays,
                          .launch_ns = launch_ns * queue->replays};
}

hone_status hn_session_trace_step(const hone_session *session, int schedule, int step, hn_trace_step *out,
                                  hone_diagnostics *diag) {
  const hn_step_samples *samples;
  HN_TRY(find_samples(session, schedule, &samples, diag));
  *out = summarize(&samples[step], step);
  return HONE_OK;
}

hone_status hn_session_trace(const hone_session *session, int schedule, hn_arena *arena, hn_trace *out,
                             hone_diagnostics *diag) {
  const hn_plan *plan = session->engine->schedules->plans[schedule];
  const hn_step_samples *samples;
  *out = (hn_trace){0};
  HN_TRY(find_samples(session, schedule, &samples, diag));
  hn_trace_step *steps = HN_NEW(arena, hn_trace_step, plan->step_count);
  if (!steps) return HN_FAIL_MEMORY(diag);
  for (int s = 0; s < plan->step_count; ++s) steps[s] = summarize(&samples[s], s);
  const hn_trace_step whole = summarize(&samples[plan->step_count], plan->step_count);
  *out = (hn_trace){.schedule = schedule,
                    .runs = whole.runs,
                    .step_count = plan->step_count,
                    .steps = steps,
                    .total_ns = whole.total_ns,
                    .median_ns = whole.median_ns,
                    .p99_ns = whole.p99_ns,
                    .queue = queue_means(&session->queues[schedule], session->launch_ns),
                    .untraced = session->untraced[0] ? session->untraced : NULL};
  return HONE_OK;
}
