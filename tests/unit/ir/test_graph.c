/* SPDX-License-Identifier: Apache-2.0 */
/* test_graph.c - building, editing, inferring and cloning; and what is left when memory runs out in between. */
#include "ir_support.h"
#include "base/file.h"
#include <time.h>

static hone_graph *create(ir_fixture *f) {
  ir_begin(f);
  hone_graph *graph = NULL;
  ir_expect(f, hn_graph_create(&f->context, "g", &graph), HONE_OK);
  return graph;
}

static void end(ir_fixture *f, hone_graph *graph) {
  ir_verify(f, graph);
  hn_graph_destroy(graph);
  ir_end(f);
}

static hn_node *add_node(ir_fixture *f, hn_block *block, const char *op, const char *name, hn_value *a, hn_value *b) {
  hn_value *const in[2] = {a, b};
  const hn_node_spec spec = {
      .op = hn_op_find(&f->ops, op), .name = name, .in = in, .in_count = b ? 2 : 1, .out_count = 1};
  hn_node *node = NULL;
  const hone_status status = hn_node_create(block, &spec, &node);
  if (status != HONE_OK) fail_msg("%s: %s", op, ir_message(f));
  return node;
}

static hn_value *add_input(hone_graph *graph, const char *name) {
  const int64_t dims[2] = {2, 3};
  const hone_type type = hn_tensor_type(HONE_F32, 2, dims);
  return hn_block_add_param(graph->main, name, &type);
}

static void test_names(void **state) {
  (void)state;
  ir_fixture f;
  hone_graph *graph = create(&f);
  hn_value *x = add_input(graph, "relu_1");
  static const char *const want_values[] = {"relu", "relu_1_1", "relu_2"}, *const want_nodes[] = {"relu", "relu_1",
                                                                                                  "relu_2"};
  for (int i = 0; i < 3; ++i) {
    const hn_node *node = add_node(&f, graph->main, "relu", NULL, x, NULL);
    assert_string_equal(node->name, want_nodes[i]);
    assert_string_equal(node->out[0]->name, want_values[i]);
  }
  assert_string_equal(add_input(graph, NULL)->name, "p");
  assert_string_equal(add_input(graph, "p")->name, "p_1");
  hn_node_remove(ir_node(graph, "relu_1"));
  assert_string_equal(add_node(&f, graph->main, "relu", "relu_1", x, NULL)->name, "relu_1");
  hn_value *a = ir_value(graph, "relu"), *b = ir_value(graph, "relu_2");
  hn_value_swap_names(graph, a, b);
  hn_node_swap_names(graph, ir_node(graph, "relu"), ir_node(graph, "relu_2"));
  assert_string_equal(a->name, "relu_2");
  assert_ptr_equal(ir_value(graph, "relu"), b);
  assert_string_equal(a->node->name, "relu_2");
  /* Numbers go on where they were: a hundred thousand names of one base take no quadratic time. */
  const clock_t begin = clock();
  for (int i = 0; i < 100000; ++i) assert_non_null(hn_constant_scalar(graph, HONE_F32, 1.0));
  assert_true(clock() - begin < 20 * CLOCKS_PER_SEC);
  end(&f, graph);
}

static void test_node_create_is_all_or_nothing(void **state) {
  (void)state;
  ir_fixture f;
  hone_graph *graph = create(&f);
  hn_value *x = add_input(graph, "x");
  hn_value *mask = hn_constant_scalar(graph, HONE_BOOL, 1.0);
  hn_value *const in[3] = {x, mask, NULL};
  const hone_attr odd = {.name = "odd", .kind = HONE_ATTR_INT};
  const hone_op *relu = hn_op_find(&f.ops, "relu"), *add = hn_op_find(&f.ops, "add"),
                *two = hn_op_find(&f.ops, "test_two");
  static const char *const unwanted[1] = {""};
  const struct {
    hn_node_spec spec;
    hone_status want;
    const char *message;
  } rows[] = {
      {{.op = relu, .in = in, .in_count = 0, .out_count = 1}, HONE_INVALID, "input x is needed"},
      {{.op = relu, .in = in, .in_count = 2, .out_count = 1}, HONE_INVALID, "2 inputs, but there are 1"},
      {{.op = relu, .in = in, .in_count = 1, .out_count = 2}, HONE_INVALID, "2 outputs"},
      {{.op = relu, .in = in, .in_count = 1, .out_count = 0}, HONE_INVALID, "output y is needed"},
      {{.op = relu, .in = in, .in_count = 1, .out_count = 1, .out_names = unwanted},
       HONE_INVALID,
       "cannot be left out"},
      {{.op = relu, .in = in, .in_count = 1, .out_count = 1, .block_count = 1}, HONE_INVALID, "it has no blocks"},
      {{.op = relu, .in = in, .in_count = 1, .out_count = 1, .attrs = {1, &odd}}, HONE_INVALID, "odd"},
      {{.op = relu, .in = in + 1, .in_count = 1, .out_count = 1},
       HONE_UNSUPPORTED,
       "input x is bool, and must be one of: f32"},
      {{.op = add, .in = in + 2, .in_count = 1, .out_count = 1}, HONE_INVALID, "is needed"},
      {{.op = two, .in = in, .in_count = 2, .out_count = 1}, HONE_UNSUPPORTED, "input b is bool"},
  };
  for (size_t i = 0; i < HN_COUNT(rows); ++i) {
    hn_node *node = graph->main->first;
    const int values = graph->value_count;
    const hone_status status = hn_node_create(graph->main, &rows[i].spec, &node);
    if (status != rows[i].want) fail_msg("%s: %s", rows[i].message, hone_status_name(status));
    assert_null(node);
    ir_expect_message(&f, rows[i].message);
    assert_int_equal(graph->value_count, values);
    assert_null(graph->main->first);
    assert_int_equal(x->use_count, 0);
  }
  const hn_node_spec trailing = {.op = two, .in = (hn_value *const[3]){x, NULL, NULL}, .in_count = 3, .out_count = 1};
  hn_node *node;
  ir_expect(&f, hn_node_create(graph->main, &trailing, &node), HONE_OK);
  assert_int_equal(node->in_count, 1); /* absent ones at the end are dropped */
  end(&f, graph);
}

static void test_editing(void **state) {
  (void)state;
  ir_fixture f;
  hone_graph *graph = create(&f);
  hn_value *x = add_input(graph, "x"), *y = add_input(graph, "y");
  hn_node *a = add_node(&f, graph->main, "relu", "a", x, NULL);
  hn_node *b = add_node(&f, graph->main, "add", "b", a->out[0], a->out[0]);
  hn_node *c = add_node(&f, graph->main, "add", "c", b->out[0], a->out[0]);
  ir_expect(&f, hn_block_add_result(graph->main, a->out[0], "again"), HONE_OK);
  ir_expect(&f, hn_block_add_result(graph->main, c->out[0], NULL), HONE_OK);
  assert_int_equal(hn_block_add_result(graph->main, c->out[0], "again"), HONE_INVALID);
  ir_expect_message(&f, "two outputs are named again");
  assert_int_equal(hn_value_use_count(a->out[0]), 4);
  assert_true(hn_value_is_result(a->out[0]));
  assert_false(hn_value_is_result(b->out[0]));

  hn_node *d = add_node(&f, graph->main, "relu", "d", y, NULL);
  hn_node_move_before(d, b);
  assert_ptr_equal(a->next, d);
  hn_value_replace(a->out[0], d->out[0]);
  ir_verify(&f, graph);
  assert_int_equal(hn_value_use_count(a->out[0]), 0);
  assert_int_equal(hn_value_use_count(d->out[0]), 4);
  assert_ptr_equal(graph->main->results[0], d->out[0]);
  hn_node_remove(a);
  ir_verify(&f, graph);
  assert_int_equal(hn_value_use_count(x), 0);
  assert_true(hn_value_is_dead(graph->values[2]));
  hn_node_set_input(b, 1, x);
  hn_node_set_input(c, 1, y);
  hn_block_set_result(graph->main, 0, b->out[0]);
  assert_int_equal(hn_value_use_count(d->out[0]), 1);
  assert_int_equal(hn_node_add_input(b, x), HONE_INVALID);
  ir_expect_message(&f, "has no input 2");
  hn_node *sum = add_node(&f, graph->main, "sum", "sum", x, NULL);
  for (int i = 0; i < 20; ++i) ir_expect(&f, hn_node_add_input(sum, i % 2 ? x : y), HONE_OK);
  ir_expect(&f, hn_infer_node(graph, sum), HONE_OK);
  assert_int_equal(hn_graph_node_count(graph), 4);
  hn_node_move_before(d, NULL);
  assert_int_equal(hn_graph_verify(graph), HONE_INTERNAL);
  ir_expect_message(&f, "is not defined above it");
  hn_node_move_before(d, graph->main->first);
  end(&f, graph);
}

/* Removing a node with blocks and parts gives back everything inside it. */
static void test_remove_deep(void **state) {
  (void)state;
  ir_fixture f;
  ir_begin(&f);
  hone_graph *graph = ir_parse(&f, ir_sample);
  assert_int_equal(hn_graph_node_count(graph), 9);
  hn_value *inner_cond = ir_value(graph, "inner_cond"), *x = ir_value(graph, "x");
  const int uses = x->use_count;
  hn_node_remove(ir_node(graph, "if"));
  assert_int_equal(hn_graph_node_count(graph), 6);
  assert_int_equal(inner_cond->use_count, 0);
  assert_int_equal(x->use_count, uses - 1);
  assert_null(hn_table_get(&graph->node_names, "relu_1"));
  assert_null(hn_table_get(&graph->value_names, "b"));
  ir_verify(&f, graph);
  hn_value_replace(ir_value(graph, "y"), ir_value(graph, "m"));
  hn_node_remove(ir_node(graph, "two"));
  assert_null(hn_table_get(&graph->node_names, "add"));
  end(&f, graph);
}

static void test_origins(void **state) {
  (void)state;
  ir_fixture f;
  hone_graph *graph = create(&f);
  hn_origins a, b, c, ab, abc, same;
  ir_expect(&f, hn_origins_one(graph, "a", &a), HONE_OK);
  ir_expect(&f, hn_origins_one(graph, "b", &b), HONE_OK);
  ir_expect(&f, hn_origins_one(graph, "c", &c), HONE_OK);
  ir_expect(&f, hn_origins_union(graph, &b, &a, &ab), HONE_OK);
  ir_expect(&f, hn_origins_union(graph, &ab, &c, &abc), HONE_OK);
  assert_int_equal(abc.count, 3);
  assert_string_equal(abc.names[0], "a");
  assert_string_equal(abc.names[2], "c");
  ir_expect(&f, hn_origins_union(graph, &b, &abc, &same), HONE_OK);
  assert_ptr_equal(same.names, abc.names);
  ir_expect(&f, hn_origins_union(graph, &(hn_origins){0}, &(hn_origins){0}, &same), HONE_OK);
  assert_int_equal(same.count, 0);
  end(&f, graph);
}

static void test_constants(void **state) {
  (void)state;
  ir_fixture f;
  hone_graph *graph = create(&f);
  const int64_t numbers[3] = {-1, 5, INT64_MAX};
  hn_value *ints = hn_constant_int(graph, "ints", 1, 3, numbers);
  assert_int_equal(ints->fact.value_count, 3);
  assert_true(ints->fact.value[2] == INT64_MAX);
  assert_int_equal(hn_constant_int(graph, NULL, 1, 0, NULL)->fact.type.shape.dim[0], 0);
  assert_int_equal(hn_constant_int(graph, NULL, 0, 1, numbers)->fact.type.shape.rank, 0);
  const int64_t code = HONE_SYMBOL_BASE - 1;
  assert_null(hn_constant_int(graph, NULL, 1, 1, &code)->fact.value); /* would be taken for a symbol */
  uint64_t big = UINT64_MAX;
  const hone_tensor wide = hn_tensor_over(HONE_U64, 0, NULL, &big);
  assert_null(hn_constant_create(graph, NULL, &wide, false)->fact.value); /* not an int64_t */
  assert_null(hn_constant_scalar(graph, HONE_F32, 2.0)->fact.value);
  assert_int_equal(hn_constant_scalar(graph, HONE_BOOL, 1.0)->fact.value[0], 1);
  static float many[HONE_MAX_FACT_VALUES + 1];
  const int64_t dims[1] = {HONE_MAX_FACT_VALUES + 1};
  const hone_tensor floats = hn_tensor_over(HONE_F32, 1, dims, many), whole = hn_tensor_over(HONE_I32, 1, dims, many);
  assert_null(hn_constant_create(graph, NULL, &whole, true)->fact.value);
  hn_value *borrowed = hn_constant_create(graph, NULL, &floats, true),
           *copied = hn_constant_create(graph, NULL, &floats, false);
  assert_ptr_equal(borrowed->fact.constant->data, many);
  assert_ptr_not_equal(copied->fact.constant->data, many);
  assert_int_equal(hn_constant_hash(borrowed), hn_constant_hash(copied));
  assert_int_not_equal(hn_constant_hash(borrowed), hn_constant_hash(hn_constant_create(graph, NULL, &whole, true)));
  hone_tensor wrong = floats;
  wrong.bytes = 3;
  assert_null(hn_constant_create(graph, "w", &wrong, true));
  ir_expect_message(&f, "constant w: its 3 bytes are not those of its type");
  end(&f, graph);
}

/* All errors come at once, and what follows from an error is no error of its own. */
static void test_infer_all_errors(void **state) {
  (void)state;
  ir_fixture f;
  ir_begin(&f);
  hone_graph *graph =
      ir_parse(&f, "graph \"g\" { in %x: f32[2,3] in %y: f32[2,3] %a = add(%x, %y) @\"a\"\n"
                   "%b = relu(%a) @\"b\" %c = add(%y, %y) @\"c\" %d = add(%x, %c) @\"d\" out %b out %d }");
  ir_value(graph, "y")->fact.type.shape.dim[1] = 5;
  assert_int_equal(hn_infer_graph(graph), HONE_MALFORMED);
  assert_int_equal(f.context.diag.count, 2);
  assert_non_null(strstr(f.context.diag.entries[0].text, "in node a (add)"));
  assert_non_null(strstr(f.context.diag.entries[1].text, "in node d (add)"));
  assert_int_equal(ir_value(graph, "a")->fact.type.shape.rank, -1);
  hn_diag_clear(&f.context.diag);
  ir_value(graph, "y")->fact.type.shape.dim[1] = 3;
  ir_expect(&f, hn_infer_graph(graph), HONE_OK);
  assert_int_equal(ir_value(graph, "d")->fact.type.shape.dim[1], 3);
  end(&f, graph);
}

static void test_infer_again_is_stable(void **state) {
  (void)state;
  ir_fixture f;
  ir_begin(&f);
  hone_graph *graph = ir_parse(&f, ir_sample);
  char *before = ir_print(&f, graph);
  for (int i = 0; i < 3; ++i) ir_expect(&f, hn_infer_graph(graph), HONE_OK);
  char *after = ir_print(&f, graph);
  assert_string_equal(before, after);
  free(before);
  free(after);
  end(&f, graph);
}

/* A shape computed from a captured constant: the block's params know the constant that they are bound to. */
static void test_params_know_constants(void **state) {
  (void)state;
  ir_fixture f;
  ir_begin(&f);
  hone_graph *graph = ir_parse(&f, "graph \"g\" { in %c: bool[] in %x: f32[2,3] const %k: i64[1] = [6]\n"
                                   "%r = test_if(%c, %x, %k) @\"if\" (%a: f32[2,3], %s: i64[1]) {\n"
                                   "%b = reshape(%a, %s) @\"reshape\" yield %b } out %r }");
  const hone_type *type = &ir_value(graph, "r")->fact.type;
  assert_int_equal(type->shape.rank, 1);
  assert_int_equal(type->shape.dim[0], 6);
  hone_graph *copy = NULL;
  ir_expect(&f, hn_graph_clone(graph, &copy), HONE_OK);
  assert_ptr_equal(ir_value(copy, "s")->fact.constant, ir_value(copy, "k")->fact.constant);
  hn_graph_destroy(graph);
  end(&f, copy);
}

static void test_clone(void **state) {
  (void)state;
  ir_fixture f;
  ir_begin(&f);
  hone_graph *graph = ir_parse(&f, ir_sample), *copy = NULL;
  char *before = ir_print(&f, graph);
  const int found = ir_value(graph, "n")->id;
  const int64_t dim = ir_value(graph, "n")->fact.type.shape.dim[1];
  ir_expect(&f, hn_graph_clone(graph, &copy), HONE_OK);
  hn_graph_destroy(graph); /* nothing of the copy may lie in the original */
  ir_verify(&f, copy);
  char *after = ir_print(&f, copy);
  assert_string_equal(before, after);
  assert_int_equal(ir_value(copy, "n")->id, found);
  assert_true(ir_value(copy, "n")->fact.type.shape.dim[1] == dim);
  /* Generated names go on where the original's had come. */
  hn_node *node = add_node(&f, copy->main, "relu", "relu", ir_value(copy, "x"), NULL);
  assert_string_equal(node->name, "relu_2");
  free(before);
  free(after);
  end(&f, copy);
}

/* Large constants are shared, small ones copied; the bytes go with the last graph that has them. */
static void test_clone_shares_bytes(void **state) {
  (void)state;
  ir_fixture f;
  hone_graph *graph = create(&f), *one = NULL, *two = NULL;
  enum { BYTES = 64 << 20 };
  hn_blob blob = {.bytes = BYTES, .owned = true, .allocator = f.context.allocator};
  blob.data = hn_alloc_zero(&f.context.allocator, BYTES);
  const int64_t dims[1] = {BYTES / 4}, few[1] = {4};
  const hone_tensor large = hn_tensor_over(HONE_F32, 1, dims, (void *)blob.data);
  const hone_tensor small = hn_tensor_over(HONE_F32, 1, few, (void *)blob.data);
  const hone_tensor medium = {.type = large.type, .data = large.data, .bytes = large.bytes};
  ir_expect(&f, hn_graph_add_mapping(graph, &blob), HONE_OK);
  assert_null(blob.data);
  hn_value *l = hn_constant_create(graph, "l", &large, true), *s = hn_constant_create(graph, "s", &small, false);
  hn_value *m = hn_constant_create(graph, "m", &medium, false);
  const size_t bytes_before = f.memory.live_bytes;
  const clock_t begin = clock();
  ir_expect(&f, hn_graph_clone(graph, &one), HONE_OK);
  ir_expect(&f, hn_graph_clone(one, &two), HONE_OK);
  assert_true(clock() - begin < CLOCKS_PER_SEC);
  assert_true(f.memory.live_bytes - bytes_before < 1 << 20);
  assert_ptr_equal(ir_value(two, "l")->fact.constant->data, l->fact.constant->data);
  assert_ptr_equal(ir_value(two, "m")->fact.constant->data, m->fact.constant->data);
  assert_ptr_not_equal(ir_value(two, "s")->fact.constant->data, s->fact.constant->data);
  hn_graph_destroy(graph);
  hn_graph_destroy(one);
  assert_int_equal(((const uint8_t *)ir_value(two, "l")->fact.constant->data)[BYTES - 1], 0);
  assert_int_equal(((const uint8_t *)ir_value(two, "m")->fact.constant->data)[BYTES - 1], 0);
  end(&f, two);
}

/* ---- memory runs out ---- */

/* Everything that allocates, in one go; the first failure ends it. */
static hone_status work(ir_fixture *f, hone_graph **graph, hone_graph **copy, hone_graph **again, hn_text *text) {
  HN_TRY(hn_graph_parse(&f->context, ir_sample, strlen(ir_sample), NULL, 0, graph));
  static float bytes[1000];
  const int64_t dims[1] = {1000};
  const hone_tensor tensor = hn_tensor_over(HONE_F32, 1, dims, bytes);
  hn_value *large = hn_constant_create(*graph, "large", &tensor, false);
  if (!large) return HONE_NO_MEMORY;
  HN_TRY(hn_block_add_result((*graph)->main, large, NULL));
  HN_TRY(hn_graph_clone(*graph, copy));
  HN_TRY(hn_infer_graph(*copy));
  HN_TRY(hn_graph_print(*copy, &(hn_print_options){.with_origins = true, .constant_elements = -1}, text));
  HN_TRY(hn_graph_parse(&f->context, text->data, text->length, NULL, 0, again));
  return hn_graph_verify(*again);
}

static void test_every_allocation_fails(void **state) {
  (void)state;
  int failures = 0;
  for (long at = 0;; ++at) {
    ir_fixture f;
    ir_begin(&f);
    f.memory.countdown = at;
    hone_graph *graph = NULL, *copy = NULL, *again = NULL;
    hn_text text;
    hn_text_init(&text, f.context.allocator);
    const hone_status status = work(&f, &graph, &copy, &again, &text);
    const bool done = status == HONE_OK;
    if (!done && status != HONE_NO_MEMORY)
      fail_msg("allocation %ld: %s: %s", at, hone_status_name(status), ir_message(&f));
    assert_int_equal(done, f.context.diag.count == 0);
    hn_diag_clear(&f.context.diag);
    f.memory.countdown = -1;
    /* Whatever there is holds every rule. */
    if (graph) ir_verify(&f, graph);
    if (copy) ir_verify(&f, copy);
    hn_text_deinit(&text);
    hn_graph_destroy(graph);
    hn_graph_destroy(copy);
    hn_graph_destroy(again);
    ir_end(&f);
    if (done) break;
    ++failures;
  }
  assert_true(failures > 40);
}

/* Arenas take memory in large steps: with a tiny step each allocation of the editing functions fails in turn. */
static void test_failed_edit_changes_nothing(void **state) {
  (void)state;
  for (size_t room = 0;; room += 16) {
    ir_fixture f;
    ir_begin(&f);
    hone_graph *graph = ir_parse(&f, ir_sample);
    char *before = ir_print(&f, graph);
    graph->arena.limit_bytes = graph->arena.used_bytes + room;
    hn_value *const in[3] = {ir_value(graph, "m"), NULL, ir_value(graph, "x")};
    const hn_node_spec spec = {.op = hn_op_find(&f.ops, "test_two"), .in = in, .in_count = 3, .out_count = 3};
    hn_node *node = NULL;
    const hone_status status = hn_node_create(graph->main, &spec, &node);
    graph->arena.limit_bytes = 0;
    ir_expect(&f, status, status == HONE_OK ? HONE_OK : HONE_NO_MEMORY);
    hn_diag_clear(&f.context.diag);
    if (status == HONE_OK) {
      hn_node_remove(node);
    }
    char *after = ir_print(&f, graph);
    assert_string_equal(before, after);
    free(before);
    free(after);
    end(&f, graph);
    if (status == HONE_OK) break;
    assert_null(node);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_names),
      cmocka_unit_test(test_node_create_is_all_or_nothing),
      cmocka_unit_test(test_editing),
      cmocka_unit_test(test_remove_deep),
      cmocka_unit_test(test_origins),
      cmocka_unit_test(test_constants),
      cmocka_unit_test(test_infer_all_errors),
      cmocka_unit_test(test_infer_again_is_stable),
      cmocka_unit_test(test_params_know_constants),
      cmocka_unit_test(test_clone),
      cmocka_unit_test(test_clone_shares_bytes),
      cmocka_unit_test(test_every_allocation_fails),
      cmocka_unit_test(test_failed_edit_changes_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
