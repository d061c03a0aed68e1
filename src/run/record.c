/* SPDX-License-Identifier: Apache-2.0 */
/* record.c - straight runs of a device's steps as one replay. A run is broken by whatever the host does: its own steps,
 * copies, waits, branches, and tactics that cannot be recorded. Only what a device has in its own memory is recorded:
 * the caller's buffers in the host's memory reach it by copies, so that rebinding them changes no replay; those in the
 * device's are recorded with their addresses. */
#include "run/session.h"

static bool records(const hone_session *session, const hn_instance *instance, int s) {
  const hn_plan *plan = instance->plan;
  const hn_plan_step *step = &plan->steps[s];
  return step->kind == HN_STEP_CALL && plan->spaces[step->device] != plan->host && !instance->steps[s].data_dependent &&
         (step->tactic->flags & HONE_TACTIC_CAPTURABLE) && hn_stream_records(session->engine->devices[step->device]);
}

/* The end of the run that begins at s: views lie inside it, and it is cut after a step whose values are tapped. */
static int run_end(const hone_session *session, const hn_instance *instance, int s) {
  const hn_plan *plan = instance->plan;
  int end = s + 1;
  for (int next = end; next < plan->blocks[0].step_count && !hn_taps_after(&instance->taps, next - 1); ++next) {
    if (plan->steps[next].kind == HN_STEP_VIEW && !instance->steps[next].data_dependent) continue;
    if (!records(session, instance, next) || plan->steps[next].device != plan->steps[s].device) break;
    end = next + 1;
  }
  return end;
}

static hone_status record_run(hone_session *session, hn_instance *instance, int begin, int end) {
  const hn_plan *plan = instance->plan;
  const int d = plan->steps[begin].device;
  hone_device *device = session->engine->devices[d];
  hone_stream *stream = session->streams[d];
  hone_status status = hn_stream_record(device, stream);
  if (status != HONE_OK) return HN_FAIL(&session->diag, status, "device %s does not record", device->backend->name);
  for (int s = begin; s < end && status == HONE_OK; ++s) {
    if (plan->steps[s].kind != HN_STEP_CALL) continue;
    if (session->traced == d) status = hn_stream_tag(device, stream, s);
    hn_device_range(device, plan->steps[s].name); /* Nsight Compute tells nodes by where they were recorded */
    if (status == HONE_OK) status = hn_launch(device, &instance->steps[s].prepared, stream, &instance->steps[s].launch);
    hn_device_range(device, NULL);
  }
  hone_replay *replay = NULL;
  const hone_status kept = hn_stream_keep(device, stream, &replay, &session->diag); /* ends recording in any case */
  if (status != HONE_OK) hn_replay_forget(device, replay);
  if (status != HONE_OK) return status;
  HN_TRY(kept);
  instance->steps[begin].replay = replay;
  instance->steps[begin].replay_end = end;
  instance->replays = true;
  return HONE_OK;
}

hone_status hn_instance_record(hone_session *session, hn_instance *instance) {
  const hn_plan *plan = instance->plan;
  if (!session->engine->staging || session->options.no_replay) return HONE_OK;
  for (int s = 0; s < plan->blocks[0].step_count; ++s) {
    if (!records(session, instance, s)) continue;
    const int end = run_end(session, instance, s);
    HN_TRY_NOTE(&session->diag, record_run(session, instance, s, end), "while recording steps %s to %s",
                plan->steps[s].name, plan->steps[end - 1].name);
    s = end - 1;
  }
  return HONE_OK;
}

void hn_instance_forget(hone_session *session, hn_instance *instance) {
  const hn_plan *plan = instance->plan;
  for (int s = 0; instance->steps && s < plan->step_count; ++s) {
    hn_replay_forget(session->engine->devices[plan->steps[s].device], instance->steps[s].replay);
    instance->steps[s].replay = NULL;
  }
  instance->replays = false;
}
