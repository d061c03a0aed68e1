/* SPDX-License-Identifier: Apache-2.0 */
/* test_plugin.c - an operator from a shared object: built by hand, run on the reference and on kernels made from its
 * expression, saved, loaded where the plug-in is and refused where it is not. */
#include <hone/hone.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
// clang-format off
#include <cmocka.h>
// clang-format on

enum { COUNT = 1000 };

static const char *plugin_path(char *room, size_t bytes) {
  const char *folder = getenv("HONE_BUILD_DIR");
  snprintf(room, bytes, "%s/examples/libshifted_relu.so", folder ? folder : "build/release");
  return room;
}

static hone_context *new_context(bool with_plugin) {
  char path[4096];
  hone_context *context;
  assert_int_equal(hone_context_create(NULL, &context), HONE_OK);
  if (with_plugin) assert_int_equal(hone_plugin_load(context, plugin_path(path, sizeof path)), HONE_OK);
  return context;
}

static hone_graph *new_graph(hone_context *context) {
  hone_graph *graph;
  hone_value *x, *y;
  const int64_t dims[] = {COUNT};
  const hone_attr offset = {.name = "offset", .kind = HONE_ATTR_FLOAT, .f = 0.25};
  assert_int_equal(hone_graph_create(context, "plugged", &graph), HONE_OK);
  assert_int_equal(hone_graph_add_input(graph, "x", HONE_F32, 1, dims, NULL, &x), HONE_OK);
  assert_int_equal(hone_graph_add_node(graph, "shifted_relu", "shift", &x, 1, &offset, 1, &y, 1), HONE_OK);
  assert_int_equal(hone_graph_add_output(graph, "y", y), HONE_OK);
  return graph;
}

static void check_run(hone_context *context, hone_engine *engine) {
  hone_session *session;
  hone_tensor x, y;
  assert_int_equal(hone_session_create(engine, NULL, &session, hone_context_diagnostics(context)), HONE_OK);
  assert_int_equal(hone_session_tensor(session, "x", &x), HONE_OK);
  for (int i = 0; i < COUNT; ++i) ((float *)x.data)[i] = (float)(i % 17) / 8 - 1;
  assert_int_equal(hone_session_run(session), HONE_OK);
  assert_int_equal(hone_session_tensor(session, "y", &y), HONE_OK);
  for (int i = 0; i < COUNT; ++i) {
    const float shifted = (float)(i % 17) / 8 - 1 - 0.25f; /* exact in f32 */
    assert_true(((const float *)y.data)[i] == (shifted > 0 ? shifted : 0));
  }
  hone_session_destroy(session);
}

static void test_lifecycle(void **state) {
  (void)state;
  hone_context *context = new_context(true), *other = new_context(true), *without = new_context(false);
  hone_graph *graph = new_graph(context);
  const char *path = "test_plugin.hone";
  static const char *const kinds[] = {"cpu", "ref"};
  for (int k = 0; k < 2; ++k) {
    hone_device *device;
    hone_engine *engine, *loaded;
    assert_int_equal(hone_device_open(context, kinds[k], 0, NULL, &device), HONE_OK);
    assert_int_equal(hone_engine_build(context, graph, &device, 1, NULL, &engine), HONE_OK);
    check_run(context, engine);
    assert_int_equal(hone_engine_save(engine, path, NULL), HONE_OK);
    hone_engine_release(engine);
    assert_int_equal(hone_engine_load(other, path, &device, 1, &loaded), HONE_OK);
    check_run(other, loaded);
    hone_engine_release(loaded);
    assert_int_equal(hone_engine_load(without, path, &device, 1, &loaded), HONE_INCOMPATIBLE);
    assert_non_null(strstr(hone_context_message(without, k, NULL), "operator shifted_relu"));
    assert_non_null(strstr(hone_context_message(without, k, NULL), "plug-in libshifted_relu.so"));
    hone_device_close(device);
  }
  remove(path);
  remove("test_plugin.hone.ledger");
  hone_graph_destroy(graph);
  hone_context_destroy(context);
  hone_context_destroy(other);
  hone_context_destroy(without);
}

static void test_refusals(void **state) {
  (void)state;
  char path[4096];
  hone_context *context = new_context(true);
  assert_int_equal(hone_plugin_load(context, plugin_path(path, sizeof path)),
                   HONE_INVALID); /* its op is there already */
  assert_non_null(strstr(hone_context_message(context, 0, NULL), "shifted_relu"));
  assert_int_equal(hone_plugin_load(context, "no/such/file.so"), HONE_IO);
  assert_int_equal(hone_plugin_load(context, "libm.so.6"), HONE_INVALID);
  assert_non_null(strstr(hone_context_message(context, 2, NULL), "hone_plugin"));
  hone_context_destroy(context);
}

/* Kernels would be made of what the expression says. */
static void test_two_tongues(void **state) {
  (void)state;
  char path[4096];
  const char *folder = getenv("HONE_BUILD_DIR");
  snprintf(path, sizeof path, "%s/tests/libtwo_tongues.so", folder ? folder : "build/release");
  hone_context *context = new_context(false);
  assert_int_equal(hone_plugin_load(context, path), HONE_INVALID);
  const char *said = hone_context_message(context, 0, NULL);
  if (!strstr(said, "libtwo_tongues.so: operator sloped: where its first input is")) fail_msg("%s", said);
  hone_graph *graph;
  hone_value *x, *y;
  const int64_t dims[] = {COUNT};
  assert_int_equal(hone_graph_create(context, "none", &graph), HONE_OK);
  assert_int_equal(hone_graph_add_input(graph, "x", HONE_F32, 1, dims, NULL, &x), HONE_OK);
  assert_int_equal(hone_graph_add_node(graph, "sloped", "n", &x, 1, NULL, 0, &y, 1), HONE_INVALID);
  hone_graph_destroy(graph);
  hone_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_lifecycle), cmocka_unit_test(test_refusals),
                                     cmocka_unit_test(test_two_tongues)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
