/* SPDX-License-Identifier: Apache-2.0 */
/* queue.c - the table of models and their queues: what waits, what is put together, what waited too long. */
#include "server.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- time ---- */

/* Timed waits are on the monotonic clock. */
void srv_cond_init(pthread_cond_t *cond) {
  pthread_condattr_t how;
  pthread_condattr_init(&how);
  pthread_condattr_setclock(&how, CLOCK_MONOTONIC);
  pthread_cond_init(cond, &how);
  pthread_condattr_destroy(&how);
}

void srv_wait_until(pthread_cond_t *cond, pthread_mutex_t *lock, int64_t ns) {
  if (ns == 0) {
    pthread_cond_wait(cond, lock);
    return;
  }
  const struct timespec until = {.tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000)};
  pthread_cond_timedwait(cond, lock, &until);
}

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

static bool grow(void *list, int *room, int need) {
  void **items = list;
  if (need <= *room) return true;
  void *larger = realloc(*items, (size_t)need * 2 * sizeof(void *));
  if (!larger) return false;
  *items = larger;
  *room = need * 2;
  return true;
}

/* Both lists have room for every model that can come to lie in them, so that queueing never fails for memory. */
bool srv_pool_place(srv_pool *pool, const char *name, srv_model *model) {
  srv_model *old = NULL;
  pthread_mutex_lock(&pool->lock);
  int at = find(pool, name);
  bool placed = true;
  if (model && at < 0) {
    placed = grow(&pool->models, &pool->model_room, pool->model_count + 1);
    if (placed) at = pool->model_count++;
  } else if (at >= 0) {
    old = pool->models[at];
    atomic_store(&old->retired, true);
  }
  if (placed && model) pool->models[at] = model;
  if (!model && at >= 0) pool->models[at] = pool->models[--pool->model_count];
  pthread_cond_broadcast(&pool->work); /* workers drop the retired one's sessions */
  pthread_mutex_unlock(&pool->lock);
  srv_model_release(old);
  return placed;
}

/* ---- queueing ---- */

/* 1 is the highest priority, 0 the lowest. */
static int64_t rank_of(const srv_request *request) { return request->priority ? request->priority : INT64_MAX; }

static void enqueue(srv_pool *pool, srv_request *request) {
  srv_model *m = request->model;
  srv_request **at = &m->first;
  while (*at && rank_of(*at) <= rank_of(request)) at = &(*at)->next;
  request->next = *at;
  *at = request;
  if (m->queued++ == 0) pool->busy[pool->busy_count++] = m;
  if (request->deadline_ns && (!pool->next_deadline || request->deadline_ns < pool->next_deadline)) {
    pool->next_deadline = request->deadline_ns;
    pthread_cond_signal(&pool->timers);
  }
  pthread_cond_signal(&pool->work);
}

bool srv_pool_submit(srv_pool *pool, srv_request *request) {
  const srv_options *o = pool->options;
  srv_model *m = request->model;
  request->queued_ns = hn_clock_ns();
  const int64_t longest = request->begin_ns + o->queue_timeout_ms * 1000000;
  if (o->queue_timeout_ms > 0 && (!request->deadline_ns || longest < request->deadline_ns))
    request->deadline_ns = longest;
  bool taken = false;
  pthread_mutex_lock(&pool->lock);
  if (pool->closing)
    srv_reply_error(&request->reply, 503, "the server is leaving");
  else if (m->queued >= o->max_queue)
    srv_reply_error(&request->reply, 429, "model \"%s\": %d requests are waiting (--max-queue)", m->name, m->queued);
  else if (!grow(&pool->busy, &pool->busy_room, pool->busy_count + 1))
    srv_reply_error(&request->reply, 503, "out of memory");
  else
    taken = true;
  if (taken) enqueue(pool, request);
  pthread_mutex_unlock(&pool->lock);
  if (!taken) srv_count_failure(pool, m->stats, SRV_REJECTED, hn_clock_ns() - request->begin_ns);
  return taken;
}

static void forget_idle(srv_pool *pool) {
  for (int i = 0; i < pool->busy_count;)
    if (pool->busy[i]->queued == 0)
      pool->busy[i] = pool->busy[--pool->busy_count];
    else
      ++i;
}

/* ---- batches ---- */

/* Can be rows of one batch: the same shapes but for the first dim. */
static bool fits(const srv_request *a, const srv_request *b) {
  for (int i = 0; i < a->model->ports.in_count; ++i) {
    const hone_shape *x = &a->in[i].type.shape, *y = &b->in[i].type.shape;
    for (int d = 1; d < x->rank; ++d)
      if (x->dim[d] != y->dim[d]) return false;
  }
  return true;
}

typedef struct plan {
  int64_t waiting; /* rows that could be put together now */
  int64_t rows;    /* the most of them, from the first request on, that a schedule takes */
} plan;

static plan plan_batch(const srv_model *m) {
  plan p = {.waiting = m->first->rows, .rows = m->first->rows};
  for (const srv_request *r = m->first->next; r && m->ports.max_batch > 0; r = r->next) {
    if (!fits(m->first, r)) continue;
    if (p.waiting + r->rows > m->ports.max_batch) break;
    p.waiting += r->rows;
    if (m->ports.takes[p.waiting]) p.rows = p.waiting;
  }
  return p;
}

static srv_request *unlink_batch(srv_model *m, int64_t rows) {
  srv_request *first = NULL, **end = &first, **at = &m->first;
  const srv_request *head = m->first;
  while (*at && rows > 0) {
    srv_request *r = *at;
    if (!fits(head, r)) {
      at = &r->next;
      continue;
    }
    *at = r->next;
    r->next = NULL;
    *end = r;
    end = &r->next;
    rows -= r->rows;
    --m->queued;
  }
  return first;
}

/* A batch is due when it is as large as was tuned for, or its first request has waited long enough. Of several models
 * the one whose first request came first; of priorities the highest. */
srv_request *srv_queue_take(srv_pool *pool, int64_t now_ns, int64_t *out_ns) {
  const int64_t delay = pool->closing ? 0 : pool->options->max_delay_us * 1000;
  srv_model *best = NULL;
  plan best_plan = {0};
  *out_ns = 0;
  for (int i = 0; i < pool->busy_count; ++i) {
    srv_model *m = pool->busy[i];
    const plan p = plan_batch(m);
    const int64_t due_ns = m->first->queued_ns + (m->ports.max_batch > 0 ? delay : 0);
    if (due_ns > now_ns && p.waiting < m->ports.preferred) {
      if (!*out_ns || due_ns < *out_ns) *out_ns = due_ns;
      continue;
    }
    const int64_t before = best ? rank_of(best->first) : INT64_MAX, rank = rank_of(m->first);
    if (best && (before < rank || (before == rank && best->first->queued_ns <= m->first->queued_ns))) continue;
    best = m;
    best_plan = p;
  }
  if (!best) return NULL;
  srv_request *batch = unlink_batch(best, best_plan.rows);
  forget_idle(pool);
  return batch;
}

/* ---- deadlines ---- */

/* With the lock held: unlinks what waited too long, or all. */
static srv_request *unlink_late(srv_pool *pool, int64_t now_ns, bool all) {
  srv_request *late = NULL;
  pool->next_deadline = 0;
  for (int i = 0; i < pool->busy_count; ++i) {
    srv_model *m = pool->busy[i];
    for (srv_request **at = &m->first; *at;) {
      srv_request *r = *at;
      if (all || (r->deadline_ns && r->deadline_ns <= now_ns)) {
        *at = r->next;
        r->next = late;
        late = r;
        --m->queued;
        continue;
      }
      if (r->deadline_ns && (!pool->next_deadline || r->deadline_ns < pool->next_deadline))
        pool->next_deadline = r->deadline_ns;
      at = &r->next;
    }
  }
  forget_idle(pool);
  return late;
}

static void refuse(srv_pool *pool, srv_request *late, bool leaving) {
  while (late) {
    srv_request *r = late;
    late = r->next;
    const int64_t ns = hn_clock_ns() - r->begin_ns;
    if (leaving)
      srv_reply_error(&r->reply, 503, "the server is leaving");
    else
      srv_reply_error(&r->reply, 503, "no worker was free within %lld ms, the request's time limit",
                      (long long)(ns / 1000000));
    srv_count_failure(pool, r->model->stats, SRV_REJECTED, ns);
    r->done(r);
  }
}

void *srv_timer_main(void *argument) {
  srv_pool *pool = argument;
  pthread_mutex_lock(&pool->lock);
  while (!pool->closing) {
    srv_request *late = unlink_late(pool, hn_clock_ns(), false);
    if (late) {
      pthread_mutex_unlock(&pool->lock);
      refuse(pool, late, false);
      pthread_mutex_lock(&pool->lock);
      continue;
    }
    srv_wait_until(&pool->timers, &pool->lock, pool->next_deadline);
  }
  srv_request *all = unlink_late(pool, 0, true);
  pthread_mutex_unlock(&pool->lock);
  refuse(pool, all, true);
  return NULL;
}
