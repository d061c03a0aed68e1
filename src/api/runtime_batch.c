/* SPDX-License-Identifier: Apache-2.0 */
/* runtime_batch.c - a batch on a worker: requests' rows together in a session's inputs, a run, and each one's rows. */
#include "api/batcher.h"
#include "run/session.h"
#include "tensor/shape.h"
#include <stdio.h>
#include <string.h>

/* ---- sessions: only its worker touches one, so that none needs a lock ---- */

void hn_batch_session_drop(hn_batch_session *s) {
  hone_session_destroy(s->session);
  if (s->queue) hn_queue_release(s->queue);
  *s = (hn_batch_session){0};
}

static hone_status find_session(hn_batch_worker *w, hone_queue *q, hn_batch_session **out) {
  hn_batch_session *oldest = &w->sessions[0];
  for (int i = 0; i < w->batcher->session_count; ++i) {
    hn_batch_session *s = &w->sessions[i];
    if (s->queue == q) {
      s->used = ++w->uses;
      *out = s;
      return HONE_OK;
    }
    if (s->used < oldest->used) oldest = s;
  }
  hn_batch_session_drop(oldest);
  const hone_session_options options = {.struct_size = sizeof options,
                                        .trust_weights = true, /* checked when the queue was opened */
                                        .instance_cache = HONE_QUEUE_SHAPES,
                                        .deadline_ms = q->options.run_limit_ms,
                                        .cancel = &w->batcher->cancel};
  HN_TRY(hone_session_create(q->of_worker[w->number], &options, &oldest->session, &w->diag));
  pthread_mutex_lock(&w->batcher->mutex);
  ++q->holds;
  pthread_mutex_unlock(&w->batcher->mutex);
  oldest->queue = q;
  oldest->used = ++w->uses;
  *out = oldest;
  return HONE_OK;
}

/* ---- inputs ---- */

static const char *input_name(const hone_queue *q, int i) { return hn_engine_common(q->engine)->inputs[i].name; }
static const char *output_name(const hone_queue *q, int i) { return hn_engine_common(q->engine)->outputs[i].name; }

/* A lone request's aligned tensor is used where it lies. */
static hone_status set_input(hone_session *session, const char *name, const hone_tensor *tensor) {
  const bool aligned = ((uintptr_t)tensor->data & 63) == 0;
  return aligned ? hone_session_bind(session, name, tensor) : hone_session_copy_in(session, name, tensor);
}

static hone_status unset_inputs(hone_session *session, const hone_request *r) {
  for (int i = 0; i < r->queue->in_count; ++i) {
    const hone_tensor none = {.type = r->in[i].type};
    HN_TRY(hone_session_bind(session, input_name(r->queue, i), &none));
  }
  return HONE_OK;
}

static hone_status gather_input(hone_session *session, int input, const hone_request *batch, int64_t rows) {
  hone_tensor room;
  HN_TRY(hone_session_tensor(session, input_name(batch->queue, input), &room));
  char *to = room.data;
  for (const hone_request *r = batch; r; r = r->next) {
    if (r->in[input].bytes > 0) memcpy(to, r->in[input].data, r->in[input].bytes);
    to += r->in[input].bytes;
  }
  const size_t row_bytes = room.bytes / (size_t)room.type.shape.dim[0];
  for (int64_t row = rows; row < room.type.shape.dim[0] && row_bytes > 0; ++row, to += row_bytes)
    memcpy(to, to - row_bytes, row_bytes); /* a full batch of rows that are numbers like the others */
  return HONE_OK;
}

static hone_status fill_inputs(hone_session *session, const hone_request *batch, int64_t rows, bool lone) {
  const hone_queue *q = batch->queue;
  for (int i = 0; i < q->in_count; ++i) {
    hone_shape shape = batch->in[i].type.shape;
    if (q->most > 0) shape.dim[0] = q->fixed ? q->fixed : rows;
    HN_TRY(hone_session_set_shape(session, input_name(q, i), shape.rank, shape.dim));
  }
  for (int i = 0; i < q->in_count; ++i)
    HN_TRY(lone ? set_input(session, input_name(q, i), &batch->in[i]) : gather_input(session, i, batch, rows));
  return HONE_OK;
}

/* ---- outputs ---- */

/* The request's rows of an output, from first_row on. */
static hone_status lend(hone_session *session, hone_request *r, int output, int64_t first_row) {
  hone_tensor *t = &r->lent[output];
  HN_TRY(hone_session_tensor(session, output_name(r->queue, output), t));
  if (r->queue->most == 0) return HONE_OK;
  int64_t *rows = &t->type.shape.dim[0];
  const size_t row_bytes = *rows > 0 ? t->bytes / (size_t)*rows : 0;
  if (first_row + r->times.rows > *rows)
    return HN_FAIL(hone_session_diagnostics(session), HONE_INTERNAL, "output %s has %lld rows",
                   output_name(r->queue, output), (long long)*rows);
  t->data = (char *)t->data + (size_t)first_row * row_bytes;
  t->bytes = (size_t)r->times.rows * row_bytes;
  *rows = r->times.rows;
  return HONE_OK;
}

static hone_status lend_all(hone_session *session, hone_request *batch) {
  int64_t row = 0;
  for (hone_request *r = batch; r; row += r->times.rows, r = r->next)
    for (int i = 0; i < r->queue->out_count; ++i) HN_TRY(lend(session, r, i, row));
  return HONE_OK;
}

static void finish(hone_request *r) {
  for (int i = 0; r->out && i < r->queue->out_count; ++i) {
    const hone_tensor *from = &r->lent[i];
    hone_tensor *to = &r->out[i];
    to->type = from->type;
    if (!to->data) continue;
    if (to->bytes < from->bytes) {
      char message[256];
      (void)snprintf(message, sizeof message, "output %s has %zu bytes, and there is room for %zu",
                     output_name(r->queue, i), from->bytes, to->bytes);
      hn_request_finish(r, HONE_INVALID, message);
      return;
    }
    if (from->bytes > 0) memcpy(to->data, from->data, from->bytes);
  }
  hn_request_finish(r, HONE_OK, NULL);
}

/* ---- a batch ---- */

/* What was wrong is wrong of these inputs. */
static bool is_of_inputs(hone_status status) {
  return status == HONE_INVALID || status == HONE_MALFORMED || status == HONE_UNSUPPORTED;
}

/* Can the session run on after a failure? Else the next batch begins with a new one. */
static bool goes_on(const hn_batch_session *s, const hone_request *batch, hone_status status) {
  return is_of_inputs(status) && unset_inputs(s->session, batch) == HONE_OK;
}

static hone_status run_in(hn_batch_session *s, hone_request *batch, hone_batch_run *run) {
  const hone_queue *q = batch->queue;
  const bool lone = run->requests == 1 && (!q->fixed || run->rows == q->fixed);
  HN_TRY(fill_inputs(s->session, batch, run->rows, lone));
  run->filled_ns = hn_clock_ns();
  HN_TRY(hone_session_run(s->session));
  run->ran_ns = hn_clock_ns();
  HN_TRY(lend_all(s->session, batch));
  return lone ? unset_inputs(s->session, batch) : HONE_OK; /* once told, their memory may go */
}

static void count(hone_request *batch, const hone_batch_run *run) {
  hone_queue *q = batch->queue;
  pthread_mutex_lock(&q->batcher->mutex);
  for (hone_request *r = batch; r; r = r->next) {
    r->times.begin_ns = run->begin_ns;
    r->times.filled_ns = run->filled_ns;
    r->times.ran_ns = run->ran_ns;
    r->times.batch_rows = run->rows;
    if (run->status == HONE_OK) q->stats.wait_ns += (double)(run->begin_ns - r->times.submitted_ns);
  }
  if (run->status == HONE_OK) {
    ++q->stats.runs;
    q->stats.rows += run->rows;
    q->stats.run_ns += (double)(run->ran_ns - run->filled_ns);
  }
  pthread_mutex_unlock(&q->batcher->mutex);
}

/* False: the batch failed for its inputs, and each request is to be run alone. */
static bool run_batch(hn_batch_worker *w, hone_request *batch) {
  hone_queue *q = batch->queue;
  hn_batch_session *s = NULL;
  char message[HN_DIAG_TEXT_BYTES];
  hone_batch_run run = {.struct_size = sizeof run, .begin_ns = hn_clock_ns()};
  for (const hone_request *r = batch; r; r = r->next) {
    ++run.requests;
    run.rows += r->times.rows;
  }
  hn_diag_clear(&w->diag);
  run.status = find_session(w, q, &s);
  if (run.status == HONE_OK) {
    run.status = run_in(s, batch, &run);
    if (run.status != HONE_OK) hn_diag_hand_over(hone_session_diagnostics(s->session), &w->diag);
  }
  if (is_of_inputs(run.status) && run.requests > 1) return false;
  const char *why = hone_diagnostics_message(&w->diag, 0, NULL);
  hn_copy_text(message, sizeof message, why ? why : hone_status_name(run.status));
  if (run.status != HONE_OK && s && !goes_on(s, batch, run.status)) hn_batch_session_drop(s);
  count(batch, &run);
  if (q->options.on_run) q->options.on_run(q->options.on_run_user, &run);
  if (run.status != HONE_OK) {
    hn_requests_refuse(batch, run.status, message);
    return true;
  }
  while (batch) {
    hone_request *r = batch;
    batch = r->next;
    finish(r);
  }
  return true;
}

void hn_batch_run(hn_batch_worker *w, hone_request *batch) {
  if (run_batch(w, batch)) return;
  while (batch) {
    hone_request *r = batch;
    batch = r->next;
    r->next = NULL;
    (void)run_batch(w, r);
  }
}
