/* SPDX-License-Identifier: Apache-2.0 */
/* test_session_pool.c - a pool of sessions under more threads than it has; hints; loops in the program's own threads;
 * and what the log hook hears of loading, sessions and runs. All give the bits that one session gives. */
#include "support/saved_engine.h"
#include "support/small_net.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <hone/hone.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CLASSES = 10, THREADS = 6, RUNS = 20 };

typedef struct bed {
  hone_context *context;
  hone_device *device;
  hone_engine *engine;
  float want[CLASSES];
} bed;

static hone_status run_once(hone_session *session, float out[CLASSES]) {
  hone_tensor x, y;
  hone_status status = hone_session_tensor(session, "x", &x);
  if (status == HONE_OK) small_net_fill(&x, 3);
  if (status == HONE_OK) status = hone_session_run(session);
  if (status == HONE_OK) status = hone_session_tensor(session, "y", &y);
  if (status == HONE_OK) memcpy(out, y.data, CLASSES * sizeof *out);
  return status;
}

static void open_bed(bed *b, const hone_context_options *context_options, const hone_device_options *device_options) {
  const hone_build_options quick = {.struct_size = sizeof quick, .level = -1};
  hone_graph *graph;
  hone_session *session;
  assert_int_equal(hone_context_create(context_options, &b->context), HONE_OK);
  assert_int_equal(small_net_graph(b->context, false, &graph), HONE_OK);
  assert_int_equal(hone_device_open(b->context, "cpu", 0, device_options, &b->device), HONE_OK);
  assert_int_equal(hone_engine_build(b->context, graph, &b->device, 1, &quick, &b->engine), HONE_OK);
  hone_graph_destroy(graph);
  assert_int_equal(hone_session_create(b->engine, NULL, &session, NULL), HONE_OK);
  assert_int_equal(run_once(session, b->want), HONE_OK);
  hone_session_destroy(session);
}

static void close_bed(bed *b) {
  hone_engine_release(b->engine);
  hone_device_close(b->device);
  hone_context_destroy(b->context);
}

static const hone_device_options two_threads = {.struct_size = sizeof two_threads, .threads = 2};

typedef struct borrower {
  const bed *b;
  hone_pool *pool;
  int failures, differences;
} borrower;

static void *use_pool(void *argument) {
  borrower *u = argument;
  for (int i = 0; i < RUNS; ++i) {
    hone_session *session;
    float got[CLASSES] = {0};
    if (hone_pool_take(u->pool, -1, &session, NULL) != HONE_OK) {
      ++u->failures;
      continue;
    }
    u->failures += run_once(session, got) != HONE_OK;
    u->differences += memcmp(got, u->b->want, sizeof got) != 0;
    u->failures += hone_pool_give(u->pool, session, NULL) != HONE_OK;
  }
  return NULL;
}

static void share_pool(const bed *b, const hone_pool_options *options, int sessions, int threads_each) {
  hone_pool *pool;
  pthread_t threads[THREADS];
  borrower users[THREADS];
  hone_pool_stats stats = HONE_SIZED(hone_pool_stats);
  assert_int_equal(hone_pool_create(b->context, b->engine, options, &pool), HONE_OK);
  for (int t = 0; t < THREADS; ++t) {
    users[t] = (borrower){.b = b, .pool = pool};
    assert_int_equal(pthread_create(&threads[t], NULL, use_pool, &users[t]), 0);
  }
  for (int t = 0; t < THREADS; ++t) {
    pthread_join(threads[t], NULL);
    assert_int_equal(users[t].failures, 0);
    assert_int_equal(users[t].differences, 0);
  }
  assert_int_equal(hone_pool_get_stats(pool, &stats), HONE_OK);
  assert_int_equal(stats.sessions, sessions);
  assert_int_equal(stats.free, sessions);
  assert_int_equal(stats.threads, threads_each);
  assert_int_equal(stats.taken, THREADS * RUNS);
  hone_pool_destroy(pool);
}

static void test_shared(void **state) {
  (void)state;
  bed b;
  hone_facts facts = HONE_SIZED(hone_facts);
  open_bed(&b, NULL, &two_threads);
  assert_int_equal(hone_device_facts(b.device, &facts), HONE_OK);
  assert_true(facts.process_threads >= 1);
  const hone_pool_options three = {.struct_size = sizeof three, .sessions = 3},
                          apart = {.struct_size = sizeof apart, .sessions = 2, .threads = 1},
                          many = {.struct_size = sizeof many, .hint = HONE_HINT_THROUGHPUT};
  share_pool(&b, NULL, 1, 2);
  share_pool(&b, &three, 3, 2);
  share_pool(&b, &apart, 2, 1);
  share_pool(&b, &many, facts.process_threads, 1);
  close_bed(&b);
}

/* What is free, how long one waits, and what is given back wrongly. */
static void test_taking(void **state) {
  (void)state;
  bed b;
  hone_pool *pool;
  hone_session *first, *second, *foreign;
  hone_diagnostics *diag;
  hone_status said;
  open_bed(&b, NULL, &two_threads);
  assert_int_equal(hone_diagnostics_create(&diag), HONE_OK);
  assert_int_equal(hone_pool_create(b.context, b.engine, NULL, &pool), HONE_OK);
  assert_int_equal(hone_pool_take(pool, 0, &first, diag), HONE_OK);
  assert_int_equal(hone_pool_take(pool, 0, &second, diag), HONE_LIMIT);
  assert_null(second);
  assert_int_equal(hone_pool_take(pool, 20, &second, diag), HONE_LIMIT);
  assert_int_equal(hone_diagnostics_count(diag), 2);
  assert_non_null(strstr(hone_diagnostics_message(diag, 1, &said), "within 20 ms"));
  assert_int_equal(said, HONE_LIMIT);
  hone_diagnostics_clear(diag);
  assert_int_equal(hone_session_create(b.engine, NULL, &foreign, diag), HONE_OK);
  assert_int_equal(hone_pool_give(pool, foreign, diag), HONE_INVALID);
  assert_int_equal(hone_pool_give(pool, first, diag), HONE_OK);
  assert_int_equal(hone_pool_give(pool, first, diag), HONE_INVALID);
  assert_int_equal(hone_diagnostics_count(diag), 2);
  hone_session_destroy(foreign);
  hone_pool_destroy(pool);
  hone_diagnostics_destroy(diag);
  close_bed(&b);
}

static void test_hints(void **state) {
  (void)state;
  bed b;
  hone_facts facts = HONE_SIZED(hone_facts);
  const hone_device_options throughput = {.struct_size = sizeof throughput, .hint = HONE_HINT_THROUGHPUT},
                            latency = {.struct_size = sizeof latency, .hint = HONE_HINT_LATENCY};
  open_bed(&b, NULL, &throughput);
  assert_int_equal(hone_device_facts(b.device, &facts), HONE_OK);
  assert_int_equal(facts.threads, 1);
  close_bed(&b);
  open_bed(&b, NULL, &latency);
  assert_int_equal(hone_device_facts(b.device, &facts), HONE_OK);
  assert_int_equal(facts.threads, facts.process_threads);
  close_bed(&b);
}

/* ---- loops in the program's own threads ---- */

typedef struct loops {
  atomic_int calls, parts;
  bool side_by_side;
} loops;
typedef struct part_of {
  void (*part)(void *arg, int index);
  void *arg;
  int index;
} part_of;

static void *run_part(void *argument) {
  const part_of *p = argument;
  p->part(p->arg, p->index);
  return NULL;
}

static void own_threads(void *user, int count, void (*part)(void *arg, int index), void *arg) {
  loops *l = user;
  pthread_t threads[8];
  part_of parts[8];
  ++l->calls;
  l->parts += count;
  for (int i = count - 1; i >= 0; --i) { /* the last part first: no order is promised */
    parts[i] = (part_of){part, arg, i};
    if (l->side_by_side)
      pthread_create(&threads[i], NULL, run_part, &parts[i]);
    else
      part(arg, i);
  }
  for (int i = 0; l->side_by_side && i < count; ++i) pthread_join(threads[i], NULL);
}

static void test_own_threads(void **state) {
  (void)state;
  bed plain;
  open_bed(&plain, NULL, &two_threads);
  for (int side_by_side = 0; side_by_side < 2; ++side_by_side) {
    bed b;
    loops l = {.side_by_side = side_by_side};
    const hone_device_options own = {
        .struct_size = sizeof own, .threads = 4, .parallel = own_threads, .parallel_user = &l};
    open_bed(&b, NULL, &own);
    assert_true(l.calls > 0);
    assert_int_equal(l.parts, 4 * l.calls);
    assert_memory_equal(b.want, plain.want, sizeof plain.want);
    close_bed(&b);
  }
  hone_device *device;
  loops l = {0};
  const hone_device_options both = {.struct_size = sizeof both,
                                    .parallel = own_threads,
                                    .parallel_user = &l,
                                    .cpus = (const int[]){0},
                                    .cpu_count = 1};
  assert_int_equal(hone_device_open(plain.context, "cpu", 0, &both, &device), HONE_INVALID);
  close_bed(&plain);
}

/* ---- the log ---- */

typedef struct heard {
  char text[16384];
  size_t used;
} heard;

static void hear(void *user, hone_log_level level, const char *line) {
  heard *h = user;
  const int added = snprintf(h->text + h->used, sizeof h->text - h->used, "%d %s\n", (int)level, line);
  if (added > 0 && (size_t)added < sizeof h->text - h->used) h->used += (size_t)added;
}

static void test_log(void **state) {
  (void)state;
  static heard h;
  bed b;
  char path[64] = "/tmp/hone_test_XXXXXX";
  const hone_context_options options = {
      .struct_size = sizeof options, .log = hear, .log_user = &h, .log_level = HONE_LOG_RUNS};
  const int file = mkstemp(path);
  assert_true(file >= 0 && close(file) == 0);
  open_bed(&b, &options, &two_threads);
  assert_non_null(strstr(h.text, "shapes prepared by schedule 0"));
  assert_non_null(strstr(h.text, "run 1: "));
  assert_int_equal(hone_engine_save(b.engine, path, NULL), HONE_OK);
  hone_engine_release(b.engine);
  h.used = 0;
  assert_int_equal(hone_engine_load(b.context, path, &b.device, 1, &b.engine), HONE_OK);
  assert_non_null(strstr(h.text, path));
  assert_non_null(strstr(h.text, "1 schedule"));
  /* a run that fails is told */
  hone_session *session;
  atomic_bool flag;
  atomic_init(&flag, false);
  const hone_session_options stops = {.struct_size = sizeof stops, .cancel = &flag};
  assert_int_equal(hone_session_create(b.engine, &stops, &session, NULL), HONE_OK);
  atomic_store(&flag, true);
  h.used = 0;
  assert_int_equal(hone_session_run(session), HONE_CANCELLED);
  assert_non_null(strstr(h.text, "run 1 failed: "));
  assert_ptr_equal(hone_diagnostics_message(hone_session_diagnostics(session), 0, NULL),
                   hone_session_message(session, 0, NULL));
  hone_session_destroy(session);
  saved_engine_remove(path);
  close_bed(&b);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_shared), cmocka_unit_test(test_taking),
                                     cmocka_unit_test(test_hints), cmocka_unit_test(test_own_threads),
                                     cmocka_unit_test(test_log)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
