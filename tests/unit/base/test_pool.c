/* SPDX-License-Identifier: Apache-2.0 */
/* test_pool.c - every index exactly once, borders on the grain, unique workers; shared, nested, slept and broken pools.
 */
#include "base/clock.h"
#include "base/pool.h"
#include "unit/base/faults.h"
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

enum { ITEMS = 5000, WORKERS = 16 };

/* What a loop's body checks; visits of an index are counted without atomics, so that the thread sanitizer would see
 * two threads at one index. */
typedef struct loop {
  int64_t count, grain;
  int threads;
  unsigned char visits[ITEMS];
  atomic_int inside[WORKERS];
  atomic_int wrong;
} loop;

static void visit(void *arg, int worker, int64_t begin, int64_t end) {
  loop *l = arg;
  if (worker < 0 || worker >= l->threads || begin < 0 || begin >= end || end > l->count || begin % l->grain != 0 ||
      (end % l->grain != 0 && end != l->count)) {
    atomic_fetch_add(&l->wrong, 1);
    return;
  }
  if (atomic_fetch_add(&l->inside[worker], 1) != 0) atomic_fetch_add(&l->wrong, 1);
  for (int64_t i = begin; i < end; ++i) ++l->visits[i];
  atomic_fetch_sub(&l->inside[worker], 1);
}

static void check_loop(hn_pool *pool, int64_t count, int64_t grain) {
  loop l = {.count = count, .grain = grain, .threads = hn_pool_threads(pool)};
  hn_pool_run(pool, count, grain, visit, &l);
  assert_int_equal(atomic_load(&l.wrong), 0);
  for (int64_t i = 0; i < ITEMS; ++i) {
    if (l.visits[i] != (i < count))
      fail_msg("count %d, grain %d: index %d visited %d times", (int)count, (int)grain, (int)i, l.visits[i]);
  }
}

static hn_pool *make(int threads, int spin_microseconds) {
  hn_pool *pool = NULL;
  assert_int_equal(hn_pool_create(NULL, hn_allocator_default(), threads, NULL, 0, spin_microseconds, &pool), HONE_OK);
  assert_non_null(pool);
  assert_int_equal(hn_pool_threads(pool), threads);
  return pool;
}

static void test_every_index_once(void **state) {
  (void)state;
  static const int threads[] = {1, 2, 3, 8};
  static const int64_t counts[] = {0, 1, 2, 3, 7, 64, 65, 1000, ITEMS};
  static const int64_t grains[] = {1, 3, 16, 64, 4999, 100000};
  for (size_t t = 0; t < HN_COUNT(threads); ++t) {
    hn_pool *pool = make(threads[t], 0);
    for (size_t c = 0; c < HN_COUNT(counts); ++c) {
      for (size_t g = 0; g < HN_COUNT(grains); ++g) check_loop(pool, counts[c], grains[g]);
    }
    hn_pool_destroy(pool);
  }
}

static void test_no_pool(void **state) {
  (void)state;
  assert_int_equal(hn_pool_threads(NULL), 1);
  check_loop(NULL, 100, 7);
  check_loop(NULL, 0, 1);
  hn_pool_destroy(NULL);
}

static void refuse(void *arg, int worker, int64_t begin, int64_t end) {
  (void)worker, (void)begin, (void)end;
  *(bool *)arg = true;
}

static void test_nothing_to_do(void **state) {
  (void)state;
  hn_pool *pool = make(2, 0);
  bool called = false;
  hn_pool_run(pool, 0, 1, refuse, &called);
  hn_pool_run(pool, -5, 1, refuse, &called);
  assert_false(called);
  hn_pool_destroy(pool);
}

typedef struct span {
  atomic_int_fast64_t covered;
  int64_t count, grain;
  atomic_int wrong;
} span;

static void cover(void *arg, int worker, int64_t begin, int64_t end) {
  (void)worker;
  span *s = arg;
  if (begin % s->grain != 0 || begin >= end || end > s->count) atomic_fetch_add(&s->wrong, 1);
  atomic_fetch_add(&s->covered, end - begin);
}

/* Counts and grains at the edge of int64_t: nothing may overflow. */
static void test_huge_counts(void **state) {
  (void)state;
  static const int64_t grains[] = {1, 3, 1 << 20, INT64_MAX / 2, INT64_MAX - 1, INT64_MAX};
  hn_pool *pool = make(3, 0);
  for (size_t g = 0; g < HN_COUNT(grains); ++g) {
    for (int64_t count = INT64_MAX - 2; count > 0 && count <= INT64_MAX - 1; ++count) {
      span s = {.count = count, .grain = grains[g]};
      hn_pool_run(pool, count, grains[g], cover, &s);
      assert_int_equal(atomic_load(&s.wrong), 0);
      assert_true(atomic_load(&s.covered) == count);
    }
  }
  hn_pool_destroy(pool);
}

static void test_wakes_after_sleep(void **state) {
  (void)state;
  hn_pool *pool = make(4, -1);
  for (int i = 0; i < 50; ++i) {
    check_loop(pool, 500, 1);
    const struct timespec nap = {.tv_nsec = 200000};
    nanosleep(&nap, NULL);
  }
  hn_pool_destroy(pool);
}

/* Spins until a second thread has come in: passes only when a worker really takes part. */
static void meet(void *arg, int worker, int64_t begin, int64_t end) {
  (void)worker, (void)begin, (void)end;
  atomic_int *arrived = arg;
  atomic_fetch_add(arrived, 1);
  const int64_t deadline_ns = hn_clock_ns() + INT64_C(20000000000);
  while (atomic_load(arrived) < 2 && hn_clock_ns() < deadline_ns) sched_yield();
}

static void test_workers_take_part(void **state) {
  (void)state;
  static const int spins[] = {-1, 0, 1, 1000};
  for (size_t s = 0; s < HN_COUNT(spins); ++s) {
    hn_pool *pool = make(2, spins[s]);
    for (int i = 0; i < 20; ++i) {
      atomic_int arrived = 0;
      const int64_t start_ns = hn_clock_ns();
      hn_pool_run(pool, 2, 1, meet, &arrived);
      assert_int_equal(atomic_load(&arrived), 2);
      assert_true(hn_clock_ns() - start_ns < INT64_C(20000000000));
    }
    hn_pool_destroy(pool);
  }
}

typedef struct nest {
  hn_pool *pool;
  atomic_int total;
} nest;

static void count_inner(void *arg, int worker, int64_t begin, int64_t end) {
  (void)worker;
  atomic_fetch_add(&((nest *)arg)->total, (int)(end - begin));
}

static void run_inner(void *arg, int worker, int64_t begin, int64_t end) {
  (void)worker;
  for (int64_t i = begin; i < end; ++i) hn_pool_run(((nest *)arg)->pool, 10, 1, count_inner, arg);
}

static void test_nested(void **state) {
  (void)state;
  nest n = {.pool = make(3, 0)};
  hn_pool_run(n.pool, 100, 1, run_inner, &n);
  assert_int_equal(atomic_load(&n.total), 1000);
  hn_pool_destroy(n.pool);
}

/* cmocka's asserts jump, so a second thread only counts what went wrong. */
typedef struct caller {
  hn_pool *pool;
  pthread_t thread;
  int wrong;
} caller;

static void *call_often(void *arg) {
  caller *c = arg;
  for (int i = 0; i < 1500; ++i) {
    loop l = {.count = 1 + (i * 37) % 900, .grain = 1 + i % 5, .threads = hn_pool_threads(c->pool)};
    hn_pool_run(c->pool, l.count, l.grain, visit, &l);
    for (int64_t k = 0; k < l.count; ++k) c->wrong += l.visits[k] != 1;
    c->wrong += atomic_load(&l.wrong);
  }
  return NULL;
}

static void test_callers_share(void **state) {
  (void)state;
  hn_pool *pool = make(3, 20);
  caller callers[3];
  for (size_t i = 0; i < HN_COUNT(callers); ++i) {
    callers[i] = (caller){.pool = pool};
    assert_int_equal(pthread_create(&callers[i].thread, NULL, call_often, &callers[i]), 0);
  }
  for (size_t i = 0; i < HN_COUNT(callers); ++i) {
    assert_int_equal(pthread_join(callers[i].thread, NULL), 0);
    assert_int_equal(callers[i].wrong, 0);
  }
  hn_pool_destroy(pool);
}

static void test_pinning(void **state) {
  (void)state;
  cpu_set_t set;
  assert_int_equal(sched_getaffinity(0, sizeof set, &set), 0);
  int cpus[2], found = 0;
  for (int i = 0; i < CPU_SETSIZE && found < 2; ++i) {
    if (CPU_ISSET((size_t)i, &set)) cpus[found++] = i;
  }
  hn_pool *pool = NULL;
  assert_int_equal(hn_pool_create(NULL, hn_allocator_default(), 3, cpus, found, 0, &pool), HONE_OK);
  check_loop(pool, 1000, 4);
  hn_pool_destroy(pool);
  cpu_set_t after;
  assert_int_equal(sched_getaffinity(0, sizeof after, &after), 0);
  assert_true(CPU_EQUAL(&set, &after)); /* the caller was left alone */
}

static void test_refusals(void **state) {
  (void)state;
  static const struct {
    const char *what;
    int threads, cpu;
    hone_status want;
  } row[] = {
      {"no threads", 0, 0, HONE_INVALID},
      {"negative", -1, 0, HONE_INVALID},
      {"too many", 1025, 0, HONE_INVALID},
      {"a negative CPU", 2, -1, HONE_INVALID},
      {"a CPU beyond the set", 2, CPU_SETSIZE, HONE_INVALID},
      {"a CPU that is not there", 2, CPU_SETSIZE - 1, HONE_DEVICE},
  };
  for (size_t i = 0; i < HN_COUNT(row); ++i) {
    hn_diag_entry entry[2];
    hone_diagnostics diag;
    hn_diag_init(&diag, entry, 2);
    hn_pool *pool = (hn_pool *)entry;
    const hone_status got = hn_pool_create(&diag, hn_allocator_default(), row[i].threads, &row[i].cpu, 1, 0, &pool);
    if (got != row[i].want || pool || diag.count != 1) fail_msg("%s: got %d", row[i].what, (int)got);
  }
}

static void test_allocation_faults(void **state) {
  (void)state;
  for (int at = 0;; ++at) {
    faults f = {.countdown = at};
    hn_pool *pool = NULL;
    const hone_status got = hn_pool_create(NULL, faults_allocator(&f), 3, NULL, 0, 0, &pool);
    if (got == HONE_OK) {
      const long before = f.calls;
      check_loop(pool, 1000, 1);
      assert_int_equal(f.calls, before); /* running does not allocate */
      hn_pool_destroy(pool);
      assert_int_equal(f.live, 0);
      assert_true(at >= 2);
      return;
    }
    assert_int_equal(got, HONE_NO_MEMORY);
    assert_null(pool);
    assert_int_equal(f.live, 0);
  }
}

typedef struct logged {
  hn_pool *pool;
  atomic_int_fast64_t calls; /* of the bodies of loops that have many parts */
  bool nests;
} logged;

static void ignore(void *arg, int worker, int64_t begin, int64_t end) {
  (void)arg, (void)worker, (void)begin, (void)end;
}

static void count_call(void *arg, int worker, int64_t begin, int64_t end) {
  logged *l = arg;
  (void)worker, (void)begin, (void)end;
  if (l->pool->log->tag % 2) atomic_fetch_add(&l->calls, 1);
  if (l->nests) hn_pool_run(l->pool, 100, 1, ignore, NULL);
}

/* The parts that all threads noted of one loop are its parts, with loops inside it, too, and in a pool of one thread;
 * a loop of one part is a share of thread 0, or the loop in it is; each thread's shares follow one another, and a loop
 * by another copy of the pool notes nothing. */
static void test_log(void **state) {
  (void)state;
  enum { LOOPS = 50, THREADS = 3 };
  for (int threads = 1; threads <= THREADS; ++threads)
    for (int nests = 0; nests < 2; ++nests) {
      hn_pool *plain = make(threads, 0), copy = *plain;
      hn_arena arena;
      hn_arena_init(&arena, hn_allocator_default());
      hn_pool_log *log = copy.log = hn_pool_log_create(&arena, threads, LOOPS);
      assert_non_null(log);
      logged l = {.pool = &copy, .nests = nests};
      const int64_t begin_ns = hn_clock_ns();
      for (log->tag = 0; log->tag < LOOPS; ++log->tag) {
        hn_pool_run(&copy, log->tag % 2 ? 1000 : 1, 1, count_call, &l);
        hn_pool_run(plain, 1000, 1, ignore, NULL);
      }
      const int64_t end_ns = hn_clock_ns();
      int64_t parts = 0;
      for (int t = 0; t < threads; ++t) {
        int64_t last_ns = begin_ns;
        assert_int_equal(log->of[t].dropped, 0);
        for (int64_t i = 0; i < log->of[t].count; ++i) {
          const hn_pool_share *share = &log->of[t].items[i];
          assert_true(share->begin_ns >= last_ns && share->end_ns >= share->begin_ns);
          assert_true(i == 0 || share->tag > share[-1].tag);
          last_ns = share->end_ns;
          assert_true(share->ranges > 0);
          if (share->tag % 2) parts += share->ranges;
        }
        assert_true(last_ns <= end_ns);
      }
      assert_int_equal(parts, atomic_load(&l.calls));
      if (threads == 1) assert_int_equal(log->of[0].count, LOOPS);
      const int64_t shares = log->of[0].count; /* fewer than LOOPS where other threads took all of a loop */
      for (int i = 0; i <= LOOPS; ++i) hn_pool_run(&copy, 1, 1, ignore, NULL);
      assert_int_equal(log->of[0].count, LOOPS);
      assert_int_equal(log->of[0].dropped, shares + 1);
      hn_pool_log_clear(log);
      assert_int_equal(log->of[0].count + log->of[0].dropped, 0);
      hn_arena_deinit(&arena);
      hn_pool_destroy(plain);
    }
}

/* Waiting threads only ask for memory: what is told may be gone, or have never been. */
static void test_fetch(void **state) {
  (void)state;
  hn_pool *pool = make(4, 0);
  hn_pool_fetch(NULL, pool, 64);
  for (int i = 0; i < 300; ++i) {
    char *gone = malloc(1 << 20);
    hn_pool_fetch(pool, i % 3 == 0 ? gone : i % 3 == 1 ? (const char *)64 : NULL, i % 2 ? 1 << 20 : SIZE_MAX);
    free(gone);
    check_loop(pool, 1 + i, 1);
    const int64_t end_ns = hn_clock_ns() + 20000;
    while (hn_clock_ns() < end_ns) continue;
  }
  hn_pool_destroy(pool);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_index_once),
      cmocka_unit_test(test_no_pool),
      cmocka_unit_test(test_nothing_to_do),
      cmocka_unit_test(test_huge_counts),
      cmocka_unit_test(test_wakes_after_sleep),
      cmocka_unit_test(test_workers_take_part),
      cmocka_unit_test(test_nested),
      cmocka_unit_test(test_callers_share),
      cmocka_unit_test(test_pinning),
      cmocka_unit_test(test_refusals),
      cmocka_unit_test(test_log),
      cmocka_unit_test(test_fetch),
      cmocka_unit_test(test_allocation_faults),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
