/* SPDX-License-Identifier: Apache-2.0 */
/* test_pool_team.c - members of a team are there at the same time, see what the others wrote before a wait, and are as
 * many as came; a pool that is busy gives a team of one. */
#include "base/pool.h"
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

enum { MOST = 6, ROUNDS = 300, RUNS = 20 };

/* counts are plain numbers: the thread sanitizer sees a wait that orders nothing. */
typedef struct shared {
  int64_t counts[MOST];
  atomic_int calls, wrong, members;
  hn_pool *pool;
} shared;

static void count_together(void *arg, hn_team *team, int member, int members) {
  shared *s = arg;
  atomic_fetch_add(&s->calls, 1);
  const int before = atomic_exchange(&s->members, members);
  if ((before && before != members) || member < 0 || member >= members || members > MOST)
    atomic_fetch_add(&s->wrong, 1);
  for (int64_t round = 1; round <= ROUNDS; ++round) {
    s->counts[member] += 1;
    if (hn_team_meet(team, member, -1) != HN_TEAM_ALL) atomic_fetch_add(&s->wrong, 1);
    for (int i = 0; i < members; ++i)
      if (s->counts[i] != round) atomic_fetch_add(&s->wrong, 1);
    (void)hn_team_meet(team, member, -1); /* or the next round's counts would be seen */
  }
}

static void check_run(hn_pool *pool, int most, int64_t patience_ns, int least) {
  shared s = {.pool = pool};
  hn_team_run(pool, most, patience_ns, count_together, &s);
  assert_int_equal(atomic_load(&s.wrong), 0);
  assert_int_equal(atomic_load(&s.calls), atomic_load(&s.members));
  assert_in_range(atomic_load(&s.members), least, most < hn_pool_threads(pool) ? most : hn_pool_threads(pool));
}

static hn_pool *make(int threads) {
  hn_pool *pool = NULL;
  assert_int_equal(hn_pool_create(NULL, hn_allocator_default(), threads, NULL, 0, 0, &pool), HONE_OK);
  return pool;
}

static void test_members_wait_for_each_other(void **state) {
  (void)state;
  for (int threads = 1; threads <= MOST; ++threads) {
    hn_pool *pool = make(threads);
    for (int run = 0; run < RUNS; ++run) check_run(pool, 1 + run % MOST, 200000, 1);
    hn_pool_destroy(pool);
  }
  check_run(NULL, MOST, 1000, 1);
}

/* With time enough, everybody comes; without, nobody is waited for. */
static void test_patience(void **state) {
  (void)state;
  hn_pool *pool = make(3);
  check_run(pool, 3, INT64_C(60000000000), 3);
  check_run(pool, 2, INT64_C(60000000000), 2);
  for (int run = 0; run < RUNS; ++run) check_run(pool, 3, 0, 1);
  hn_pool_destroy(pool);
}

/* Member 1 comes to the second meeting only when member 0 has gone on alone. */
static void come_late(void *arg, hn_team *team, int member, int members) {
  shared *s = arg;
  atomic_store(&s->members, members);
  if (members < 2) return;
  if (hn_team_meet(team, member, -1) != HN_TEAM_ALL) atomic_fetch_add(&s->wrong, 1);
  if (member == 1)
    while (!atomic_load(&s->calls)) sched_yield();
  const hn_team_met met = hn_team_meet(team, member, member ? -1 : 100000);
  if (met != (member ? HN_TEAM_LEFT : HN_TEAM_ALONE)) atomic_fetch_add(&s->wrong, 1);
  if (member == 0) atomic_fetch_add(&s->calls, 1);
}

static void test_who_is_late_is_left(void **state) {
  (void)state;
  hn_pool *pool = make(4);
  for (int run = 0; run < RUNS; ++run) {
    shared s = {.pool = pool};
    hn_team_run(pool, 2 + run % 3, INT64_C(60000000000), come_late, &s);
    assert_int_equal(atomic_load(&s.wrong), 0);
    assert_int_equal(atomic_load(&s.members), 2 + run % 3);
    assert_int_equal(atomic_load(&s.calls), 1);
  }
  hn_pool_destroy(pool);
}

static void run_inside(void *arg, int worker, int64_t begin, int64_t end) {
  (void)worker, (void)begin, (void)end;
  shared *outer = arg, s = {.pool = outer->pool};
  hn_team_run(outer->pool, MOST, 1000000, count_together, &s);
  if (atomic_load(&s.members) != 1 || atomic_load(&s.calls) != 1 || atomic_load(&s.wrong))
    atomic_fetch_add(&outer->wrong, 1);
}

/* Member 0 is impatient, and others come early, late or not for a while. */
typedef struct impatient {
  int passed[MOST]; /* meetings that were for all */
  int alone;        /* the meeting that member 0 gave up; -1: none */
  uint64_t seed;
} impatient;

static void dawdle(uint64_t *random) {
  *random = *random * UINT64_C(6364136223846793005) + 1442695040888963407;
  for (volatile uint64_t i = *random >> (*random >> 40 & 31 ? 56 : 47); i > 0; --i) continue;
}

static void meet_impatiently(void *arg, hn_team *team, int member, int members) {
  impatient *s = arg;
  uint64_t random = s->seed + (uint64_t)member;
  for (int meeting = 0; members > 1 && meeting < ROUNDS; ++meeting) {
    dawdle(&random);
    const hn_team_met met = hn_team_meet(team, member, 50000);
    if (met == HN_TEAM_ALL) s->passed[member] = meeting + 1;
    if (met == HN_TEAM_ALONE) s->alone = meeting;
    if (met != HN_TEAM_ALL) return;
  }
}

/* Nobody passes the meeting that member 0 gave up: what it begins again from is not written over by a later step. */
static void test_nobody_passes_a_meeting_that_was_given_up(void **state) {
  (void)state;
  int given_up = 0;
  for (int threads = 2; threads <= MOST; ++threads) { /* more than most machines of tests have cores */
    hn_pool *pool = make(threads);
    for (int run = 0; run < 100; ++run) {
      impatient s = {.alone = -1, .seed = (uint64_t)run * 7919};
      hn_team_run(pool, threads, 1000000, meet_impatiently, &s);
      given_up += s.alone >= 0;
      for (int i = 0; s.alone >= 0 && i < MOST; ++i)
        if (s.passed[i] > s.alone)
          fail_msg("run %d: member %d passed %d meetings, %d was given up", run, i, s.passed[i], s.alone);
    }
    hn_pool_destroy(pool);
  }
  assert_true(given_up > 0);
}

static void test_busy_pool_is_a_team_of_one(void **state) {
  (void)state;
  shared s = {.pool = make(2)};
  hn_pool_run(s.pool, 4, 1, run_inside, &s);
  assert_int_equal(atomic_load(&s.wrong), 0);
  hn_pool_destroy(s.pool);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_members_wait_for_each_other),
                                     cmocka_unit_test(test_patience), cmocka_unit_test(test_who_is_late_is_left),
                                     cmocka_unit_test(test_nobody_passes_a_meeting_that_was_given_up),
                                     cmocka_unit_test(test_busy_pool_is_a_team_of_one)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
