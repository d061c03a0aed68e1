/* SPDX-License-Identifier: Apache-2.0 */
/* test_threads.c - sessions of one engine, each in a thread of its own on a device that they share, give the bits that
 * one of them gives alone, also when it is opened and closed while the others run. */
#include "support/small_net.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <string.h>

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

static void test_sessions_in_threads(void **state) {
  (void)state;
  static worker workers[SESSIONS];
  const hone_device_options device_options = {.struct_size = sizeof device_options, .threads = 3};
  const hone_profile_shape shape = {"x", {4, {1, 3, 16, 16}}, {4, {2, 3, 16, 16}}, {4, {BATCH_MAX, 3, 16, 16}}};
  const hone_build_options build = {.struct_size = sizeof build, .level = -1, .shapes = &shape, .shape_count = 1};
  hone_context *context;
  hone_device *device;
  hone_graph *graph;
  hone_engine *engine;
  assert_int_equal(hone_context_create(NULL, &context), HONE_OK);
  assert_int_equal(hone_device_open(context, "cpu", 0, &device_options, &device), HONE_OK);
  assert_int_equal(small_net_graph(context, true, &graph), HONE_OK);
  assert_int_equal(hone_engine_build(context, graph, &device, 1, &build, &engine), HONE_OK);
  pthread_t threads[SESSIONS];
  for (int i = 0; i < SESSIONS; ++i) begin(&workers[i], engine, i);
  for (int i = 0; i < SESSIONS; ++i) assert_int_equal(pthread_create(&threads[i], NULL, work, &workers[i]), 0);
  for (int i = 0; i < SESSIONS; ++i) assert_int_equal(pthread_join(threads[i], NULL), 0);
  for (int i = 0; i < SESSIONS; ++i) {
    assert_int_equal(workers[i].failures, 0);
    assert_int_equal(workers[i].differences, 0);
  }
  hone_engine_release(engine);
  hone_graph_destroy(graph);
  hone_device_close(device);
  hone_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_sessions_in_threads)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
