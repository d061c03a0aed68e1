/* SPDX-License-Identifier: Apache-2.0 */
/* test_dim_text.c - what the model calls the free dims of an engine's inputs and outputs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <hone/hone.h>
#include <string.h>

/* x[N, 4] twice along axis 0: y[2 * N, 4]. */
static hone_graph *make_graph(hone_context *context) {
  static const char *const names[] = {"N", NULL};
  const hone_attr axis = {.name = "axis", .kind = HONE_ATTR_INT, .i = 0};
  hone_graph *graph;
  hone_value *x, *y;
  assert_int_equal(hone_graph_create(context, "twice", &graph), HONE_OK);
  assert_int_equal(hone_graph_add_input(graph, "x", HONE_F32, 2, (const int64_t[]){-1, 4}, names, &x), HONE_OK);
  assert_int_equal(hone_graph_add_node(graph, "concat", "join", (hone_value *[]){x, x}, 2, &axis, 1, &y, 1), HONE_OK);
  assert_int_equal(hone_graph_add_output(graph, "y", y), HONE_OK);
  return graph;
}

static hone_engine *build(hone_context *context, const hone_profile_shape *shapes, int count) {
  const hone_device_options one = {.struct_size = sizeof one, .threads = 1};
  const hone_build_options options = {
      .struct_size = sizeof options, .level = -1, .shapes = shapes, .shape_count = count};
  hone_device *device;
  hone_engine *engine;
  hone_graph *graph = make_graph(context);
  assert_int_equal(hone_device_open(context, "cpu", 0, &one, &device), HONE_OK);
  assert_int_equal(hone_engine_build(context, graph, &device, 1, &options, &engine), HONE_OK);
  hone_device_close(device);
  hone_graph_destroy(graph);
  return engine;
}

static void check_dim(const hone_engine *engine, const char *port, int dim, const char *want) {
  char text[64] = "as it was";
  hone_engine_dim_text(engine, port, dim, text, sizeof text);
  if (strcmp(text, want) != 0) fail_msg("%s, dim %d: \"%s\", want \"%s\"", port, dim, text, want);
}

static void test_names(void **state) {
  (void)state;
  static const hone_profile_shape shapes[] = {{"x", {2, {1, 4}}, {2, {1, 4}}, {2, {1, 4}}, 0},
                                              {"x", {2, {2, 4}}, {2, {4, 4}}, {2, {8, 4}}, 1}};
  hone_context *context;
  assert_int_equal(hone_context_create(NULL, &context), HONE_OK);
  /* of the schedule with one shape, of the one with a range, and of both, where the first has a number */
  hone_engine *fixed = build(context, shapes, 1), *ranged = build(context, shapes, 2);
  check_dim(fixed, "x", 0, "");
  check_dim(ranged, "x", 0, "N");
  check_dim(ranged, "x", 1, "");
  check_dim(ranged, "y", 0, "2*N");
  check_dim(ranged, "z", 0, "");
  char cut[3];
  hone_engine_dim_text(ranged, "y", 0, cut, sizeof cut);
  assert_string_equal(cut, "2*");
  hone_engine_release(fixed);
  hone_engine_release(ranged);
  hone_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_names)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
