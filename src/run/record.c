/* SPDX-License-Identifier: Apache-2.0 */
/* record.c - straight runs of a device's steps as one replay. A run is broken by whatever the host does: its own steps,
 * copies, waits, branches, and tactics that cannot be recorded. Only what a device has in its own memory is recorded:
 * the caller's buffers in the host's memory reach it by copies, so that rebinding them changes no replay; those in the
 * device's are recorded with their addresses. */
#include "run/session.h"
#include <string.h>

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

/* The steps of a run, one behind another or in lanes. */
static hone_status record_step(hone_session *session, hn_instance *instance, int s) {
  const hn_plan_step *step = &instance->plan->steps[s];
  hone_device *device = session->engine->devices[step->device];
  hone_stream *stream = session->streams[step->device];
  if (session->traced == step->device) HN_TRY(hn_stream_tag(device, stream, s));
  hn_device_range(device, step->name); /* Nsight Compute tells nodes by where they were recorded */
  const hone_status status = hn_launch(device, &instance->steps[s].prepared, stream, &instance->steps[s].launch);
  hn_device_range(device, NULL);
  return status;
}

/* ---- lanes ---- */

typedef struct lane_items {
  const hn_instance *instance;
  int *steps; /* [item] */
} lane_items;

static bool overlap(const hone_tensor *a, const hone_tensor *b) {
  const uintptr_t x = (uintptr_t)a->data, y = (uintptr_t)b->data;
  return a->bytes && b->bytes && x < y + b->bytes && y < x + a->bytes;
}

static bool writes_what_is_used(const hone_launch *writer, const hone_launch *user) {
  for (int o = 0; o < writer->out_count; ++o) {
    for (int i = 0; i < user->in_count; ++i)
      if (overlap(&writer->out[o], &user->in[i])) return true;
    for (int i = 0; i < user->out_count; ++i)
      if (overlap(&writer->out[o], &user->out[i])) return true;
  }
  return false;
}

/* By the bytes that they touch: whatever shares a place is kept in order. */
static bool touches(const void *user, int earlier, int later) {
  const lane_items *items = user;
  const hone_launch *a = &items->instance->steps[items->steps[earlier]].launch,
                    *b = &items->instance->steps[items->steps[later]].launch;
  return writes_what_is_used(a, b) || writes_what_is_used(b, a);
}

static hone_status record_lanes(hone_session *session, hn_instance *instance, const lane_items *items, int count,
                                const hn_lane_step *lanes) {
  const int d = instance->plan->steps[items->steps[0]].device, first = 2 * items->steps[0];
  hone_device *device = session->engine->devices[d];
  hone_stream *stream = session->streams[d];
  const size_t scratch_bytes = instance->device_scratch[d].bytes / (size_t)instance->plan->lanes;
  int tails[HONE_MAX_LANES];
  memset(tails, -1, sizeof tails);
  HN_TRY(hn_stream_mark(device, stream, first)); /* where lanes begin that wait for nothing */
  for (int i = 0; i < count; ++i) {
    const hn_lane_step *item = &lanes[i];
    HN_TRY(hn_stream_lane(device, stream, item->lane));
    if (tails[item->lane] < 0 && item->lane > 0 && item->wait_count == 0)
      HN_TRY(hn_stream_after(device, stream, first));
    for (int w = 0; w < item->wait_count; ++w)
      HN_TRY(hn_stream_after(device, stream, 2 * items->steps[item->waits[w]] + 1));
    const uint64_t scratch = instance->device_scratch[d].address + (uint64_t)item->lane * scratch_bytes;
    instance->steps[items->steps[i]].launch.scratch = (void *)(uintptr_t)scratch;
    HN_TRY(record_step(session, instance, items->steps[i]));
    HN_TRY(hn_stream_mark(device, stream, 2 * items->steps[i] + 1));
    tails[item->lane] = i;
  }
  HN_TRY(hn_stream_lane(device, stream, 0));
  for (int lane = 1; lane < HONE_MAX_LANES; ++lane)
    if (tails[lane] >= 0) HN_TRY(hn_stream_after(device, stream, 2 * items->steps[tails[lane]] + 1));
  return HONE_OK;
}

static hone_status record_steps(hone_session *session, hn_instance *instance, int begin, int end) {
  const hn_plan *plan = instance->plan;
  hone_status status = HONE_OK;
  hn_arena arena;
  hn_arena_init(&arena, session->allocator);
  lane_items items = {.instance = instance, .steps = HN_NEW(&arena, int, end - begin)};
  hn_lane_step *lanes = HN_NEW(&arena, hn_lane_step, end - begin);
  int count = 0, used = 1;
  if (!items.steps || !lanes) status = HN_FAIL_MEMORY(&session->diag);
  for (int s = begin; s < end && status == HONE_OK; ++s)
    if (plan->steps[s].kind == HN_STEP_CALL) items.steps[count++] = s;
  if (status == HONE_OK && plan->lanes > 1 &&
      hn_stream_has_lanes(session->engine->devices[plan->steps[begin].device])) {
    used = hn_lanes_assign(&arena, count, plan->lanes, touches, &items, lanes);
    if (used == 0) status = HN_FAIL_MEMORY(&session->diag);
  }
  if (status == HONE_OK && used > 1) status = record_lanes(session, instance, &items, count, lanes);
  for (int i = 0; i < count && used == 1 && status == HONE_OK; ++i)
    status = record_step(session, instance, items.steps[i]);
  hn_arena_deinit(&arena);
  return status;
}

static hone_status record_run(hone_session *session, hn_instance *instance, int begin, int end) {
  const int d = instance->plan->steps[begin].device;
  hone_device *device = session->engine->devices[d];
  hone_stream *stream = session->streams[d];
  hone_status status = hn_stream_record(device, stream);
  if (status != HONE_OK) return HN_FAIL(&session->diag, status, "device %s does not record", device->backend->name);
  status = record_steps(session, instance, begin, end);
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
