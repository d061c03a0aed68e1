/* SPDX-License-Identifier: Apache-2.0 */
/* interpret.c - the block interpreter: runs a block's steps in order. */
#include "run/session.h"
#include "ops/ports.h"
#include "plan/plan.h"
#include <stdio.h>

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
    if (state->data_dependent) return hn_run_data_dependent(session, instance, step, state);
    return hn_launch(session->engine->devices[step->device], &state->prepared, session->streams[step->device],
                     &state->launch);
  case HN_STEP_VIEW: return state->data_dependent ? hn_view_data_dependent(session, instance, step) : HONE_OK;
  case HN_STEP_COPY: return copy_step(session, instance, step);
  case HN_STEP_WAIT:
    return hn_stream_wait(session->engine->devices[step->device], session->streams[step->device], &session->diag);
  case HN_STEP_BRANCH: return hn_run_branch(session, instance, step);
  case HN_STEP_LOOP: return hn_run_loop(session, instance, step);
  default: return HN_FAIL(&session->diag, HONE_INTERNAL, "a plan step of unknown kind %d", (int)step->kind);
  }
}

/* "; data is "x", indices is "ids"": the values that a step was given, by their names in the model. */
static void name_inputs(const hn_plan *plan, const hn_plan_step *step, char *out, size_t room) {
  size_t used = 0;
  for (int i = 0; i < step->in_count && used < room; ++i) {
    const hone_port *port = step->op ? hn_port_at(step->op->in, i) : NULL;
    if (!port || step->in[i] < 0 || plan->tensors[step->in[i]].place == HN_PLACE_CONSTANT) continue;
    const int count = snprintf(out + used, room - used, "%s%s is \"%s\"", used ? ", " : "; ", port->name,
                               plan->tensors[step->in[i]].name);
    used += count > 0 ? (size_t)count : 0;
  }
}

/* The plan was checked: what an operator finds wrong of extents and values when it runs is the caller's. Branches and
 * loops check what the file says of their bodies, which stays the file's. */
static hone_status tell_failure(hone_session *session, const hn_plan *plan, const hn_plan_step *step, int messages,
                                hone_status status) {
  char inputs[256] = "";
  if (step->kind == HN_STEP_CALL || step->kind == HN_STEP_VIEW) {
    if (status == HONE_MALFORMED) status = HONE_INVALID;
    if (status == HONE_INVALID) hn_diag_restate(&session->diag, messages, HONE_MALFORMED, status);
  }
  if (status == HONE_INVALID && step->kind == HN_STEP_CALL) name_inputs(plan, step, inputs, sizeof inputs);
  return hone_note(&session->diag, status, "in step %s (%s)%s", step->name,
                   step->op ? step->op->name : hn_step_kind_name(step->kind), inputs);
}

hone_status hn_interpret(hone_session *session, hn_instance *instance, int block) {
  const hn_plan *plan = instance->plan;
  const hn_plan_block *b = &plan->blocks[block];
  const bool traced = session->profiling && session->traced >= 0;
  const bool replays = instance->replays && (!session->profiling || traced) && block == 0;
  for (int s = b->first_step; s < b->first_step + b->step_count; ++s) {
    if (replays && instance->steps[s].replay) {
      const hn_step_state *state = &instance->steps[s];
      const int d = plan->steps[s].device;
      hone_device *device = session->engine->devices[d];
      if (session->parts) HN_TRY(hn_parts_step(session, plan, &plan->steps[s]));
      hn_device_range(device, session->engine->schedules->name);
      const hone_status status = hn_stream_replay(device, session->streams[d], state->replay);
      hn_device_range(device, NULL);
      if (status != HONE_OK)
        return HN_FAIL(&session->diag, status, "the steps from %s on could not be replayed", plan->steps[s].name);
      s = state->replay_end - 1;
      HN_TRY(hn_taps_fire(session, instance, s));
      continue;
    }
    if (session->profiling) {
      const int device = plan->steps[s].device;
      if (session->pool_log) session->pool_log->tag = s;
      if (device == session->traced)
        HN_TRY(hn_stream_tag(session->engine->devices[device], session->streams[device], s));
      HN_TRY(hn_stream_mark(session->engine->devices[device], session->streams[device], 2 * s));
    }
    if (session->parts && block == 0) HN_TRY(hn_parts_step(session, plan, &plan->steps[s]));
    const int messages = session->diag.count;
    const hone_device *on = session->engine->devices[plan->steps[s].device];
    hn_device_range(on, plan->steps[s].name);
    const hone_status ran = run_step(session, instance, s);
    hn_device_range(on, NULL);
    if (ran != HONE_OK) return tell_failure(session, plan, &plan->steps[s], messages, ran);
    HN_TRY(hn_stop_check(&session->stop, &session->diag));
    if (session->profiling) {
      const int device = plan->steps[s].device;
      HN_TRY(hn_stream_mark(session->engine->devices[device], session->streams[device], 2 * s + 1));
    }
    HN_TRY(hn_taps_fire(session, instance, s));
  }
  return HONE_OK;
}
