/* SPDX-License-Identifier: Apache-2.0 */
/* test_max_error.c - how far the outputs may be from those of f32, and types asked for by layers' names, on the
 * stand-in device whose rows for halves are the faster ones (support/two_devices.h). */
#include "support/two_devices.h"
#include "plan/plan.h"
#include "run/engine.h"
#include "tensor/shape.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { LAYERS = 6, STEPS = 2 * LAYERS, TEXT_ROOM = 1 << 16 };

static hone_value *named(hone_graph *graph, const char *op, const char *name, hone_value *a, hone_value *b) {
  hone_value *const in[2] = {a, b};
  hone_value *out;
  two_devices_check(hone_graph_add_node(graph, op, name, in, b ? 2 : 1, NULL, 0, &out, 1));
  return out;
}

/* Products "layer_0" to "layer_5", a sine behind each. */
static hone_graph *net(void) {
  static const int64_t dims[2] = {ROWS, COLUMNS}, square[2] = {COLUMNS, COLUMNS};
  hone_graph *graph;
  hone_value *x;
  two_devices_seed = 23;
  two_devices_check(hone_graph_create(two_devices_context, "net", &graph));
  two_devices_check(hone_graph_add_input(graph, "a", HONE_F32, 2, dims, NULL, &x));
  for (int i = 0; i < LAYERS; ++i) {
    char name[24];
    (void)snprintf(name, sizeof name, "layer_%d", i);
    x = named(graph, "sin", NULL, named(graph, "matmul", name, x, two_devices_constant(graph, 2, square)), NULL);
  }
  two_devices_check(hone_graph_add_output(graph, "y", x));
  return graph;
}

static hone_status try_build(hone_graph *graph, hone_device *far, const hone_build_options *options,
                             hone_engine **out) {
  hone_build_options all = *options;
  all.struct_size = sizeof all;
  return hone_engine_build(two_devices_context, graph, &far, 1, &all, out);
}

static hone_engine *build(hone_graph *graph, hone_device *far, hone_build_options options) {
  hone_engine *engine;
  options.level = 2;
  two_devices_check(try_build(graph, far, &options, &engine));
  return engine;
}

/* Steps that compute in halves: products and sines. */
static int halves(const hone_engine *engine) {
  const hn_plan *plan = engine->schedules->plans[0];
  int count = 0;
  for (int s = 0; s < plan->step_count; ++s)
    count += plan->steps[s].tactic && plan->steps[s].tactic->compute == HONE_F16;
  return count;
}

static double told(const hone_engine *engine) { return engine->schedules->plans[0]->outputs[0].error_rel_l2; }

static void run(hone_engine *engine, const float *in, float *out) {
  static const int64_t dims[2] = {ROWS, COLUMNS};
  hone_session *session;
  const hone_session_options options = {.struct_size = sizeof options};
  two_devices_check(hone_session_create(engine, &options, &session, hone_context_diagnostics(two_devices_context)));
  hone_tensor t = {
      .type = hn_tensor_type(HONE_F32, 2, dims), .data = (void *)(uintptr_t)in, .bytes = COUNT * sizeof *in};
  two_devices_check_session(session, hone_session_copy_in(session, "a", &t));
  two_devices_check_session(session, hone_session_run(session));
  two_devices_check_session(session, hone_session_tensor(session, "y", &t));
  memcpy(out, t.data, COUNT * sizeof *out);
  hone_session_destroy(session);
}

static double distance(hone_engine *engine, hone_engine *plain, const float *in) {
  float got[COUNT], want[COUNT];
  double difference = 0, size = 0;
  run(engine, in, got);
  run(plain, in, want);
  for (int i = 0; i < COUNT; ++i) {
    difference += ((double)got[i] - want[i]) * ((double)got[i] - want[i]);
    size += (double)want[i] * want[i];
  }
  return sqrt(difference / size);
}

static void draw(float *in) {
  two_devices_seed = 77;
  for (int i = 0; i < COUNT; ++i) in[i] = two_devices_number();
}

static hone_named_tensor input_of(float *in) {
  static const int64_t dims[2] = {ROWS, COLUMNS};
  return (hone_named_tensor){
      .name = "a", .tensor = {.type = hn_tensor_type(HONE_F32, 2, dims), .data = in, .bytes = COUNT * sizeof *in}};
}

/* What the engine says of its outputs is what a run of both engines gives. */
static void test_told(void **state) {
  (void)state;
  float in[COUNT];
  draw(in);
  const hone_named_tensor input = input_of(in);
  hone_device *far = two_devices_far(0);
  hone_graph *graph = net();
  hone_engine *plain = build(graph, far, (hone_build_options){0});
  hone_engine *half =
      build(graph, far, (hone_build_options){.precisions = HONE_BIT(HONE_F16), .inputs = &input, .input_count = 1});
  assert_true(told(plain) < 0);
  assert_int_equal(halves(plain), 0);
  assert_int_equal(halves(half), STEPS);
  const double error = distance(half, plain, in);
  assert_true(error > 1e-6 && fabs(told(half) - error) < 1e-3 * error);
  hone_engine_release(plain);
  hone_engine_release(half);
  hone_graph_destroy(graph);
  hone_device_close(far);
}

static bool take_text(void *user, const char *text, size_t length) {
  char *all = user;
  const size_t at = strlen(all);
  if (at + length >= TEXT_ROOM) return false;
  memcpy(all + at, text, length);
  all[at + length] = 0;
  return true;
}

static void check_explained(hone_engine *engine) {
  static char text[TEXT_ROOM];
  const hone_report_options options = {.struct_size = sizeof options, .width = 200, .all = true};
  text[0] = 0;
  two_devices_check(
      hone_report_explain(engine, NULL, &options, take_text, text, hone_context_diagnostics(two_devices_context)));
  assert_non_null(strstr(text, "relative L2 from those of f32"));
  assert_non_null(strstr(text, "precision: returned to f32; alone in f32 it costs"));
  assert_non_null(strstr(text, "precision: stays narrow; alone in f32 it costs"));
}

/* The smaller the limit, the fewer halves; each limit holds, also when it is measured here. */
static void test_limits(void **state) {
  (void)state;
  float in[COUNT];
  draw(in);
  const hone_named_tensor input = input_of(in);
  hone_device *far = two_devices_far(0);
  hone_graph *graph = net();
  hone_engine *plain = build(graph, far, (hone_build_options){0});
  hone_build_options options = {.precisions = HONE_BIT(HONE_F16), .inputs = &input, .input_count = 1};
  hone_engine *half = build(graph, far, options);
  const double whole = told(half);
  int last = STEPS;
  for (int k = 0; k < 4; ++k) {
    static const double shares[] = {1.01, 0.8, 0.5, 1e-4};
    options.max_error = shares[k] * whole;
    hone_engine *engine = build(graph, far, options);
    const int left = halves(engine);
    assert_true(left <= last);
    assert_true(k != 0 || left == STEPS);
    assert_true(k != 1 || (left > 0 && left < STEPS));
    assert_true(k != 3 || left == 0);
    assert_true(told(engine) <= options.max_error);
    assert_true(distance(engine, plain, in) <= options.max_error);
    if (k == 1) check_explained(engine);
    last = left;
    hone_engine_release(engine);
  }
  hone_engine_release(half);
  hone_engine_release(plain);
  hone_graph_destroy(graph);
  hone_device_close(far);
}

static const hn_plan_step *step_of(const hone_engine *engine, const char *origin) {
  const hn_plan *plan = engine->schedules->plans[0];
  for (int s = 0; s < plan->step_count; ++s)
    for (int i = 0; i < plan->steps[s].origin_count; ++i)
      if (plan->steps[s].tactic && strcmp(plan->steps[s].origins[i], origin) == 0 && !plan->steps[s].caused_by)
        return &plan->steps[s];
  fail_msg("no step comes from %s", origin);
  return NULL;
}

static hone_dtype held(const hone_engine *engine, const char *origin) {
  return engine->schedules->plans[0]->tensors[step_of(engine, origin)->out[0]].type.dtype;
}

static void test_layer_types(void **state) {
  (void)state;
  hone_device *far = two_devices_far(0);
  hone_graph *graph = net();
  const hone_layer_type wide[] = {{.node = "layer_2", .compute = HONE_F32},
                                  {.node = "layer_[45]", .compute = HONE_F32}};
  hone_engine *engine = build(
      graph, far, (hone_build_options){.precisions = HONE_BIT(HONE_F16), .layer_types = wide, .layer_type_count = 2});
  for (int i = 0; i < LAYERS; ++i) {
    char name[24];
    (void)snprintf(name, sizeof name, "layer_%d", i);
    assert_int_equal(step_of(engine, name)->tactic->compute == HONE_F16, i == 0 || i == 1 || i == 3);
  }
  hone_engine_release(engine);
  const hone_layer_type half[] = {{.node = "layer_*", .compute = HONE_F32},
                                  {.node = "layer_3", .compute = HONE_F16, .output = HONE_F16}};
  engine = build(graph, far, (hone_build_options){.layer_types = half, .layer_type_count = 2}); /* without leave */
  assert_int_equal(step_of(engine, "layer_3")->tactic->compute, HONE_F16);
  assert_int_equal(held(engine, "layer_3"), HONE_F16);
  assert_int_equal(held(engine, "layer_2"), HONE_F32);
  assert_true(told(engine) > 1e-7 && told(engine) < 4e-3); /* from f32, though that layer may not be it */
  hone_engine_release(engine);
  hone_graph_destroy(graph);
  hone_device_close(far);
}

static const char *first_message(void) {
  assert_true(hone_context_message_count(two_devices_context) > 0);
  return hone_context_message(two_devices_context, 0, NULL);
}

static void test_refused(void **state) {
  (void)state;
  hone_device *far = two_devices_far(0);
  hone_graph *graph = net();
  hone_engine *engine = NULL;
  hone_layer_type types = {.node = "layer_2", .compute = HONE_BF16};
  const char *const no_cpu = "-CPU"; /* far alone, which knows no bf16 */
  hone_build_options options = {
      .layer_types = &types, .layer_type_count = 1, .level = 2, .tactic_sources = &no_cpu, .tactic_source_count = 1};
  assert_int_equal(try_build(graph, far, &options, &engine), HONE_UNSUPPORTED);
  assert_non_null(strstr(first_message(), "another type was asked for this layer to compute in"));
  hone_context_clear_messages(two_devices_context);
  types.preferred = true;
  assert_int_equal(try_build(graph, far, &options, &engine), HONE_OK);
  hone_engine_release(engine);
  types = (hone_layer_type){.node = "layer_7", .compute = HONE_F32};
  assert_int_equal(try_build(graph, far, &options, &engine), HONE_INVALID);
  assert_non_null(strstr(first_message(), "layer_7"));
  hone_context_clear_messages(two_devices_context);
  types = (hone_layer_type){.node = "layer_2", .compute = HONE_I8};
  assert_int_equal(try_build(graph, far, &options, &engine), HONE_INVALID);
  hone_context_clear_messages(two_devices_context);
  options = (hone_build_options){.max_error = -1};
  assert_int_equal(try_build(graph, far, &options, &engine), HONE_INVALID);
  hone_context_clear_messages(two_devices_context);
  types = (hone_layer_type){.node = "layer_2", .compute = HONE_F16}; /* what is asked for cannot be given back */
  options = (hone_build_options){.layer_types = &types, .layer_type_count = 1, .max_error = 1e-9, .level = 2};
  assert_int_equal(try_build(graph, far, &options, &engine), HONE_UNSUPPORTED);
  assert_non_null(strstr(first_message(), "asked for by the lock or by a layer's type"));
  hone_context_clear_messages(two_devices_context);
  hone_graph_destroy(graph);
  hone_device_close(far);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_told), cmocka_unit_test(test_limits),
                                     cmocka_unit_test(test_layer_types), cmocka_unit_test(test_refused)};
  return cmocka_run_group_tests(tests, two_devices_set_up, two_devices_tear_down);
}
