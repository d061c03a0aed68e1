/* SPDX-License-Identifier: Apache-2.0 */
/* test_schedules.c - engines with several schedules: each shape runs by the nearest one that takes it and gives what
 * the reference gives; one can be forced; what none takes is refused in words; instances and profiles are over all. */
#include "support/saved_engine.h"
#include "support/schedules.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CLASSES = SCHEDULES_CLASSES, MAX_BATCH = SCHEDULES_MAX_BATCH };
static const batch_range one_and_many[] = {{1, 1, 1}, {2, 8, 16}};

static hone_context *context;
static hone_device *device;

static int set_up(void **state) {
  const hone_device_options options = {.struct_size = sizeof options, .threads = 1};
  (void)state;
  return hone_context_create(NULL, &context) != HONE_OK ||
         hone_device_open(context, "cpu", 0, &options, &device) != HONE_OK;
}

static int tear_down(void **state) {
  (void)state;
  hone_device_close(device);
  hone_context_destroy(context);
  return 0;
}

static void check(hone_status status) {
  if (status == HONE_OK) return;
  for (int i = 0; i < hone_context_message_count(context); ++i)
    print_error("%s\n", hone_context_message(context, i, NULL));
  fail_msg("%s", hone_status_name(status));
}

static hone_engine *build(const schedules_net *net, const batch_range *ranges, int count) {
  hone_engine *engine;
  check(schedules_build(context, device, net, ranges, count, NULL, &engine));
  assert_int_equal(hone_engine_schedule_count(engine), count);
  return engine;
}

static hone_session *open_session(hone_engine *engine, int forced, int instances) {
  const hone_session_options options = {.struct_size = sizeof options,
                                        .instance_cache = instances,
                                        .one_schedule = forced >= 0,
                                        .schedule = forced >= 0 ? forced : 0};
  hone_session *session;
  check(hone_session_create(engine, &options, &session, hone_context_diagnostics(context)));
  return session;
}

static hone_session_stats stats_of(const hone_session *session) {
  hone_session_stats stats = HONE_SIZED(hone_session_stats);
  hone_session_get_stats(session, &stats);
  return stats;
}

static void run(const schedules_net *net, hone_session *session, int64_t batch, float *out) {
  const hone_status status = schedules_run(net, session, batch, out);
  if (status != HONE_OK) fail_msg("%s, batch %d: %s", net->name, (int)batch, hone_session_message(session, 0, NULL));
}

static void assert_near(const float *got, const float *want, int64_t count) {
  double difference = 0, whole = 0;
  for (int64_t i = 0; i < count; ++i) {
    difference += (double)(got[i] - want[i]) * (double)(got[i] - want[i]);
    whole += (double)want[i] * (double)want[i];
  }
  assert_true(whole > 0 && sqrt(difference / whole) < 1e-5);
}

static void reference(const schedules_net *net, float *out) {
  static const batch_range all = {1, 1, MAX_BATCH};
  const hone_build_options plain = {.struct_size = sizeof plain, .level = -1, .reference_only = true};
  hone_engine *engine;
  check(schedules_build(context, device, net, &all, 1, &plain, &engine));
  hone_session *session = open_session(engine, -1, 0);
  run(net, session, MAX_BATCH, out);
  hone_session_destroy(session);
  hone_engine_release(engine);
}

static void check_outputs(const schedules_net *net, hone_engine *engine, const float *want) {
  static const int64_t batches[] = {1, 2, 8, 1, 3, 16, 5, 1};
  hone_session *session = open_session(engine, -1, 3);
  float got[MAX_BATCH * CLASSES];
  for (size_t i = 0; i < sizeof batches / sizeof *batches; ++i) {
    run(net, session, batches[i], got);
    assert_near(got, want, batches[i] * CLASSES);
    assert_int_equal(stats_of(session).schedule, batches[i] > 1);
    assert_true(stats_of(session).instances <= 3); /* the bound is over all schedules */
  }
  hone_session_destroy(session);
}

static hone_engine *reload(const hone_engine *engine) {
  char path[] = "/tmp/hone_schedules_XXXXXX";
  const int fd = mkstemp(path);
  assert_true(fd >= 0);
  close(fd);
  hone_engine *loaded;
  check(hone_engine_save(engine, path, hone_context_diagnostics(context)));
  check(hone_engine_load(context, path, &device, 1, &loaded));
  saved_engine_remove(path);
  return loaded;
}

static void test_outputs(void **state) {
  (void)state;
  static const schedules_net *const nets[] = {&schedules_conv, &schedules_mlp};
  for (int n = 0; n < 2; ++n) {
    float want[MAX_BATCH * CLASSES];
    reference(nets[n], want);
    hone_engine *engine = build(nets[n], one_and_many, 2), *loaded = reload(engine);
    check_outputs(nets[n], engine, want);
    hone_engine_release(engine);
    assert_int_equal(hone_engine_schedule_count(loaded), 2);
    check_outputs(nets[n], loaded, want);
    hone_engine_release(loaded);
  }
}

/* Of two that take a shape, the one that was tuned nearer by factors; the first of equals. */
static void test_nearest(void **state) {
  (void)state;
  static const batch_range wide[] = {{1, 2, 16}, {1, 12, 16}, {1, 12, 16}, {4, 4, 4}};
  static const int want[MAX_BATCH + 1] = {0, 0, 0, 0, 3, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  hone_engine *engine = build(&schedules_mlp, wide, 4);
  hone_session *session = open_session(engine, -1, 0);
  float got[MAX_BATCH * CLASSES];
  for (int batch = 1; batch <= MAX_BATCH; ++batch) {
    run(&schedules_mlp, session, batch, got);
    if (stats_of(session).schedule != want[batch])
      fail_msg("batch %d runs by schedule %d, not %d", batch, stats_of(session).schedule, want[batch]);
  }
  hone_session_destroy(session);
  hone_engine_release(engine);
}

static void expect_refused(hone_session *session, int64_t batch, const char *says) {
  assert_int_equal(hone_session_set_shape(session, "x", 2, (int64_t[]){batch, 48}), HONE_INVALID);
  const char *message = hone_session_message(session, 0, NULL);
  if (strcmp(message, says) != 0) fail_msg("\"%s\" is not \"%s\"", message, says);
}

static void test_refused(void **state) {
  (void)state;
  static const batch_range apart[] = {{1, 1, 1}, {4, 6, 8}};
  hone_engine *engine = build(&schedules_mlp, apart, 2);
  hone_session *session = open_session(engine, -1, 0);
  float want[CLASSES], got[CLASSES];
  run(&schedules_mlp, session, 1, want);
  expect_refused(session, 9, "input x: dim 0 is 9; allowed: 1 to 1 (schedule 0), 4 to 8 (schedule 1)");
  expect_refused(session, 2, "input x: dim 0 is 2; allowed: 1 to 1 (schedule 0), 4 to 8 (schedule 1)");
  expect_refused(session, 0, "input x: dim 0 is 0; allowed: 1 to 1 (schedule 0), 4 to 8 (schedule 1)");
  assert_int_equal(hone_session_set_shape(session, "x", 3, (int64_t[]){4, 48, 1}), HONE_INVALID);
  assert_string_equal(hone_session_message(session, 0, NULL), "input x has rank 2, not 3");
  assert_int_equal(hone_session_set_shape(session, "x", 2, (int64_t[]){4, 47}), HONE_INVALID);
  assert_string_equal(hone_session_message(session, 0, NULL),
                      "input x: dim 0 is 4; allowed: 1 to 1 (schedule 0); input x: dim 1 is 47; allowed: 48 to 48 "
                      "(schedule 1)");
  run(&schedules_mlp, session, 1, got); /* nothing has changed */
  assert_memory_equal(got, want, sizeof got);
  hone_session_destroy(session);
  hone_engine_release(engine);
}

static void test_forced(void **state) {
  (void)state;
  static const batch_range both[] = {{1, 1, 16}, {2, 8, 16}};
  hone_engine *engine = build(&schedules_mlp, both, 2);
  float want[MAX_BATCH * CLASSES], got[MAX_BATCH * CLASSES];
  reference(&schedules_mlp, want);
  for (int forced = 0; forced < 2; ++forced) {
    hone_session *session = open_session(engine, forced, 0);
    hone_tensor x;
    assert_int_equal(hone_session_tensor(session, "x", &x), HONE_OK);
    assert_int_equal(x.type.shape.dim[0], both[forced].opt);
    for (int64_t batch = 2; batch <= MAX_BATCH; batch *= 2) {
      run(&schedules_mlp, session, batch, got);
      assert_near(got, want, batch * CLASSES);
      assert_int_equal(stats_of(session).schedule, forced);
    }
    if (forced == 1) expect_refused(session, 1, "input x: dim 0 is 1; allowed: 2 to 16 (schedule 1)");
    hone_session_destroy(session);
  }
  const hone_session_options absent = {.struct_size = sizeof absent, .one_schedule = true, .schedule = 2};
  hone_session *session;
  hone_context_clear_messages(context);
  assert_int_equal(hone_session_create(engine, &absent, &session, hone_context_diagnostics(context)), HONE_INVALID);
  assert_null(session);
  assert_string_equal(hone_context_message(context, 0, NULL), "there is no schedule 2: the engine has 2, from 0 on");
  hone_context_clear_messages(context);
  hone_engine_release(engine);
}

/* Each input's shape may be taken by some schedule, and both together by none. */
static void test_two_inputs(void **state) {
  (void)state;
  static const char text[] = "graph \"sum\" opset 17 { dim n in %a: f32[n,3] in %b: f32[n,3]\n"
                             "%y = add(%a, %b) @\"sum\" out %y as \"y\" }";
  static const hone_profile_shape shapes[] = {{"a", {2, {1, 3}}, {2, {1, 3}}, {2, {1, 3}}, 0},
                                              {"b", {2, {1, 3}}, {2, {1, 3}}, {2, {1, 3}}, 0},
                                              {"a", {2, {2, 3}}, {2, {4, 3}}, {2, {8, 3}}, 1},
                                              {"b", {2, {2, 3}}, {2, {4, 3}}, {2, {8, 3}}, 1}};
  const hone_build_options options = {.struct_size = sizeof options, .level = -1, .shapes = shapes, .shape_count = 4};
  hone_graph *graph;
  hone_engine *engine;
  check(hone_graph_parse(context, text, strlen(text), &graph));
  check(hone_engine_build(context, graph, &device, 1, &options, &engine));
  hone_session *session = open_session(engine, -1, 0);
  assert_int_equal(hone_session_set_shape(session, "a", 2, (int64_t[]){4, 3}), HONE_OK);
  assert_int_equal(hone_session_run(session), HONE_INVALID);
  assert_string_equal(hone_session_message(session, 0, NULL),
                      "input a: dim 0 is 4; allowed: 1 to 1 (schedule 0); input b: dim 0 is 1; allowed: 2 to 8 "
                      "(schedule 1)");
  assert_int_equal(hone_session_set_shape(session, "b", 2, (int64_t[]){5, 3}), HONE_OK);
  assert_int_equal(hone_session_run(session), HONE_INVALID);
  assert_string_equal(hone_session_message(session, 0, NULL), "input b: dim 0 is 5, but n is 4 elsewhere");
  assert_int_equal(hone_session_set_shape(session, "b", 2, (int64_t[]){4, 3}), HONE_OK);
  assert_int_equal(hone_session_run(session), HONE_OK);
  assert_int_equal(stats_of(session).schedule, 1);
  hone_session_destroy(session);
  hone_engine_release(engine);
  hone_graph_destroy(graph);
}

static void test_ports(void **state) {
  (void)state;
  hone_engine *engine = build(&schedules_conv, one_and_many, 2);
  hone_port_info port = HONE_SIZED(hone_port_info);
  assert_int_equal(hone_engine_input(engine, 0, &port), HONE_OK);
  assert_int_equal(port.type.shape.dim[0], -1);
  assert_int_equal(port.type.shape.dim[1], 3);
  assert_int_equal(port.min.dim[0], 1);
  assert_int_equal(port.opt.dim[0], 1);
  assert_int_equal(port.max.dim[0], 16);
  assert_int_equal(hone_engine_output(engine, 0, &port), HONE_OK);
  assert_int_equal(port.type.shape.dim[0], -1);
  assert_int_equal(hone_engine_schedule_input(engine, 0, 0, &port), HONE_OK);
  assert_int_equal(port.type.shape.dim[0], 1);
  assert_int_equal(hone_engine_schedule_input(engine, 1, 0, &port), HONE_OK);
  assert_int_equal(port.type.shape.dim[0], -1);
  assert_int_equal(port.min.dim[0], 2);
  assert_int_equal(port.opt.dim[0], 8);
  assert_int_equal(hone_engine_schedule_input(engine, 2, 0, &port), HONE_INVALID);
  assert_int_equal(hone_engine_schedule_input(engine, -1, 0, &port), HONE_INVALID);
  assert_int_equal(hone_engine_schedule_input(engine, 0, 1, &port), HONE_INVALID);
  hone_engine_release(engine);
}

static bool append(void *user, const char *text, size_t length) {
  char *out = user;
  const size_t at = strlen(out);
  if (at + length >= 1 << 16) return false;
  memcpy(out + at, text, length);
  out[at + length] = 0;
  return true;
}

static void expect_profile(const hone_session *session, int schedule, bool json, const char *has) {
  static char text[1 << 16];
  const hone_report_options options = {
      .struct_size = sizeof options, .json = json, .one_schedule = schedule >= 0, .schedule = schedule};
  text[0] = 0;
  check(hone_report_profile(session, &options, append, text, hone_context_diagnostics(context)));
  if (!strstr(text, has)) fail_msg("\"%s\" is not in\n%s", has, text);
}

/* Samples are kept for each schedule; the report is of the one that ran last unless another is asked for. */
static void test_profile(void **state) {
  (void)state;
  hone_engine *engine = build(&schedules_mlp, one_and_many, 2);
  const hone_session_options options = {.struct_size = sizeof options, .profile = true};
  hone_session *session;
  float got[MAX_BATCH * CLASSES];
  check(hone_session_create(engine, &options, &session, NULL));
  const hone_report_options second = {.struct_size = sizeof second, .one_schedule = true, .schedule = 1};
  run(&schedules_mlp, session, 1, got);
  assert_int_equal(hone_report_profile(session, &second, append, (char[8]){0}, NULL), HONE_INVALID); /* did not run */
  for (int i = 0; i < 3; ++i) run(&schedules_mlp, session, 4, got);
  expect_profile(session, -1, true, "\"schedule\": 1,");
  expect_profile(session, -1, true, "\"runs\": 3,");
  expect_profile(session, -1, true, "\"batch\": 4,");
  expect_profile(session, 0, true, "\"runs\": 1,");
  expect_profile(session, 0, true, "\"batch\": 1,");
  expect_profile(session, 1, false, "schedule 1 of 2");
  hone_step_profile step = HONE_SIZED(hone_step_profile);
  assert_int_equal(hone_session_step(session, 0, &step), HONE_OK);
  run(&schedules_mlp, session, 1, got);
  expect_profile(session, -1, true, "\"runs\": 2,");
  hone_session_destroy(session);
  hone_engine_release(engine);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_outputs),    cmocka_unit_test(test_nearest),
                                     cmocka_unit_test(test_refused),    cmocka_unit_test(test_forced),
                                     cmocka_unit_test(test_two_inputs), cmocka_unit_test(test_ports),
                                     cmocka_unit_test(test_profile)};
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
