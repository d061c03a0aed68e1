/* SPDX-License-Identifier: Apache-2.0 */
/* test_threads.c - sessions of one engine with two schedules, each in a thread of its own, on a device that they share
 * and on devices of their own, give the bits that one of them gives alone, also when it is opened and closed while the
 * others run. */
#include "support/saved_engine.h"
#include "support/small_net.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SESSIONS = 4, ROUNDS = 3, RUNS = 4, CLASSES = 10, BATCH_MAX = 3 };

typedef struct worker {
  hone_engine *engine;
  int64_t batch;
  float x[BATCH_MAX * 3 * 16 * 16], want[BATCH_MAX * CLASSES];
  int differences, failures; /* cmocka's assertions are for its own thread */
} worker;

static hone_status run(const worker *w, hone_session *session, float *out) {
  const hone_tensor x = {.type = {.kind = HONE_TENSOR, .dtype = HONE_F32, .shape = {4, {w->batch, 3, 16, 16}}},
                         .data = (void *)w->x,
                         .bytes = (size_t)w->batch * 3 * 16 * 16 * sizeof *w->x};
  hone_tensor y;
  hone_status status = hone_session_copy_in(session, "x", &x);
  if (status == HONE_OK) status = hone_session_run(session);
  if (status == HONE_OK) status = hone_session_tensor(session, "y", &y);
  if (status == HONE_OK) memcpy(out, y.data, (size_t)w->batch * CLASSES * sizeof *out);
  return status;
}

static void *work(void *argument) {
  worker *w = argument;
  const hone_session_options options = {.struct_size = sizeof options, .profile = true};
  for (int round = 0; round < ROUNDS; ++round) {
    hone_session *session;
    if (hone_session_create(w->engine, &options, &session, NULL) != HONE_OK) {
      ++w->failures;
      continue;
    }
    for (int i = 0; i < RUNS; ++i) {
      float got[BATCH_MAX * CLASSES];
      if (run(w, session, got) != HONE_OK)
        ++w->failures;
      else
        w->differences += memcmp(got, w->want, (size_t)w->batch * CLASSES * sizeof *got) != 0;
    }
    hone_session_destroy(session);
  }
  return NULL;
}

static void begin(worker *w, hone_engine *engine, int number) {
  const int64_t batch = 1 + number % BATCH_MAX;
  *w = (worker){.engine = engine, .batch = batch};
  hone_tensor x = {.type = {.kind = HONE_TENSOR, .dtype = HONE_F32, .shape = {4, {batch, 3, 16, 16}}},
                   .data = w->x,
                   .bytes = (size_t)batch * 3 * 16 * 16 * sizeof *w->x};
  small_net_fill(&x, (uint64_t)number + 1);
  hone_session *session;
  assert_int_equal(hone_session_create(engine, NULL, &session, NULL), HONE_OK);
  assert_int_equal(run(w, session, w->want), HONE_OK);
  hone_session_destroy(session);
}

static hone_engine *build_engine(hone_context *context, hone_device *device) {
  const hone_profile_shape shapes[] = {{"x", {4, {1, 3, 16, 16}}, {4, {1, 3, 16, 16}}, {4, {1, 3, 16, 16}}, 0},
                                       {"x", {4, {2, 3, 16, 16}}, {4, {2, 3, 16, 16}}, {4, {BATCH_MAX, 3, 16, 16}}, 1}};
  const hone_build_options build = {.struct_size = sizeof build, .level = -1, .shapes = shapes, .shape_count = 2};
  hone_graph *graph;
  hone_engine *engine;
  assert_int_equal(small_net_graph(context, true, &graph), HONE_OK);
  assert_int_equal(hone_engine_build(context, graph, &device, 1, &build, &engine), HONE_OK);
  hone_graph_destroy(graph);
  return engine;
}

static void run_workers(worker *workers) {
  pthread_t threads[SESSIONS];
  for (int i = 0; i < SESSIONS; ++i) assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
  for (int i = 0; i < SESSIONS; ++i) assert_int_equal(pthread_join(threads[i], NULL), 0);
  for (int i = 0; i < SESSIONS; ++i) {
    assert_int_equal(workers[i].failures, 0);
    assert_int_equal(workers[i].differences, 0);
  }
}

static hone_device *open_device(hone_context *context, int threads) {
  const hone_device_options options = {.struct_size = sizeof options, .threads = threads};
  hone_device *device;
  assert_int_equal(hone_device_open(context, "cpu", 0, &options, &device), HONE_OK);
  return device;
}

static void test_one_device(void **state) {
  (void)state;
  static worker workers[SESSIONS];
  hone_context *context;
  assert_int_equal(hone_context_create(NULL, &context), HONE_OK);
  hone_device *device = open_device(context, 3);
  hone_engine *engine = build_engine(context, device);
  for (int i = 0; i < SESSIONS; ++i) begin(&workers[i], engine, i);
  run_workers(workers);
  hone_engine_release(engine);
  hone_device_close(device);
  hone_context_destroy(context);
}

/* The engine as a file has hashes, which whoever comes first checks; the others must not run before. */
static hone_engine *reload(hone_context *context, hone_engine *engine, hone_device *device) {
  char path[] = "/tmp/hone_threads_XXXXXX";
  const int fd = mkstemp(path);
  assert_true(fd >= 0);
  close(fd);
  hone_engine *loaded;
  assert_int_equal(hone_engine_save(engine, path, hone_context_diagnostics(context)), HONE_OK);
  assert_int_equal(hone_engine_load(context, path, &device, 1, &loaded), HONE_OK);
  saved_engine_remove(path);
  hone_engine_release(engine);
  return loaded;
}

/* One plan and its weights on a device a session; the first engine is let go while the others run on. */
static void test_devices_of_their_own(void **state) {
  (void)state;
  static worker workers[SESSIONS];
  hone_engine *shared[SESSIONS];
  hone_context *context;
  assert_int_equal(hone_context_create(NULL, &context), HONE_OK);
  hone_device *device = open_device(context, 2);
  hone_engine *engine = build_engine(context, device);
  for (int i = 0; i < SESSIONS; ++i) begin(&workers[i], engine, i);
  engine = reload(context, engine, device);
  for (int i = 0; i < SESSIONS; ++i) {
    hone_device *own = open_device(context, 1 + i % 2);
    hone_engine *from = i % 2 ? shared[i - 1] : engine; /* sharing what is shared is the same */
    assert_int_equal(hone_engine_share(from, &own, 1, &shared[i], hone_context_diagnostics(context)), HONE_OK);
    hone_device_close(own);
    workers[i].engine = shared[i];
  }
  hone_engine_release(engine);
  hone_device_close(device);
  run_workers(workers);
  for (int i = 0; i < SESSIONS; ++i) hone_engine_release(shared[i]);
  hone_context_destroy(context);
}

static void test_cpus(void **state) {
  (void)state;
  cpu_set_t set;
  CPU_ZERO(&set);
  assert_int_equal(sched_getaffinity(0, sizeof set, &set), 0);
  int allowed = 0;
  while (!CPU_ISSET((size_t)allowed, &set)) ++allowed;
  hone_context *context;
  hone_device *device;
  hone_facts facts = HONE_SIZED(hone_facts);
  assert_int_equal(hone_context_create(NULL, &context), HONE_OK);
  int cpus[3] = {allowed, allowed, CPU_SETSIZE - 1};
  hone_device_options options = {.struct_size = sizeof options, .cpus = cpus, .cpu_count = 2};
  assert_int_equal(hone_device_open(context, "cpu", 0, &options, &device), HONE_OK);
  hone_device_facts(device, &facts);
  assert_int_equal(facts.threads, 2); /* one for each CPU named */
  hone_device_close(device);
  options.cpu_count = 3;
  assert_int_equal(hone_device_open(context, "cpu", 0, &options, &device), HONE_INVALID);
  assert_non_null(strstr(hone_context_message(context, 0, NULL), "allowed: "));
  options.cpu_count = 0;
  assert_int_equal(hone_device_open(context, "cpu", 0, &options, &device), HONE_INVALID);
  hone_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_one_device), cmocka_unit_test(test_devices_of_their_own),
                                     cmocka_unit_test(test_cpus)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
