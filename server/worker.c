/* SPDX-License-Identifier: Apache-2.0 */
/* worker.c - the pool's workers: each has a device, that is a pool of threads, of its own, and sessions of whatever
 * model comes; of these the ones that were not used for longest make room. */
#include "server.h"
#include "base/quota.h"
#include <sched.h>
#include <stdlib.h>
#include <string.h>

enum { PREPARED_SHAPES = 16 /* that a session keeps */ };

/* ---- sessions ---- */

static void drop(srv_session *s) {
  hone_session_destroy(s->session);
  srv_model_release(s->model);
  *s = (srv_session){0};
}

/* Only its worker touches a session, so that none needs a lock. */
static void drop_retired(srv_worker *w) {
  for (int i = 0; i < w->pool->session_count; ++i)
    if (w->sessions[i].model && atomic_load(&w->sessions[i].model->retired)) drop(&w->sessions[i]);
}

static hone_status find_session(srv_worker *w, srv_model *m, srv_session **out, hone_diagnostics *diag) {
  srv_session *oldest = &w->sessions[0];
  for (int i = 0; i < w->pool->session_count; ++i) {
    srv_session *s = &w->sessions[i];
    if (s->model == m) {
      s->used = ++w->uses;
      *out = s;
      return HONE_OK;
    }
    if (s->used < oldest->used) oldest = s;
  }
  if (oldest->model) drop(oldest);
  const hone_session_options options = {.struct_size = sizeof options,
                                        .trust_weights = true, /* checked when the model was loaded */
                                        .instance_cache = PREPARED_SHAPES,
                                        .deadline_ms = w->pool->options->run_timeout_ms,
                                        .cancel = &w->pool->cancel};
  HN_TRY(hone_session_create(m->of_worker[w->number], &options, &oldest->session, diag));
  srv_model_hold(m);
  oldest->model = m;
  oldest->used = ++w->uses;
  for (int i = 0; i < m->ports.in_count; ++i) oldest->shapes[i].rank = -1;
  *out = oldest;
  return HONE_OK;
}

/* ---- a batch ---- */

static hone_status fail_session(const srv_session *s, hone_status status, hone_diagnostics *diag) {
  const char *text = hone_session_message_count(s->session) > 0 ? hone_session_message(s->session, 0, NULL) : NULL;
  return hone_fail(diag, status, "%s", text ? text : hone_status_name(status));
}

static hone_status set_shape(srv_session *s, int input, const hone_shape *shape, hone_diagnostics *diag) {
  if (memcmp(&s->shapes[input], shape, sizeof *shape) == 0) return HONE_OK;
  s->shapes[input].rank = -1;
  const hone_status status =
      hone_session_set_shape(s->session, s->model->ports.in[input].name, shape->rank, shape->dim);
  if (status != HONE_OK) return fail_session(s, status, diag);
  s->shapes[input] = *shape;
  return HONE_OK;
}

/* A lone request's aligned tensor is used where it lies. */
static hone_status bind_input(srv_session *s, int input, const hone_tensor *tensor, hone_diagnostics *diag) {
  const bool aligned = ((uintptr_t)tensor->data & 63) == 0;
  const char *name = s->model->ports.in[input].name;
  const hone_status status =
      aligned ? hone_session_bind(s->session, name, tensor) : hone_session_copy_in(s->session, name, tensor);
  return status == HONE_OK ? HONE_OK : fail_session(s, status, diag);
}

static hone_status unbind_inputs(srv_session *s, const srv_request *r, hone_diagnostics *diag) {
  for (int i = 0; i < s->model->ports.in_count; ++i) {
    hone_tensor none = r->in[i];
    none.data = NULL;
    const hone_status status = hone_session_bind(s->session, s->model->ports.in[i].name, &none);
    if (status != HONE_OK) return fail_session(s, status, diag);
  }
  return HONE_OK;
}

static hone_status gather_input(srv_session *s, int input, const srv_request *batch, hone_diagnostics *diag) {
  hone_tensor room;
  const hone_status status = hone_session_tensor(s->session, s->model->ports.in[input].name, &room);
  if (status != HONE_OK) return fail_session(s, status, diag);
  char *to = room.data;
  for (const srv_request *r = batch; r; r = r->next) {
    if (r->in[input].bytes > 0) memcpy(to, r->in[input].data, r->in[input].bytes);
    to += r->in[input].bytes;
  }
  return HONE_OK;
}

static hone_status fill_inputs(srv_session *s, const srv_request *batch, int64_t rows, hone_diagnostics *diag) {
  const srv_model *m = s->model;
  for (int i = 0; i < m->ports.in_count; ++i) {
    hone_shape shape = batch->in[i].type.shape;
    if (m->ports.max_batch > 0) shape.dim[0] = rows;
    HN_TRY(set_shape(s, i, &shape, diag));
  }
  for (int i = 0; i < m->ports.in_count; ++i)
    HN_TRY(batch->next ? gather_input(s, i, batch, diag) : bind_input(s, i, &batch->in[i], diag));
  return HONE_OK;
}

static void fail_batch(srv_worker *w, srv_request *batch, hone_status status) {
  const char *why = hone_context_message_count(w->context) > 0 ? hone_context_message(w->context, 0, NULL) : NULL;
  const bool stopped = status == HONE_LIMIT || status == HONE_CANCELLED;
  while (batch) {
    srv_request *r = batch;
    batch = r->next;
    const srv_failure kind = status == HONE_CANCELLED ? SRV_CANCELED : SRV_BACKEND;
    srv_reply_error(&r->reply, stopped ? 503 : srv_code_of(status), "model \"%s\": %s", r->model->name,
                    why ? why : hone_status_name(status));
    srv_count_failure(w->pool, r->model->stats, kind, hn_clock_ns() - r->begin_ns);
    r->done(r);
  }
}

/* All replies are made before the first goes: then the batch's memory may. */
static hone_status reply_all(srv_session *s, srv_request *batch, hone_diagnostics *diag) {
  int64_t row = 0;
  for (srv_request *r = batch; r; r = r->next) {
    HN_TRY(srv_request_reply(r, s->session, row, diag));
    row += r->rows;
  }
  return HONE_OK;
}

static void run_batch(srv_worker *w, srv_request *batch) {
  hone_diagnostics *diag = hone_context_diagnostics(w->context);
  srv_model *m = batch->model;
  srv_session *s = NULL;
  int64_t rows = 0;
  srv_run_times times = {.begin_ns = hn_clock_ns()};
  for (const srv_request *r = batch; r; r = r->next) rows += r->rows;
  hone_context_clear_messages(w->context);
  hone_status status = find_session(w, m, &s, diag);
  if (status == HONE_OK) status = fill_inputs(s, batch, rows, diag);
  times.filled_ns = hn_clock_ns();
  if (status == HONE_OK) {
    status = hone_session_run(s->session);
    if (status != HONE_OK) (void)fail_session(s, status, diag);
  }
  times.ran_ns = hn_clock_ns();
  if (status == HONE_OK) status = reply_all(s, batch, diag);
  if (status == HONE_OK && !batch->next) status = unbind_inputs(s, batch, diag);
  times.done_ns = hn_clock_ns();
  if (status != HONE_OK) {
    if (s) drop(s); /* whatever is wrong with it, the next request begins anew */
    fail_batch(w, batch, status);
    return;
  }
  srv_count_run(w->pool, m->stats, rows, &times);
  while (batch) {
    srv_request *r = batch;
    batch = r->next;
    srv_count_success(w->pool, r, &times);
    r->done(r);
  }
}

void *srv_worker_main(void *argument) {
  srv_worker *w = argument;
  srv_pool *pool = w->pool;
  pthread_mutex_lock(&pool->lock);
  for (;;) {
    int64_t again_ns;
    srv_request *batch = srv_queue_take(pool, hn_clock_ns(), &again_ns);
    if (batch) {
      pthread_mutex_unlock(&pool->lock);
      run_batch(w, batch);
      drop_retired(w);
      pthread_mutex_lock(&pool->lock);
      continue;
    }
    if (pool->closing && pool->busy_count == 0) break;
    srv_wait_until(&pool->work, &pool->lock, again_ns);
    pthread_mutex_unlock(&pool->lock);
    drop_retired(w);
    pthread_mutex_lock(&pool->lock);
  }
  pthread_mutex_unlock(&pool->lock);
  return NULL;
}

/* ---- the pool ---- */

static int usable_cores(void) {
  cpu_set_t set;
  const int quota = hn_quota_cores();
  int cores = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
  if (quota > 0 && quota < cores) cores = quota;
  return cores > 0 ? cores : 1;
}

static hone_status open_worker(srv_pool *pool, int number, hone_context *context) {
  srv_worker *w = &pool->workers[number];
  const hone_device_options options = {.struct_size = sizeof options, .threads = (int)pool->options->threads};
  *w = (srv_worker){.pool = pool, .number = number};
  w->sessions = calloc((size_t)pool->session_count, sizeof *w->sessions);
  if (!w->sessions) return HONE_NO_MEMORY;
  HN_TRY(hone_context_create(NULL, &w->context));
  return hone_device_open(context, "cpu", 0, &options, &w->device);
}

hone_status srv_pool_open(srv_pool *pool, const srv_options *options, hone_context *context) {
  *pool = (srv_pool){.options = options, .session_count = (int)options->sessions};
  pthread_mutex_init(&pool->lock, NULL);
  srv_cond_init(&pool->work);
  srv_cond_init(&pool->timers);
  int count = (int)options->workers;
  if (count == 0) count = usable_cores() / (int)options->threads;
  if (count < 1) count = 1;
  if (count > SRV_MAX_WORKERS) count = SRV_MAX_WORKERS;
  pool->workers = calloc((size_t)count, sizeof *pool->workers);
  if (!pool->workers) return HONE_NO_MEMORY;
  for (; pool->worker_count < count; ++pool->worker_count) HN_TRY(open_worker(pool, pool->worker_count, context));
  for (int i = 0; i < count; ++i) {
    srv_worker *w = &pool->workers[i];
    w->started = pthread_create(&w->thread, NULL, srv_worker_main, w) == 0;
    if (!w->started) return HONE_DEVICE;
  }
  pool->timer_started = pthread_create(&pool->timer, NULL, srv_timer_main, pool) == 0;
  return pool->timer_started ? HONE_OK : HONE_DEVICE;
}

void srv_pool_close(srv_pool *pool) {
  pthread_mutex_lock(&pool->lock);
  pool->closing = true;
  atomic_store(&pool->cancel, true);
  pthread_cond_broadcast(&pool->work);
  pthread_cond_broadcast(&pool->timers);
  pthread_mutex_unlock(&pool->lock);
  if (pool->timer_started) pthread_join(pool->timer, NULL);
  for (int i = 0; i < pool->worker_count; ++i)
    if (pool->workers[i].started) pthread_join(pool->workers[i].thread, NULL);
}

/* After the last session's model is out of the table: worker devices are held by its engines. */
void srv_pool_free(srv_pool *pool) {
  for (int i = 0; i < pool->worker_count; ++i) {
    srv_worker *w = &pool->workers[i];
    for (int s = 0; s < pool->session_count; ++s)
      if (w->sessions[s].model) drop(&w->sessions[s]);
    free(w->sessions);
  }
  for (int i = 0; i < pool->model_count; ++i) srv_model_release(pool->models[i]);
  for (int i = 0; i < pool->worker_count; ++i) {
    hone_device_close(pool->workers[i].device);
    hone_context_destroy(pool->workers[i].context);
  }
  while (pool->stats) {
    srv_stats *next = pool->stats->next;
    free(pool->stats);
    pool->stats = next;
  }
  free(pool->models);
  free(pool->busy);
  free(pool->workers);
  pthread_cond_destroy(&pool->work);
  pthread_cond_destroy(&pool->timers);
  pthread_mutex_destroy(&pool->lock);
}
