/* SPDX-License-Identifier: Apache-2.0 */
/* pool.h - sessions of one engine that any threads share: each takes one for a run and gives it back. */
#ifndef HONE_POOL_H
#define HONE_POOL_H

#include <hone/session.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hone_pool hone_pool;

typedef struct hone_pool_options {
  uint32_t struct_size;
  /* What numbers that are not given are chosen for:
   *   LATENCY, NONE  one session, on the engine's own device with all its threads
   *   THROUGHPUT     as many sessions as threads fit into what this process may use (hone_facts.process_threads), each
   *                  on a CPU device of its own, not pinned, so that none waits for another; weights are there once.
   * Two sessions where the engine runs on a device with memory of its own An engine is best built on a device with as
   * many threads as its sessions will have (hone_device_options.hint). */
  hone_hint hint;
  int sessions; /* 0: by the hint; at most HONE_MAX_THREADS */
  int threads;  /* of each session; 0: by the hint: all of the engine's device, or 1. A number gives each its own device
                 */
  const hone_session_options *session; /* of all of them; NULL: defaults. Callbacks come from several threads */
} hone_pool_options;

/* Opens all sessions, and their devices.
 *
 * context  is used for the time of the call alone
 * Ownership  the pool holds the engine; what was taken belongs to the pool, and is only used by who took it
 * Threads  a pool is used by any threads at the same time; only its destruction is by one, when all was given back
 * Errors   those of hone_device_open and hone_session_create; INVALID (options) */
HONE_API HONE_CHECKED hone_status hone_pool_create(hone_context *context, hone_engine *engine,
                                                   const hone_pool_options *options, hone_pool **out_pool);
/* Sessions that were not given back must not be used any more. NULL is fine. */
HONE_API void hone_pool_destroy(hone_pool *pool);
/* A free session, the one that was given back last. wait_ms: how long to wait for one; 0: not at all, -1: until there
 * is one. Errors: LIMIT (none came free in time; out_session is NULL), INVALID. */
HONE_API HONE_CHECKED hone_status hone_pool_take(hone_pool *pool, int64_t wait_ms, hone_session **out_session,
                                                 hone_diagnostics *diag);
/* With its bindings and shapes as they are. Errors: INVALID (it is none of this pool's, or was given back already). */
HONE_API hone_status hone_pool_give(hone_pool *pool, hone_session *session, hone_diagnostics *diag);

typedef struct hone_pool_stats {
  uint32_t struct_size;
  int sessions, free; /* all, and those that nobody has */
  int threads;        /* of each session's device */
  int64_t taken;      /* how often a session was taken; */
  int64_t waited;     /* of these after waiting, */
  double waited_ns;   /* so long in all */
} hone_pool_stats;
HONE_API hone_status hone_pool_get_stats(hone_pool *pool, hone_pool_stats *out_stats);

#ifdef __cplusplus
}
#endif
#endif
