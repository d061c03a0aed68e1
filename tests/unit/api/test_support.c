/* SPDX-License-Identifier: Apache-2.0 */
/* test_support.c - what of a model runs here, node by node; and models whose constants lie elsewhere in memory. */
#include "../import/model.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <hone/hone.h>
#include <stdio.h>

enum { WIDTH = 4, TEXT_BYTES = 1024 };

static hone_context *context;

static int set_up(void **state) {
  (void)state;
  return hone_context_create(NULL, &context) == HONE_OK ? 0 : 1;
}

static int tear_down(void **state) {
  (void)state;
  hone_context_destroy(context);
  return 0;
}

typedef struct seen {
  int reference, refused;
  char text[TEXT_BYTES];
} seen;

static void see(void *user, const char *node, hone_support support, const char *reason) {
  seen *s = user;
  s->reference += support == HONE_SUPPORT_REFERENCE;
  s->refused += support == HONE_SUPPORT_NONE;
  const size_t length = strlen(s->text);
  (void)snprintf(s->text + length, sizeof s->text - length, "%s: %s; ", node, reason);
}

static hone_status ask(const hn_text *model, const hone_profile_shape *shapes, int count, seen *out) {
  const hone_onnx_source source = {.struct_size = sizeof source, .bytes = model->data, .count = model->length};
  *out = (seen){0};
  hone_context_clear_messages(context);
  return hone_onnx_support(context, &source, shapes, count, see, out);
}

/* x -> first -> second -> y, over a matrix. */
static void make_model(hn_text *model, const char *first, const char *second, const char *dims, const char *out_dims) {
  hn_text graph;
  hn_text_init(model, hn_allocator_default());
  hn_text_init(&graph, hn_allocator_default());
  add_value(&graph, 11, "x", 1, dims);
  add_node(&graph, first, "one", "x", "t");
  add_node(&graph, second, "two", "t", "y");
  add_value(&graph, 12, "y", 1, out_dims);
  finish_model(model, &graph, 17);
  hn_text_deinit(&graph);
}

static void test_kernels(void **state) {
  (void)state;
  hn_text model;
  seen got;
  make_model(&model, "Relu", "Tanh", "3 3", "3 3");
  assert_int_equal(ask(&model, NULL, 0, &got), HONE_OK);
  assert_int_equal(got.reference + got.refused, 0);
  hn_text_deinit(&model);
}

static void test_reference(void **state) {
  (void)state;
  hn_text model;
  seen got;
  make_model(&model, "Relu", "Det", "3 3", "");
  assert_int_equal(ask(&model, NULL, 0, &got), HONE_OK);
  if (got.reference != 1 || got.refused != 0 || strncmp(got.text, "two: ", 5) != 0)
    fail_msg("%d on the reference, %d refused: %s", got.reference, got.refused, got.text);
  hn_text_deinit(&model);
}

static void test_refused(void **state) {
  (void)state;
  hn_text model;
  seen got;
  make_model(&model, "NoSuchThing", "Relu", "3 3", "3 3");
  assert_int_equal(ask(&model, NULL, 0, &got), HONE_UNSUPPORTED);
  if (got.refused != 1 || strncmp(got.text, "one: ", 5) != 0) fail_msg("%d refused: %s", got.refused, got.text);
  assert_true(strlen(got.text) > strlen("one: ; "));
  hn_text_deinit(&model);
}

static void test_shapes(void **state) {
  (void)state;
  static const hone_profile_shape good = {"x", {2, {2, 2}}, {2, {5, 5}}, {2, {9, 9}}, 0};
  static const hone_profile_shape bad = {"z", {2, {2, 2}}, {2, {5, 5}}, {2, {9, 9}}, 0};
  hn_text model;
  seen got;
  make_model(&model, "Relu", "Det", "n n", "");
  assert_int_equal(ask(&model, &good, 1, &got), HONE_OK);
  assert_int_equal(got.reference, 1);
  assert_int_equal(ask(&model, &bad, 1, &got), HONE_INVALID);
  assert_true(hone_context_message_count(context) > 0);
  hn_text_deinit(&model);
}

/* ---- constants elsewhere ---- */

/* y = x + w; w has so many raw bytes in the model. */
static void make_sum(hn_text *model, const float *raw, size_t bytes) {
  hn_text graph;
  hn_text_init(model, hn_allocator_default());
  hn_text_init(&graph, hn_allocator_default());
  add_value(&graph, 11, "x", 1, "4");
  add_floats(&graph, "w", WIDTH, raw, bytes);
  add_node(&graph, "Add", "sum", "x w", "y");
  add_value(&graph, 12, "y", 1, "4");
  finish_model(model, &graph, 17);
  hn_text_deinit(&graph);
}

static hone_named_tensor name_tensor(const char *name, float *data, hone_dtype dtype, int64_t extent) {
  return (hone_named_tensor){.name = name,
                             .tensor = {.type = {.kind = HONE_TENSOR, .dtype = dtype, .shape = {1, {extent}}},
                                        .data = data,
                                        .bytes = (size_t)extent * hone_dtype_bits(dtype) / 8}};
}

static hone_status load(const hn_text *model, const hone_named_tensor *tensors, int count, hone_graph **out) {
  const hone_onnx_source source = {.struct_size = sizeof source,
                                   .bytes = model->data,
                                   .count = model->length,
                                   .tensors = tensors,
                                   .tensor_count = count};
  hone_context_clear_messages(context);
  return hone_graph_load_onnx_source(context, &source, out);
}

static void run_sum(const hone_graph *graph, const float *x, float *y) {
  hone_device *device;
  hone_engine *engine;
  hone_session *session;
  hone_tensor tensor;
  const hone_named_tensor in = name_tensor("x", (float *)x, HONE_F32, WIDTH);
  const hone_device_options one = {.struct_size = sizeof one, .threads = 1};
  const hone_build_options options = {.struct_size = sizeof options, .level = -1};
  assert_int_equal(hone_device_open(context, "cpu", 0, &one, &device), HONE_OK);
  assert_int_equal(hone_engine_build(context, graph, &device, 1, &options, &engine), HONE_OK);
  assert_int_equal(hone_session_create(engine, NULL, &session, NULL), HONE_OK);
  assert_int_equal(hone_session_copy_in(session, "x", &in.tensor), HONE_OK);
  assert_int_equal(hone_session_run(session), HONE_OK);
  assert_int_equal(hone_session_tensor(session, "y", &tensor), HONE_OK);
  memcpy(y, tensor.data, WIDTH * sizeof *y);
  hone_session_destroy(session);
  hone_engine_release(engine);
  hone_device_close(device);
}

static void test_borrowed(void **state) {
  (void)state;
  static const float x[WIDTH] = {1, 2, 3, 4}, own[WIDTH] = {-1, -1, -1, -1};
  float w[WIDTH] = {10, 20, 30, 40}, y[WIDTH];
  for (int has_data = 0; has_data < 2; ++has_data) { /* without data, or with other data: the given tensor counts */
    hn_text model;
    hone_graph *graph;
    make_sum(&model, own, has_data ? sizeof own : 0);
    const hone_named_tensor given = name_tensor("w", w, HONE_F32, WIDTH);
    assert_int_equal(load(&model, &given, 1, &graph), HONE_OK);
    run_sum(graph, x, y);
    for (int i = 0; i < WIDTH; ++i) assert_true(y[i] == x[i] + w[i]);
    hone_graph_destroy(graph);
    hn_text_deinit(&model);
  }
}

static void test_wrong_tensors(void **state) {
  (void)state;
  static const float own[WIDTH] = {0};
  float w[2 * WIDTH] = {0};
  hone_named_tensor strings = name_tensor("w", w, HONE_F32, WIDTH), nameless = strings, twice[2] = {strings, strings};
  strings.tensor.type.dtype = HONE_STRING;
  nameless.name = NULL;
  const struct {
    const char *what, *words;
    hone_named_tensor given;
  } row[] = {
      {"another name", "no initializer has that name", name_tensor("v", w, HONE_F32, WIDTH)},
      {"another extent", "another type", name_tensor("w", w, HONE_F32, WIDTH + 1)},
      {"another element type", "another type", name_tensor("w", w, HONE_I32, WIDTH)},
      {"strings", "strings", strings},
      {"no name", "no name", nameless},
  };
  hn_text model;
  hone_graph *graph;
  make_sum(&model, own, sizeof own);
  for (size_t i = 0; i < sizeof row / sizeof row[0]; ++i) {
    const hone_status status = load(&model, &row[i].given, 1, &graph);
    const char *said = hone_context_message(context, 0, NULL);
    if (status != HONE_INVALID || graph || !said || !strstr(said, row[i].words))
      fail_msg("%s: status %d: %s", row[i].what, (int)status, said ? said : "nothing");
  }
  assert_int_equal(load(&model, twice, 2, &graph), HONE_INVALID);
  hn_text_deinit(&model);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_kernels), cmocka_unit_test(test_reference), cmocka_unit_test(test_refused),
      cmocka_unit_test(test_shapes),  cmocka_unit_test(test_borrowed),  cmocka_unit_test(test_wrong_tensors),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
