/* SPDX-License-Identifier: Apache-2.0 */
/* test_plugin.c - an operator from a shared object: built by hand, run on the reference and on kernels made from its
 * expression, saved, loaded where the plug-in is and refused where it is not; unloaded, and not while it is in use.
 * Operators that a program defines. */
#include <hone/hone.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
// clang-format off
#include <cmocka.h>
// clang-format on

enum { COUNT = 1000 };

static const char *path_of(const char *name, char *room, size_t bytes) {
  const char *folder = getenv("HONE_BUILD_DIR");
  snprintf(room, bytes, "%s/%s.so", folder ? folder : "build/release", name);
  return room;
}

static const char *plugin_path(char *room, size_t bytes) { return path_of("examples/libshifted_relu", room, bytes); }

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
  hone_context *context = new_context(false);
  assert_int_equal(hone_plugin_load(context, path_of("tests/libtwo_tongues", path, sizeof path)), HONE_INVALID);
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

static const char *last_message(hone_context *context) {
  return hone_context_message(context, hone_context_message_count(context) - 1, NULL);
}

static void refuse_unload(hone_context *context, const char *path, const char *users) {
  assert_int_equal(hone_plugin_unload(context, path), HONE_INVALID);
  if (!strstr(last_message(context), users)) fail_msg("%s", last_message(context));
}

/* Does the context know an operator of one input? */
static bool knows(hone_context *context, const char *op) {
  hone_graph *graph;
  hone_value *x, *y;
  const int64_t dims[] = {COUNT};
  assert_int_equal(hone_graph_create(context, "asks", &graph), HONE_OK);
  assert_int_equal(hone_graph_add_input(graph, "x", HONE_F32, 1, dims, NULL, &x), HONE_OK);
  const bool known = hone_graph_add_node(graph, op, "n", &x, 1, NULL, 0, &y, 1) == HONE_OK;
  hone_graph_destroy(graph);
  return known;
}

static void test_unload(void **state) {
  (void)state;
  char path[4096];
  hone_context *context = new_context(false);
  hone_device *device;
  hone_engine *engine;
  hone_session *session;
  plugin_path(path, sizeof path);
  refuse_unload(context, path, "is not loaded in this context");
  assert_int_equal(hone_plugin_load(context, path), HONE_OK);
  hone_graph *graph = new_graph(context);
  refuse_unload(context, path, "is in use: 1 graph, 0 devices (engines' own, too) and 0 engines");
  assert_int_equal(hone_device_open(context, "cpu", 0, NULL, &device), HONE_OK);
  assert_int_equal(hone_engine_build(context, graph, &device, 1, NULL, &engine), HONE_OK);
  refuse_unload(context, path, "is in use: 1 graph, 2 devices (engines' own, too) and 1 engine made");
  hone_graph_destroy(graph);
  assert_int_equal(hone_session_create(engine, NULL, &session, NULL), HONE_OK);
  hone_engine_release(engine);
  hone_device_close(device); /* the session holds both */
  refuse_unload(context, path, "is in use: 0 graphs, ");
  hone_session_destroy(session);
  assert_int_equal(hone_plugin_unload(context, path), HONE_OK);
  assert_false(knows(context, "shifted_relu"));
  refuse_unload(context, path, "is not loaded in this context");
  assert_int_equal(hone_plugin_load(context, path), HONE_OK);
  assert_true(knows(context, "shifted_relu"));
  hone_context_destroy(context);
}

/* A device that outlives its context is a user to the end. */
static void test_device_behind_context(void **state) {
  (void)state;
  hone_context *context = new_context(true);
  hone_device *device;
  assert_int_equal(hone_device_open(context, "cpu", 0, NULL, &device), HONE_OK);
  hone_context_destroy(context);
  hone_device_close(device);
}

/* What came before the row that is refused goes, too. */
static void test_all_or_nothing(void **state) {
  (void)state;
  char path[4096];
  hone_context *context = new_context(true);
  assert_int_equal(hone_plugin_load(context, path_of("tests/libname_clash", path, sizeof path)), HONE_INVALID);
  assert_false(knows(context, "only_here"));
  assert_true(knows(context, "shifted_relu"));
  assert_int_equal(hone_plugin_unload(context, plugin_path(path, sizeof path)), HONE_OK);
  assert_int_equal(hone_plugin_load(context, path_of("tests/libname_clash", path, sizeof path)), HONE_OK);
  assert_true(knows(context, "only_here"));
  hone_context_destroy(context);
}

static void keep_line(void *user, hone_log_level level, const char *line) {
  char *kept = user;
  if (level == HONE_LOG_WARN) snprintf(kept, 400, "%s", line);
}

/* The built-in row of a name gives way, and comes back. */
static void test_replaced(void **state) {
  (void)state;
  char path[4096], line[400] = "";
  const hone_context_options options = {
      .struct_size = sizeof options, .log = keep_line, .log_user = line, .log_level = HONE_LOG_WARN};
  hone_context *context;
  hone_graph *graph;
  hone_value *in[2], *out[2];
  const int64_t dims[] = {COUNT};
  assert_int_equal(hone_context_create(&options, &context), HONE_OK);
  assert_int_equal(hone_plugin_load(context, path_of("examples/liblayer_norm", path, sizeof path)), HONE_OK);
  if (!strstr(line, "its operator layer_norm replaces the built-in one, whose kernels are not used for it"))
    fail_msg("%s", line);
  for (int turn = 0; turn < 2; ++turn) {
    assert_int_equal(hone_graph_create(context, "norm", &graph), HONE_OK);
    for (int i = 0; i < 2; ++i)
      assert_int_equal(hone_graph_add_input(graph, i ? "s" : "x", HONE_F32, 1, dims, NULL, &in[i]), HONE_OK);
    /* Only the built-in one has a second output. */
    assert_int_equal(hone_graph_add_node(graph, "layer_norm", "n", in, 2, NULL, 0, out, 2),
                     turn == 0 ? HONE_INVALID : HONE_OK);
    hone_graph_destroy(graph);
    if (turn == 0) assert_int_equal(hone_plugin_unload(context, path), HONE_OK);
  }
  hone_context_destroy(context);
}

/* ---- definitions ---- */

static const char *const one_input[] = {"x"};
static const hone_attr beta = {.name = "beta", .kind = HONE_ATTR_FLOAT, .f = 1};
static const hone_op_definition swish = {.struct_size = sizeof swish,
                                         .name = "own_swish",
                                         .expression = "div(x, add(1, exp(neg(mul($beta, x)))))",
                                         .inputs = one_input,
                                         .input_count = 1,
                                         .attr_count = 1,
                                         .attrs = &beta};

static void check_swish(hone_context *context, hone_engine *engine) {
  hone_session *session;
  hone_tensor x, y;
  assert_int_equal(hone_session_create(engine, NULL, &session, hone_context_diagnostics(context)), HONE_OK);
  assert_int_equal(hone_session_tensor(session, "x", &x), HONE_OK);
  for (int i = 0; i < COUNT; ++i) ((float *)x.data)[i] = (float)(i % 41) / 4 - 5;
  assert_int_equal(hone_session_run(session), HONE_OK);
  assert_int_equal(hone_session_tensor(session, "y", &y), HONE_OK);
  for (int i = 0; i < COUNT; ++i) {
    const double v = (double)(i % 41) / 4 - 5, want = v / (1 + exp(-1.5 * v));
    assert_true(fabs((double)((const float *)y.data)[i] - want) <= 1e-5 * (1 + fabs(want)));
  }
  hone_session_destroy(session);
}

/* Engines hold the expression: another context needs no definition. */
static void test_define(void **state) {
  (void)state;
  static const char *const kinds[] = {"cpu", "ref"};
  static const char path[] = "test_define.hone";
  hone_context *context = new_context(false), *without = new_context(false);
  hone_graph *graph;
  hone_value *x, *y;
  const int64_t dims[] = {COUNT};
  const hone_attr given = {.name = "beta", .kind = HONE_ATTR_FLOAT, .f = 1.5};
  assert_int_equal(hone_op_define(context, &swish), HONE_OK);
  assert_int_equal(hone_op_define(context, &swish), HONE_INVALID);
  assert_non_null(strstr(last_message(context), "operator own_swish is in the program's own definitions"));
  assert_int_equal(hone_graph_create(context, "defined", &graph), HONE_OK);
  assert_int_equal(hone_graph_add_input(graph, "x", HONE_F32, 1, dims, NULL, &x), HONE_OK);
  assert_int_equal(hone_graph_add_node(graph, "own_swish", "n", &x, 1, &given, 1, &y, 1), HONE_OK);
  assert_int_equal(hone_graph_add_output(graph, "y", y), HONE_OK);
  for (int k = 0; k < 2; ++k) {
    hone_device *device;
    hone_engine *engine, *loaded;
    assert_int_equal(hone_device_open(context, kinds[k], 0, NULL, &device), HONE_OK);
    assert_int_equal(hone_engine_build(context, graph, &device, 1, NULL, &engine), HONE_OK);
    check_swish(context, engine);
    assert_int_equal(hone_engine_save(engine, path, NULL), HONE_OK);
    assert_int_equal(hone_engine_load(without, path, &device, 1, &loaded), HONE_OK);
    check_swish(without, loaded);
    hone_engine_release(loaded);
    hone_engine_release(engine);
    hone_device_close(device);
  }
  remove(path);
  remove("test_define.hone.ledger");
  hone_graph_destroy(graph);
  hone_context_destroy(context);
  hone_context_destroy(without);
}

static void test_wrong_definitions(void **state) {
  (void)state;
  static const char *const twice[] = {"x", "x"}, *const odd[] = {"x y"};
  static const hone_attr text = {.name = "beta", .kind = HONE_ATTR_STRING, .s = "1", .count = 1};
  hone_op_definition d[9];
  for (int i = 0; i < 9; ++i) d[i] = swish;
  d[0].name = "a-b";
  d[1].expression = "div(x, add(1";
  d[2].expression = "mul($gamma, x)";
  d[3].expression = NULL;
  d[4].inputs = twice, d[4].input_count = 2;
  d[5].inputs = odd;
  d[6].input_count = 0;
  d[7].attrs = &text;
  d[8].struct_size = 8;
  static const char *const wanted[9] = {"a name is of letters",
                                        "in the definition of operator own_swish",
                                        "in the definition of operator own_swish",
                                        "has no expression",
                                        "two inputs are named x",
                                        "an input's name is \"x y\"",
                                        "has no inputs",
                                        "attribute beta is no number",
                                        "struct_size"};
  hone_context *context = new_context(false);
  for (int i = 0; i < 9; ++i) {
    assert_int_equal(hone_op_define(context, &d[i]), HONE_INVALID);
    if (!strstr(last_message(context), wanted[i])) fail_msg("%d: %s", i, last_message(context));
    assert_false(knows(context, "own_swish"));
    hone_context_clear_messages(context);
  }
  hone_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_lifecycle),        cmocka_unit_test(test_refusals),
      cmocka_unit_test(test_two_tongues),      cmocka_unit_test(test_unload),
      cmocka_unit_test(test_all_or_nothing),   cmocka_unit_test(test_device_behind_context),
      cmocka_unit_test(test_replaced),         cmocka_unit_test(test_define),
      cmocka_unit_test(test_wrong_definitions)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
