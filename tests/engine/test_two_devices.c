/* SPDX-License-Identifier: Apache-2.0 */
/* test_two_devices.c - plans over two memories (support/two_devices.h): every byte that crosses does so once, what the
 * host runs is fused as on the host alone, damaged plans are refused, and an engine without its device is described. */
#include "support/two_devices.h"
#include "device/device.h"
#include "plan/plan.h"
#include "run/engine.h"
#include "support/small_net.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* far, host, far: steps, arenas and devices as they must be, and what the checks say when they are not. */
static hone_engine *sandwich(hone_device *far) {
  static const int64_t square[2] = {COLUMNS, COLUMNS}, dims[2] = {ROWS, COLUMNS};
  hone_graph *graph;
  hone_value *x;
  hone_engine *engine;
  two_devices_seed = 7;
  two_devices_check(hone_graph_create(two_devices_context, "sandwich", &graph));
  two_devices_check(hone_graph_add_input(graph, "a", HONE_F32, 2, dims, NULL, &x));
  x = two_devices_add(graph, "tanh", two_devices_add(graph, "matmul", x, two_devices_constant(graph, 2, square), NULL),
                      NULL, NULL);
  x = two_devices_add(graph, "softmax", x, NULL, NULL);
  x = two_devices_add(graph, "matmul", x, two_devices_constant(graph, 2, square), NULL);
  two_devices_check(hone_graph_add_output(graph, "y", x));
  const hone_build_options options = {.struct_size = sizeof options, .level = -1};
  two_devices_check(hone_engine_build(two_devices_context, graph, &far, 1, &options, &engine));
  hone_graph_destroy(graph);
  return engine;
}

typedef struct told {
  hone_span run;
  int steps, queued, wrong;
} told;

static void hear(void *user, const hone_span *span) {
  told *t = user;
  if (span->kind == HONE_SPAN_RUN) t->run = *span;
  if (span->kind != HONE_SPAN_STEP) return;
  ++t->steps;
  t->queued += span->queued;
  t->wrong += span->queued != (span->device == 0) || span->begin_ns < t->run.begin_ns || span->end_ns > t->run.end_ns ||
              span->begin_ns > span->end_ns;
}

/* What far did late in its queue lies in the run, on its own track. */
static void test_spans(void **state) {
  (void)state;
  hone_device *far = two_devices_far(0);
  hone_engine *engine = sandwich(far);
  told t = {0};
  const hone_session_options options = {
      .struct_size = sizeof options, .profile = true, .on_span = hear, .on_span_user = &t, .trace_shares = 10};
  hone_session *session;
  two_devices_check(hone_session_create(engine, &options, &session, NULL));
  for (int i = 0; i < 3; ++i) two_devices_check_session(session, hone_session_run(session));
  assert_int_equal(t.steps, 3 * 8);
  assert_int_equal(t.queued, 3 * 7);
  assert_int_equal(t.wrong, 0);
  hone_session_destroy(session);
  hone_engine_release(engine);
  hone_device_close(far);
}

static void test_plan(void **state) {
  (void)state;
  hone_device *far = two_devices_far(0);
  hone_engine *engine = sandwich(far);
  hn_plan *plan = engine->schedules->plans[0];
  static const hn_step_kind kinds[] = {HN_STEP_COPY, HN_STEP_CALL, HN_STEP_COPY, HN_STEP_WAIT,
                                       HN_STEP_CALL, HN_STEP_COPY, HN_STEP_CALL, HN_STEP_COPY};
  static const char *const on[] = {"far", "far", "far", "far", "cpu", "far", "far", "far"};
  assert_int_equal(plan->step_count, 8);
  for (int s = 0; s < 8; ++s) {
    assert_int_equal(plan->steps[s].kind, kinds[s]);
    assert_string_equal(plan->device_kinds[plan->steps[s].device], on[s]);
  }
  assert_int_equal(plan->host, 1);
  assert_true(plan->space_arena_bytes[0] > 0 && plan->space_arena_bytes[1] > 0);
  assert_int_equal(plan->space_arena_bytes[0] + plan->space_arena_bytes[1], plan->arena_bytes);
  hone_diagnostics *diag = hone_context_diagnostics(two_devices_context);
  assert_int_equal(hn_plan_check(plan, diag), HONE_OK);

  const hn_plan_step wait = plan->steps[3], copy = plan->steps[2], host = plan->steps[4];
  plan->steps[3].device = 1; /* a wait for the host itself */
  assert_int_equal(hn_plan_check(plan, diag), HONE_MALFORMED);
  plan->steps[3] = copy; /* nobody waits */
  plan->steps[2] = wait;
  assert_int_equal(hn_plan_check(plan, diag), HONE_MALFORMED);
  assert_non_null(strstr(
      hone_context_message(two_devices_context, hone_context_message_count(two_devices_context) - 1, NULL), "waited"));
  plan->steps[3] = wait;
  plan->steps[2] = copy;
  plan->steps[4].device = 2; /* the reference has no such tactic */
  assert_int_equal(hn_plan_check(plan, diag), HONE_MALFORMED);
  plan->steps[4] = host;
  plan->tensors[host.in[0]].device = 0; /* the host would read the device's memory */
  assert_int_equal(hn_plan_check(plan, diag), HONE_MALFORMED);
  plan->tensors[host.in[0]].device = 1;
  plan->space_arena_bytes[0] -= 64; /* one arena too small, the other too large */
  plan->space_arena_bytes[1] += 64;
  assert_int_equal(hn_plan_check(plan, diag), HONE_MALFORMED);
  plan->space_arena_bytes[0] += 64;
  plan->space_arena_bytes[1] -= 64;
  assert_int_equal(hn_plan_check(plan, diag), HONE_OK);
  hone_engine_release(engine);
  hone_device_close(far);
  hone_context_clear_messages(two_devices_context);
}

/* What is elementwise alone between the host's steps stays there: nothing crosses. With a product it goes. */
static void test_stay(void **state) {
  (void)state;
  static const int64_t square[2] = {COLUMNS, COLUMNS}, dims[2] = {ROWS, COLUMNS};
  hone_device *far = two_devices_far(0);
  for (int product = 0; product < 2; ++product) {
    hone_graph *graph;
    hone_value *x;
    hone_engine *engine;
    two_devices_seed = 9;
    two_devices_check(hone_graph_create(two_devices_context, "stay", &graph));
    two_devices_check(hone_graph_add_input(graph, "a", HONE_F32, 2, dims, NULL, &x));
    x = two_devices_add(graph, "softmax", x, NULL, NULL);
    if (product) x = two_devices_add(graph, "matmul", x, two_devices_constant(graph, 2, square), NULL);
    x = two_devices_add(graph, "mul", two_devices_add(graph, "tanh", x, NULL, NULL), x, NULL);
    x = two_devices_add(graph, "softmax", x, NULL, NULL);
    two_devices_check(hone_graph_add_output(graph, "y", x));
    const hone_build_options options = {.struct_size = sizeof options, .level = -1};
    two_devices_check(hone_engine_build(two_devices_context, graph, &far, 1, &options, &engine));
    int copies = 0;
    for (int s = 0; s < engine->schedules->plans[0]->step_count; ++s)
      copies += engine->schedules->plans[0]->steps[s].kind == HN_STEP_COPY;
    assert_int_equal(copies, product ? 2 : 0);
    hone_engine_release(engine);
    hone_graph_destroy(graph);
  }
  hone_device_close(far);
}

static int count_steps(const hone_engine *engine, const char *op, const char *kind) {
  int count = 0;
  for (int s = 0; s < engine->schedules->plans[0]->step_count; ++s) {
    const hn_plan_step *step = &engine->schedules->plans[0]->steps[s];
    count += step->kind == HN_STEP_CALL && strcmp(step->op->name, op) == 0 &&
             strcmp(engine->schedules->plans[0]->device_kinds[step->device], kind) == 0;
  }
  return count;
}

/* What the host runs is fused as if it were alone; what far runs is not fused into what only the host has. */
static void test_fusion(void **state) {
  (void)state;
  static const int64_t square[2] = {COLUMNS, COLUMNS}, dims[2] = {ROWS, COLUMNS};
  hone_device *far = two_devices_far(0), *cpu;
  hone_graph *net, *graph;
  hone_value *x;
  hone_engine *here, *both;
  const hone_build_options options = {.struct_size = sizeof options,
                                      .level = -1}; /* nothing is timed: equal nets, equal plans */
  two_devices_check(hone_device_open(two_devices_context, "cpu", 0, NULL, &cpu));
  two_devices_check(small_net_graph(two_devices_context, false, &net));
  two_devices_check(hone_engine_build(two_devices_context, net, &cpu, 1, &options, &here));
  two_devices_check(hone_engine_build(two_devices_context, net, &far, 1, &options, &both));
  assert_true(count_steps(here, "conv", "cpu") > 0);
  assert_int_equal(count_steps(both, "conv", "cpu"), count_steps(here, "conv", "cpu"));
  assert_int_equal(count_steps(both, "relu", "cpu") + count_steps(both, "relu", "far"),
                   count_steps(here, "relu", "cpu"));
  hone_engine_release(both);
  hone_engine_release(here);
  hone_graph_destroy(net);

  two_devices_seed = 11;
  two_devices_check(hone_graph_create(two_devices_context, "sigmoid", &graph));
  two_devices_check(hone_graph_add_input(graph, "a", HONE_F32, 2, dims, NULL, &x));
  x = two_devices_add(graph, "sigmoid",
                      two_devices_add(graph, "matmul", x, two_devices_constant(graph, 2, square), NULL), NULL, NULL);
  two_devices_check(hone_graph_add_output(graph, "y", x));
  two_devices_check(hone_engine_build(two_devices_context, graph, &cpu, 1, &options, &here));
  two_devices_check(hone_engine_build(two_devices_context, graph, &far, 1, &options, &both));
  assert_int_equal(count_steps(here, "sigmoid", "cpu"), 0); /* the host has it in its product */
  assert_int_equal(count_steps(both, "linear", "far"), 1);
  assert_int_equal(count_steps(both, "sigmoid", "far"), 1);
  hone_engine_release(both);
  hone_engine_release(here);
  hone_graph_destroy(graph);
  hone_device_close(cpu);
  hone_device_close(far);
}

/* The host's bytes that a copy reads live until the host waits. */
static void test_lives(void **state) {
  (void)state;
  hone_device *far = two_devices_far(0);
  hone_engine *engine = sandwich(far);
  const hn_plan *plan = engine->schedules->plans[0];
  hn_life lives[64];
  assert_true(plan->tensor_count < 64);
  hn_plan_lives(plan, lives);
  assert_int_equal(lives[plan->steps[5].in[0]].last, plan->step_count - 1);
  assert_int_equal(lives[plan->steps[0].in[0]].last, 3);
  hone_engine_release(engine);
  hone_device_close(far);
}

static bool write_to(void *user, const char *piece, size_t length) { return fwrite(piece, 1, length, user) == length; }

/* An engine for far is refused, in words, where far is not. */
static void test_without(void **state) {
  (void)state;
  hone_device *far = two_devices_far(0), *cpu;
  hone_engine *engine = sandwich(far), *loaded;
  two_devices_check(hone_engine_save(engine, "two_devices.hone", hone_context_diagnostics(two_devices_context)));
  hone_engine_release(engine);
  two_devices_check(hone_device_open(two_devices_context, "cpu", 0, NULL, &cpu));
  assert_int_equal(hone_engine_load(two_devices_context, "two_devices.hone", &cpu, 1, &loaded), HONE_DEVICE);
  assert_non_null(strstr(
      hone_context_message(two_devices_context, hone_context_message_count(two_devices_context) - 1, NULL), "far"));
  hone_context_clear_messages(two_devices_context);
  /* It can be looked at: its tactics are told apart from those that are here; a session of it is refused, in words. */
  hone_session *session;
  char *text = NULL;
  size_t bytes = 0;
  FILE *sink = open_memstream(&text, &bytes);
  assert_non_null(sink);
  two_devices_check(hone_engine_load(two_devices_context, "two_devices.hone", NULL, 0, &loaded));
  two_devices_check(hone_report_engine(loaded, NULL, write_to, sink, hone_context_diagnostics(two_devices_context)));
  two_devices_check(hone_report_memory(loaded, NULL, write_to, sink, hone_context_diagnostics(two_devices_context)));
  fclose(sink);
  assert_non_null(strstr(text, "far.linear (not here)"));
  assert_null(strstr(text, "softmax.f32.avx2 (not here)"));
  free(text);
  assert_int_equal(hone_session_create(loaded, NULL, &session, hone_context_diagnostics(two_devices_context)),
                   HONE_DEVICE);
  assert_non_null(strstr(
      hone_context_message(two_devices_context, hone_context_message_count(two_devices_context) - 1, NULL), "look at"));
  hone_context_clear_messages(two_devices_context);
  hone_engine_release(loaded);
  unlink("two_devices.hone");
  unlink("two_devices.hone.ledger");
  hone_device_close(cpu);
  hone_device_close(far);
}

static void test_verify(void **state) {
  (void)state;
  hone_device *far = two_devices_far(1);
  hone_engine *engine = sandwich(far);
  bool within = false;
  char *text = NULL;
  size_t bytes = 0;
  FILE *sink = open_memstream(&text, &bytes);
  assert_non_null(sink);
  two_devices_check(hone_verify(engine, NULL, write_to, sink, &within, hone_context_diagnostics(two_devices_context)));
  fclose(sink);
  assert_true(within);
  assert_non_null(strstr(text, "far.linear"));
  free(text);
  hone_engine_release(engine);
  hone_device_close(far);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_plan),   cmocka_unit_test(test_spans),
                                     cmocka_unit_test(test_lives),  cmocka_unit_test(test_stay),
                                     cmocka_unit_test(test_fusion), cmocka_unit_test(test_without),
                                     cmocka_unit_test(test_verify)};
  return cmocka_run_group_tests(tests, two_devices_set_up, two_devices_tear_down);
}
