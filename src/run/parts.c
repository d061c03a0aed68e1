/* SPDX-License-Identifier: Apache-2.0 */
/* parts.c - what a run gave a device's queue: copies to it, computing, copies back; a mark wherever one ends. */
#include "run/session.h"

typedef struct hn_parts {
  int device; /* the first with memory of its own; -1: there is none */
  int first_mark, marks, count;
  bool open, ran; /* a part has begun and no mark has ended it; a run came to its end */
  struct {
    hone_part_kind kind;
    int begin, end; /* marks */
  } items[HONE_MOST_PARTS];
} hn_parts;

hone_status hn_parts_make(hone_session *session, int first_mark) {
  session->parts = HN_NEW(&session->arena, hn_parts, 1);
  if (!session->parts) return HN_FAIL_MEMORY(&session->diag);
  *session->parts = (hn_parts){.device = -1, .first_mark = first_mark};
  const hone_engine *engine = session->engine;
  for (int d = engine->device_count - 1; d >= 0; --d)
    if (!engine->devices[d]->facts.host_memory) session->parts->device = d;
  return HONE_OK;
}

void hn_parts_begin(hone_session *session) {
  hn_parts *parts = session->parts;
  if (!parts) return;
  parts->marks = parts->count = 0;
  parts->open = parts->ran = false;
}

static hone_status mark(hone_session *session, int *out_mark) {
  hn_parts *parts = session->parts;
  *out_mark = parts->first_mark + parts->marks++;
  return hn_stream_mark(session->engine->devices[parts->device], session->streams[parts->device], *out_mark);
}

/* The open part ends here; at_mark: where the next one begins, or -1. */
static hone_status close_part(hone_session *session, int at_mark) {
  hn_parts *parts = session->parts;
  if (!parts->open) return HONE_OK;
  parts->open = false;
  int *end = &parts->items[parts->count - 1].end;
  if (at_mark < 0) return mark(session, end);
  *end = at_mark;
  return HONE_OK;
}

hone_status hn_parts_step(hone_session *session, const hn_plan *plan, const hn_plan_step *step) {
  hn_parts *parts = session->parts;
  if (step->kind == HN_STEP_VIEW || step->device != parts->device) return HONE_OK;
  if (step->kind == HN_STEP_WAIT) return close_part(session, -1); /* the host works next, while nothing is queued */
  const hone_part_kind kind = step->kind != HN_STEP_COPY                            ? HONE_PART_COMPUTE
                              : plan->tensors[step->out[0]].device == parts->device ? HONE_PART_TO_DEVICE
                                                                                    : HONE_PART_TO_HOST;
  if (parts->open && (parts->items[parts->count - 1].kind == kind || parts->count == HONE_MOST_PARTS)) return HONE_OK;
  if (parts->count == HONE_MOST_PARTS) { /* the last one goes on */
    parts->open = true;
    --parts->marks;
    return HONE_OK;
  }
  int at_mark;
  HN_TRY(mark(session, &at_mark));
  HN_TRY(close_part(session, at_mark));
  parts->items[parts->count].kind = kind;
  parts->items[parts->count++].begin = at_mark;
  parts->open = true;
  return HONE_OK;
}

hone_status hn_parts_end(hone_session *session) {
  if (!session->parts) return HONE_OK;
  HN_TRY(close_part(session, -1));
  session->parts->ran = true;
  return HONE_OK;
}

hone_status hn_parts_read(hone_session *session, hone_run_part *out, int *out_count) {
  const hn_parts *parts = session->parts;
  if (!parts || !parts->ran)
    return HN_FAIL(&session->diag, HONE_INVALID, "%s",
                   parts ? "nothing ran yet" : "the session was created without the option parts");
  if (parts->count == 0) return HONE_OK;
  hone_device *device = session->engine->devices[parts->device];
  hone_stream *stream = session->streams[parts->device];
  const int first = parts->items[0].begin;
  double first_ns; /* from the shared point: coarse after a long time, so that the parts are told from here */
  HN_TRY(hn_stream_wait(device, stream, &session->diag));
  hone_status status = hn_stream_between(device, stream, -1, first, &first_ns);
  for (int i = 0; i < parts->count; ++i) {
    out[i].kind = parts->items[i].kind;
    if (status == HONE_OK) status = hn_stream_between(device, stream, first, parts->items[i].begin, &out[i].begin_ns);
    if (status == HONE_OK) status = hn_stream_between(device, stream, first, parts->items[i].end, &out[i].end_ns);
    out[i].begin_ns += first_ns;
    out[i].end_ns += first_ns;
    if (status != HONE_OK)
      return HN_FAIL(&session->diag, status, "device %s does not tell the times of the run", device->backend->name);
  }
  *out_count = parts->count;
  return HONE_OK;
}
