/* SPDX-License-Identifier: Apache-2.0 */
/* test_import.c - what the importer makes of small models, right and wrong, and of a shortage of memory. */
#include "import/import.h"
#include "import/check.h"
#include "unit/base/faults.h"
#include "unit/import/model.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

typedef void (*build_fn)(hn_text *graph);

static void two_relus(hn_text *graph) {
  add_value(graph, 11, "x", 1, "N 3");
  add_node(graph, "Relu", "first", "x", "h");
  add_node(graph, "Relu", "", "h", "y");
  add_value(graph, 12, "y", 1, "N 3");
}

static void wrong_order(hn_text *graph) {
  add_value(graph, 11, "x", 1, "3");
  add_node(graph, "Relu", "late", "h", "y");
  add_node(graph, "Relu", "early", "x", "h");
  add_value(graph, 12, "y", 1, "3");
}

static void unknown_input(hn_text *graph) {
  add_node(graph, "Relu", "lonely", "nowhere", "y");
  add_value(graph, 12, "y", 1, "3");
}

static void unknown_op(hn_text *graph) {
  add_value(graph, 11, "x", 1, "3");
  add_node(graph, "Frobnicate", "odd", "x", "h");
  add_node(graph, "Relu", "after", "h", "y"); /* not reported: it only lacks h */
  add_value(graph, 12, "y", 1, "3");
}

static void unknown_attribute(hn_text *graph) {
  hn_text node;
  hn_text_init(&node, graph->allocator);
  add_value(graph, 11, "x", 1, "3");
  start_node(&node, "Relu", "r", "x", "y");
  add_int_attr(&node, "steepness", 2);
  hn_wire_message(graph, 1, &node);
  hn_text_deinit(&node);
  add_value(graph, 12, "y", 1, "3");
}

static void made_twice(hn_text *graph) {
  add_value(graph, 11, "x", 1, "3");
  add_node(graph, "Relu", "a", "x", "y");
  add_node(graph, "Relu", "b", "x", "y");
  add_value(graph, 12, "y", 1, "3");
}

static void short_weights(hn_text *graph) {
  static const float values[3] = {1, 2, 3};
  add_value(graph, 11, "x", 1, "4");
  add_floats(graph, "w", 4, values, sizeof values);
  add_node(graph, "Add", "sum", "x w", "y");
  add_value(graph, 12, "y", 1, "4");
}

static void no_such_output(hn_text *graph) {
  add_value(graph, 11, "x", 1, "4");
  add_value(graph, 12, "y", 1, "4");
}

static void misfit(hn_text *graph) {
  add_value(graph, 11, "a", 1, "3");
  add_value(graph, 11, "b", 1, "4");
  add_node(graph, "Add", "sum", "a b", "y");
  add_value(graph, 12, "y", 1, "3");
}

static void constant_input(hn_text *graph) { /* w is an input too, as old files have it */
  static const float values[4] = {1, 2, 3, 4};
  add_value(graph, 11, "x", 1, "4");
  add_value(graph, 11, "w", 1, "4");
  add_floats(graph, "w", 4, values, sizeof values);
  add_node(graph, "Add", "sum", "x w", "y");
  add_value(graph, 12, "y", 1, "4");
}

static void branch(hn_text *graph, const char *op) { /* takes x from around it */
  add_node(graph, op, "inner", "x", "r");
  add_value(graph, 12, "r", 1, "4");
}

static void branches(hn_text *graph) {
  hn_text node, inner;
  hn_text_init(&node, graph->allocator);
  hn_text_init(&inner, graph->allocator);
  add_value(graph, 11, "c", 9, "");
  add_value(graph, 11, "x", 1, "4");
  start_node(&node, "If", "choice", "c", "y");
  branch(&inner, "Relu");
  add_graph_attr(&node, "then_branch", &inner);
  branch(&inner, "Neg");
  add_graph_attr(&node, "else_branch", &inner);
  hn_wire_message(graph, 1, &node);
  add_value(graph, 12, "y", 1, "4");
  hn_text_deinit(&inner);
  hn_text_deinit(&node);
}

/* y = c ? relu(x) : what the else branch makes of it. */
static void two_branches(hn_text *graph, void (*then_branch)(hn_text *), void (*else_branch)(hn_text *)) {
  hn_text node, inner;
  hn_text_init(&node, graph->allocator);
  hn_text_init(&inner, graph->allocator);
  add_value(graph, 11, "c", 9, "");
  add_value(graph, 11, "x", 1, "4");
  add_value(graph, 11, "z", 1, "3");
  start_node(&node, "If", "choice", "c", "y");
  then_branch(&inner);
  add_graph_attr(&node, "then_branch", &inner);
  else_branch(&inner);
  add_graph_attr(&node, "else_branch", &inner);
  hn_wire_message(graph, 1, &node);
  add_value(graph, 12, "y", 1, "4");
  hn_text_deinit(&inner);
  hn_text_deinit(&node);
}

static void good(hn_text *graph) { branch(graph, "Relu"); }

static void unfit(hn_text *graph) { /* the misfit, and something that hangs on it */
  add_node(graph, "Add", "wrong", "x z", "s");
  add_node(graph, "Relu", "behind", "s", "r");
  add_value(graph, 12, "r", 1, "4");
}

static void unfit_unknown(hn_text *graph) {
  add_node(graph, "Frobnicate", "odd", "x", "q");
  unfit(graph);
}

static void unfit_nested(hn_text *graph) { /* neither branch of the inner one fits */
  hn_text node, inner;
  hn_text_init(&node, graph->allocator);
  hn_text_init(&inner, graph->allocator);
  start_node(&node, "If", "inner_choice", "c", "r");
  unfit(&inner);
  add_graph_attr(&node, "then_branch", &inner);
  unfit(&inner);
  add_graph_attr(&node, "else_branch", &inner);
  hn_wire_message(graph, 1, &node);
  add_value(graph, 12, "r", 1, "4");
  hn_text_deinit(&inner);
  hn_text_deinit(&node);
}

static void else_unfit(hn_text *graph) { two_branches(graph, good, unfit); }
static void then_unfit(hn_text *graph) { two_branches(graph, unfit, good); }
static void both_unfit(hn_text *graph) { two_branches(graph, unfit, unfit); }
static void else_unknown(hn_text *graph) { two_branches(graph, good, unfit_unknown); }
static void nested_unfit(hn_text *graph) { two_branches(graph, unfit_nested, good); }

static void broadcast_along_axis(hn_text *graph) { /* opset 6: b lies along axis 1 of a */
  hn_text node;
  hn_text_init(&node, graph->allocator);
  add_value(graph, 11, "a", 1, "2 3 4");
  add_value(graph, 11, "b", 1, "3");
  start_node(&node, "Add", "sum", "a b", "y");
  add_int_attr(&node, "axis", 1);
  add_int_attr(&node, "broadcast", 1);
  hn_wire_message(graph, 1, &node);
  hn_text_deinit(&node);
  add_value(graph, 12, "y", 1, "2 3 4");
}

static void flat_softmax(hn_text *graph) { /* opset 11: over all axes from 1 on */
  add_value(graph, 11, "x", 1, "2 3 4");
  add_node(graph, "Softmax", "soft", "x", "y");
  add_value(graph, 12, "y", 1, "2 3 4");
}

static void early_layer_norm(hn_text *graph) { /* ONNX Runtime's, from before the standard had it */
  add_value(graph, 11, "x", 1, "2 3 4");
  add_value(graph, 11, "scale", 1, "4");
  add_node(graph, "LayerNormalization", "norm", "x scale", "y mean inv_std_dev");
  add_value(graph, 12, "y", 1, "2 3 4");
  add_value(graph, 12, "mean", 1, "2 3 1");
}

static void many_sums(hn_text *graph) { /* more than an expression has room for: groups of 16, then their sum */
  char names[800] = "";
  for (int i = 0; i < 100; ++i) {
    char name[16];
    (void)snprintf(name, sizeof name, "x%d", i);
    add_value(graph, 11, name, 1, "3");
    (void)snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", i ? " " : "", name);
  }
  add_node(graph, "Sum", "sum", names, "y");
  add_value(graph, 12, "y", 1, "3");
}

static const struct {
  const char *what;
  build_fn build;
  int64_t opset;
  hone_status want;
  const char *message; /* part of the first one */
  int messages, nodes;
} rows[] = {
    {"two nodes in a row", two_relus, 13, HONE_OK, "", 0, 2},
    {"an initializer that is an input too", constant_input, 13, HONE_OK, "", 0, 1},
    {"branches that take a value from around them", branches, 13, HONE_OK, "", 0, 3},
    {"an else branch that does not fit", else_unfit, 13, HONE_OK, "", 0, 3},
    {"a then branch that does not fit", then_unfit, 13, HONE_OK, "", 0, 3},
    {"a branch whose branches both do not fit", nested_unfit, 13, HONE_OK, "", 0, 3},
    {"branches that both do not fit", both_unfit, 13, HONE_MALFORMED, "node \"wrong\" (Add, opset 13): ", 2, 0},
    {"a branch with worse than shapes", else_unknown, 13, HONE_MALFORMED, "node \"odd\" (Frobnicate, opset 13): ", 2,
     0},
    {"opset 6's broadcasting", broadcast_along_axis, 6, HONE_OK, "", 0, 2},
    {"opset 11's softmax", flat_softmax, 11, HONE_OK, "", 0, 4},
    {"opset 11's layer norm, of ONNX Runtime", early_layer_norm, 11, HONE_OK, "", 0, 1},
    {"a sum of 100 inputs", many_sums, 13, HONE_OK, "", 0, 8},
    {"no opset import", two_relus, 0, HONE_MALFORMED, "does not say which opsets", 1, 0},
    {"an opset from the future", two_relus, 28, HONE_UNSUPPORTED, "newest opset", 2, 0},
    {"out of order", wrong_order, 13, HONE_MALFORMED, "node \"late\" (Relu, opset 13): input \"h\" is used before", 1,
     0},
    {"an input that nobody makes", unknown_input, 13, HONE_MALFORMED, "\"nowhere\" is made by no node", 1, 0},
    {"an operator that does not exist", unknown_op, 13, HONE_UNSUPPORTED, "node \"odd\" (Frobnicate, opset 13): ", 1,
     0},
    {"an attribute that does not exist", unknown_attribute, 13, HONE_UNSUPPORTED, "attribute steepness", 1, 0},
    {"a value made twice", made_twice, 13, HONE_MALFORMED, "two values are named \"y\"", 1, 0},
    {"too few weights", short_weights, 13, HONE_MALFORMED, "12 bytes in raw_data, its shape needs 16", 1, 0},
    {"an output that nobody makes", no_such_output, 13, HONE_MALFORMED, "output \"y\": it is made by no node", 1, 0},
    {"shapes that do not fit", misfit, 13, HONE_MALFORMED, "node \"sum\" (Add, opset 13): ", 1, 0},
};

static void make_model(hn_text *model, build_fn build, int64_t opset) {
  hn_text graph;
  hn_text_init(&graph, hn_allocator_default());
  hn_text_init(model, hn_allocator_default());
  build(&graph);
  finish_model(model, &graph, opset);
  hn_text_deinit(&graph);
}

static void test_rows(void **state) {
  (void)state;
  for (size_t i = 0; i < HN_COUNT(rows); ++i) {
    hone_context *context;
    assert_int_equal(hone_context_create(NULL, &context), HONE_OK);
    hn_text model;
    make_model(&model, rows[i].build, rows[i].opset);
    hone_graph *graph;
    const hone_status got = hn_import_onnx_memory(context, model.data, model.length, NULL, &graph);
    const char *message = hone_context_message_count(context) > 0 ? hone_context_message(context, 0, NULL) : "";
    if (got != rows[i].want || !strstr(message, rows[i].message) ||
        hone_context_message_count(context) != rows[i].messages)
      fail_msg("%s: got %s, %d messages, the first: %s", rows[i].what, hone_status_name(got),
               hone_context_message_count(context), message);
    if (got == HONE_OK) {
      assert_int_equal(hn_graph_verify(graph), HONE_OK);
      if (hn_graph_node_count(graph) != rows[i].nodes)
        fail_msg("%s: %d nodes, want %d", rows[i].what, hn_graph_node_count(graph), rows[i].nodes);
      assert_true(graph->model_hash != 0);
    }
    hn_graph_destroy(graph);
    hn_text_deinit(&model);
    hone_context_destroy(context);
  }
}

static void test_names_and_origins(void **state) {
  (void)state;
  hone_context *context;
  assert_int_equal(hone_context_create(NULL, &context), HONE_OK);
  hn_text model;
  make_model(&model, two_relus, 13);
  hone_graph *graph;
  assert_int_equal(hn_import_onnx_memory(context, model.data, model.length, NULL, &graph), HONE_OK);
  const hn_node *first = graph->main->first;
  assert_string_equal(first->name, "first");
  assert_string_equal(first->next->name, "Relu_1"); /* nameless: operator and place */
  assert_int_equal(first->next->origins.count, 1);
  assert_string_equal(first->next->origins.names[0], "Relu_1");
  assert_string_equal(graph->output_names[0], "y");
  const hone_shape *shape = &graph->main->params[0]->fact.type.shape;
  assert_int_equal(shape->rank, 2);
  assert_true(HONE_SYMBOLIC(shape->dim[0]) && shape->dim[1] == 3);
  assert_true(graph->main->results[0]->fact.type.shape.dim[0] == shape->dim[0]);
  hn_graph_destroy(graph);
  hn_text_deinit(&model);
  hone_context_destroy(context);
}

static void unnamed_dims(hn_text *graph) {
  add_value(graph, 11, "x", 1, "? ? - unk__0");
  add_value(graph, 11, "y", 1, "unk__0 ?");
  add_node(graph, "Relu", "first", "x", "h");
  add_value(graph, 12, "h", 1, "? ? - unk__0");
}

/* What an exporter calls "?" is without a name: each a dim of its own. Names are the same dim wherever they stand. */
static void test_unnamed_dims(void **state) {
  (void)state;
  hone_context *context;
  assert_int_equal(hone_context_create(NULL, &context), HONE_OK);
  hn_text model;
  make_model(&model, unnamed_dims, 13);
  hone_graph *graph;
  assert_int_equal(hn_import_onnx_memory(context, model.data, model.length, NULL, &graph), HONE_OK);
  const int64_t *x = graph->main->params[0]->fact.type.shape.dim, *y = graph->main->params[1]->fact.type.shape.dim;
  assert_true(x[0] != x[1] && x[0] != x[2] && x[1] != x[2] && x[0] != y[1] && x[1] != y[1]);
  assert_true(x[3] == y[0]);
  hn_graph_destroy(graph);
  hn_text_deinit(&model);
  hone_context_destroy(context);
}

/* Every prefix of a model is an error in words or a model. */
static void test_truncated(void **state) {
  (void)state;
  hn_text model;
  make_model(&model, branches, 13);
  hone_context *context;
  assert_int_equal(hone_context_create(NULL, &context), HONE_OK);
  for (size_t count = 0; count < model.length; ++count) {
    hone_context_clear_messages(context);
    hone_graph *graph;
    const hone_status got = hn_import_onnx_memory(context, model.data, count, NULL, &graph);
    assert_true(got != HONE_OK && got != HONE_INTERNAL && hone_context_message_count(context) > 0);
    assert_null(graph);
  }
  hone_context_destroy(context);
  hn_text_deinit(&model);
}

static void test_faults(void **state) {
  (void)state;
  hn_text model;
  make_model(&model, branches, 13);
  for (long at = 0;; ++at) {
    faults f = {.countdown = -1};
    const hone_context_options options = {.struct_size = sizeof options, .resize = faults_resize, .resize_user = &f};
    hone_context *context;
    assert_int_equal(hone_context_create(&options, &context), HONE_OK);
    f.countdown = at;
    hone_graph *graph;
    const hone_status got = hn_import_onnx_memory(context, model.data, model.length, NULL, &graph);
    const bool out_of_memory = f.countdown == 0 && got != HONE_OK;
    if (out_of_memory) assert_true(got == HONE_NO_MEMORY && !graph && hone_context_message_count(context) > 0);
    hn_graph_destroy(graph);
    hone_context_destroy(context);
    assert_int_equal(f.live, 0);
    if (!out_of_memory) {
      assert_int_equal(got, HONE_OK);
      break;
    }
  }
  hn_text_deinit(&model);
}

static void split_unread(hn_text *graph, const char *before, const char *read, const char *after) {
  hn_text node;
  hn_text_init(&node, graph->allocator);
  add_value(graph, 11, "x", 1, "6");
  add_words(&node, 1, "x");
  if (before) hn_wire_string(&node, 2, before);
  hn_wire_string(&node, 2, read);
  if (after) hn_wire_string(&node, 2, after);
  hn_wire_string(&node, 4, "Split");
  hn_wire_message(graph, 1, &node);
  hn_text_deinit(&node);
  add_value(graph, 12, read, 1, "-");
}

static void split_first_unread(hn_text *graph) { split_unread(graph, "", "y", NULL); }
static void split_last_unread(hn_text *graph) { split_unread(graph, NULL, "y", ""); }

/* Parts that nobody reads count, too: x[6] in two is [3], whichever of them has no name. */
static void test_unread_parts(void **state) {
  (void)state;
  static const build_fn builds[] = {split_first_unread, split_last_unread};
  for (size_t i = 0; i < HN_COUNT(builds); ++i) {
    hone_context *context;
    assert_int_equal(hone_context_create(NULL, &context), HONE_OK);
    hn_text model;
    make_model(&model, builds[i], 11);
    hone_graph *graph;
    assert_int_equal(hn_import_onnx_memory(context, model.data, model.length, NULL, &graph), HONE_OK);
    assert_int_equal(hn_graph_verify(graph), HONE_OK);
    assert_int_equal(graph->main->first->out_count, 2);
    assert_int_equal(graph->main->results[0]->fact.type.shape.dim[0], 3);
    hn_graph_destroy(graph);
    hn_text_deinit(&model);
    hone_context_destroy(context);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_rows),         cmocka_unit_test(test_names_and_origins),
      cmocka_unit_test(test_unnamed_dims), cmocka_unit_test(test_unread_parts),
      cmocka_unit_test(test_truncated),    cmocka_unit_test(test_faults),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
