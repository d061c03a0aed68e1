/* SPDX-License-Identifier: Apache-2.0 */
/* async.c - runs in a thread of the session's own, and what is called when they are over. */
#include "run/session.h"
#include <pthread.h>

/* All but the thread is guarded by the mutex. */
typedef struct hn_async {
  pthread_t thread;
  pthread_mutex_t mutex;
  pthread_cond_t changed;
  bool is_asked, is_busy, is_over; /* busy: from a run's being asked for until done has returned */
  bool is_left;                    /* done() destroyed the session: this is freed by the thread */
  void (*done)(void *user, hone_status status);
  void *user;
  hone_status status; /* of the latest run */
  hn_allocator allocator;
} hn_async;

static void destroy(hn_async *a) {
  const hn_allocator allocator = a->allocator;
  pthread_cond_destroy(&a->changed);
  pthread_mutex_destroy(&a->mutex);
  hn_free(&allocator, a, sizeof *a);
}

static void *work(void *argument) {
  hone_session *session = argument;
  hn_async *a = session->async;
  pthread_mutex_lock(&a->mutex);
  for (;;) {
    while (!a->is_asked && !a->is_over) pthread_cond_wait(&a->changed, &a->mutex);
    if (!a->is_asked) break;
    void (*const done)(void *, hone_status) = a->done;
    void *const user = a->user;
    a->is_asked = false;
    pthread_mutex_unlock(&a->mutex);
    const hone_status status = hn_session_run_entered(session);
    pthread_mutex_lock(&a->mutex);
    a->status = status;
    pthread_mutex_unlock(&a->mutex);
    if (done) done(user, status); /* it may have asked for the next run, or destroyed the session */
    if (a->is_left) {
      destroy(a);
      return NULL;
    }
    pthread_mutex_lock(&a->mutex);
    a->is_busy = a->is_asked;
    pthread_cond_broadcast(&a->changed);
  }
  pthread_mutex_unlock(&a->mutex);
  return NULL;
}

static hone_status start(hone_session *session) {
  if (session->async) return HONE_OK;
  hn_async *a = hn_alloc_zero(&session->allocator, sizeof *a);
  if (!a) return HN_FAIL_MEMORY(&session->diag);
  a->allocator = session->allocator;
  pthread_mutex_init(&a->mutex, NULL);
  pthread_cond_init(&a->changed, NULL);
  session->async = a;
  if (pthread_create(&a->thread, NULL, work, session) == 0) return HONE_OK;
  session->async = NULL;
  destroy(a);
  return HN_FAIL(&session->diag, HONE_NO_MEMORY, "no thread can be made for runs beside the caller");
}

hone_status hone_session_run_async(hone_session *session, void (*done)(void *user, hone_status status), void *user) {
  HN_TRY(hn_session_enter(session));
  const hone_status status = start(session);
  if (status != HONE_OK) return hn_session_leave(session, status);
  hn_async *a = session->async;
  pthread_mutex_lock(&a->mutex);
  a->done = done;
  a->user = user;
  a->is_asked = a->is_busy = true;
  pthread_cond_broadcast(&a->changed);
  pthread_mutex_unlock(&a->mutex);
  return HONE_OK; /* the thread leaves the session */
}

hone_status hn_async_wait(hone_session *session) {
  hn_async *a = session ? session->async : NULL;
  if (!a || pthread_equal(pthread_self(), a->thread)) return HONE_OK; /* done does not wait for itself */
  pthread_mutex_lock(&a->mutex);
  const bool waited = a->is_busy;
  while (a->is_busy) pthread_cond_wait(&a->changed, &a->mutex);
  const hone_status status = waited ? a->status : HONE_OK;
  pthread_mutex_unlock(&a->mutex);
  return status;
}

void hn_async_end(hone_session *session) {
  hn_async *a = session->async;
  if (!a) return;
  if (pthread_equal(pthread_self(), a->thread)) { /* in done(), which cannot wait for itself */
    pthread_detach(a->thread);
    a->is_left = true;
    session->async = NULL;
    return;
  }
  pthread_mutex_lock(&a->mutex);
  while (a->is_busy) pthread_cond_wait(&a->changed, &a->mutex);
  a->is_over = true;
  pthread_cond_broadcast(&a->changed);
  pthread_mutex_unlock(&a->mutex);
  pthread_join(a->thread, NULL);
  session->async = NULL;
  destroy(a);
}
