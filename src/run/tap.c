/* SPDX-License-Identifier: Apache-2.0 */
/* tap.c - debug taps while running: the value is brought to the host, made plain, and handed out. */
#include "run/session.h"
#include "base/arguments.h"
#include "tensor/storage.h"
#include "tensor/shape.h"

/* Bytes for what must be copied from a device, and for what must be turned into plain, at most. */
static void room_for(const hn_instance *instance, size_t *staging, size_t *plain) {
  const hn_taps *taps = &instance->taps;
  *staging = *plain = 0;
  for (int i = 0; i < taps->count; ++i) {
    const int t = taps->items[i].tensor;
    const hone_tensor *tensor = &instance->tensors[t];
    hone_type type = tensor->type;
    size_t bytes;
    if (taps->plan->tensors[t].device != taps->plan->host && tensor->bytes > *staging) *staging = tensor->bytes;
    const hone_dtype own = taps->plan->tensors[t].dtype;
    if (type.format == HONE_PLAIN && type.dtype == own) continue;
    type.format = HONE_PLAIN;
    type.dtype = own;
    if (hn_type_bytes(&type, &bytes) && bytes > *plain) *plain = bytes;
  }
}

static hone_status allocate(hone_session *session, hn_instance *instance) {
  hn_taps *taps = &instance->taps;
  size_t staging_bytes;
  room_for(instance, &staging_bytes, &taps->plain_bytes);
  if (taps->plain_bytes) {
    taps->plain = hn_arena_alloc(&instance->arena, taps->plain_bytes, 64);
    if (!taps->plain) return HN_FAIL_MEMORY(&session->diag);
  }
  return staging_bytes ? hn_staging_alloc(session->engine->staging, staging_bytes, &taps->staging, &session->diag)
                       : HONE_OK;
}

hone_status hn_taps_make(hone_session *session, hn_instance *instance, const hn_plan *plan) {
  const hone_session_options *options = &session->options;
  hn_taps *taps = &instance->taps;
  taps->plan = plan;
  if (options->tap_count == 0) return HONE_OK;
  hn_tap_item *items;
  int count;
  HN_TRY(hn_tap_list(plan, &instance->arena, &items, &count, &session->diag));
  bool *chosen = HN_NEW(&instance->arena, bool, count + 1);
  taps->first = HN_NEW(&instance->arena, int, plan->step_count + 2);
  if (!chosen || !taps->first) return HN_FAIL_MEMORY(&session->diag);
  hone_status status = HONE_OK;
  for (int i = 0; i < options->tap_count; ++i) { /* all that are not there are reported */
    const hone_status one =
        hn_tap_choose(plan, items, count, options->taps[i], chosen, session->allocator, &session->diag);
    if (one != HONE_OK) status = one;
  }
  HN_TRY(status);
  for (int i = 0; i < count; ++i)
    if (chosen[i]) items[taps->count++] = items[i];
  taps->items = items;
  for (int i = 0; i < taps->count; ++i) ++taps->first[items[i].step + 2];
  for (int s = 1; s <= plan->step_count + 1; ++s) taps->first[s] += taps->first[s - 1];
  return allocate(session, instance);
}

void hn_taps_drop(hone_session *session, hn_instance *instance) {
  if (instance->taps.staging.bytes) hn_memory_free(session->engine->staging, &instance->taps.staging);
}

/* From a device's memory to the host's; all that the device was given is done then. */
static hone_status fetch(hone_session *session, const hn_taps *taps, int space, hone_tensor *view) {
  hone_device *device = session->engine->devices[space];
  hone_stream *stream = session->streams[space];
  if (view->bytes > 0) {
    const hone_status status = hn_stream_move(device, stream, (hn_place_at){taps->staging.data, true},
                                              (hn_place_at){view->data, false}, view->bytes);
    if (status != HONE_OK)
      return HN_FAIL(&session->diag, status, "device %s did not copy a debug tensor", device->backend->name);
  }
  view->data = taps->staging.data;
  return hn_stream_wait(device, stream, &session->diag);
}

static hone_status fire(hone_session *session, hn_instance *instance, hn_tap_item *item) {
  const hn_taps *taps = &instance->taps;
  hone_tensor view = instance->tensors[item->tensor], plain;
  const int space = taps->plan->tensors[item->tensor].device;
  if (space != taps->plan->host) HN_TRY(fetch(session, taps, space, &view));
  const hone_dtype own = taps->plan->tensors[item->tensor].dtype;
  if (view.type.format != HONE_PLAIN || view.type.dtype != own) {
    plain = view;
    plain.type.format = HONE_PLAIN;
    plain.type.dtype = own;
    plain.data = taps->plain;
    if (!hn_type_bytes(&plain.type, &plain.bytes) || plain.bytes > taps->plain_bytes ||
        !hn_layout_convert(&view, &plain))
      return HN_FAIL(&session->diag, HONE_INTERNAL, "debug tensor %s could not be made plain", item->name);
    view = plain;
  }
  hone_tap tap;
  hn_tap_describe(taps->plan, item, &tap);
  tap.tensor = &view;
  tap.turn = item->turns++;
  const hn_float_mode mode = hn_float_mode_get();
  hn_float_mode_set(session->caller_mode);
  const hone_status status = session->options.on_tap(session->options.on_tap_user, &tap);
  hn_float_mode_set(mode);
  return status == HONE_OK ? status : HN_FAIL(&session->diag, status, "stopped at debug tensor %s", item->name);
}

hone_status hn_taps_fire(hone_session *session, hn_instance *instance, int step) {
  const hn_taps *taps = &instance->taps;
  for (int i = 0; i < taps->count && step < 0; ++i) taps->items[i].turns = 0;
  if (!hn_taps_after(taps, step)) return HONE_OK;
  for (int i = taps->first[step + 1]; i < taps->first[step + 2]; ++i) HN_TRY(fire(session, instance, &taps->items[i]));
  return HONE_OK;
}

hone_status hone_engine_each_tap(const hone_engine *engine, void (*see)(void *user, const hone_tap *tap), void *user,
                                 hone_diagnostics *diag) {
  hone_status status = HONE_OK;
  HN_GIVEN(diag, engine);
  HN_GIVEN(diag, see);
  for (int p = 0; p < engine->schedules->count && status == HONE_OK; ++p) {
    const hn_plan *plan = engine->schedules->plans[p];
    hn_arena arena;
    hn_arena_init(&arena, engine->allocator);
    hn_tap_item *items;
    int count = 0;
    status = hn_tap_list(plan, &arena, &items, &count, diag);
    for (int i = 0; i < count; ++i) {
      hone_tap tap;
      hn_tap_describe(plan, &items[i], &tap);
      see(user, &tap);
    }
    hn_arena_deinit(&arena);
  }
  return status;
}
