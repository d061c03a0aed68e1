/* SPDX-License-Identifier: Apache-2.0 */
/* pool.h - a thread pool for short parallel loops. The caller works too; idle threads spin briefly, then sleep.
 * Several sessions may share a pool: one loop runs at a time, a second caller then runs its loop alone, in its own
 * thread. */
#ifndef HN_BASE_POOL_H
#define HN_BASE_POOL_H

#include "base/diag.h"
#include "base/memory.h"
#include "base/stop.h"

/* What each thread of a pool did of its loops: one list a thread, which it alone writes while a loop runs. Read and
 * cleared between loops, by who runs them. */
typedef struct hn_pool_share {
  int64_t begin_ns, end_ns;
  int64_t ranges; /* of the loop */
  int tag;        /* the log's, as it was then */
} hn_pool_share;
typedef struct hn_pool_shares {
  hn_pool_share *items;
  int64_t count, dropped; /* dropped: beyond the room */
  char apart[64];         /* no two threads write to one cache line */
} hn_pool_shares;
typedef struct hn_pool_log {
  hn_pool_shares *of; /* one a thread */
  int threads, tag;   /* tag: the caller's */
  int64_t room;
  bool inside; /* several threads are in a loop: one that is started in it is a part of it */
} hn_pool_log;
/* All it will ever need; NULL without memory. */
hn_pool_log *hn_pool_log_create(hn_arena *arena, int threads, int64_t room);
void hn_pool_log_clear(hn_pool_log *log);

/* Some threads, and who asks them: a stream copies its device's pool and gives it a stop of its own. */
typedef struct hn_pool {
  struct hn_crew *crew;
  hn_stop *stop;    /* asked between ranges; what is left is skipped. NULL: never */
  int64_t at_least; /* ranges of each loop, as far as its grain allows: long launches look at stop more often; 0: few */
  hn_pool_log *log; /* of loops that are run by this copy; NULL: none */
} hn_pool;

/* threads >= 1 counts the caller. cpus may be NULL; the caller's own thread is never pinned.
 * spin_microseconds: 0 means the default (about 100), -1 none. */
hone_status hn_pool_create(hone_diagnostics *diag, hn_allocator allocator, int threads, const int *cpus, int cpu_count,
                           int spin_microseconds, hn_pool **out);
/* Loops run in another's threads: as hone_parallel_fn in hone/backend.h says. */
typedef void (*hn_pool_parallel)(void *user, int count, void (*part)(void *arg, int index), void *arg);
hone_status hn_pool_over(hone_diagnostics *diag, hn_allocator allocator, int threads, hn_pool_parallel parallel,
                         void *user, hn_pool **out);
void hn_pool_destroy(hn_pool *pool);
int hn_pool_threads(const hn_pool *pool); /* 1 for NULL */

/* Calls body(arg, worker, begin, end) over [0, count) in contiguous ranges whose borders are multiples of grain, each
 * index exactly once; worker < threads is unique among running calls. Returns when all are done. Never allocates.
 * Thread t of T begins with the t-th of T equal parts, in order, then takes what is left of the others' parts: loops
 * over the same data find it where the last one left it, and slow cores do less. Every thread treats subnormal numbers
 * as the caller does (base/float_mode.h). pool NULL: one call with the whole range. When the pool's stop says so, the
 * rest is skipped: hn_stop_check() tells. */
typedef void (*hn_pool_body)(void *arg, int worker, int64_t begin, int64_t end);
void hn_pool_run(hn_pool *pool, int64_t count, int64_t grain, hn_pool_body body, void *arg);

/* What threads that wait may bring into their caches until the next call of this: of T threads the t-th the begin of
 * its part, and of the second half of it. Nothing of it is read, so it may be freed at any time. at NULL: nothing. */
void hn_pool_fetch(hn_pool *pool, const void *at, size_t bytes);

/* ---- a few threads of a pool that work at the same time and may wait for each other (team.c) ----
 * For loops whose every step needs all of the step before, where a dispatch a step would cost more than the step. */
typedef struct hn_team hn_team;
typedef void (*hn_team_body)(void *arg, hn_team *team, int member, int members);

/* Calls body once for each member, all at the same time in threads of their own; member is 0 .. members - 1, and
 * members is 1 .. most: as many as came within patience_ns (a sleeping thread may take longer to come than the work
 * would). Returns when all are done. Never allocates. */
void hn_team_run(hn_pool *pool, int most, int64_t patience_ns, hn_team_body body, void *arg);

typedef enum hn_team_met {
  HN_TEAM_ALL,   /* every member has called it as often as this one; what they wrote before is visible */
  HN_TEAM_ALONE, /* to member 0: somebody did not come in time. What the others were to do since the last meeting may
                  * be done, or not, or being done at this very moment; they will do nothing after it. */
  HN_TEAM_LEFT   /* to the others: member 0 goes on alone; return */
} hn_team_met;

/* Waits for the others; takes some 100 ns when all come at once. Member 0 gives up after patience_ns, so that a member
 * whose core was taken away does not hold up every step that is left; -1: never. */
hn_team_met hn_team_meet(hn_team *team, int member, int64_t patience_ns);

#endif
