/* SPDX-License-Identifier: Apache-2.0 */
/* team.c - seats are taken until the team is full or the time is over; then the count is closed and everybody in it
 * begins. Nobody who came is left out and nobody who comes later is waited for, so members may wait for each other.
 * The barrier is a count of arrivals and a phase that the last to arrive moves on. */
#include "base/team.h"
#include "base/clock.h"
#include <sched.h>
#include <stdatomic.h>

#define CLOSED UINT32_C(0x80000000)

enum {
  QUICK_LOOKS = 200, /* without a pause, which takes some 40 ns: most waits are shorter than that */
  MANY_LOOKS = 1000, /* then another process probably has a member's core */
  LOOKS_A_CLOCK = 16,
};

struct hn_team {
  hn_team_body body;
  void *arg;
  int most;
  int64_t end_ns;
  _Alignas(64) atomic_uint seats;
  _Alignas(64) atomic_uint arrived;
  _Alignas(64) atomic_uint phase;
};

static void pause_at(int look) {
  if (look < QUICK_LOOKS) return;
  if (look > MANY_LOOKS) {
    sched_yield();
    return;
  }
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

/* The count of seats once it is closed. */
static uint32_t close_seats(hn_team *team) {
  for (int look = 0;; ++look) {
    const uint32_t seats = atomic_load_explicit(&team->seats, memory_order_acquire);
    if (seats & CLOSED) return seats & ~CLOSED;
    if (seats == (uint32_t)team->most || (look % LOOKS_A_CLOCK == 0 && hn_clock_ns() >= team->end_ns))
      return atomic_fetch_or_explicit(&team->seats, CLOSED, memory_order_acq_rel) & ~CLOSED;
    pause_at(look);
  }
}

static void join(void *arg, int worker, int64_t begin, int64_t end) {
  (void)worker;
  hn_team *team = arg;
  if (end - begin > 1) { /* the pool is busy: all ranges at once, in this thread */
    atomic_store_explicit(&team->seats, CLOSED | 1, memory_order_relaxed);
    team->body(team->arg, team, 0, 1);
    return;
  }
  uint32_t seat = atomic_load_explicit(&team->seats, memory_order_acquire);
  do {
    if (seat & CLOSED) return;
  } while (!atomic_compare_exchange_weak_explicit(&team->seats, &seat, seat + 1, memory_order_acq_rel,
                                                  memory_order_acquire));
  const uint32_t members = close_seats(team);
  team->body(team->arg, team, (int)seat, (int)members);
}

void hn_team_run(hn_pool *pool, int most, int64_t patience_ns, hn_team_body body, void *arg) {
  const int threads = hn_pool_threads(pool);
  hn_team team = {.body = body, .arg = arg, .most = most < threads ? most : threads};
  if (team.most <= 1) {
    atomic_store_explicit(&team.seats, CLOSED | 1, memory_order_relaxed);
    body(arg, &team, 0, 1);
    return;
  }
  team.end_ns = hn_clock_ns() + patience_ns;
  hn_pool_run(pool, team.most, 1, join, &team);
}

void hn_team_wait(hn_team *team) {
  const uint32_t members = atomic_load_explicit(&team->seats, memory_order_relaxed) & ~CLOSED;
  if (members == 1) return;
  const uint32_t phase = atomic_load_explicit(&team->phase, memory_order_relaxed);
  if (atomic_fetch_add_explicit(&team->arrived, 1, memory_order_acq_rel) + 1 == members) {
    atomic_store_explicit(&team->arrived, 0, memory_order_relaxed);
    atomic_store_explicit(&team->phase, phase + 1, memory_order_release);
    return;
  }
  for (int look = 0; atomic_load_explicit(&team->phase, memory_order_acquire) == phase; ++look) pause_at(look);
}
