/* SPDX-License-Identifier: Apache-2.0 */
/* runtime_batcher.c - workers, each with a device of its own threads and sessions of whatever queue's batches come. */
#include "api/batcher.h"
#include "base/arguments.h"
#include <stdio.h>

enum { DEFAULT_SESSIONS = 16, MOST_SESSIONS = 4096 };

/* ---- a worker ---- */

/* With the mutex held: a session whose queue is closed, and of no more use; dropped without the mutex. */
static bool take_closed(hn_batch_worker *w, hn_batch_session *out) {
  for (int i = 0; i < w->batcher->session_count; ++i) {
    hn_batch_session *s = &w->sessions[i];
    if (!s->queue || !s->queue->closed || s->queue->first) continue;
    *out = *s;
    *s = (hn_batch_session){0};
    return true;
  }
  return false;
}

void *hn_batch_worker_main(void *argument) {
  hn_batch_worker *w = argument;
  hone_batcher *b = w->batcher;
  pthread_mutex_lock(&b->mutex);
  for (;;) {
    int64_t again_ns;
    hn_batch_session closed;
    hone_request *batch = hn_queue_take(b, hn_clock_ns(), &again_ns);
    const bool drops = !batch && take_closed(w, &closed);
    if (batch || drops) {
      pthread_mutex_unlock(&b->mutex);
      if (batch)
        hn_batch_run(w, batch);
      else
        hn_batch_session_drop(&closed);
      pthread_mutex_lock(&b->mutex);
    } else if (b->ended) {
      break;
    } else {
      (void)hn_cond_wait_until(&b->work, &b->mutex, again_ns);
    }
  }
  pthread_mutex_unlock(&b->mutex);
  return NULL;
}

void *hn_batch_timer_main(void *argument) {
  hone_batcher *b = argument;
  pthread_mutex_lock(&b->mutex);
  while (!b->ended) {
    const int64_t now_ns = hn_clock_ns();
    hone_request *late = hn_queue_unlink(b, now_ns, false, NULL);
    if (!late) {
      (void)hn_cond_wait_until(&b->timers, &b->mutex, b->next_deadline_ns);
      continue;
    }
    pthread_mutex_unlock(&b->mutex);
    while (late) {
      hone_request *next = late->next;
      char message[HN_DIAG_TEXT_BYTES];
      (void)snprintf(message, sizeof message, "no worker was free within %lld ms, the request's time limit",
                     (long long)((now_ns - late->times.submitted_ns) / 1000000));
      hn_request_finish(late, HONE_LIMIT, message);
      late = next;
    }
    pthread_mutex_lock(&b->mutex);
  }
  pthread_mutex_unlock(&b->mutex);
  return NULL;
}

/* ---- the batcher ---- */

static hone_status take_options(hone_diagnostics *diag, const hone_batcher_options *given, hone_batcher_options *out) {
  HN_OPTIONS(diag, "batcher", given, hone_batcher_options, sessions, out);
  HN_TRY(hn_argument_range(diag, "batcher option workers", out->workers, 0, HONE_MAX_THREADS));
  HN_TRY(hn_argument_range(diag, "batcher option threads", out->threads, 0, HONE_MAX_THREADS));
  HN_TRY(hn_argument_range(diag, "batcher option sessions", out->sessions, 0, MOST_SESSIONS));
  if (out->threads == 0) out->threads = 1;
  if (out->sessions == 0) out->sessions = DEFAULT_SESSIONS;
  return HONE_OK;
}

static hone_status open_worker(hone_context *context, hone_batcher *b, int number, int threads) {
  hn_batch_worker *w = &b->workers[number];
  const hone_device_options options = {.struct_size = sizeof options, .threads = threads};
  *w = (hn_batch_worker){.batcher = b, .number = number};
  hn_diag_init(&w->diag, &w->entry, 1);
  w->sessions = hn_alloc_zero(&b->allocator, (size_t)b->session_count * sizeof *w->sessions);
  if (!w->sessions) return HN_FAIL_MEMORY(&context->diag);
  return hone_device_open(context, "cpu", 0, &options, &w->device);
}

/* How many workers have a processor each; the first one is open. */
static int workers_that_fit(const hn_batch_worker *first, int threads) {
  hone_facts facts = HONE_SIZED(hone_facts);
  if (hone_device_facts(first->device, &facts) != HONE_OK) return 1;
  const int count = facts.process_threads / threads;
  return count < 1 ? 1 : count > HONE_MAX_THREADS ? HONE_MAX_THREADS : count;
}

static hone_status open_workers(hone_context *context, hone_batcher *b, const hone_batcher_options *options) {
  int count = options->workers;
  b->session_count = options->sessions;
  b->workers = hn_alloc_zero(&b->allocator, HONE_MAX_THREADS * sizeof *b->workers);
  if (!b->workers) return HN_FAIL_MEMORY(&context->diag);
  do {
    HN_TRY(open_worker(context, b, b->worker_count++, options->threads));
    if (count == 0) count = workers_that_fit(&b->workers[0], options->threads);
  } while (b->worker_count < count);
  for (int i = 0; i < b->worker_count; ++i) {
    hn_batch_worker *w = &b->workers[i];
    w->started = pthread_create(&w->thread, NULL, hn_batch_worker_main, w) == 0;
    if (!w->started) return HN_FAIL(&context->diag, HONE_DEVICE, "no thread can be made for worker %d", i);
  }
  b->timer_started = pthread_create(&b->timer, NULL, hn_batch_timer_main, b) == 0;
  return b->timer_started ? HONE_OK : HN_FAIL(&context->diag, HONE_DEVICE, "no thread can be made for time limits");
}

hone_status hone_batcher_create(hone_context *context, const hone_batcher_options *given, hone_batcher **out_batcher) {
  if (out_batcher) *out_batcher = NULL;
  HN_GIVEN(NULL, context);
  HN_GIVEN(&context->diag, out_batcher);
  hone_batcher_options options;
  HN_TRY(take_options(&context->diag, given, &options));
  hone_batcher *b = hn_alloc_zero(&context->allocator, sizeof *b);
  if (!b) return HN_FAIL_MEMORY(&context->diag);
  b->allocator = context->allocator;
  atomic_init(&b->holds, 1);
  atomic_init(&b->cancel, false);
  pthread_mutex_init(&b->mutex, NULL);
  hn_cond_init(&b->work);
  hn_cond_init(&b->timers);
  hn_cond_init(&b->idle);
  const hone_status status = open_workers(context, b, &options);
  if (status == HONE_OK)
    *out_batcher = b;
  else
    hone_batcher_destroy(b);
  return status;
}

hone_status hone_batcher_end(hone_batcher *b, int64_t wait_ms) {
  HN_GIVEN(NULL, b);
  HN_TRY(hn_argument_range(NULL, "wait_ms", wait_ms, -1, HN_MOST_MS));
  const int64_t until_ns = wait_ms < 0 ? 0 : hn_clock_ns() + wait_ms * 1000000;
  pthread_mutex_lock(&b->mutex);
  const bool again = b->ended;
  b->ending = true;
  pthread_cond_broadcast(&b->work);
  while (wait_ms != 0 && b->under_way > 0 && hn_cond_wait_until(&b->idle, &b->mutex, until_ns)) {
  }
  const bool all = b->under_way == 0;
  b->ended = true;
  if (!all) atomic_store(&b->cancel, true);
  hone_request *rest = hn_queue_unlink(b, 0, true, NULL);
  pthread_cond_broadcast(&b->work);
  pthread_cond_broadcast(&b->timers);
  pthread_mutex_unlock(&b->mutex);
  hn_requests_refuse(rest, HONE_CANCELLED, "the batcher ended");
  if (again) return all ? HONE_OK : HONE_LIMIT;
  if (b->timer_started) pthread_join(b->timer, NULL);
  for (int i = 0; i < b->worker_count; ++i)
    if (b->workers[i].started) pthread_join(b->workers[i].thread, NULL);
  return all ? HONE_OK : HONE_LIMIT;
}

int hone_batcher_workers(const hone_batcher *batcher) { return batcher ? batcher->worker_count : 0; }

void hn_batcher_release(hone_batcher *b) {
  if (atomic_fetch_sub(&b->holds, 1) != 1) return;
  const hn_allocator allocator = b->allocator;
  pthread_cond_destroy(&b->work);
  pthread_cond_destroy(&b->timers);
  pthread_cond_destroy(&b->idle);
  pthread_mutex_destroy(&b->mutex);
  hn_free(&allocator, b, sizeof *b);
}

void hone_batcher_destroy(hone_batcher *b) {
  if (!b) return;
  (void)hone_batcher_end(b, 0);
  for (int i = 0; i < b->worker_count; ++i) {
    hn_batch_worker *w = &b->workers[i];
    for (int s = 0; w->sessions && s < b->session_count; ++s) hn_batch_session_drop(&w->sessions[s]);
    hn_free(&b->allocator, w->sessions, (size_t)b->session_count * sizeof *w->sessions);
    hone_device_close(w->device);
  }
  hn_free(&b->allocator, b->workers, HONE_MAX_THREADS * sizeof *b->workers);
  b->workers = NULL; /* worker_count stays: queues have an engine for each */
  hn_batcher_release(b);
}
