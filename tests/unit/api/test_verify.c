/* SPDX-License-Identifier: Apache-2.0 */
/* test_verify.c - verification finds kernels within their bounds, a bound that is broken, and weights that changed. */
#include "api/engine.h"
#include <hone/hone.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

typedef struct fixture {
  hone_context *context;
  hone_device *device;
  hone_engine *engine;
  char report[65536];
} fixture;

/* softmax(relu(x w) v), w and v constants. */
static hone_graph *make_graph(hone_context *context) {
  hone_graph *graph;
  hone_value *x, *w, *v, *y;
  static float data[32 * 48];
  for (int i = 0; i < 32 * 48; ++i) data[i] = (float)(i * 7 % 31) * 0.05f - 0.7f;
  hone_tensor tensor = {.type = {.kind = HONE_TENSOR, .dtype = HONE_F32, .shape = {.rank = 2, .dim = {32, 48}}},
                        .data = data,
                        .bytes = sizeof data};
  assert_int_equal(hone_graph_create(context, "mlp", &graph), HONE_OK);
  assert_int_equal(hone_graph_add_input(graph, "x", HONE_F32, 2, (const int64_t[]){5, 32}, NULL, &x), HONE_OK);
  assert_int_equal(hone_graph_add_constant(graph, "w", &tensor, &w), HONE_OK);
  tensor.type.shape = (hone_shape){.rank = 2, .dim = {48, 32}};
  assert_int_equal(hone_graph_add_constant(graph, "v", &tensor, &v), HONE_OK);
  assert_int_equal(hone_graph_add_node(graph, "matmul", "first", (hone_value *[]){x, w}, 2, NULL, 0, &y, 1), HONE_OK);
  assert_int_equal(hone_graph_add_node(graph, "relu", "active", &y, 1, NULL, 0, &y, 1), HONE_OK);
  assert_int_equal(hone_graph_add_node(graph, "matmul", "second", (hone_value *[]){y, v}, 2, NULL, 0, &y, 1), HONE_OK);
  assert_int_equal(hone_graph_add_node(graph, "softmax", "prob", &y, 1, NULL, 0, &y, 1), HONE_OK);
  assert_int_equal(hone_graph_add_output(graph, "y", y), HONE_OK);
  return graph;
}

static fixture *open_fixture(void) {
  fixture *f = calloc(1, sizeof *f);
  const hone_device_options one = {.struct_size = sizeof one, .threads = 1};
  const hone_build_options options = {.struct_size = sizeof options, .level = -1};
  assert_int_equal(hone_context_create(NULL, &f->context), HONE_OK);
  assert_int_equal(hone_device_open(f->context, "cpu", 0, &one, &f->device), HONE_OK);
  hone_graph *graph = make_graph(f->context);
  assert_int_equal(hone_engine_build(f->context, graph, &f->device, 1, &options, &f->engine), HONE_OK);
  hone_graph_destroy(graph);
  return f;
}

static void close_fixture(fixture *f) {
  hone_engine_release(f->engine);
  hone_device_close(f->device);
  hone_context_destroy(f->context);
  free(f);
}

static bool append(void *user, const char *text, size_t length) {
  fixture *f = user;
  const size_t had = strlen(f->report);
  if (had + length >= sizeof f->report) return false;
  memcpy(f->report + had, text, length);
  f->report[had + length] = 0;
  return true;
}

static hone_status verify(fixture *f, bool full, bool *within) {
  const hone_verify_options options = {.struct_size = sizeof options, .full = full};
  f->report[0] = 0;
  return hone_verify(f->engine, &options, append, f, within, hone_context_diagnostics(f->context));
}

static void test_within(void **state) {
  (void)state;
  fixture *f = open_fixture();
  for (int full = 0; full < 2; ++full) {
    bool within = false;
    assert_int_equal(verify(f, full, &within), HONE_OK);
    assert_true(within);
    assert_non_null(strstr(f->report, "0 over their bound"));
    assert_non_null(strstr(f->report, "prob"));
  }
  close_fixture(f);
}

static void test_over(void **state) {
  (void)state;
  fixture *f = open_fixture();
  for (int s = 0; s < f->engine->schedules->plans[0]->step_count; ++s)
    f->engine->schedules->plans[0]->steps[s].error_bound = 1e-30;
  bool within = true;
  assert_int_equal(verify(f, true, &within), HONE_OK);
  assert_false(within);
  assert_non_null(strstr(f->report, "OVER ITS BOUND"));
  close_fixture(f);
}

static void test_refused_report(void **state) {
  (void)state;
  fixture *f = open_fixture();
  memset(f->report, 'x', sizeof f->report - 1);
  bool within = true;
  assert_int_equal(hone_verify(f->engine, NULL, append, f, &within, hone_context_diagnostics(f->context)), HONE_IO);
  assert_false(within);
  close_fixture(f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_within),
      cmocka_unit_test(test_over),
      cmocka_unit_test(test_refused_report),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
