/* SPDX-License-Identifier: Apache-2.0 */
/* runtime_pool.c - sessions that threads take and give back: a stack, since what ran last is still in the caches. */
#include "base/arguments.h"
#include "base/clock.h"
#include "base/cond.h"
#include "base/context.h"
#include "device/host_unit.h"
#include "run/session.h"
#include <hone/pool.h>
#include <string.h>

struct hone_pool {
  hn_allocator allocator;
  hone_engine *engine;
  int count, free_count, threads;
  hone_session **sessions; /* all */
  hone_session **free;     /* the last one is taken next */
  pthread_mutex_t mutex;
  pthread_cond_t given;
  int64_t taken, waited;
  double waited_ns;
};

static hone_status take_options(hone_diagnostics *diag, const hone_pool_options *given, hone_pool_options *out) {
  HN_OPTIONS(diag, "pool", given, hone_pool_options, session, out);
  HN_TRY(hn_argument_range(diag, "pool option hint", (int64_t)out->hint, 0, HONE_HINT_COUNT - 1));
  HN_TRY(hn_argument_range(diag, "pool option sessions", out->sessions, 0, HONE_MAX_THREADS));
  return hn_argument_range(diag, "pool option threads", out->threads, 0, HONE_MAX_THREADS);
}

/* The device that the host's steps run on; NULL: the engine has none with threads. */
static const hone_device *host_device(const hone_engine *engine) {
  for (int d = 0; d < engine->device_count; ++d)
    if (engine->devices[d] && hn_is_host_unit(engine->devices[d])) return engine->devices[d];
  return NULL;
}

/* The same engine on a device of its own with so many threads. */
static hone_status share_engine(hone_context *context, hone_pool *pool, const hone_device *like, hone_engine **out) {
  hone_device_options options = like->options;
  hone_device *own;
  options.threads = pool->threads;
  HN_TRY(hn_device_open(context, like->backend, 0, &options, &own));
  const hone_status status = hone_engine_share(pool->engine, &own, 1, out, &context->diag);
  hone_device_close(own);
  return status;
}

/* apart: sessions have devices of their own. */
static hone_status open_sessions(hone_context *context, hone_pool *pool, const hone_session_options *options,
                                 bool apart) {
  const hone_device *host = host_device(pool->engine);
  for (int i = 0; i < pool->count; ++i) {
    hone_engine *engine = pool->engine;
    if (apart && host)
      HN_TRY(share_engine(context, pool, host, &engine));
    else
      hone_engine_retain(engine);
    const hone_status status = hone_session_create(engine, options, &pool->sessions[i], &context->diag);
    hone_engine_release(engine); /* the session holds it */
    HN_TRY(status);
    pool->free[pool->free_count++] = pool->sessions[i];
  }
  return HONE_OK;
}

/* On a device with memory of its own two sessions suffice: the copies of one lie beside the computing of the other. */
static int sessions_that_fit(const hone_pool *pool, const hone_device *host) {
  enum { ON_OWN_MEMORY = 2 };
  for (int d = 0; d < pool->engine->device_count; ++d)
    if (pool->engine->devices[d] && !pool->engine->devices[d]->facts.host_memory) return ON_OWN_MEMORY;
  return host && host->facts.process_threads > pool->threads ? host->facts.process_threads / pool->threads : 1;
}

static void choose_numbers(hone_pool *pool, const hone_pool_options *options) {
  const hone_device *host = host_device(pool->engine);
  const bool many = options->hint == HONE_HINT_THROUGHPUT;
  const int own = host ? host->facts.threads : 1;
  pool->threads = options->threads ? options->threads : many ? 1 : own;
  pool->count = options->sessions ? options->sessions : many ? sessions_that_fit(pool, host) : 1;
}

hone_status hone_pool_create(hone_context *context, hone_engine *engine, const hone_pool_options *given,
                             hone_pool **out_pool) {
  if (out_pool) *out_pool = NULL;
  HN_GIVEN(NULL, context);
  HN_GIVEN(&context->diag, engine);
  HN_GIVEN(&context->diag, out_pool);
  hone_pool_options options;
  HN_TRY(take_options(&context->diag, given, &options));
  hone_pool *pool = hn_alloc_zero(&engine->allocator, sizeof *pool);
  if (!pool) return HN_FAIL_MEMORY(&context->diag);
  pool->allocator = engine->allocator;
  pool->engine = engine;
  hone_engine_retain(engine);
  pthread_mutex_init(&pool->mutex, NULL);
  hn_cond_init(&pool->given);
  choose_numbers(pool, &options);
  pool->sessions = hn_alloc_zero(&pool->allocator, (size_t)pool->count * sizeof(hone_session *));
  pool->free = hn_alloc_zero(&pool->allocator, (size_t)pool->count * sizeof(hone_session *));
  hone_status status = pool->sessions && pool->free ? HONE_OK : HN_FAIL_MEMORY(&context->diag);
  if (status == HONE_OK)
    status = open_sessions(context, pool, options.session, options.threads || options.hint == HONE_HINT_THROUGHPUT);
  if (status != HONE_OK) {
    hone_pool_destroy(pool);
    return status;
  }
  *out_pool = pool;
  return HONE_OK;
}

void hone_pool_destroy(hone_pool *pool) {
  if (!pool) return;
  const hn_allocator allocator = pool->allocator;
  for (int i = 0; pool->sessions && i < pool->count; ++i) hone_session_destroy(pool->sessions[i]);
  hn_free(&allocator, pool->sessions, (size_t)pool->count * sizeof(hone_session *));
  hn_free(&allocator, pool->free, (size_t)pool->count * sizeof(hone_session *));
  pthread_cond_destroy(&pool->given);
  pthread_mutex_destroy(&pool->mutex);
  hone_engine_release(pool->engine);
  hn_free(&allocator, pool, sizeof *pool);
}

/* With the mutex held. False: the time is over. */
static bool wait_for_one(hone_pool *pool, int64_t wait_ms) {
  const int64_t begin_ns = hn_clock_ns();
  const int64_t end_ns = wait_ms < 0 ? 0 : begin_ns + wait_ms * 1000000;
  ++pool->waited;
  while (pool->free_count == 0 && hn_cond_wait_until(&pool->given, &pool->mutex, end_ns)) {
  }
  pool->waited_ns += (double)(hn_clock_ns() - begin_ns);
  return pool->free_count > 0;
}

hone_status hone_pool_take(hone_pool *pool, int64_t wait_ms, hone_session **out_session, hone_diagnostics *diag) {
  if (out_session) *out_session = NULL;
  HN_GIVEN(diag, pool);
  HN_GIVEN(diag, out_session);
  HN_TRY(hn_argument_range(diag, "wait_ms", wait_ms, -1, HN_MOST_MS));
  pthread_mutex_lock(&pool->mutex);
  const bool there = pool->free_count > 0 || (wait_ms != 0 && wait_for_one(pool, wait_ms));
  if (there) {
    *out_session = pool->free[--pool->free_count];
    ++pool->taken;
  }
  pthread_mutex_unlock(&pool->mutex);
  return there ? HONE_OK
               : HN_FAIL(diag, HONE_LIMIT, "no session of the pool's %d came free within %lld ms", pool->count,
                         (long long)wait_ms);
}

static bool is_in(hone_session *const *list, int count, const hone_session *session) {
  for (int i = 0; i < count; ++i)
    if (list[i] == session) return true;
  return false;
}

hone_status hone_pool_give(hone_pool *pool, hone_session *session, hone_diagnostics *diag) {
  HN_GIVEN(diag, pool);
  HN_GIVEN(diag, session);
  if (!is_in(pool->sessions, pool->count, session))
    return HN_FAIL(diag, HONE_INVALID, "%s: the session is none of this pool's", __func__);
  pthread_mutex_lock(&pool->mutex);
  const bool twice = is_in(pool->free, pool->free_count, session);
  if (!twice) pool->free[pool->free_count++] = session;
  pthread_cond_signal(&pool->given);
  pthread_mutex_unlock(&pool->mutex);
  return twice ? HN_FAIL(diag, HONE_INVALID, "%s: the session was given back already", __func__) : HONE_OK;
}

hone_status hone_pool_get_stats(hone_pool *pool, hone_pool_stats *out_stats) {
  HN_RESULT(NULL, out_stats, hone_pool_stats, waited_ns);
  HN_GIVEN(NULL, pool);
  pthread_mutex_lock(&pool->mutex);
  const hone_pool_stats stats = {.sessions = pool->count,
                                 .free = pool->free_count,
                                 .threads = pool->threads,
                                 .taken = pool->taken,
                                 .waited = pool->waited,
                                 .waited_ns = pool->waited_ns};
  pthread_mutex_unlock(&pool->mutex);
  hn_result_give(&stats, out_stats);
  return HONE_OK;
}
