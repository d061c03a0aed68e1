/* SPDX-License-Identifier: Apache-2.0 */
/* test_notation.c - reading find and put texts, and building what they say. */
#include "ir_support.h"
#include "ir/notation.h"

static hn_roots read(ir_fixture *f, hn_arena *arena, const char *text) {
  hn_roots roots;
  const hone_status status = hn_notation_parse(arena, &f->context.diag, "test", text, &roots);
  if (status != HONE_OK) fail_msg("%s: %s", text, ir_message(f));
  return roots;
}

static void test_terms(void **state) {
  (void)state;
  ir_fixture f;
  ir_begin(&f);
  hn_arena arena;
  hn_arena_init(&arena, f.context.allocator);
  hn_roots roots =
      read(&f, &arena, "relu(c:conv[act=0, mode=same, pads=[0,1], a=[0.5,1], e=[], t=\"x\"](x, w:const, ...))");
  assert_int_equal(roots.count, 1);
  const hn_term *relu = roots.terms[0], *conv = relu->args[0];
  assert_int_equal(relu->kind, HN_TERM_OP);
  assert_string_equal(relu->op, "relu");
  assert_string_equal(conv->name, "c");
  assert_string_equal(conv->op, "conv");
  assert_int_equal(conv->attr_count, 6);
  assert_int_equal(conv->attrs[0].value.kind, HONE_ATTR_INT);
  assert_int_equal(conv->attrs[1].value.kind, HONE_ATTR_STRING);
  assert_string_equal(conv->attrs[1].value.s, "same");
  assert_int_equal(conv->attrs[2].value.kind, HONE_ATTR_INTS);
  assert_int_equal(conv->attrs[2].value.ints[1], 1);
  assert_int_equal(conv->attrs[3].value.kind, HONE_ATTR_FLOATS);
  assert_true(conv->attrs[3].value.floats[1] == 1.0);
  assert_int_equal(conv->attrs[4].value.kind, HONE_ATTR_INTS);
  assert_int_equal(conv->attrs[4].value.count, 0);
  assert_int_equal(conv->attrs[5].value.count, 1);
  assert_int_equal(conv->arg_count, 3);
  assert_int_equal(conv->args[0]->kind, HN_TERM_NAME);
  assert_true(conv->args[1]->is_const);
  assert_int_equal(conv->args[2]->kind, HN_TERM_ELLIPSIS);

  roots =
      read(&f, &arena, "(y.1, concat[axis=$axis](xs...), c[act=d.act], any[elementwise, commutes](_, -1.5e3), s:2)");
  assert_int_equal(roots.count, 5);
  assert_int_equal(roots.terms[0]->output, 1);
  assert_string_equal(roots.terms[0]->name, "y");
  assert_int_equal(roots.terms[1]->args[0]->kind, HN_TERM_REST);
  assert_string_equal(roots.terms[1]->attrs[0].attr, "axis");
  assert_null(roots.terms[1]->attrs[0].from);
  assert_false(roots.terms[2]->has_args);
  assert_string_equal(roots.terms[2]->attrs[0].from, "d");
  assert_int_equal(roots.terms[3]->trait, HONE_ELEMENTWISE | HONE_COMMUTES);
  assert_int_equal(roots.terms[3]->args[0]->kind, HN_TERM_ABSENT);
  assert_true(roots.terms[3]->args[1]->number == -1500.0);
  assert_string_equal(roots.terms[4]->name, "s");
  hn_arena_deinit(&arena);
  ir_end(&f);
}

static void test_wrong_terms(void **state) {
  (void)state;
  static const struct {
    const char *text, *message;
  } rows[] = {
      {"", "test: line 1, column 1: expected an expression"},
      {"relu(", "expected an expression"},
      {"relu(x", "expected ')'"},
      {"relu(x))", "column 8: expected the end"},
      {"relu(x,)x", "column 9: expected the end"},
      {"a, b", "parentheses around several results"},
      {"(a, b", "expected ')'"},
      {"...", "expected an expression"},
      {"relu(..., x)", "expected ')'"},
      {"c:x", "expected an operator or a number to bind"},
      {"c:d:relu(x)", "expected an operator or a number to bind"},
      {"relu[](x)", "an attribute's name"},
      {"relu[a](x)", "expected '='"},
      {"relu[a=](x)", "a value"},
      {"relu[a=[1,\"x\"]](x)", "items of one kind"},
      {"any[fast](x)", "a trait"},
      {"y.x", "a whole number"},
      {"y.5000", "an output's number"},
      {"relu(x; y)", "a character that means nothing here"},
  };
  for (size_t i = 0; i < HN_COUNT(rows); ++i) {
    ir_fixture f;
    ir_begin(&f);
    hn_arena arena;
    hn_roots roots;
    hn_arena_init(&arena, f.context.allocator);
    const hone_status status = hn_notation_parse(&arena, &f.context.diag, "test", rows[i].text, &roots);
    if (status != HONE_MALFORMED) fail_msg("%s: %s", rows[i].text, hone_status_name(status));
    assert_int_equal(roots.count, 0);
    ir_expect_message(&f, rows[i].message);
    char deep[400] = "";
    for (int d = 0; d < 70; ++d) strcat(deep, "neg(");
    assert_int_equal(hn_notation_parse(&arena, &f.context.diag, "test", deep, &roots), HONE_MALFORMED);
    ir_expect_message(&f, "nesting of at most 64");
    hn_arena_deinit(&arena);
    ir_end(&f);
  }
}

/* The base of the build tests: values x (f32), h (f16), i (i64) and a node t with an absent input. */
static const char base_text[] = "graph \"g\" {\n  in %x: f32[2,3]\n  in %h: f16[2,3]\n  in %i: i64[2]\n"
                                "  %t = test_two(%x, _, %x) @\"t\"\n"
                                "  %a = test_attrs(%x) [i=3, f=2.0] @\"a\"\n  out %t as \"t\"\n  out %a as \"a\"\n}\n";

typedef struct built {
  const char *text, *want; /* the lines after those of base_text, without the outputs */
} built;

static const built builds[] = {
    {"x", ""},
    {"relu(x)", "%new = relu(%x) @\"new\"\n"},
    {"add(mul(x, 2), 1)", "const %c: f32[] = [2]\nconst %c_1: f32[] = [1]\n"
                          "%new = mul(%x, %c) @\"new\"\n%new_1 = add(%new, %c_1) @\"new_1\"\n"},
    {"mul(0.5, h)", "const %c: f16[] = [0.5]\n%new = mul(%c, %h) @\"new\"\n"},
    {"mul(3, i)", "const %c: i64[] = [3]\n%new = mul(%c, %i) @\"new\"\n"},
    {"gather(x, 1)", "const %c: i64[] = [1]\n%new = gather(%x, %c) @\"new\"\n"},
    {"where(equal(x, 0), 0, x)", "const %c: f32[] = [0]\nconst %c_1: f32[] = [0]\n"
                                 "%new = equal(%x, %c) @\"new\"\n%new_1 = where(%new, %c_1, %x) @\"new_1\"\n"},
    {"t(h)", "%new = test_two(%h) @\"new\"\n"},
    {"t(h, h, ...)", NULL}, /* f16 and f32 under one letter */
    {"t(x, x, ...)", "%new = test_two(%x, %x, %x) @\"new\"\n"},
    {"t(relu(x), ...)", "%new = relu(%x) @\"new\"\n%new_1 = test_two(%new, _, %x) @\"new_1\"\n"},
    {"a[i=4]", "%new = test_attrs(%x) [i=4, f=2.0] @\"new\"\n"},
    {"a[f=1](h)", "%new = test_attrs(%h) [i=3, f=1.0] @\"new\"\n"},
    {"test_attrs[i=$axis, s=$absent](x)", "%new = test_attrs(%x) [i=7] @\"new\"\n"},
    {"test_attrs[i=a.i, f=a.f, floats=[1,2], strings=[]](x)",
     "%new = test_attrs(%x) [i=3, f=2.0, floats=[1.0,2.0], strings=[]] @\"new\"\n"},
    {"concat[axis=0](xs...)", "%new = concat(%x, %t) [axis=0] @\"new\"\n"},
    {"concat[axis=0](x, xs...)", "%new = concat(%x, %x, %t) [axis=0] @\"new\"\n"},
    {"test_two(x, none, x)", "%new = test_two(%x, _, %x) @\"new\"\n"},
    {"test_two(x, _, x)", "%new = test_two(%x, _, %x) @\"new\"\n"},
    {"(y:test_two(x), y.2)", "%new, _, %new_1 = test_two(%x) @\"new\"\n"},
    {"(r:relu(x), add(r, r))", "%new = relu(%x) @\"new\"\n%new_1 = add(%new, %new) @\"new_1\"\n"},
    {"(s:2, relu(x))", "const %c: f32[] = [2]\n%new = relu(%x) @\"new\"\n"},
    {"nothing(x)", NULL},
    {"relu(nothing)", NULL},
    {"relu(...)", NULL},
    {"relu", NULL},
    {"x.1", NULL},
    {"t.1", NULL},
    {"relu[alpha=1](x)", NULL},
    {"relu[alpha=x.i](x)", NULL},
    {"add(relu(x), h)", NULL},
    {"concat[axis=0](ys...)", NULL},
};

static void test_build(void **state) {
  (void)state;
  for (size_t i = 0; i < HN_COUNT(builds); ++i) {
    ir_fixture f;
    ir_begin(&f);
    hone_graph *graph = ir_parse(&f, base_text);
    hn_arena arena;
    hn_arena_init(&arena, f.context.allocator);
    const hn_roots roots = read(&f, &arena, builds[i].text);
    hn_node *t = ir_node(graph, "t"), *a = ir_node(graph, "a");
    hn_value *const rest[2] = {ir_value(graph, "x"), t->out[0]};
    const hn_binding bindings[] = {{"x", ir_value(graph, "x"), NULL, 0, NULL},
                                   {"h", ir_value(graph, "h"), NULL, 0, NULL},
                                   {"i", ir_value(graph, "i"), NULL, 0, NULL},
                                   {"none", NULL, NULL, 0, NULL},
                                   {"t", t->out[0], t, 0, NULL},
                                   {"a", a->out[0], a, 0, NULL},
                                   {"xs", NULL, NULL, 2, rest}};
    const hone_attr axis = {.name = "axis", .kind = HONE_ATTR_INT, .i = 7};
    const hone_attrs attrs = {1, &axis};
    const hn_build build = {.block = graph->main,
                            .bindings = bindings,
                            .binding_count = (int)HN_COUNT(bindings),
                            .attrs = &attrs,
                            .name = "new"};
    hn_value *results[8];
    char *before = ir_print(&f, graph);
    const hone_status status = hn_notation_build(&build, &roots, results);
    if ((status == HONE_OK) != (builds[i].want != NULL)) fail_msg("%s: %s", builds[i].text, ir_message(&f));
    assert_int_equal(status == HONE_OK, f.context.diag.count == 0);
    hn_diag_clear(&f.context.diag);
    if (status == HONE_OK) {
      for (int r = 0; r < roots.count; ++r)
        if (!hn_value_is_constant(results[r]))
          ir_expect(&f, hn_block_add_result(graph->main, results[r], hn_arena_printf(&arena, "r%d", r)), HONE_OK);
    }
    ir_verify(&f, graph);
    char *after = ir_print(&f, graph);
    if (status != HONE_OK) assert_string_equal(before, after);
    /* Every wanted line is there, indented as lines of the graph are. */
    for (const char *line = builds[i].want; line && *line; line = strchr(line, '\n') + 1) {
      char expected[256];
      snprintf(expected, sizeof expected, "\n  %.*s\n", (int)(strchr(line, '\n') - line), line);
      if (strcmp(builds[i].text, "(s:2, relu(x))") == 0 && strncmp(line, "const", 5) == 0) continue; /* unused */
      if (!strstr(after, expected)) fail_msg("%s: want%sin\n%s", builds[i].text, expected, after);
    }
    free(before);
    free(after);
    hn_arena_deinit(&arena);
    hn_graph_destroy(graph);
    ir_end(&f);
  }
}

static void test_place_and_origins(void **state) {
  (void)state;
  ir_fixture f;
  ir_begin(&f);
  hone_graph *graph = ir_parse(&f, base_text);
  hn_arena arena;
  hn_arena_init(&arena, f.context.allocator);
  const hn_roots roots = read(&f, &arena, "relu(neg(x))");
  const hn_binding binding = {.name = "x", .value = ir_value(graph, "x")};
  hn_build build = {.block = graph->main, .before = ir_node(graph, "a"), .bindings = &binding, .binding_count = 1};
  ir_expect(&f, hn_origins_one(graph, "from here", &build.origins), HONE_OK);
  hn_value *result;
  ir_expect(&f, hn_notation_build(&build, &roots, &result), HONE_OK);
  const hn_node *relu = result->node;
  assert_ptr_equal(relu->next, ir_node(graph, "a"));
  assert_string_equal(relu->name, "relu");
  assert_string_equal(relu->prev->op->name, "neg");
  assert_ptr_equal(relu->prev->prev, ir_node(graph, "t"));
  assert_string_equal(relu->origins.names[0], "from here");
  hn_arena_deinit(&arena);
  hn_graph_destroy(graph);
  ir_end(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_terms),
      cmocka_unit_test(test_wrong_terms),
      cmocka_unit_test(test_build),
      cmocka_unit_test(test_place_and_origins),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
