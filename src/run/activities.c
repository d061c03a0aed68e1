/* SPDX-License-Identifier: Apache-2.0 */
/* activities.c - steps of a device that tells what its queue did: their times inside a replay, what lay between them
 * and what ran beside them. */
#include "run/session.h"
#include <stdio.h>

/* The first device with memory of its own; -1: there is none. */
static int device_to_trace(const hone_session *session) {
  const hone_engine *engine = session->engine;
  for (int d = 0; d < engine->device_count; ++d)
    if (!engine->devices[d]->facts.host_memory) return d;
  return -1;
}

/* With or without the tracing that is on now. */
static hone_status record_again(hone_session *session) {
  for (int i = 0; i < session->instance_count; ++i) {
    if (!session->instances[i]->replays) continue;
    hn_instance_forget(session, session->instances[i]);
    HN_TRY(hn_instance_record(session, session->instances[i]));
  }
  return HONE_OK;
}

hone_status hn_profile_trace(hone_session *session, bool on) {
  const int d = on ? device_to_trace(session) : session->traced;
  if (d < 0 || session->options.no_replay || session->options.marks_only || on == (session->traced >= 0))
    return HONE_OK;
  const int messages = session->diag.count;
  session->untraced[0] = 0;
  if (on && hn_stream_records(session->engine->devices[d])) HN_TRY(hn_profile_launch(session, d, &session->launch_ns));
  const hone_status status = hn_stream_trace(session->engine->devices[d], session->streams[d], on, &session->diag);
  if (on && status == HONE_UNSUPPORTED) { /* steps are launched one by one then, with marks around them */
    if (session->diag.count > messages)
      (void)snprintf(session->untraced, sizeof session->untraced, "%.159s", session->diag.entries[messages].text);
    hn_diag_cut(&session->diag, messages);
    return HONE_OK;
  }
  HN_TRY(status);
  session->traced = on ? d : -1;
  return record_again(session);
}

static void add_piece(hn_step_samples *of, const hone_activity *a, int64_t late_ns, double gap_ns, double beside_ns) {
  const double elapsed_ns = (double)(a->end_ns - a->begin_ns);
  if (of->pieces++ == 0)
    of->begin_ns = a->begin_ns + (int64_t)beside_ns + late_ns; /* spans of a track do not overlap */
  if (a->end_ns + late_ns > of->end_ns) of->end_ns = a->end_ns + late_ns;
  of->run_ns += elapsed_ns - beside_ns;
  of->busy_ns += elapsed_ns;
  of->gap_ns += gap_ns;
  of->beside_ns += beside_ns;
  if (!a->name || elapsed_ns <= of->kernel_ns) return;
  of->kernel = a->name;
  of->kernel_ns = elapsed_ns;
}

/* A copy, or a replay's first kernel: the host launched it by itself, and tracing makes that late. */
static bool launched_apart(const hn_instance *instance, const hn_step_samples *samples, const hone_activity *a) {
  if (a->step < 0 || a->step >= instance->plan->step_count) return false;
  return instance->plan->steps[a->step].kind == HN_STEP_COPY ||
         (instance->steps[a->step].replay && samples[a->step].pieces == 0);
}

hone_status hn_profile_activities(hone_session *session, int64_t begin_ns) {
  const hn_plan *plan = session->current->plan;
  hn_step_samples *samples = session->samples[session->current->schedule];
  hn_queue_samples *queue = &session->queues[session->current->schedule];
  const hone_activity *items;
  int count;
  HN_TRY(hn_stream_activities(session->engine->devices[session->traced], session->streams[session->traced], &items,
                              &count, &session->diag));
  for (int s = 0; s < plan->step_count; ++s) {
    samples[s].pieces = 0;
    samples[s].begin_ns = samples[s].end_ns = 0;
    samples[s].run_ns = 0;
  }
  /* The device's clock is told from the host's to within microseconds: nothing began before the run did. */
  const int64_t late_ns = count && items[0].begin_ns < begin_ns ? begin_ns - items[0].begin_ns : 0;
  int64_t reach_ns = count ? items[0].begin_ns : 0; /* the last end so far */
  for (int i = 0; i < count; ++i) {
    const hone_activity *a = &items[i];
    const double gap_ns = a->begin_ns > reach_ns ? (double)(a->begin_ns - reach_ns) : 0;
    const int64_t both_ns = (a->end_ns < reach_ns ? a->end_ns : reach_ns) - a->begin_ns;
    const double beside_ns = both_ns > 0 ? (double)both_ns : 0;
    const double elapsed_ns = (double)(a->end_ns - a->begin_ns);
    const bool apart = launched_apart(session->current, samples, a);
    queue->work_ns += elapsed_ns;
    queue->beside_ns += beside_ns;
    *(apart ? &queue->apart_ns : &queue->gap_ns) += gap_ns;
    if (a->kind == HONE_ACTIVITY_TO_DEVICE) queue->to_device_ns += elapsed_ns;
    if (a->kind == HONE_ACTIVITY_TO_HOST) queue->to_host_ns += elapsed_ns;
    if (a->end_ns > reach_ns) reach_ns = a->end_ns;
    if (a->step >= 0 && a->step < plan->step_count)
      add_piece(&samples[a->step], a, late_ns, apart ? 0 : gap_ns, beside_ns);
    else
      ++queue->unknown;
  }
  ++queue->runs;
  queue->replays = 0;
  for (int s = 0; s < plan->step_count; ++s)
    queue->replays += session->current->steps[s].replay && plan->steps[s].device == session->traced;
  return HONE_OK;
}
