/* SPDX-License-Identifier: Apache-2.0 */
/* pool.c - the table of models, and requests on their way into a model's queue and out of it. Queues, batches, workers
 * and their sessions are the library's (hone/queue.h); what was counted of them is counted here. */
#include "server.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the table ---- */

static int find(const srv_pool *pool, const char *name) {
  for (int i = 0; i < pool->model_count; ++i)
    if (strcmp(pool->models[i]->name, name) == 0) return i;
  return -1;
}

srv_model *srv_pool_find(srv_pool *pool, const char *name, const char *version) {
  pthread_mutex_lock(&pool->lock);
  const int at = find(pool, name);
  srv_model *m = at >= 0 ? pool->models[at] : NULL;
  if (m && *version && strcmp(m->version, version) != 0) m = NULL;
  if (m) srv_model_hold(m);
  pthread_mutex_unlock(&pool->lock);
  return m;
}

const char *srv_pool_nearest(srv_pool *pool, const char *name, char *room, size_t bytes) {
  const char *near = NULL;
  pthread_mutex_lock(&pool->lock);
  for (int i = 0; i < pool->model_count; ++i) near = hone_nearest_name(name, near, pool->models[i]->name);
  if (near) hn_copy_text(room, bytes, near);
  pthread_mutex_unlock(&pool->lock);
  return near ? room : NULL;
}

static bool grow(srv_pool *pool) {
  if (pool->model_count < pool->model_room) return true;
  const int room = pool->model_room ? pool->model_room * 2 : 16;
  srv_model **larger = realloc(pool->models, (size_t)room * sizeof *larger);
  if (!larger) return false;
  pool->models = larger;
  pool->model_room = room;
  return true;
}

bool srv_pool_place(srv_pool *pool, const char *name, srv_model *model) {
  srv_model *old = NULL;
  pthread_mutex_lock(&pool->lock);
  int at = find(pool, name);
  bool placed = true;
  if (at >= 0) {
    old = pool->models[at];
  } else if (model) {
    placed = grow(pool);
    if (placed) at = pool->model_count++;
  }
  if (placed && model) pool->models[at] = model;
  if (!model && at >= 0) pool->models[at] = pool->models[--pool->model_count];
  pthread_mutex_unlock(&pool->lock);
  srv_model_release(old);
  return placed;
}

/* ---- requests ---- */

/* Reads the reply out of the batch, in the worker's thread. */
static void finish(void *user, hone_request *queued, hone_status status) {
  srv_request *r = user;
  srv_pool *pool = r->model->stats->pool;
  hn_diag_entry entry;
  hone_diagnostics diag;
  hone_request_times times = HONE_SIZED(hone_request_times);
  hn_diag_init(&diag, &entry, 1);
  (void)hone_request_get_times(queued, &times);
  const char *why = hone_request_message(queued);
  const int64_t begin_ns = hn_clock_ns();
  if (status == HONE_OK && (status = srv_request_reply(r, queued, &diag)) != HONE_OK)
    why = hone_diagnostics_message(&diag, 0, NULL);
  const int64_t now_ns = hn_clock_ns();
  if (status == HONE_OK) {
    srv_count_success(pool, r, &times, now_ns - begin_ns);
  } else if (times.begin_ns == 0) { /* no worker took it */
    srv_reply_error(&r->reply, 503, "%s", status == HONE_CANCELLED ? "the server is leaving" : why);
    srv_count_failure(pool, r->model->stats, SRV_REJECTED, now_ns - r->begin_ns);
  } else {
    const bool stopped = status == HONE_LIMIT || status == HONE_CANCELLED;
    srv_reply_error(&r->reply, stopped ? 503 : srv_code_of(status), "model \"%s\": %s", r->model->name,
                    why ? why : hone_status_name(status));
    srv_count_failure(pool, r->model->stats, status == HONE_CANCELLED ? SRV_CANCELED : SRV_BACKEND,
                      now_ns - r->begin_ns);
  }
  r->done(r);
}

static void count_run(void *user, const hone_batch_run *run) {
  srv_stats *stats = user;
  if (run->status == HONE_OK) srv_count_run(stats->pool, stats, run);
}

hone_status srv_pool_open_queue(srv_pool *pool, srv_model *m, hone_diagnostics *diag) {
  const srv_options *o = pool->options;
  const hone_queue_options options = {.struct_size = sizeof options,
                                      .max_batch = m->ports.max_batch > 0 ? m->ports.max_batch : 1,
                                      .max_waiting = (int)m->settings.max_queue,
                                      .max_delay_us = m->settings.max_delay_us,
                                      .max_rate = m->settings.max_rate,
                                      .run_limit_ms = o->run_timeout_ms,
                                      .on_run = count_run,
                                      .on_run_user = m->stats};
  return hone_queue_open(pool->batcher, m->engine, &options, &m->queue, diag);
}

/* When the queue is full, soon; when the rate is used up, when the next of its tokens has come. */
static int retry_after(const srv_model *m) {
  const double rate = m->settings.max_rate;
  return rate > 0 && rate < 1 ? (int)fmin(ceil(1 / rate), 86400) : 1;
}

static void refuse(srv_request *r, hone_status status, const hone_diagnostics *diag) {
  const char *why = hone_diagnostics_message(diag, 0, NULL);
  if (status == HONE_CANCELLED) {
    srv_reply_error(&r->reply, 503, "the server is leaving");
    return;
  }
  srv_reply_error(&r->reply, status == HONE_LIMIT ? 429 : srv_code_of(status), "model \"%s\": %s", r->model->name,
                  why ? why : hone_status_name(status));
  if (status == HONE_LIMIT) r->reply.retry_s = retry_after(r->model);
}

bool srv_pool_submit(srv_pool *pool, srv_request *r) {
  const srv_model *m = r->model;
  const int64_t now_ns = hn_clock_ns(), longest = r->begin_ns + pool->options->queue_timeout_ms * 1000000;
  hn_diag_entry entry;
  hone_diagnostics diag;
  hn_diag_init(&diag, &entry, 1);
  if (pool->options->queue_timeout_ms > 0 && (!r->deadline_ns || longest < r->deadline_ns)) r->deadline_ns = longest;
  const int64_t left_us = (r->deadline_ns - now_ns) / 1000;
  const hone_call call = {.struct_size = sizeof call,
                          .inputs = r->in,
                          .input_count = m->ports.in_count,
                          .priority = r->priority,
                          .wait_limit_us = !r->deadline_ns ? 0
                                           : left_us > 0   ? left_us
                                                           : 1,
                          .done = finish,
                          .user = r};
  hone_status status = hone_request_create(m->queue, &r->queued, &diag);
  if (status == HONE_OK) status = hone_request_submit(r->queued, &call, &diag);
  if (status == HONE_OK) return true; /* it may be over and gone */
  refuse(r, status, &diag);
  srv_count_failure(pool, m->stats, SRV_REJECTED, hn_clock_ns() - r->begin_ns);
  return false;
}

/* ---- the pool ---- */

hone_status srv_pool_open(srv_pool *pool, const srv_options *options, hone_context *context) {
  *pool = (srv_pool){.options = options};
  pthread_mutex_init(&pool->lock, NULL);
  const hone_batcher_options workers = {.struct_size = sizeof workers,
                                        .workers = (int)options->workers,
                                        .threads = (int)options->threads,
                                        .sessions = (int)options->sessions};
  return hone_batcher_create(context, &workers, &pool->batcher);
}

void srv_pool_close(srv_pool *pool) { (void)hone_batcher_end(pool->batcher, 0); }

void srv_pool_free(srv_pool *pool) {
  hone_batcher_destroy(pool->batcher);
  for (int i = 0; i < pool->model_count; ++i) srv_model_release(pool->models[i]);
  while (pool->stats) {
    srv_stats *next = pool->stats->next;
    free(pool->stats);
    pool->stats = next;
  }
  free(pool->models);
  pthread_mutex_destroy(&pool->lock);
}
