/* SPDX-License-Identifier: Apache-2.0 */
/* team.c - seats are taken until the team is full or the time is over; then the count is closed and everybody in it
 * begins. Nobody who came is left out and nobody who comes later is waited for, so members may wait for each other.
 * A meeting is a count of arrivals and a number, in one word: the last to arrive moves the number on; member 0 may
 * close the count of the meeting that it is at, as long as it is not full, and who arrives after that is told to leave.
 * In two words it could close the next meeting's count and take it for its own: the others would have gone on a step.
 */
#include "base/pool.h"
#include "base/clock.h"
#include <sched.h>
#include <stdatomic.h>

#define CLOSED UINT32_C(0x80000000)
/* Of `meeting`: arrivals in the low half, beside CLOSED; the meeting's number in the high half. */
#define ARRIVALS UINT64_C(0x7fffffff)
#define NEXT_MEETING (UINT64_C(1) << 32)

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
  _Alignas(64) atomic_uint_fast64_t meeting;
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
  /* In a full team the pool's index is the number: the same thread gets the same part every time. */
  const bool is_full = members == (uint32_t)team->most;
  team->body(team->arg, team, is_full ? (int)begin : (int)seat, (int)members);
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

static uint64_t number_of(uint64_t meeting) { return meeting & ~(NEXT_MEETING - 1); }

/* Whether the count of this meeting could be closed before the last member came. */
static bool give_up(hn_team *team, uint64_t number, uint32_t members) {
  uint64_t meeting = atomic_load_explicit(&team->meeting, memory_order_relaxed);
  while (number_of(meeting) == number && (meeting & ARRIVALS) < members)
    if (atomic_compare_exchange_weak_explicit(&team->meeting, &meeting, meeting | CLOSED, memory_order_acq_rel,
                                              memory_order_relaxed))
      return true;
  return false;
}

hn_team_met hn_team_meet(hn_team *team, int member, int64_t patience_ns) {
  const uint32_t members = atomic_load_explicit(&team->seats, memory_order_relaxed) & ~CLOSED;
  if (members == 1) return HN_TEAM_ALL;
  const uint64_t before = atomic_fetch_add_explicit(&team->meeting, 1, memory_order_acq_rel);
  const uint64_t number = number_of(before);
  if (before & CLOSED) return HN_TEAM_LEFT;
  if ((before & ARRIVALS) + 1 == members) {
    atomic_store_explicit(&team->meeting, number + NEXT_MEETING, memory_order_release);
    return HN_TEAM_ALL;
  }
  int64_t end_ns = 0;
  for (int look = 0;; ++look) {
    const uint64_t now = atomic_load_explicit(&team->meeting, memory_order_acquire);
    if (number_of(now) != number) return HN_TEAM_ALL;
    if (now & CLOSED) return HN_TEAM_LEFT;
    pause_at(look);
    if (member != 0 || patience_ns < 0 || look < QUICK_LOOKS || look % LOOKS_A_CLOCK) continue;
    const int64_t now_ns = hn_clock_ns();
    if (end_ns == 0) end_ns = now_ns + patience_ns;
    if (now_ns >= end_ns && give_up(team, number, members)) return HN_TEAM_ALONE;
  }
}
