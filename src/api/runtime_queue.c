/* SPDX-License-Identifier: Apache-2.0 */
/* runtime_queue.c - queues of requests: what waits, what is put together, what waited too long. */
#include "api/batcher.h"
#include "base/arguments.h"
#include "tensor/shape.h"
#include <string.h>

enum { DEFAULT_WAITING = 256, MOST_WAITING = 1000000, SECOND_NS = 1000000000 };
static const int64_t most_delay_us = 1000000000;
static const double most_rate = 1e9, burst_seconds = 0.1;

/* ---- which batches an engine takes ---- */

/* Rows of several requests can be put together when the first dims of all inputs and outputs are one free dim. */
static bool has_batch_dim(const hone_engine *engine) {
  char batch[256], dim[256];
  const int in_count = hone_engine_input_count(engine), out_count = hone_engine_output_count(engine);
  for (int i = 0; i < in_count + out_count; ++i) {
    hone_port_info port = HONE_SIZED(hone_port_info);
    const hone_status status =
        i < in_count ? hone_engine_input(engine, i, &port) : hone_engine_output(engine, i - in_count, &port);
    if (status != HONE_OK || port.data_dependent || port.type.shape.rank < 1 || port.type.shape.dim[0] >= 0)
      return false;
    hone_engine_dim_text(engine, port.name, 0, i == 0 ? batch : dim, sizeof dim);
    if (i > 0 && strcmp(batch, dim) != 0) return false;
  }
  return in_count > 0;
}

/* The rows that a schedule takes, whatever the other dims are. */
static void rows_of(const hone_engine *engine, int schedule, int64_t *low, int64_t *high, int64_t *opt) {
  *low = 1, *high = INT64_MAX, *opt = 0;
  for (int i = 0; i < hone_engine_input_count(engine); ++i) {
    hone_port_info port = HONE_SIZED(hone_port_info);
    if (hone_engine_schedule_input(engine, schedule, i, &port) != HONE_OK) continue;
    if (port.min.dim[0] > *low) *low = port.min.dim[0];
    if (port.max.dim[0] < *high) *high = port.max.dim[0];
    if (i == 0) *opt = port.opt.dim[0];
  }
}

bool hone_engine_takes_rows(const hone_engine *engine, int64_t rows) {
  if (!engine || !has_batch_dim(engine)) return false;
  for (int s = 0; s < hone_engine_schedule_count(engine); ++s) {
    int64_t low, high, opt;
    rows_of(engine, s, &low, &high, &opt);
    if (rows >= low && rows <= high) return true;
  }
  return false;
}

hone_status hone_engine_batches(const hone_engine *engine, int most_rows, hone_batches *out_batches) {
  HN_RESULT(NULL, out_batches, hone_batches, preferred);
  HN_GIVEN(NULL, engine);
  HN_TRY(hn_argument_range(NULL, "most_rows", most_rows, 1, HONE_MAX_BATCH));
  hone_batches b = {0};
  for (int s = 0; most_rows > 1 && has_batch_dim(engine) && s < hone_engine_schedule_count(engine); ++s) {
    int64_t low, high, opt;
    rows_of(engine, s, &low, &high, &opt);
    if (high > most_rows) high = most_rows;
    if (high >= low && high > b.most) b.most = (int)high;
    if (opt >= low && opt <= high && opt > b.preferred) b.preferred = (int)opt;
  }
  if (b.preferred == 0) b.preferred = b.most;
  hn_result_give(&b, out_batches);
  return HONE_OK;
}

/* ---- opening ---- */

/* A bucket of tokens (Turner, New directions in communications, 1986): they come in at the rate, while there are fewer
 * than a tenth of a second's, or than one. */
static double burst(const hone_queue *q) {
  const double most = q->options.max_rate * burst_seconds;
  return most > 1 ? most : 1;
}

static hone_status take_options(hone_diagnostics *diag, const hone_queue_options *given, hone_queue_options *out) {
  HN_OPTIONS(diag, "queue", given, hone_queue_options, on_run_user, out);
  HN_TRY(hn_argument_range(diag, "queue option max_batch", out->max_batch, 0, HONE_MAX_BATCH));
  HN_TRY(hn_argument_range(diag, "queue option max_waiting", out->max_waiting, 0, MOST_WAITING));
  HN_TRY(hn_argument_range(diag, "queue option max_delay_us", out->max_delay_us, 0, most_delay_us));
  HN_TRY(hn_argument_real(diag, "queue option max_rate", out->max_rate, 0));
  if (out->max_rate > most_rate)
    return HN_FAIL(diag, HONE_INVALID, "queue option max_rate is %g; allowed: 0 to %g", out->max_rate, most_rate);
  HN_TRY(hn_argument_range(diag, "queue option wait_limit_ms", out->wait_limit_ms, 0, HN_MOST_MS));
  HN_TRY(hn_argument_range(diag, "queue option run_limit_ms", out->run_limit_ms, 0, HN_MOST_MS));
  if (out->max_batch == 0) out->max_batch = HONE_MAX_BATCH;
  if (out->max_waiting == 0) out->max_waiting = DEFAULT_WAITING;
  return HONE_OK;
}

static hone_status check_port(const hone_queue *q, int i, int64_t *fixed, hone_diagnostics *diag) {
  hone_port_info port = HONE_SIZED(hone_port_info);
  const bool is_input = i < q->in_count;
  const char *what = is_input ? "input" : "output";
  HN_TRY(is_input ? hone_engine_input(q->engine, i, &port) : hone_engine_output(q->engine, i - q->in_count, &port));
  if (port.type.kind != HONE_TENSOR || port.type.dtype == HONE_STRING)
    return HN_FAIL(diag, HONE_UNSUPPORTED, "%s %s is a string, a sequence or an optional: it cannot be queued", what,
                   port.name);
  if (port.on_device)
    return HN_FAIL(diag, HONE_UNSUPPORTED, "%s %s lies on a device: it cannot be queued", what, port.name);
  if (!q->options.fixed_batch) return HONE_OK;
  const int64_t rows = port.type.shape.rank > 0 ? port.type.shape.dim[0] : 0;
  if (rows < 2 || rows > HONE_MAX_BATCH || (i > 0 && rows != *fixed))
    return HN_FAIL(diag, HONE_INVALID, "queue option fixed_batch: the first dim of %s %s is %s", what, port.name,
                   rows < 0                            ? "free"
                   : rows < 2 || rows > HONE_MAX_BATCH ? "not 2 to 1024"
                                                       : "another number");
  *fixed = rows;
  return HONE_OK;
}

static hone_status find_batches(hone_queue *q, hone_diagnostics *diag) {
  for (int i = 0; i < q->in_count + q->out_count; ++i) HN_TRY(check_port(q, i, &q->fixed, diag));
  hone_batches b = HONE_SIZED(hone_batches);
  HN_TRY(hone_engine_batches(q->engine, q->options.max_batch, &b));
  q->most = q->fixed ? (int)q->fixed : b.most;
  q->preferred = q->fixed ? (int)q->fixed : b.preferred;
  for (int n = 1; n <= q->most; ++n) q->takes[n] = q->fixed || hone_engine_takes_rows(q->engine, n);
  return HONE_OK;
}

static hone_status share(hone_queue *q, hone_diagnostics *diag) {
  hone_batcher *b = q->batcher;
  hone_session *session;
  q->of_worker = hn_alloc_zero(&b->allocator, (size_t)b->worker_count * sizeof *q->of_worker);
  if (!q->of_worker) return HN_FAIL_MEMORY(diag);
  for (int w = 0; w < b->worker_count; ++w)
    HN_TRY(hone_engine_share(q->engine, &b->workers[w].device, 1, &q->of_worker[w], diag));
  HN_TRY(hone_session_create(q->of_worker[0], NULL, &session, diag)); /* checks the weights; later ones need not */
  hone_session_destroy(session);
  return HONE_OK;
}

hone_status hone_queue_open(hone_batcher *batcher, hone_engine *engine, const hone_queue_options *given,
                            hone_queue **out_queue, hone_diagnostics *diag) {
  if (out_queue) *out_queue = NULL;
  HN_GIVEN(diag, batcher);
  HN_GIVEN(diag, engine);
  HN_GIVEN(diag, out_queue);
  hone_queue_options options;
  HN_TRY(take_options(diag, given, &options));
  hone_queue *q = hn_alloc_zero(&batcher->allocator, sizeof *q);
  if (!q) return HN_FAIL_MEMORY(diag);
  atomic_fetch_add(&batcher->holds, 1);
  hone_engine_retain(engine);
  q->batcher = batcher;
  q->holds = 1;
  q->engine = engine;
  q->options = options;
  q->in_count = hone_engine_input_count(engine);
  q->out_count = hone_engine_output_count(engine);
  q->tokens_ns = hn_clock_ns();
  q->tokens = burst(q);
  for (int s = 0; s < engine->schedules->count; ++s)
    if (engine->schedules->plans[s]->dims.symbol_count > q->symbol_count)
      q->symbol_count = engine->schedules->plans[s]->dims.symbol_count;
  hone_status status = find_batches(q, diag);
  if (status == HONE_OK) status = share(q, diag);
  if (status == HONE_OK)
    *out_queue = q;
  else
    hone_queue_close(q);
  return status;
}

void hn_queue_release(hone_queue *q) {
  hone_batcher *b = q->batcher;
  pthread_mutex_lock(&b->mutex);
  const bool last = --q->holds == 0;
  pthread_mutex_unlock(&b->mutex);
  if (!last) return;
  for (int w = 0; q->of_worker && w < b->worker_count; ++w) hone_engine_release(q->of_worker[w]);
  hn_free(&b->allocator, q->of_worker, (size_t)b->worker_count * sizeof *q->of_worker);
  hone_engine_release(q->engine);
  hn_free(&b->allocator, q, sizeof *q);
  hn_batcher_release(b);
}

void hone_queue_close(hone_queue *q) {
  if (!q) return;
  pthread_mutex_lock(&q->batcher->mutex);
  q->closed = true;
  pthread_cond_broadcast(&q->batcher->work); /* workers drop their sessions */
  pthread_mutex_unlock(&q->batcher->mutex);
  hn_queue_release(q);
}

hone_status hone_queue_get_stats(hone_queue *queue, hone_queue_stats *out_stats) {
  HN_RESULT(NULL, out_stats, hone_queue_stats, preferred);
  HN_GIVEN(NULL, queue);
  pthread_mutex_lock(&queue->batcher->mutex);
  hone_queue_stats stats = queue->stats;
  pthread_mutex_unlock(&queue->batcher->mutex);
  stats.max_batch = queue->most;
  stats.preferred = queue->preferred;
  hn_result_give(&stats, out_stats);
  return HONE_OK;
}

/* ---- with the mutex held: what waits ---- */

bool hn_queue_spend(hone_queue *q, int64_t now_ns) {
  const double rate = q->options.max_rate, most = burst(q);
  if (rate == 0) return true;
  q->tokens += rate * (double)(now_ns - q->tokens_ns) / SECOND_NS;
  q->tokens_ns = now_ns;
  if (q->tokens > most) q->tokens = most;
  if (q->tokens < 1) return false;
  q->tokens -= 1;
  return true;
}

void hn_queue_put(hone_queue *q, hone_request *request) {
  hone_batcher *b = q->batcher;
  hone_request **at = &q->first;
  while (*at && (*at)->rank <= request->rank) at = &(*at)->next;
  request->next = *at;
  *at = request;
  request->state = HN_REQUEST_WAITS;
  if (q->stats.waiting++ == 0) {
    q->next = b->waiting;
    b->waiting = q;
  }
  ++q->stats.taken;
  ++b->under_way;
  if (request->deadline_ns && (!b->next_deadline_ns || request->deadline_ns < b->next_deadline_ns)) {
    b->next_deadline_ns = request->deadline_ns;
    pthread_cond_signal(&b->timers);
  }
  pthread_cond_signal(&b->work);
}

static hone_request *unlink_at(hone_queue *q, hone_request **at) {
  hone_request *r = *at;
  *at = r->next;
  r->next = NULL;
  --q->stats.waiting;
  return r;
}

static void forget_idle(hone_batcher *b) {
  for (hone_queue **at = &b->waiting; *at;)
    if ((*at)->first)
      at = &(*at)->next;
    else
      *at = (*at)->next;
}

hone_request *hn_queue_unlink(hone_batcher *b, int64_t now_ns, bool all, const hone_request *only) {
  hone_request *list = NULL;
  int64_t next_ns = 0;
  for (hone_queue *q = b->waiting; q; q = q->next)
    for (hone_request **at = &q->first; *at;) {
      hone_request *r = *at;
      const bool late = !only && r->deadline_ns && r->deadline_ns <= now_ns;
      if (all || late || r == only) {
        r = unlink_at(q, at);
        r->state = HN_REQUEST_RUNS; /* nobody else ends it */
        r->next = list;
        list = r;
        continue;
      }
      if (r->deadline_ns && (!next_ns || r->deadline_ns < next_ns)) next_ns = r->deadline_ns;
      at = &r->next;
    }
  b->next_deadline_ns = next_ns;
  forget_idle(b);
  return list;
}

/* ---- with the mutex held: batches ---- */

/* Can be rows of one batch: the same shapes but for the first dim. */
static bool fits(const hone_request *a, const hone_request *b) {
  for (int i = 0; i < a->queue->in_count; ++i) {
    const hone_shape *x = &a->in[i].type.shape, *y = &b->in[i].type.shape;
    for (int d = 1; d < x->rank; ++d)
      if (x->dim[d] != y->dim[d]) return false;
  }
  return true;
}

typedef struct batch_plan {
  int64_t waiting; /* rows that could be put together now */
  int64_t rows;    /* the most of them, from the first request on, that a schedule takes */
} batch_plan;

static batch_plan plan_batch(const hone_queue *q) {
  batch_plan p = {.waiting = q->first->times.rows, .rows = q->first->times.rows};
  for (const hone_request *r = q->first->next; r && q->most > 0; r = r->next) {
    if (!fits(q->first, r)) continue;
    if (p.waiting + r->times.rows > q->most) break;
    p.waiting += r->times.rows;
    if (q->takes[p.waiting]) p.rows = p.waiting;
  }
  return p;
}

static hone_request *unlink_batch(hone_queue *q, int64_t rows) {
  hone_request *first = NULL, **end = &first, **at = &q->first;
  const hone_request *head = q->first;
  while (*at && rows > 0) {
    if (!fits(head, *at)) {
      at = &(*at)->next;
      continue;
    }
    hone_request *r = unlink_at(q, at);
    r->state = HN_REQUEST_RUNS;
    *end = r;
    end = &r->next;
    rows -= r->times.rows;
  }
  return first;
}

/* A batch is due when it is as large as was tuned for, or its first request has waited long enough. Of several queues
 * the one of the highest priority whose first request came first. */
hone_request *hn_queue_take(hone_batcher *b, int64_t now_ns, int64_t *out_ns) {
  hone_queue *best = NULL;
  batch_plan best_plan = {0};
  *out_ns = 0;
  for (hone_queue *q = b->waiting; q; q = q->next) {
    const batch_plan p = plan_batch(q);
    const hone_request *first = q->first;
    const int64_t delay_ns = q->most > 0 && !b->ending ? q->options.max_delay_us * 1000 : 0;
    const int64_t due_ns = first->times.submitted_ns + delay_ns;
    if (due_ns > now_ns && p.waiting < q->preferred) {
      if (!*out_ns || due_ns < *out_ns) *out_ns = due_ns;
      continue;
    }
    if (best && (best->first->rank < first->rank ||
                 (best->first->rank == first->rank && best->first->times.submitted_ns <= first->times.submitted_ns)))
      continue;
    best = q;
    best_plan = p;
  }
  if (!best) return NULL;
  hone_request *batch = unlink_batch(best, best_plan.rows);
  forget_idle(b);
  return batch;
}
