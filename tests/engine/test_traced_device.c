/* SPDX-License-Identifier: Apache-2.0 */
/* test_traced_device.c - a device that tells what its queue does (support/two_devices.h: 5,000 ns a kernel, 500 a copy,
 * 40 between two): a profile has the times of the replayed run, and work and gaps add up to it. */
#include "run/session.h"
#include "support/two_devices.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

enum { RUNS = 5, KERNEL_NS = 5000, COPY_NS = 500, BETWEEN_NS = 40 };

/* Products and elementwise steps on the device, a softmax on the host between them. */
static hone_engine *network(hone_device *far) {
  static const int64_t square[2] = {COLUMNS, COLUMNS}, dims[2] = {ROWS, COLUMNS};
  hone_graph *graph;
  hone_value *x;
  hone_engine *engine;
  two_devices_seed = 11;
  two_devices_check(hone_graph_create(two_devices_context, "traced", &graph));
  two_devices_check(hone_graph_add_input(graph, "a", HONE_F32, 2, dims, NULL, &x));
  x = two_devices_add(graph, "matmul", x, two_devices_constant(graph, 2, square), NULL);
  x = two_devices_add(graph, "matmul", x, two_devices_constant(graph, 2, square), NULL);
  x = two_devices_add(graph, "matmul", x, two_devices_constant(graph, 2, square), NULL);
  x = two_devices_add(graph, "softmax", x, NULL, NULL);
  x = two_devices_add(graph, "matmul", x, two_devices_constant(graph, 2, square), NULL);
  two_devices_check(hone_graph_add_output(graph, "y", x));
  const hone_build_options options = {.struct_size = sizeof options, .level = -1};
  two_devices_check(hone_engine_build(two_devices_context, graph, &far, 1, &options, &engine));
  hone_graph_destroy(graph);
  return engine;
}

static hone_session *profiled(hone_engine *engine, bool no_replay, bool marks_only) {
  const hone_session_options options = {
      .struct_size = sizeof options, .profile = true, .no_replay = no_replay, .marks_only = marks_only};
  hone_session *session;
  two_devices_check(hone_session_create(engine, &options, &session, hone_context_diagnostics(two_devices_context)));
  for (int i = 0; i < RUNS; ++i) two_devices_check_session(session, hone_session_run(session));
  return session;
}

static bool add_text(void *user, const char *bytes, size_t count) {
  char *text = user;
  const size_t used = strlen(text), room = (1 << 16) - 1 - used;
  memcpy(text + used, bytes, count < room ? count : room);
  text[used + (count < room ? count : room)] = 0;
  return true;
}

static const char *report(const hone_session *session, bool json) {
  static char text[1 << 16];
  const hone_report_options options = {.struct_size = sizeof options, .json = json, .width = 200};
  text[0] = 0;
  two_devices_check(
      hone_report_profile(session, &options, add_text, text, hone_context_diagnostics(two_devices_context)));
  return text;
}

static hn_trace trace_of(const hone_session *session, hn_arena *arena) {
  hn_trace trace;
  two_devices_check(hn_session_trace(session, 0, arena, &trace, hone_context_diagnostics(two_devices_context)));
  return trace;
}

static void test_times(void **state) {
  (void)state;
  hone_device *far = two_devices_far(0);
  hone_engine *engine = network(far);
  const hn_plan *plan = engine->schedules->plans[0];
  hone_session *session = profiled(engine, false, false);
  hn_arena arena;
  hn_arena_init(&arena, hn_allocator_default());
  const hn_trace trace = trace_of(session, &arena);
  int kernels = 0, copies = 0, on_host = 0, first = -1;
  double sum_ns = 0, gap_ns = 0;
  for (int s = 0; s < plan->step_count; ++s) {
    const hn_plan_step *step = &plan->steps[s];
    const hn_trace_step *times = &trace.steps[s];
    if (plan->spaces[step->device] == plan->host || step->kind == HN_STEP_WAIT || step->kind == HN_STEP_VIEW) {
      assert_int_equal(times->pieces, 0);
      on_host += step->kind == HN_STEP_CALL;
      continue;
    }
    const bool copy = step->kind == HN_STEP_COPY;
    copies += copy;
    kernels += !copy;
    assert_int_equal(times->pieces, 1);
    assert_true(times->median_ns == (copy ? COPY_NS : KERNEL_NS));
    /* Only inside a replay: the host launches copies and replays one by one. */
    assert_true(times->gap_ns == (!copy && plan->steps[s - 1].kind == HN_STEP_CALL ? BETWEEN_NS : 0));
    if (!copy) assert_string_equal(times->kernel, "far_kernel");
    if (first < 0) first = s;
    sum_ns += times->total_ns / RUNS;
    gap_ns += times->gap_ns;
  }
  assert_true(kernels == 4 && copies == 4 && on_host == 1);
  assert_int_equal(trace.queue.runs, RUNS);
  assert_int_equal(trace.queue.unknown, 0);
  assert_true(trace.queue.work_ns == sum_ns && trace.queue.gap_ns == gap_ns && trace.queue.beside_ns == 0);
  assert_true(trace.queue.span_ns == sum_ns + gap_ns);
  assert_true(gap_ns == 2 * BETWEEN_NS && trace.queue.apart_ns == 5 * BETWEEN_NS);
  assert_true(trace.queue.to_device_ns == 2 * COPY_NS && trace.queue.to_host_ns == 2 * COPY_NS);
  assert_int_equal(trace.queue.replays, 2); /* on both sides of the host's step */
  assert_true(trace.queue.launch_ns > 0 && trace.queue.launch_ns == 2 * session->launch_ns);
  assert_null(trace.untraced);
  assert_non_null(strstr(report(session, false), "gap ms"));
  assert_non_null(strstr(report(session, true), "\"queue\""));
  assert_non_null(strstr(report(session, true), "\"launch_ms\""));
  assert_non_null(strstr(report(session, false), "to give the device 2 replays"));
  assert_non_null(strstr(report(session, true), "\"kernel\": \"far_kernel\""));

  /* Off again: what is recorded now is not traced, and nothing that was measured is lost. */
  hone_session_set_profile(session, false);
  hone_session_stats stats = HONE_SIZED(hone_session_stats);
  two_devices_check_session(session, hone_session_run(session));
  hone_session_get_stats(session, &stats);
  assert_int_equal(session->traced, -1);
  assert_int_equal(stats.replays, 2);
  assert_int_equal(trace_of(session, &arena).queue.runs, RUNS);
  hn_arena_deinit(&arena);
  hone_session_destroy(session);
  hone_engine_release(engine);
  hone_device_close(far);
}

/* A device that does not tell, a session that is not to replay, one that is to use marks: marks around each step. */
static void test_untraced(void **state) {
  (void)state;
  for (int k = 0; k < 3; ++k) {
    hone_device *far = two_devices_far(k == 1);
    hone_engine *engine = network(far);
    hone_session *session = profiled(engine, k == 0, k == 2);
    hn_arena arena;
    hn_arena_init(&arena, hn_allocator_default());
    const hn_trace trace = trace_of(session, &arena);
    assert_int_equal(trace.queue.runs, 0);
    assert_int_equal(session->traced, -1);
    assert_true(session->launch_ns == 0); /* unit 1 records no copies, which is no failure */
    assert_true((trace.untraced != NULL) == (k == 1));
    if (k == 1) {
      assert_string_equal(trace.untraced, "unit 1 does not tell what its queue does");
      assert_non_null(strstr(report(session, false), "unit 1 does not tell"));
      assert_non_null(strstr(report(session, true), "\"untraced\""));
    }
    int device_steps = 0;
    for (int s = 0; s < trace.step_count; ++s) device_steps += trace.steps[s].median_ns == KERNEL_NS;
    assert_int_equal(device_steps, 4);
    assert_int_equal(session->diag.count, 0);
    hn_arena_deinit(&arena);
    hone_session_destroy(session);
    hone_engine_release(engine);
    hone_device_close(far);
  }
}

/* Copies and computing of a run by the device's clock; the host's step between them is in none of them. */
static void test_parts(void **state) {
  (void)state;
  static const hone_part_kind kinds[] = {HONE_PART_TO_DEVICE, HONE_PART_COMPUTE, HONE_PART_TO_HOST,
                                         HONE_PART_TO_DEVICE, HONE_PART_COMPUTE, HONE_PART_TO_HOST};
  static const double lengths_ns[] = {COPY_NS, 3 * KERNEL_NS, COPY_NS, COPY_NS, KERNEL_NS, COPY_NS};
  hone_device *far = two_devices_far(0);
  hone_engine *engine = network(far);
  hone_session *session, *without;
  hone_run_part parts[HONE_MOST_PARTS];
  int count;
  const hone_session_options options = {.struct_size = sizeof options, .parts = true};
  two_devices_check(hone_session_create(engine, &options, &session, hone_context_diagnostics(two_devices_context)));
  assert_int_equal(hone_session_parts(session, parts, &count), HONE_INVALID);
  for (int run = 0; run < RUNS; ++run) {
    two_devices_check_session(session, run % 2 ? hone_session_enqueue(session) : hone_session_run(session));
    two_devices_check_session(session, hone_session_wait(session));
    two_devices_check_session(session, hone_session_parts(session, parts, &count));
    assert_int_equal(count, 6);
    for (int i = 0; i < count; ++i) {
      assert_int_equal(parts[i].kind, kinds[i]);
      assert_true(parts[i].end_ns - parts[i].begin_ns == lengths_ns[i]);
      assert_true(i == 0 || parts[i].begin_ns == parts[i - 1].end_ns);
    }
  }
  two_devices_check(hone_session_create(engine, NULL, &without, hone_context_diagnostics(two_devices_context)));
  two_devices_check_session(without, hone_session_run(without));
  assert_int_equal(hone_session_parts(without, parts, &count), HONE_INVALID);
  assert_int_equal(count, 0);
  hone_session_destroy(without);
  hone_session_destroy(session);
  hone_engine_release(engine);
  hone_device_close(far);
}

static void count(void *user) { ++*(int *)user; }

/* A call behind what was enqueued, and nothing before the device was there. Events: this device knows none. */
static void test_done(void **state) {
  (void)state;
  hone_device *far = two_devices_far(0);
  hone_engine *engine = network(far);
  hone_session *session;
  int calls = 0, event;
  two_devices_check(hone_session_create(engine, NULL, &session, hone_context_diagnostics(two_devices_context)));
  for (int run = 1; run <= RUNS; ++run) {
    two_devices_check_session(session, hone_session_enqueue(session));
    two_devices_check_session(session, hone_session_on_done(session, count, &calls));
    assert_int_equal(calls, run - 1); /* this device does nothing before it is waited for */
    two_devices_check_session(session, hone_session_wait(session));
    assert_int_equal(calls, run);
  }
  assert_int_equal(hone_session_wait_event(session, &event), HONE_UNSUPPORTED);
  assert_int_equal(hone_session_record_event(session, &event), HONE_UNSUPPORTED);
  assert_non_null(strstr(hone_session_message(session, 0, NULL), "no events"));
  hone_session_destroy(session);
  hone_engine_release(engine);
  hone_device_close(far);
}

/* The host's memory alone: a run is done when it returns, nothing is queued, and there are no parts to tell. */
static void test_host(void **state) {
  (void)state;
  hone_device *cpu;
  two_devices_check(hone_device_open(two_devices_context, "cpu", 0, NULL, &cpu));
  hone_engine *engine = network(cpu);
  hone_session *session;
  hone_run_part parts[HONE_MOST_PARTS];
  int calls = 0, event, part_count = -1;
  const hone_session_options options = {.struct_size = sizeof options, .parts = true};
  two_devices_check(hone_session_create(engine, &options, &session, hone_context_diagnostics(two_devices_context)));
  two_devices_check_session(session, hone_session_enqueue(session));
  two_devices_check_session(session, hone_session_on_done(session, count, &calls));
  assert_int_equal(calls, 1);
  two_devices_check_session(session, hone_session_wait(session));
  two_devices_check_session(session, hone_session_parts(session, parts, &part_count));
  assert_int_equal(part_count, 0);
  assert_int_equal(hone_session_record_event(session, &event), HONE_UNSUPPORTED);
  assert_non_null(strstr(hone_session_message(session, 0, NULL), "no device of the engine has a queue"));
  hone_session_destroy(session);
  hone_engine_release(engine);
  hone_device_close(cpu);
}

/* A kernel that traps ends the session with the device's words; another session of the engine is none the worse. */
static void test_trap(void **state) {
  (void)state;
  for (int k = 0; k < 2; ++k) {
    hone_device *far = two_devices_far(k);
    hone_engine *engine = network(far);
    hone_session *session, *other;
    float in[COUNT] = {0.5f};
    const hone_tensor a = {{HONE_TENSOR, HONE_F32, HONE_PLAIN, {2, {ROWS, COLUMNS}}}, in, sizeof in};
    two_devices_check(hone_session_create(engine, NULL, &session, hone_context_diagnostics(two_devices_context)));
    two_devices_check(hone_session_create(engine, NULL, &other, hone_context_diagnostics(two_devices_context)));
    two_devices_check_session(session, hone_session_copy_in(session, "a", &a));
    two_devices_check_session(session, hone_session_run(session));
    in[0] = 12345;
    two_devices_check_session(session, hone_session_copy_in(session, "a", &a));
    assert_int_equal(hone_session_run(session), HONE_DEVICE);
    if (k == 0) assert_non_null(strstr(hone_session_message(session, 0, NULL), "a kernel trapped"));
    in[0] = 0.5f;
    for (int again = 0; again < 3; ++again) {
      hone_tensor y;
      const hone_status status = again == 0   ? hone_session_copy_in(session, "a", &a)
                                 : again == 1 ? hone_session_run(session)
                                              : hone_session_tensor(session, "y", &y);
      assert_int_equal(status, HONE_DEVICE);
      assert_non_null(strstr(hone_session_message(session, 0, NULL), "the session failed before: "));
    }
    two_devices_check_session(other, hone_session_run(other));
    hone_session_destroy(session);
    hone_session_destroy(other);
    hone_engine_release(engine);
    hone_device_close(far);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_times), cmocka_unit_test(test_untraced),
                                     cmocka_unit_test(test_parts), cmocka_unit_test(test_done),
                                     cmocka_unit_test(test_host),  cmocka_unit_test(test_trap)};
  return cmocka_run_group_tests(tests, two_devices_set_up, two_devices_tear_down);
}
