/* SPDX-License-Identifier: Apache-2.0 */
/* test_graph_build.c - networks built by hand: what is accepted, what is refused and in which words. */
#include <hone/hone.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

typedef struct fixture {
  hone_context *context;
  hone_graph *graph;
  hone_value *x; /* f32[N,4] */
} fixture;

static void open_fixture(fixture *f) {
  const char *const names[2] = {"N", NULL};
  assert_int_equal(hone_context_create(NULL, &f->context), HONE_OK);
  assert_int_equal(hone_graph_create(f->context, "net", &f->graph), HONE_OK);
  assert_int_equal(hone_graph_add_input(f->graph, "x", HONE_F32, 2, (const int64_t[]){-1, 4}, names, &f->x), HONE_OK);
}

static void close_fixture(fixture *f) {
  hone_graph_destroy(f->graph);
  hone_context_destroy(f->context);
}

/* The newest message holds the text. */
static void check_message(const fixture *f, const char *what, const char *want) {
  const int count = hone_context_message_count(f->context);
  const char *got = count ? hone_context_message(f->context, count - 1, NULL) : "(no message)";
  if (!strstr(got, want)) fail_msg("%s: the message is \"%s\", want \"%s\" in it", what, got, want);
}

static void test_inputs(void **state) {
  (void)state;
  fixture f;
  open_fixture(&f);
  static const struct {
    const char *what, *name, *says;
    hone_dtype dtype;
    int rank;
    int64_t dims[2];
    hone_status want;
  } rows[] = {
      {"static", "a", "", HONE_F32, 2, {2, 3}, HONE_OK},
      {"scalar", "b", "", HONE_I64, 0, {0}, HONE_OK},
      {"free without a name", "c", "", HONE_F32, 1, {-1}, HONE_OK},
      {"empty extent", "d", "", HONE_F32, 1, {0}, HONE_OK},
      {"no name", "", "needs a name", HONE_F32, 1, {1}, HONE_INVALID},
      {"taken name", "x", "already called x", HONE_F32, 1, {1}, HONE_INVALID},
      {"dim below -1", "e", "dim 1 is -2", HONE_F32, 2, {1, -2}, HONE_INVALID},
      {"rank above the limit", "e", "rank is 9", HONE_F32, 9, {1}, HONE_INVALID},
      {"negative rank", "e", "rank is -1", HONE_F32, -1, {1}, HONE_INVALID},
      {"no such dtype", "e", "no element type 77", (hone_dtype)77, 1, {1}, HONE_INVALID},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
    hone_value *value = (hone_value *)&f;
    const int before = hone_graph_input_count(f.graph);
    const hone_status got =
        hone_graph_add_input(f.graph, rows[i].name, rows[i].dtype, rows[i].rank, rows[i].dims, NULL, &value);
    if (got != rows[i].want) fail_msg("%s: status %d, want %d", rows[i].what, got, rows[i].want);
    assert_int_equal(hone_graph_input_count(f.graph), before + (got == HONE_OK));
    if (got == HONE_OK) assert_string_equal(hone_value_name(value), rows[i].name);
    if (got != HONE_OK) {
      assert_null(value);
      check_message(&f, rows[i].what, rows[i].says);
    }
  }
  close_fixture(&f);
}

static void test_nodes(void **state) {
  (void)state;
  fixture f;
  open_fixture(&f);
  const hone_attr axis = {.name = "axis", .kind = HONE_ATTR_INT, .i = 9};
  const hone_attr wrong = {.name = "axes", .kind = HONE_ATTR_INT, .i = 1};
  hone_value *x = f.x, *two[2] = {f.x, f.x};
  const struct {
    const char *what, *op, *says;
    hone_value *const *inputs;
    int in_count;
    const hone_attr *attrs;
    int attr_count;
    hone_status want;
  } rows[] = {
      {"relu", "relu", "", &x, 1, NULL, 0, HONE_OK},
      {"add", "add", "", two, 2, NULL, 0, HONE_OK},
      {"no such operator", "rleu", "no operator rleu", &x, 1, NULL, 0, HONE_INVALID},
      {"no operator", NULL, "op is NULL", &x, 1, NULL, 0, HONE_INVALID},
      {"too few inputs", "add", "add", &x, 1, NULL, 0, HONE_INVALID},
      {"too many inputs", "relu", "relu", two, 2, NULL, 0, HONE_INVALID},
      {"unknown attribute", "softmax", "axes", &x, 1, &wrong, 1, HONE_INVALID},
      {"axis out of range", "softmax", "9", &x, 1, &axis, 1, HONE_MALFORMED},
      {"blocks", "if", "blocks", &x, 1, NULL, 0, HONE_UNSUPPORTED},
      {"a list that is not there", "relu", "the list is NULL", NULL, 1, NULL, 0, HONE_INVALID},
  };
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
    hone_value *out = (hone_value *)&f;
    const int before = hone_graph_node_count(f.graph);
    const hone_status got = hone_graph_add_node(f.graph, rows[i].op, "n", rows[i].inputs, rows[i].in_count,
                                                rows[i].attrs, rows[i].attr_count, &out, 1);
    if (got != rows[i].want) fail_msg("%s: status %d, want %d", rows[i].what, got, rows[i].want);
    assert_int_equal(hone_graph_node_count(f.graph), before + (got == HONE_OK));
    if (got != HONE_OK) {
      assert_null(out);
      check_message(&f, rows[i].what, rows[i].says);
    }
  }
  /* One list may serve as inputs and as outputs. */
  assert_int_equal(hone_graph_add_node(f.graph, "tanh", "t", &x, 1, NULL, 0, &x, 1), HONE_OK);
  assert_true(x && x != f.x);
  close_fixture(&f);
}

static void test_foreign_values(void **state) {
  (void)state;
  fixture f, other;
  open_fixture(&f);
  open_fixture(&other);
  hone_value *out;
  assert_int_equal(hone_graph_add_node(f.graph, "relu", "n", &other.x, 1, NULL, 0, &out, 1), HONE_INVALID);
  check_message(&f, "a value of another graph", "another graph");
  assert_int_equal(hone_graph_add_output(f.graph, "y", other.x), HONE_INVALID);
  check_message(&f, "an output of another graph", "not of this graph");
  close_fixture(&other);
  close_fixture(&f);
}

static void test_constants(void **state) {
  (void)state;
  fixture f;
  open_fixture(&f);
  float data[4] = {1, 2, 3, 4};
  hone_tensor tensor = {.type = {.kind = HONE_TENSOR, .dtype = HONE_F32, .shape = {.rank = 1, .dim = {4}}},
                        .data = data,
                        .bytes = sizeof data};
  hone_value *value;
  assert_int_equal(hone_graph_add_constant(f.graph, "w", &tensor, &value), HONE_OK);
  hone_type type;
  hone_value_type(value, &type);
  assert_int_equal(type.shape.rank, 1);
  assert_int_equal(type.shape.dim[0], 4);
  tensor.bytes = 15;
  assert_int_equal(hone_graph_add_constant(f.graph, "short", &tensor, &value), HONE_INVALID);
  check_message(&f, "too few bytes", "needs 16 bytes");
  assert_null(value);
  tensor.type.shape.dim[0] = -1;
  assert_int_equal(hone_graph_borrow_constant(f.graph, "free", &tensor, &value), HONE_INVALID);
  check_message(&f, "a free dim", "must all be numbers");
  close_fixture(&f);
}

static bool append(void *user, const char *text, size_t length) {
  char *all = user;
  const size_t had = strlen(all);
  if (had + length >= 65536) return false;
  memcpy(all + had, text, length);
  all[had + length] = 0;
  return true;
}

static void test_print_and_parse(void **state) {
  (void)state;
  fixture f;
  open_fixture(&f);
  hone_value *y;
  assert_int_equal(hone_graph_add_node(f.graph, "relu", "r", &f.x, 1, NULL, 0, &y, 1), HONE_OK);
  assert_int_equal(hone_graph_add_output(f.graph, "y", y), HONE_OK);
  assert_string_equal(hone_graph_output_name(f.graph, 0), "y");
  assert_null(hone_graph_output(f.graph, 1));
  hone_type type;
  hone_value_type(hone_graph_output(f.graph, 0), &type);
  assert_int_equal(type.shape.dim[0], -1); /* free: N */
  char *first = calloc(1, 65536), *second = calloc(1, 65536);
  assert_int_equal(hone_graph_print(f.graph, NULL, append, first), HONE_OK);
  assert_non_null(strstr(first, "f32[N,4]"));
  hone_graph *again;
  assert_int_equal(hone_graph_parse(f.context, first, strlen(first), &again), HONE_OK);
  assert_int_equal(hone_graph_print(again, NULL, append, second), HONE_OK);
  assert_string_equal(first, second);
  hone_graph_destroy(again);
  second[0] = 0;
  const hone_print_options json = {.struct_size = sizeof json, .json = true};
  assert_int_equal(hone_graph_print(f.graph, &json, append, second), HONE_OK);
  assert_non_null(strstr(second, "\"op\": \"relu\""));
  free(first);
  free(second);
  close_fixture(&f);
}

static bool refuse(void *user, const char *text, size_t length) {
  (void)user, (void)text, (void)length;
  return false;
}

static void test_passes(void **state) {
  (void)state;
  fixture f;
  open_fixture(&f);
  hone_value *y;
  assert_int_equal(hone_graph_add_node(f.graph, "identity", "i", &f.x, 1, NULL, 0, &y, 1), HONE_OK);
  assert_int_equal(hone_graph_add_node(f.graph, "relu", "r", &y, 1, NULL, 0, &y, 1), HONE_OK);
  assert_int_equal(hone_graph_add_output(f.graph, "y", y), HONE_OK);
  const char *const unknown = "no_such_pass";
  hone_pass_options options = {.struct_size = sizeof options, .disable = &unknown, .disable_count = 1};
  assert_int_equal(hone_graph_optimize(f.graph, &options), HONE_INVALID);
  check_message(&f, "an unknown pass", "no_such_pass");
  assert_int_equal(hone_graph_node_count(f.graph), 2);
  assert_int_equal(hone_graph_optimize(f.graph, NULL), HONE_OK);
  assert_int_equal(hone_graph_node_count(f.graph), 1);
  char *list = calloc(1, 65536);
  assert_int_equal(hone_pass_list(append, list), HONE_OK);
  assert_non_null(strstr(list, "import_cleanup/drop_identity\t"));
  assert_int_equal(hone_pass_list(refuse, NULL), HONE_IO);
  free(list);
  close_fixture(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_inputs),    cmocka_unit_test(test_nodes),           cmocka_unit_test(test_foreign_values),
      cmocka_unit_test(test_constants), cmocka_unit_test(test_print_and_parse), cmocka_unit_test(test_passes),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
