/* SPDX-License-Identifier: Apache-2.0 */
/* test_trace_threads.c - spans of runs and of builds: what lies in what, in which order, how many; steps and the gaps
 * between them are the run; each thread's shares of loops lie in their step, one behind the other. */
#include "support/small_net.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { SPANS = 1 << 16, NAME_BYTES = 160, RUNS = 20 };

/* All spans of a session or a build. */
typedef struct record {
  int count;
  hone_span spans[SPANS];
  char names[SPANS][NAME_BYTES];
} record;

static record records[2]; /* large for a stack */

static void keep(void *user, const hone_span *span) {
  record *r = user;
  if (r->count == SPANS) return;
  r->spans[r->count] = *span;
  (void)snprintf(r->names[r->count], NAME_BYTES, "%s", span->name);
  r->spans[r->count].name = r->names[r->count];
  ++r->count;
}

static bool lies_in(const hone_span *inner, const hone_span *outer) {
  return inner->begin_ns <= inner->end_ns && outer->begin_ns <= inner->begin_ns && inner->end_ns <= outer->end_ns;
}

static hone_session *open_session(hone_engine *engine, record *r, int shares) {
  const hone_session_options options = {
      .struct_size = sizeof options, .profile = true, .on_span = keep, .on_span_user = r, .trace_shares = shares};
  hone_session *session;
  r->count = 0;
  assert_int_equal(hone_session_create(engine, &options, &session, NULL), HONE_OK);
  return session;
}

static hone_device *open_device(hone_context *context, const char *kind, int threads) {
  const hone_device_options options = {.struct_size = sizeof options, .threads = threads};
  hone_device *device;
  assert_int_equal(hone_device_open(context, kind, 0, &options, &device), HONE_OK);
  return device;
}

static hone_engine *build(hone_context *context, hone_device *device, record *r) {
  const hone_build_options options = {
      .struct_size = sizeof options, .level = 1, .on_span = r ? keep : NULL, .on_span_user = r};
  hone_graph *graph;
  hone_engine *engine;
  if (r) r->count = 0;
  assert_int_equal(small_net_graph(context, false, &graph), HONE_OK);
  assert_int_equal(hone_engine_build(context, graph, &device, 1, &options, &engine), HONE_OK);
  hone_graph_destroy(graph);
  return engine;
}

/* One run's spans from `at` on; gives where the next one's begin. Steps and gaps make up the run exactly, since all are
 * readings of one clock. */
static int check_run(const record *r, int at, int64_t number, int step_count, int *out_shares) {
  const hone_span *run = &r->spans[at++];
  assert_int_equal(run->kind, HONE_SPAN_RUN);
  assert_int_equal(run->run, number);
  assert_int_equal(run->step, -1);
  assert_true(run->begin_ns < run->end_ns);
  const hone_span *steps = &r->spans[at];
  int64_t inside_ns = 0, gaps_ns = 0, last_ns = run->begin_ns;
  for (int s = 0; s < step_count; ++s, ++at) {
    assert_int_equal(r->spans[at].kind, HONE_SPAN_STEP);
    assert_int_equal(r->spans[at].step, s);
    assert_true(lies_in(&r->spans[at], run));
    assert_true(r->spans[at].begin_ns >= last_ns);
    gaps_ns += r->spans[at].begin_ns - last_ns;
    inside_ns += r->spans[at].end_ns - r->spans[at].begin_ns;
    last_ns = r->spans[at].end_ns;
  }
  gaps_ns += run->end_ns - last_ns;
  assert_int_equal(inside_ns + gaps_ns, run->end_ns - run->begin_ns);
  int thread = 0;
  int64_t share_end_ns = 0;
  for (; at < r->count && r->spans[at].kind == HONE_SPAN_SHARE; ++at) {
    const hone_span *share = &r->spans[at];
    assert_true(share->thread >= thread && share->thread < 2);
    if (share->thread > thread) share_end_ns = 0;
    thread = share->thread;
    assert_true(share->begin_ns >= share_end_ns);
    share_end_ns = share->end_ns;
    assert_in_range(share->step, 0, step_count - 1);
    assert_true(share->parts > 0);
    assert_true(lies_in(share, &steps[share->step]));
    assert_string_equal(share->name, steps[share->step].name);
    ++out_shares[thread];
  }
  return at;
}

static void check_runs(const record *r, int64_t first, int runs, int step_count, int *out_shares) {
  int at = 0;
  for (int i = 0; i < runs; ++i) at = check_run(r, at, first + i, step_count, out_shares);
  assert_int_equal(at, r->count);
}

static void test_run(void **state) {
  (void)state;
  hone_context *context;
  assert_int_equal(hone_context_create(NULL, &context), HONE_OK);
  hone_device *device = open_device(context, "cpu", 2);
  hone_engine *engine = build(context, device, NULL);
  hone_session *session = open_session(engine, &records[0], 1000);
  int shares[2] = {0};
  for (int i = 0; i < RUNS; ++i) assert_int_equal(hone_session_run(session), HONE_OK);
  const int steps = hone_session_step_count(session);
  check_runs(&records[0], 1, RUNS, steps, shares);
  assert_true(shares[0] > 0); /* whether the other thread comes in time is the machine's affair */
  hone_session_set_profile(session, false);
  const int before = records[0].count;
  assert_int_equal(hone_session_run(session), HONE_OK);
  assert_int_equal(records[0].count, before); /* nobody is told of a run that is not profiled */
  records[0].count = 0;
  hone_session_set_profile(session, true);
  assert_int_equal(hone_session_run(session), HONE_OK);
  check_runs(&records[0], RUNS + 2, 1, steps, shares);
  for (int s = 0; s < steps; ++s) {
    hone_step_profile step = HONE_SIZED(hone_step_profile);
    hone_type type;
    assert_int_equal(hone_session_step(session, s, &step), HONE_OK);
    for (int p = 0; p < step.in_count + step.out_count; ++p)
      assert_int_equal(hone_session_step_type(session, s, p, &type), HONE_OK);
    assert_int_equal(hone_session_step_type(session, s, step.in_count + step.out_count, &type), HONE_INVALID);
    assert_true(step.out_count > 0);
    assert_int_equal(hone_session_step_type(session, s, step.in_count, &type), HONE_OK);
    assert_int_equal(type.kind, HONE_TENSOR);
  }
  hone_session_destroy(session);
  hone_engine_release(engine);
  hone_device_close(device);
  hone_context_destroy(context);
}

/* A list of one share a thread: the others are counted. */
static void test_room(void **state) {
  (void)state;
  hone_context *context;
  assert_int_equal(hone_context_create(NULL, &context), HONE_OK);
  hone_device *device = open_device(context, "cpu", 1);
  hone_engine *engine = build(context, device, NULL);
  int64_t found = 0;
  for (int shares = 0; shares <= 1000; shares = shares ? 1000 * shares : 1) {
    hone_session *session = open_session(engine, &records[0], shares);
    assert_int_equal(hone_session_run(session), HONE_OK);
    assert_int_equal(hone_session_run(session), HONE_OK); /* the count is of one run */
    int of_run = 0;
    int64_t dropped = 0;
    for (int i = 0; i < records[0].count; ++i) {
      const hone_span *span = &records[0].spans[i];
      of_run += span->kind == HONE_SPAN_SHARE && span->run == 2;
      if (span->run == 2) dropped += span->dropped;
    }
    assert_true(of_run <= shares);
    if (shares == 1) found = of_run + dropped;
    if (shares == 1) assert_true(dropped > 0);
    if (shares == 1000) assert_int_equal(of_run, found);
    if (shares != 1) assert_int_equal(dropped, 0);
    hone_session_destroy(session);
  }
  hone_engine_release(engine);
  hone_device_close(device);
  hone_context_destroy(context);
}

/* Time of its own: steps lie in the run all the same. */
static void test_fake_clock(void **state) {
  (void)state;
  hone_context *context;
  int shares[2] = {0};
  assert_int_equal(hone_context_create(NULL, &context), HONE_OK);
  hone_device *device = open_device(context, "null", 1);
  hone_engine *engine = build(context, device, NULL);
  hone_session *session = open_session(engine, &records[0], 100);
  for (int i = 0; i < 3; ++i) assert_int_equal(hone_session_run(session), HONE_OK);
  check_runs(&records[0], 1, 3, hone_session_step_count(session), shares);
  hone_session_destroy(session);
  hone_engine_release(engine);
  hone_device_close(device);
  hone_context_destroy(context);
}

/* Steps of a loop's body have no spans; their threads' shares lie in the step that runs the loop. */
static void test_loop(void **state) {
  (void)state;
  static const char text[] = "graph \"g\" opset 17 {\n in %x: f32[262144]\n const %n: i64[] = [5]\n"
                             " const %c: f32[1] = [1.0]\n %e = exp(%x)\n"
                             " %y = loop(%n, _, %e) (%i: i64[], %go: bool[], %s: f32[262144]) {\n"
                             "  %t = sin(%s)\n  yield %go, %t\n }\n out %y\n}\n";
  const hone_build_options options = {.struct_size = sizeof options, .level = -1};
  hone_context *context;
  hone_graph *graph;
  hone_engine *engine;
  assert_int_equal(hone_context_create(NULL, &context), HONE_OK);
  hone_device *device = open_device(context, "cpu", 2);
  assert_int_equal(hone_graph_parse(context, text, strlen(text), &graph), HONE_OK);
  assert_int_equal(hone_engine_build(context, graph, &device, 1, &options, &engine), HONE_OK);
  record *r = &records[0];
  hone_session *session = open_session(engine, r, 1000);
  for (int i = 0; i < 3; ++i) assert_int_equal(hone_session_run(session), HONE_OK);
  const hone_span *steps[16];
  int count = 0, within = 0;
  for (int i = 0; i < r->count; ++i) {
    const hone_span *span = &r->spans[i];
    if (span->kind == HONE_SPAN_RUN) count = 0;
    if (span->kind == HONE_SPAN_STEP && count < 16) steps[count++] = span;
    if (span->kind != HONE_SPAN_SHARE) continue;
    bool held = false, own = false;
    for (int s = 0; s < count; ++s) {
      held = held || lies_in(span, steps[s]);
      own = own || span->step == steps[s]->step;
    }
    assert_true(held);
    within += !own;
  }
  assert_true(count > 0 && count < hone_session_step_count(session));
  assert_true(within >= 3 * 5);
  hone_session_destroy(session);
  hone_engine_release(engine);
  hone_graph_destroy(graph);
  hone_device_close(device);
  hone_context_destroy(context);
}

static void *run_many(void *session) {
  for (int i = 0; i < RUNS; ++i)
    if (hone_session_run(session) != HONE_OK) return session;
  return NULL;
}

/* Two sessions on one pool, each with a record of its own: a loop's shares go to whose loop it is. */
static void test_two_sessions(void **state) {
  (void)state;
  hone_context *context;
  pthread_t threads[2];
  hone_session *sessions[2];
  assert_int_equal(hone_context_create(NULL, &context), HONE_OK);
  hone_device *device = open_device(context, "cpu", 2);
  hone_engine *engine = build(context, device, NULL);
  for (int i = 0; i < 2; ++i) sessions[i] = open_session(engine, &records[i], 1000);
  for (int i = 0; i < 2; ++i) assert_int_equal(pthread_create(&threads[i], NULL, run_many, sessions[i]), 0);
  for (int i = 0; i < 2; ++i) {
    void *failed;
    assert_int_equal(pthread_join(threads[i], &failed), 0);
    assert_null(failed);
  }
  for (int i = 0; i < 2; ++i) {
    int shares[2] = {0};
    check_runs(&records[i], 1, RUNS, hone_session_step_count(sessions[i]), shares);
    hone_session_destroy(sessions[i]);
  }
  hone_engine_release(engine);
  hone_device_close(device);
  hone_context_destroy(context);
}

/* The first span from `from` on that another one lies in, of this kind; NULL: none. A span is told when it ends, so
 * what holds it comes later. */
static const hone_span *holder(const record *r, int from, hone_span_kind kind) {
  for (int i = from + 1; i < r->count; ++i)
    if (r->spans[i].kind == kind && lies_in(&r->spans[from], &r->spans[i])) return &r->spans[i];
  return NULL;
}

static void test_build(void **state) {
  (void)state;
  hone_context *context;
  int kinds[HONE_SPAN_KIND_COUNT] = {0};
  assert_int_equal(hone_context_create(NULL, &context), HONE_OK);
  hone_device *device = open_device(context, "cpu", 1);
  record *r = &records[0];
  hone_engine *engine = build(context, device, r);
  assert_in_range(r->count, 1, SPANS - 1);
  for (int i = 0; i < r->count; ++i) {
    const hone_span *span = &r->spans[i];
    ++kinds[span->kind];
    if (i > 0) assert_true(span->end_ns >= r->spans[i - 1].end_ns);
    const bool outermost = span->kind == HONE_SPAN_PHASE && strcmp(span->name, "schedule") == 0;
    assert_true(outermost || holder(r, i, HONE_SPAN_PHASE));
    if (span->kind == HONE_SPAN_PASS) assert_string_equal(holder(r, i, HONE_SPAN_PHASE)->name, "passes");
    if (span->kind == HONE_SPAN_NODE) assert_string_equal(holder(r, i, HONE_SPAN_PHASE)->name, "measuring");
    if (span->kind == HONE_SPAN_SAMPLE) assert_non_null(holder(r, i, HONE_SPAN_NODE));
    for (int k = 0; k < i; ++k) { /* apart, or one in the other */
      const hone_span *other = &r->spans[k];
      assert_true(other->end_ns <= span->begin_ns || lies_in(other, span));
    }
  }
  assert_int_equal(kinds[HONE_SPAN_RUN] + kinds[HONE_SPAN_STEP] + kinds[HONE_SPAN_SHARE], 0);
  assert_true(kinds[HONE_SPAN_PASS] > 10 && kinds[HONE_SPAN_NODE] > 0);
  assert_true(kinds[HONE_SPAN_CANDIDATE] > 0 && kinds[HONE_SPAN_SAMPLE] > 0);
  hone_engine_release(engine);
  hone_device_close(device);
  hone_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_run),          cmocka_unit_test(test_room),
                                     cmocka_unit_test(test_fake_clock),   cmocka_unit_test(test_loop),
                                     cmocka_unit_test(test_two_sessions), cmocka_unit_test(test_build)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
