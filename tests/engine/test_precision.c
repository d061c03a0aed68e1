/* SPDX-License-Identifier: Apache-2.0 */
/* test_precision.c - storage as an axis, on the stand-in device whose rows for halves are the faster ones
 * (support/two_devices.h): without leave nothing changes; with it chains take f16 between them, and casts stand at the
 * edges, or in the products that can read and write either. */
#include "support/two_devices.h"
#include "device/device.h"
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
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TEXT_ROOM = 1 << 16 };
typedef hone_graph *make_graph(void);

static hone_graph *begin(hone_value **out_input) {
  static const int64_t dims[2] = {ROWS, COLUMNS};
  hone_graph *graph;
  two_devices_seed = 11;
  two_devices_check(hone_graph_create(two_devices_context, "net", &graph));
  two_devices_check(hone_graph_add_input(graph, "a", HONE_F32, 2, dims, NULL, out_input));
  return graph;
}

static hone_value *product(hone_graph *graph, hone_value *x) {
  static const int64_t square[2] = {COLUMNS, COLUMNS};
  return two_devices_add(graph, "matmul", x, two_devices_constant(graph, 2, square), NULL);
}

/* Products at both ends, a reader of two values between them. */
static hone_graph *between_products(void) {
  hone_value *x;
  hone_graph *graph = begin(&x);
  x = product(graph, x);
  hone_value *left = two_devices_add(graph, "sin", x, NULL, NULL),
             *right = two_devices_add(graph, "cos", x, NULL, NULL);
  x = product(graph, two_devices_add(graph, "mul", left, right, NULL));
  two_devices_check(hone_graph_add_output(graph, "y", x));
  return graph;
}

/* A product between elementwise operators, which halves reach by casts alone. */
static hone_graph *between_elementwise(void) {
  hone_value *x;
  hone_graph *graph = begin(&x);
  for (int i = 0; i < 3; ++i)
    x = two_devices_add(graph, "cos", product(graph, two_devices_add(graph, "sin", x, NULL, NULL)), NULL, NULL);
  two_devices_check(hone_graph_add_output(graph, "y", x));
  return graph;
}

static hone_engine *build(hone_graph *graph, hone_device *far, uint32_t precisions, int level) {
  hone_engine *engine;
  const hone_build_options options = {.struct_size = sizeof options, .level = level, .precisions = precisions};
  two_devices_check(hone_engine_build(two_devices_context, graph, &far, 1, &options, &engine));
  return engine;
}

/* Steps that convert, and values that are held as f16. */
static void count(const hone_engine *engine, int *converts, int *halves) {
  const hn_plan *plan = engine->schedules->plans[0];
  *converts = *halves = 0;
  for (int s = 0; s < plan->step_count; ++s)
    *converts += plan->steps[s].op && strcmp(plan->steps[s].op->name, "convert") == 0;
  for (int t = 0; t < plan->tensor_count; ++t) {
    *halves += plan->tensors[t].type.dtype == HONE_F16;
    assert_int_equal(plan->tensors[t].dtype, HONE_F32);
  }
}

static void run(hone_engine *engine, two_devices_numbers *n) {
  hone_session *session;
  const hone_session_options options = {.struct_size = sizeof options};
  two_devices_check(hone_session_create(engine, &options, &session, hone_context_diagnostics(two_devices_context)));
  two_devices_seed = 5;
  for (int i = 0; i < COUNT; ++i) n->in[0][i] = two_devices_number();
  static const int64_t dims[2] = {ROWS, COLUMNS};
  hone_tensor t = {.type = hn_tensor_type(HONE_F32, 2, dims), .data = n->in[0], .bytes = sizeof n->in[0]};
  two_devices_check_session(session, hone_session_copy_in(session, "a", &t));
  two_devices_check_session(session, hone_session_run(session));
  two_devices_check_session(session, hone_session_tensor(session, "y", &t));
  memcpy(n->out[0], t.data, sizeof n->out[0]);
  hone_session_destroy(session);
}

static double distance(const float *a, const float *b) {
  double difference = 0, size = 0;
  for (int i = 0; i < COUNT; ++i) {
    difference += ((double)a[i] - b[i]) * ((double)a[i] - b[i]);
    size += (double)b[i] * b[i];
  }
  return sqrt(difference / size);
}

static void test_chains(void **state) {
  (void)state;
  static const struct {
    make_graph *make;
    int converts; /* with f16, timed */
  } rows[] = {{between_products, 0}, {between_elementwise, 2}};
  hone_device *far = two_devices_far(0);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i)
    for (int level = -1; level <= 2; level += 3) { /* by estimates, and timed on the device's clock */
      hone_graph *graph = rows[i].make();
      hone_engine *plain = build(graph, far, 0, level), *same = build(graph, far, HONE_BIT(HONE_BF16), level);
      hone_engine *half = build(graph, far, HONE_BIT(HONE_F16), level);
      two_devices_numbers want, other, got;
      int converts, halves;
      count(plain, &converts, &halves);
      assert_int_equal(converts + halves, 0);
      count(same, &converts, &halves);
      assert_int_equal(converts + halves, 0);
      count(half, &converts, &halves);
      if (level > 0) assert_int_equal(converts, rows[i].converts);
      assert_true(halves >= 2);
      run(plain, &want);
      run(same, &other);
      run(half, &got);
      assert_memory_equal(want.out[0], other.out[0], sizeof want.out[0]);
      const double error = distance(got.out[0], want.out[0]);
      assert_true(error > 1e-6 && error < 4e-3);
      hone_engine_release(plain);
      hone_engine_release(same);
      hone_engine_release(half);
      hone_graph_destroy(graph);
    }
  hone_device_close(far);
}

/* Through a file: the same plan, checked, the same numbers, and each step within the bound of its type. */
static void test_file(void **state) {
  (void)state;
  char path[] = "/tmp/hone_precision_XXXXXX";
  const int file = mkstemp(path);
  assert_true(file >= 0);
  close(file);
  hone_device *far = two_devices_far(0);
  hone_graph *graph = between_elementwise();
  hone_engine *engine = build(graph, far, HONE_BIT(HONE_F16), 2), *loaded;
  hone_diagnostics *diag = hone_context_diagnostics(two_devices_context);
  two_devices_check(hone_engine_save(engine, path, diag));
  two_devices_check(hone_engine_load(two_devices_context, path, &far, 1, &loaded));
  int converts, halves, again_converts, again_halves;
  count(engine, &converts, &halves);
  count(loaded, &again_converts, &again_halves);
  assert_int_equal(converts, again_converts);
  assert_int_equal(halves, again_halves);
  two_devices_numbers a, b;
  run(engine, &a);
  run(loaded, &b);
  assert_memory_equal(a.out[0], b.out[0], sizeof a.out[0]);
  const hn_plan *plan = engine->schedules->plans[0];
  for (int s = 0; s < plan->step_count; ++s) {
    const hn_plan_step *step = &plan->steps[s];
    if (step->kind != HN_STEP_CALL || strncmp(step->tactic->name, "far.", 4) != 0) continue;
    assert_true(step->error_rel_l2 <= (step->tactic->compute == HONE_F16 ? 2e-3 : 1e-5));
  }
  hn_plan_tensor *held = NULL;
  hn_plan *writable = engine->schedules->plans[0];
  for (int t = 0; t < writable->tensor_count && !held; ++t)
    if (writable->tensors[t].type.dtype == HONE_F16) held = &writable->tensors[t];
  assert_non_null(held);
  held->dtype = HONE_F16; /* its maker gives f32, whatever it is held in */
  assert_int_equal(hn_plan_check(writable, diag), HONE_MALFORMED);
  held->dtype = HONE_I32;
  assert_int_equal(hn_plan_check(writable, diag), HONE_MALFORMED);
  held->dtype = HONE_F32;
  assert_int_equal(hn_plan_check(writable, diag), HONE_OK);
  hone_engine_release(engine);
  hone_engine_release(loaded);
  hone_graph_destroy(graph);
  hone_device_close(far);
  unlink(path);
}

static bool take_text(void *user, const char *text, size_t length) {
  char *all = user;
  const size_t at = strlen(all);
  if (at + length >= TEXT_ROOM) return false;
  memcpy(all + at, text, length);
  all[at + length] = 0;
  return true;
}

/* Every value that is tapped comes as the graph has it, whatever it is held in. */
static hone_status look(void *user, const hone_tap *tap) {
  int *count = user;
  assert_int_equal(tap->tensor->type.dtype, HONE_F32);
  assert_int_equal(tap->tensor->type.format, HONE_PLAIN);
  for (int i = 0; i < COUNT; ++i) assert_true(fabsf(((const float *)tap->tensor->data)[i]) < 100);
  ++*count;
  return HONE_OK;
}

/* hone verify, hone show, hone explain and debug taps of such an engine. */
static void test_looking(void **state) {
  (void)state;
  static char shown[TEXT_ROOM], explained[TEXT_ROOM], verified[TEXT_ROOM];
  hone_device *far = two_devices_far(0);
  hone_graph *graph = between_elementwise();
  hone_engine *engine = build(graph, far, HONE_BIT(HONE_F16), 2);
  hone_diagnostics *diag = hone_context_diagnostics(two_devices_context);
  bool within = false;
  const hone_verify_options verify = {.struct_size = sizeof verify, .full = true, .seed = 3};
  two_devices_check(hone_verify(engine, &verify, take_text, verified, &within, diag));
  if (!within) fail_msg("%s", verified);
  const hone_report_options report = {.struct_size = sizeof report, .width = 200};
  two_devices_check(hone_report_engine(engine, &report, take_text, shown, diag));
  assert_non_null(strstr(shown, "f16["));
  assert_non_null(strstr(shown, "far.convert"));
  two_devices_check(hone_report_explain(engine, NULL, &report, take_text, explained, diag));
  assert_non_null(strstr(explained, "far.linear.f16"));
  int count = 0;
  hone_session *session;
  const char *all = "*";
  const hone_session_options options = {
      .struct_size = sizeof options, .taps = &all, .tap_count = 1, .on_tap = look, .on_tap_user = &count};
  two_devices_check(hone_session_create(engine, &options, &session, diag));
  two_devices_check_session(session, hone_session_run(session));
  assert_true(count >= 4);
  hone_session_destroy(session);
  hone_engine_release(engine);
  hone_graph_destroy(graph);
  hone_device_close(far);
}

/* What the author wrote as f16 stays f16, and nothing else becomes it, without a flag. */
static void test_author(void **state) {
  (void)state;
  static const int64_t dims[2] = {ROWS, COLUMNS};
  hone_graph *graph;
  hone_value *x;
  hone_device *cpu;
  two_devices_check(hone_graph_create(two_devices_context, "author", &graph));
  two_devices_check(hone_graph_add_input(graph, "a", HONE_F16, 2, dims, NULL, &x));
  x = two_devices_add(graph, "sin", two_devices_add(graph, "cos", x, NULL, NULL), NULL, NULL);
  two_devices_check(hone_graph_add_output(graph, "y", x));
  two_devices_check(hone_device_open(two_devices_context, "cpu", 0, NULL, &cpu));
  hone_engine *engine = build(graph, cpu, 0, -1);
  const hn_plan *plan = engine->schedules->plans[0];
  for (int t = 0; t < plan->tensor_count; ++t) {
    assert_int_equal(plan->tensors[t].dtype, HONE_F16);
    assert_int_equal(plan->tensors[t].type.dtype, HONE_F16);
  }
  hone_engine_release(engine);
  hone_graph_destroy(graph);
  hone_device_close(cpu);
}

static int computing_in(const hone_engine *engine, hone_dtype dtype) {
  const hn_plan *plan = engine->schedules->plans[0];
  int count = 0;
  for (int s = 0; s < plan->step_count; ++s)
    count += plan->steps[s].kind == HN_STEP_CALL && plan->steps[s].tactic->compute == dtype;
  return count;
}

/* A type of arithmetic alone: nothing is held in it, what it costs is bounded, and layers ask for it by name. */
static void test_arithmetic(void **state) {
  (void)state;
  hone_device *far = two_devices_far(0);
  hone_graph *graph = between_products();
  hone_engine *plain = build(graph, far, 0, 2), *rounded = build(graph, far, HONE_BIT(HONE_TF32), 2), *one, *bounded;
  two_devices_numbers want, got;
  int converts, halves;
  count(rounded, &converts, &halves);
  assert_int_equal(converts + halves, 0);
  assert_int_equal(computing_in(plain, HONE_TF32), 0);
  assert_int_equal(computing_in(rounded, HONE_TF32), 2);
  run(plain, &want);
  run(rounded, &got);
  const double error = distance(got.out[0], want.out[0]);
  assert_true(error > 1e-6 && error < 4e-3);
  hone_build_options options = {
      .struct_size = sizeof options, .level = 2, .precisions = HONE_BIT(HONE_TF32), .max_error = 1e-9};
  two_devices_check(hone_engine_build(two_devices_context, graph, &far, 1, &options, &bounded));
  assert_int_equal(computing_in(bounded, HONE_TF32), 0);
  const hone_layer_type type = {.node = "*", .compute = HONE_TF32, .preferred = true};
  options =
      (hone_build_options){.struct_size = sizeof options, .level = 2, .layer_types = &type, .layer_type_count = 1};
  two_devices_check(hone_engine_build(two_devices_context, graph, &far, 1, &options, &one));
  assert_int_equal(computing_in(one, HONE_TF32), 2);
  const hone_layer_type held = {.node = "*", .output = HONE_TF32};
  options.layer_types = &held;
  hone_engine *none;
  assert_int_equal(hone_engine_build(two_devices_context, graph, &far, 1, &options, &none), HONE_INVALID);
  hone_engine_release(plain);
  hone_engine_release(rounded);
  hone_engine_release(bounded);
  hone_engine_release(one);
  hone_graph_destroy(graph);
  hone_device_close(far);
}

static void test_bounds(void **state) {
  (void)state;
  const hone_tactic wide = {.name = "wide"}, half = {.compute = HONE_F16}, brain = {.compute = HONE_BF16},
                    own = {.compute = HONE_F16, .bound = 1e-4}, rounded = {.compute = HONE_TF32};
  assert_true(hn_tactic_bound(&wide, HONE_F32, HONE_NONE) == 1e-5);
  assert_true(hn_tactic_bound(&wide, HONE_F32, HONE_F16) == 2e-3); /* what it reads or writes was rounded */
  assert_true(hn_tactic_bound(&half, HONE_F32, HONE_NONE) == 2e-3);
  assert_true(hn_tactic_bound(&rounded, HONE_F32, HONE_NONE) == 2e-3);
  assert_true(hn_tactic_bound(&half, HONE_F32, HONE_BF16) == 1.6e-2);
  assert_true(hn_tactic_bound(&brain, HONE_F32, HONE_F16) == 1.6e-2);
  assert_true(hn_tactic_bound(&own, HONE_F32, HONE_F16) == 1e-4);
  assert_true(hn_tactic_bound(&half, HONE_I64, HONE_NONE) == 0); /* integers are exact in any row */
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_chains),     cmocka_unit_test(test_file),
                                     cmocka_unit_test(test_looking),    cmocka_unit_test(test_author),
                                     cmocka_unit_test(test_arithmetic), cmocka_unit_test(test_bounds)};
  return cmocka_run_group_tests(tests, two_devices_set_up, two_devices_tear_down);
}
