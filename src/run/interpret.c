/* SPDX-License-Identifier: Apache-2.0 */
/* interpret.c - the block interpreter: runs a block's steps in order. */
#include "plan/words.h"
#include "run/session.h"

static hone_status copy_step(hone_session *session, hn_instance *instance, const hn_plan_step *step) {
  const hn_plan *plan = instance->plan;
  const hone_tensor *from = &instance->tensors[step->in[0]], *to = &instance->tensors[step->out[0]];
  const hn_place_at source = {from->data, plan->tensors[step->in[0]].device == plan->host};
  const hn_place_at target = {to->data, plan->tensors[step->out[0]].device == plan->host};
  if (to->bytes == 0) return HONE_OK;
  hone_device *device = session->engine->devices[step->device];
  const hone_status status = hn_stream_move(device, session->streams[step->device], target, source, to->bytes);
  return status == HONE_OK ? status : HN_FAIL(&session->diag, status, "device %s did not copy", device->backend->name);
}

static hone_status run_step(hone_session *session, hn_instance *instance, int s) {
  const hn_plan_step *step = &instance->plan->steps[s];
  hn_step_state *state = &instance->steps[s];
  switch (step->kind) {
  case HN_STEP_CALL:
    if (state->late) return hn_run_late(session, instance, step, state);
    return step->tactic->launch(state->prepared.state, session->streams[step->device], &state->launch);
  case HN_STEP_VIEW: return state->late ? hn_view_late(session, instance, step) : HONE_OK;
  case HN_STEP_COPY: return copy_step(session, instance, step);
  case HN_STEP_WAIT:
    return hn_stream_wait(session->engine->devices[step->device], session->streams[step->device], &session->diag);
  case HN_STEP_BRANCH: return hn_run_branch(session, instance, step);
  case HN_STEP_LOOP: return hn_run_loop(session, instance, step);
  default: return HN_FAIL(&session->diag, HONE_INTERNAL, "a plan step of unknown kind %d", (int)step->kind);
  }
}

hone_status hn_interpret(hone_session *session, hn_instance *instance, int block) {
  const hn_plan *plan = instance->plan;
  const hn_plan_block *b = &plan->blocks[block];
  const bool replays = instance->replays && !session->profiling && block == 0;
  for (int s = b->first_step; s < b->first_step + b->step_count; ++s) {
    if (replays && instance->steps[s].replay) {
      const hn_step_state *state = &instance->steps[s];
      const int device = plan->steps[s].device;
      const hone_status status =
          hn_stream_replay(session->engine->devices[device], session->streams[device], state->replay);
      if (status != HONE_OK)
        return HN_FAIL(&session->diag, status, "the steps from %s on could not be replayed", plan->steps[s].name);
      s = state->replay_end - 1;
      HN_TRY(hn_taps_fire(session, instance, s));
      continue;
    }
    if (session->profiling) {
      const int device = plan->steps[s].device;
      HN_TRY(hn_stream_mark(session->engine->devices[device], session->streams[device], 2 * s));
    }
    HN_TRY_NOTE(&session->diag, run_step(session, instance, s), "in step %s (%s)", plan->steps[s].name,
                plan->steps[s].op ? plan->steps[s].op->name : hn_step_kind_name(plan->steps[s].kind));
    if (session->profiling) {
      const int device = plan->steps[s].device;
      HN_TRY(hn_stream_mark(session->engine->devices[device], session->streams[device], 2 * s + 1));
    }
    HN_TRY(hn_taps_fire(session, instance, s));
  }
  return HONE_OK;
}
