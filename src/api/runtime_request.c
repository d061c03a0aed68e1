/* SPDX-License-Identifier: Apache-2.0 */
/* runtime_request.c - requests: from the caller's tensors to a place in the queue, and what became of them. */
#include "api/batcher.h"
#include "base/arguments.h"
#include "base/text.h"
#include "tensor/shape.h"
#include <string.h>

/* ---- what a request has room for ---- */

static void free_request(hone_request *r) {
  const hone_queue *q = r->queue;
  const hn_allocator *allocator = &q->batcher->allocator;
  hn_free(allocator, r->in, (size_t)q->in_count * sizeof *r->in);
  hn_free(allocator, r->lent, (size_t)q->out_count * sizeof *r->lent);
  hn_free(allocator, r->shapes, (size_t)q->in_count * sizeof *r->shapes);
  hn_free(allocator, r->symbols, (size_t)q->symbol_count * sizeof *r->symbols);
  pthread_cond_destroy(&r->over);
  hn_free(allocator, r, sizeof *r);
}

hone_status hone_request_create(hone_queue *queue, hone_request **out_request, hone_diagnostics *diag) {
  if (out_request) *out_request = NULL;
  HN_GIVEN(diag, queue);
  HN_GIVEN(diag, out_request);
  const hn_allocator *allocator = &queue->batcher->allocator;
  hone_request *r = hn_alloc_zero(allocator, sizeof *r);
  if (!r) return HN_FAIL_MEMORY(diag);
  r->queue = queue;
  hn_cond_init(&r->over);
  r->in = hn_alloc_zero(allocator, (size_t)queue->in_count * sizeof *r->in);
  r->lent = hn_alloc_zero(allocator, (size_t)queue->out_count * sizeof *r->lent);
  r->shapes = hn_alloc_zero(allocator, (size_t)queue->in_count * sizeof *r->shapes);
  r->symbols = hn_alloc_zero(allocator, (size_t)queue->symbol_count * sizeof *r->symbols);
  if (!r->in || !r->lent || !r->shapes || !r->symbols) {
    free_request(r);
    return HN_FAIL_MEMORY(diag);
  }
  pthread_mutex_lock(&queue->batcher->mutex);
  ++queue->holds;
  pthread_mutex_unlock(&queue->batcher->mutex);
  *out_request = r;
  return HONE_OK;
}

void hone_request_destroy(hone_request *r) {
  if (!r) return;
  hone_queue *q = r->queue;
  hone_batcher *b = q->batcher;
  pthread_mutex_lock(&b->mutex);
  if (r->state != HN_REQUEST_OVER) r->done = NULL;
  if (r->state == HN_REQUEST_WAITS) {
    (void)hn_queue_unlink(b, 0, false, r);
    r->state = HN_REQUEST_OVER;
    ++q->stats.failed;
    if (--b->under_way == 0) pthread_cond_broadcast(&b->idle);
  }
  while (r->state != HN_REQUEST_OVER) pthread_cond_wait(&r->over, &b->mutex);
  pthread_mutex_unlock(&b->mutex);
  free_request(r);
  hn_queue_release(q);
}

/* ---- submitting ---- */

static hone_status check_inputs(hone_request *r, const hone_tensor *inputs, hone_diagnostics *diag) {
  const hone_queue *q = r->queue;
  const hn_plan *common = hn_engine_common(q->engine);
  int schedule;
  r->times.rows = 1;
  for (int i = 0; i < q->in_count; ++i) {
    const char *name = common->inputs[i].name;
    const hone_dtype dtype = common->tensors[common->inputs[i].tensor].type.dtype;
    const hone_tensor *in = &inputs[i];
    HN_TRY(hn_tensor_check(diag, name, in));
    if (in->type.kind != HONE_TENSOR || in->type.dtype != dtype || in->type.format != HONE_PLAIN)
      return HN_FAIL(diag, HONE_INVALID, "%s is plain %s, not what was given", name, hone_dtype_name(dtype));
    r->in[i] = *in;
    r->in[i].bytes = hn_bytes(&in->type);
    r->shapes[i] = in->type.shape;
    if (q->most == 0) continue;
    const int64_t rows = in->type.shape.rank > 0 ? in->type.shape.dim[0] : 0, most = q->fixed ? q->fixed : INT64_MAX;
    if (i == 0) r->times.rows = rows;
    if (rows < 1 || rows > most || rows != r->times.rows)
      return HN_FAIL(diag, HONE_INVALID, "%s has %lld rows; %s has %lld, and there is at least one, at most %lld", name,
                     (long long)rows, common->inputs[0].name, (long long)r->times.rows, (long long)most);
    if (q->fixed) r->shapes[i].dim[0] = q->fixed;
  }
  return hn_schedules_choose(q->engine->schedules, -1, r->shapes, r->symbols, &schedule, diag);
}

static hone_status check_call(const hone_request *r, const hone_call *given, hone_call *out, hone_diagnostics *diag) {
  const hone_queue *q = r->queue;
  HN_OPTIONS(diag, "call", given, hone_call, user, out);
  HN_TRY(hn_argument_list(diag, "call inputs", out->inputs, out->input_count, INT32_MAX));
  HN_TRY(hn_argument_list(diag, "call outputs", out->outputs, out->output_count, INT32_MAX));
  HN_TRY(hn_argument_range(diag, "call input_count", out->input_count, q->in_count, q->in_count));
  if (out->outputs || out->output_count)
    HN_TRY(hn_argument_range(diag, "call output_count", out->output_count, q->out_count, q->out_count));
  HN_TRY(hn_argument_range(diag, "call priority", out->priority, 0, INT32_MAX));
  return hn_argument_range(diag, "call wait_limit_us", out->wait_limit_us, 0, HN_MOST_MS * 1000);
}

static void set_times(hone_request *r, const hone_call *call) {
  const int64_t queue_us = r->queue->options.wait_limit_ms * 1000, own_us = call->wait_limit_us;
  const int64_t limit_us = own_us && (!queue_us || own_us < queue_us) ? own_us : queue_us;
  r->times.submitted_ns = hn_clock_ns();
  r->deadline_ns = limit_us ? r->times.submitted_ns + limit_us * 1000 : 0;
}

/* With the mutex held. */
static hone_status queue_up(hone_request *r, hone_diagnostics *diag) {
  hone_queue *q = r->queue;
  if (q->closed) return HN_FAIL(diag, HONE_INVALID, "the queue is closed");
  if (q->batcher->ending) return HN_FAIL(diag, HONE_CANCELLED, "the batcher ends");
  if (q->stats.waiting >= q->options.max_waiting) {
    ++q->stats.refused;
    return HN_FAIL(diag, HONE_LIMIT, "%d requests are waiting, as many as may", q->stats.waiting);
  }
  if (!hn_queue_spend(q, r->times.submitted_ns)) {
    ++q->stats.refused;
    return HN_FAIL(diag, HONE_LIMIT, "more than %g requests a second came, as many as may", q->options.max_rate);
  }
  hn_queue_put(q, r);
  return HONE_OK;
}

/* Between its check and its place in the queue a request is one that runs, so that nobody else submits it. */
static bool enter(hone_request *r) {
  pthread_mutex_lock(&r->queue->batcher->mutex);
  const bool is_free = r->state == HN_REQUEST_OVER;
  if (is_free) r->state = HN_REQUEST_RUNS;
  pthread_mutex_unlock(&r->queue->batcher->mutex);
  return is_free;
}

hone_status hone_request_submit(hone_request *request, const hone_call *given, hone_diagnostics *diag) {
  HN_GIVEN(diag, request);
  HN_GIVEN(diag, given);
  hone_call call;
  hone_batcher *b = request->queue->batcher;
  HN_TRY(check_call(request, given, &call, diag));
  if (!enter(request)) return HN_FAIL(diag, HONE_INVALID, "%s: the request is under way", __func__);
  request->times = (hone_request_times){.struct_size = sizeof request->times};
  request->out = call.outputs;
  request->rank = call.priority ? call.priority : INT64_MAX;
  request->done = call.done;
  request->user = call.user;
  request->status = HONE_OK;
  request->message[0] = 0;
  set_times(request, &call);
  hone_status status = check_inputs(request, call.inputs, diag);
  pthread_mutex_lock(&b->mutex);
  if (status == HONE_OK) status = queue_up(request, diag); /* it may be over and gone once the mutex is free */
  if (status != HONE_OK) request->state = HN_REQUEST_OVER;
  pthread_mutex_unlock(&b->mutex);
  return status;
}

/* ---- what became of it ---- */

void hn_request_finish(hone_request *r, hone_status status, const char *message) {
  hone_queue *q = r->queue;
  hone_batcher *b = q->batcher;
  pthread_mutex_lock(&b->mutex);
  void (*const done)(void *, hone_request *, hone_status) = r->done;
  void *const user = r->user;
  r->status = status;
  hn_copy_text(r->message, sizeof r->message, message ? message : "");
  r->in_done = done && status == HONE_OK;
  r->state = HN_REQUEST_OVER;
  if (status != HONE_OK) ++q->stats.failed;
  ++q->holds; /* the request may be gone, and with it the queue */
  pthread_cond_broadcast(&r->over);
  pthread_mutex_unlock(&b->mutex);
  if (done) done(user, r, status);
  pthread_mutex_lock(&b->mutex);
  if (--b->under_way == 0) pthread_cond_broadcast(&b->idle);
  pthread_mutex_unlock(&b->mutex);
  hn_queue_release(q);
}

void hn_requests_refuse(hone_request *list, hone_status status, const char *message) {
  while (list) {
    hone_request *next = list->next;
    hn_request_finish(list, status, message);
    list = next;
  }
}

hone_status hone_request_wait(hone_request *r) {
  HN_GIVEN(NULL, r);
  hone_batcher *b = r->queue->batcher;
  pthread_mutex_lock(&b->mutex);
  const bool waits = !r->done;
  while (waits && r->state != HN_REQUEST_OVER) pthread_cond_wait(&r->over, &b->mutex);
  const hone_status status = waits ? r->status : HONE_INVALID;
  pthread_mutex_unlock(&b->mutex);
  return status;
}

hone_status hone_request_cancel(hone_request *r) {
  HN_GIVEN(NULL, r);
  hone_batcher *b = r->queue->batcher;
  pthread_mutex_lock(&b->mutex);
  hone_request *found = r->state == HN_REQUEST_WAITS ? hn_queue_unlink(b, 0, false, r) : NULL;
  pthread_mutex_unlock(&b->mutex);
  hn_requests_refuse(found, HONE_CANCELLED, "it was cancelled while it waited");
  return found ? HONE_OK : HONE_INVALID;
}

hone_status hone_request_output(hone_request *r, int index, hone_tensor *out_tensor) {
  if (out_tensor) *out_tensor = (hone_tensor){0};
  HN_GIVEN(NULL, r);
  HN_GIVEN(NULL, out_tensor);
  if (!r->in_done || index < 0 || index >= r->queue->out_count) return HONE_INVALID;
  *out_tensor = r->lent[index];
  return HONE_OK;
}

const char *hone_request_message(const hone_request *r) { return r ? r->message : NULL; }

hone_status hone_request_get_times(const hone_request *r, hone_request_times *out_times) {
  HN_RESULT(NULL, out_times, hone_request_times, ran_ns);
  HN_GIVEN(NULL, r);
  hn_result_give(&r->times, out_times);
  return HONE_OK;
}
