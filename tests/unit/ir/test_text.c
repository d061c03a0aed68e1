/* SPDX-License-Identifier: Apache-2.0 */
/* test_text.c - graphs as text and back, exactly; what is wrong in a text is named with its place; hostile text. */
#include "ir_support.h"
#include "base/random.h"
#include <math.h>

static void test_sample_is_canonical(void **state) {
  (void)state;
  ir_fixture f;
  ir_begin(&f);
  hone_graph *graph = ir_parse(&f, ir_sample);
  ir_verify(&f, graph);
  char *text = ir_print(&f, graph);
  assert_string_equal(text, ir_sample);
  free(text);
  hn_graph_destroy(graph);
  ir_end(&f);
}

static void test_far_constants(void **state) {
  (void)state;
  ir_fixture f;
  ir_begin(&f);
  hone_graph *graph = ir_parse(&f, "graph \"g\" { const %a: f32[40,40] = random 7 const %b: i8[300] = splat -3\n"
                                   "const %c: f32[2] = [1, 2] out %a out %b out %c }");
  hn_text text, bytes;
  hn_text_init(&text, f.context.allocator);
  hn_text_init(&bytes, f.context.allocator);
  hn_print_options options = {.constant_bytes = &bytes};
  ir_expect(&f, hn_graph_print(graph, &options, &text), HONE_OK);
  assert_int_equal(bytes.length, 6400 + 300);
  hone_graph *again = NULL;
  ir_expect(&f, hn_graph_parse(&f.context, text.data, text.length, bytes.data, bytes.length, &again), HONE_OK);
  const hone_tensor *a = ir_value(graph, "a")->fact.constant, *b = ir_value(again, "a")->fact.constant;
  assert_memory_equal(a->data, b->data, 6400);
  assert_int_equal(((const int8_t *)ir_value(again, "b")->fact.constant->data)[299], -3);
  hn_graph_destroy(again);

  ir_expect(&f, hn_graph_parse(&f.context, text.data, text.length, bytes.data, bytes.length - 1, &again),
            HONE_MALFORMED);
  ir_expect_message(&f, "offset from where all bytes");
  bytes.data[5] ^= 1;
  ir_expect(&f, hn_graph_parse(&f.context, text.data, text.length, bytes.data, bytes.length, &again), HONE_MALFORMED);
  ir_expect_message(&f, "line 2, column 26: expected the hash of the bytes");
  assert_null(again);
  hn_text_clear(&text);
  options.constant_bytes = NULL;
  ir_expect(&f, hn_graph_print(graph, &options, &text), HONE_OK);
  ir_expect(&f, hn_graph_parse(&f.context, text.data, text.length, NULL, 0, &again), HONE_MALFORMED);
  ir_expect_message(&f, "the bytes of this constant are not in the text");
  hn_text_deinit(&text);
  hn_text_deinit(&bytes);
  hn_graph_destroy(graph);
  ir_end(&f);
}

/* Every bit pattern of the narrow types, and random ones of the wide, must come back. */
static void test_every_bit_pattern(void **state) {
  (void)state;
  static const hone_dtype dtypes[] = {HONE_F32,    HONE_F16,        HONE_BF16,   HONE_F64,      HONE_I8,
                                      HONE_I16,    HONE_I32,        HONE_I64,    HONE_U8,       HONE_U16,
                                      HONE_U32,    HONE_U64,        HONE_BOOL,   HONE_F8E4M3FN, HONE_F8E4M3FNUZ,
                                      HONE_F8E5M2, HONE_F8E5M2FNUZ, HONE_F8E8M0, HONE_F4E2M1,   HONE_I4,
                                      HONE_U4,     HONE_I2,         HONE_U2,     HONE_C64,      HONE_C128};
  enum { COUNT = 1024 };
  static uint8_t bytes[COUNT * 16];
  hn_random random = {1};
  for (size_t i = 0; i < sizeof bytes; ++i) bytes[i] = (uint8_t)hn_random_u64(&random);
  for (size_t i = 0; i < 256; ++i) bytes[i] = (uint8_t)i;
  for (size_t d = 0; d < HN_COUNT(dtypes); ++d) {
    ir_fixture f;
    ir_begin(&f);
    hone_graph *graph = NULL;
    ir_expect(&f, hn_graph_create(&f.context, "bits", &graph), HONE_OK);
    const int64_t dims[1] = {COUNT};
    const hone_tensor tensor = hn_tensor_over(dtypes[d], 1, dims, bytes);
    hn_value *value = hn_constant_create(graph, "c", &tensor, true);
    assert_non_null(value);
    ir_expect(&f, hn_block_add_result(graph->main, value, NULL), HONE_OK);
    char *text = ir_print(&f, graph);
    hone_graph *again = ir_parse(&f, text);
    const hone_tensor *back = ir_value(again, "c")->fact.constant;
    assert_int_equal(back->bytes, tensor.bytes);
    if (memcmp(back->data, bytes, tensor.bytes) != 0) fail_msg("%s: other bits came back", hone_dtype_name(dtypes[d]));
    assert_int_equal(hn_constant_hash(value), hn_constant_hash(ir_value(again, "c")));
    free(text);
    hn_graph_destroy(again);
    hn_graph_destroy(graph);
    ir_end(&f);
  }
}

static void test_types_and_origins(void **state) {
  (void)state;
  ir_fixture f;
  ir_begin(&f);
  hone_graph *graph = ir_parse(&f, "graph \"g\" { in %x: f32[2,3] %y = relu(%x) @\"r\" from(\"o\") out %y }");
  hn_text text;
  hn_text_init(&text, f.context.allocator);
  const hn_print_options options = {.with_types = true};
  ir_expect(&f, hn_graph_print(graph, &options, &text), HONE_OK);
  assert_non_null(strstr(text.data, "%y = relu(%x) @\"r\"  // f32[2,3]\n"));
  assert_null(strstr(text.data, "from"));
  hone_graph *again = ir_parse(&f, text.data);
  hn_graph_destroy(again);
  hn_text_deinit(&text);
  hn_graph_destroy(graph);
  ir_end(&f);
}

#define IN_X "graph \"g\" {\n  in %x: f32[2,3]\n  "

static const struct {
  const char *text, *message;
  hone_status want;
} wrong_texts[] = {
    {"", "line 1, column 1: expected graph", HONE_MALFORMED},
    {"graph x {}", "column 7: expected a quoted name", HONE_MALFORMED},
    {"graph \"g\" {", "column 12: expected", HONE_MALFORMED},
    {"graph \"g\" {} more", "column 14: expected the end of the text", HONE_MALFORMED},
    {"graph \"g\" opset 9999 {}", "expected an opset", HONE_MALFORMED},
    {"graph \"g", "column 7: a quote that is not closed", HONE_MALFORMED},
    {"graph \"\\x\" {}", "no such escape", HONE_MALFORMED},
    {"graph \"g\" { in %x: f33[2] }", "column 20: expected a type", HONE_MALFORMED},
    {"graph \"g\" { in %x: f32[2,] }", "expected a dim", HONE_MALFORMED},
    {"graph \"g\" { in %x: f32[-1] }", "expected a dim that is not negative", HONE_MALFORMED},
    {"graph \"g\" { in %x: f32[1,1,1,1,1,1,1,1,1] }", "expected at most 8 dims", HONE_MALFORMED},
    {"graph \"g\" { in %x: f32[2", "expected a dim", HONE_MALFORMED},
    {"graph \"g\" { in %: f32[2] }", "a value without a name", HONE_MALFORMED},
    {"graph \"g\" { in %\"a\\u0000b\": f32[2] }", "a name with a zero byte", HONE_MALFORMED},
    {"graph \"g\" { in %x: absent }", "a type other than absent", HONE_MALFORMED},
    {"graph \"g\" { dim N in [5, 2] }", "bounds in order", HONE_MALFORMED},
    {"graph \"g\" { const %c: f32[2] = [1] }", "expected ','", HONE_MALFORMED},
    {"graph \"g\" { const %c: f32[1] = [1, 2] }", "expected ']'", HONE_MALFORMED},
    {"graph \"g\" { const %c: f32[N] = [1] }", "dims are numbers", HONE_MALFORMED},
    {"graph \"g\" { const %c: i8[1] = [128] }", "a number that fits the type", HONE_MALFORMED},
    {"graph \"g\" { const %c: i64[1] = [9223372036854775808] }", "of 64 bits", HONE_MALFORMED},
    {"graph \"g\" { const %c: u64[1] = [-1] }", "that is not negative", HONE_MALFORMED},
    {"graph \"g\" { const %c: f32[1] = [1x] }", "expected a number", HONE_MALFORMED},
    {"graph \"g\" { const %c: f32[1] = [#7fc] }", "as many hexadecimal digits", HONE_MALFORMED},
    {"graph \"g\" { const %c: c64[1] = [1] }", "bits of a complex number", HONE_MALFORMED},
    {"graph \"g\" { const %c: f32[99999999999] = [1] }", "as many elements", HONE_MALFORMED},
    {"graph \"g\" { const %c: f32[99999999999] = splat 1 }", "more bytes than the limit", HONE_LIMIT},
    {IN_X "in %x: f32[1] }", "line 3, column 6: expected a name that no value above has", HONE_MALFORMED},
    {IN_X "%y = nothing(%x) }", "column 8: expected an operator that is known", HONE_MALFORMED},
    {IN_X "%y = relu(%z) }", "expected a value that is defined above", HONE_MALFORMED},
    {IN_X "%y = relu(%x, %x) }", "2 inputs, but there are 1", HONE_MALFORMED},
    {IN_X "%y = relu() }", "input x is needed", HONE_MALFORMED},
    {IN_X "_ = relu(%x) }", "cannot be left out", HONE_MALFORMED},
    {IN_X "none = relu(%x) }", "output y is needed", HONE_MALFORMED},
    {IN_X "%y, %y2 = relu(%x) }", "2 outputs, but there are 1", HONE_MALFORMED},
    {IN_X "%y, %y = test_two(%x) }", "two results are named y", HONE_MALFORMED},
    {IN_X "%y = relu(%x) [alpha=1] }", "an attribute that the operator has", HONE_MALFORMED},
    {IN_X "%y = test_attrs(%x) }", "i", HONE_MALFORMED},
    {IN_X "%y = test_attrs(%x) [i=1, i=2] }", "each attribute once", HONE_MALFORMED},
    {IN_X "%y = test_attrs(%x) [i=1.5] }", "a whole number", HONE_MALFORMED},
    {IN_X "%y = test_attrs(%x) [i=1, strings=[1]] }", "quoted text", HONE_MALFORMED},
    {IN_X "%y = relu(%x) @\"a\" %z = relu(%y) @\"a\" }", "a name that no node above has", HONE_MALFORMED},
    {IN_X "%y = relu(%x) from(\"b\", \"a\") }", "sorted origins", HONE_MALFORMED},
    {IN_X "%y: f32[2,4] = relu(%x) }", "another type than is stated", HONE_MALFORMED},
    {IN_X "%y: f16[2,3] = relu(%x) }", "another type than is stated", HONE_MALFORMED},
    {IN_X "%y = test_negative(%x) }", "extent -3", HONE_MALFORMED},
    {IN_X "in %c: bool[] %y = add(%x, %c) }", "input b is bool", HONE_UNSUPPORTED},
    {IN_X "in %h: f16[] %y = add(%x, %h) }", "but another input of the same type is f32", HONE_MALFORMED},
    {IN_X "in %h: f32[4] %y = add(%x, %h) }", "in node", HONE_MALFORMED},
    {IN_X "out %x out %x }", "two outputs are named x", HONE_MALFORMED},
    {IN_X "%y = relu(%x) parts () { yield } }", "params of the inputs' types", HONE_MALFORMED},
    {IN_X "%y = relu(%x) parts (%p: f16[2,3]) { %q = cast(%p) [to=1] yield %q } }", "params of the inputs' types",
     HONE_MALFORMED},
    {IN_X "%y = relu(%x) parts (%p: f32[2,3]) { yield _ } }", "results of the outputs'", HONE_MALFORMED},
    {IN_X "%y, _, %z = test_two(%x) parts (%p: absent) { %q = relu(%p) yield %q } }", "stands for an absent value",
     HONE_MALFORMED},
    {IN_X "in %c: bool[] %y = test_if(%c) }", "expected '('", HONE_MALFORMED},
    {IN_X "in %c: bool[] %y = test_if(%c) () { yield %x } }", "a value of this block", HONE_MALFORMED},
    {IN_X "in %c: bool[] %y = test_if(%c) () { %z = relu(%x) yield %z } }", "belongs to another block", HONE_MALFORMED},
    {IN_X "in %c: bool[] %y = test_if(%c, %x) () { yield } }", "block 0 takes 0 values", HONE_MALFORMED},
    {IN_X "in %c: bool[] %y = test_if(%c) () { yield } }", "returns too little", HONE_MALFORMED},
    {IN_X "in %c: bool[] %y = test_if(%c, %x) (%p: f32[2,3]) { yield %p } out %p }", "not of a block", HONE_MALFORMED},
};

static void test_messages(void **state) {
  (void)state;
  for (size_t i = 0; i < HN_COUNT(wrong_texts); ++i) {
    ir_fixture f;
    ir_begin(&f);
    hone_graph *graph = NULL;
    const hone_status got =
        hn_graph_parse(&f.context, wrong_texts[i].text, strlen(wrong_texts[i].text), NULL, 0, &graph);
    if (got != wrong_texts[i].want)
      fail_msg("%s\ngot %s: %s", wrong_texts[i].text, hone_status_name(got), ir_message(&f));
    assert_null(graph);
    ir_expect_message(&f, wrong_texts[i].message);
    ir_end(&f);
  }
}

static void test_limits(void **state) {
  (void)state;
  ir_fixture f;
  ir_begin(&f);
  hone_graph *graph = NULL;
  char deep[16384], *end = deep;
  end += sprintf(end, "graph \"g\" { const %%c: bool[] = [1] in %%x0: f32[1]\n");
  for (int i = 0; i < 70; ++i) end += sprintf(end, "%%y%d = test_if(%%c, %%x%d) (%%x%d: f32[1]) {\n", i, i, i + 1);
  ir_expect(&f, hn_graph_parse(&f.context, deep, strlen(deep), NULL, 0, &graph), HONE_LIMIT);
  ir_expect_message(&f, "blocks nested deeper than 64");
  f.context.limits.max_nodes = 2;
  const char *nodes = IN_X "%a = relu(%x) %b = relu(%a) %c = relu(%b) out %c }";
  ir_expect(&f, hn_graph_parse(&f.context, nodes, strlen(nodes), NULL, 0, &graph), HONE_LIMIT);
  ir_expect_message(&f, "more nodes than the limit");
  f.context.limits = hn_limits_default();
  f.context.limits.max_tensors = 3;
  ir_expect(&f, hn_graph_parse(&f.context, nodes, strlen(nodes), NULL, 0, &graph), HONE_LIMIT);
  ir_expect_message(&f, "more values than the limit");
  f.context.limits = hn_limits_default();
  f.context.limits.max_string_bytes = 8;
  const char *name = "graph \"a long name\" {}";
  ir_expect(&f, hn_graph_parse(&f.context, name, strlen(name), NULL, 0, &graph), HONE_MALFORMED);
  ir_expect_message(&f, "a string longer than the limit");
  ir_end(&f);
}

/* What the text states of results stays, through printing, inferring again and cloning. */
static void test_stated_types(void **state) {
  (void)state;
  static const char *const rows[][2] = {
      {"i64[2,7]", "i64[2,7]"},       /* a number for what only running tells */
      {"i64[2,N]", "i64[2,N]"},       /* an input's symbol */
      {"i64[2,k]", "i64[2,k]"},       /* a new name */
      {"i64[2,k+1]", "i64[2,found#"}, /* no symbol: the one of inference stays */
      {"i64[*]", "i64[2,found#"},     /* says nothing */
  };
  for (size_t i = 0; i < HN_COUNT(rows); ++i) {
    ir_fixture f;
    ir_begin(&f);
    char text[256];
    snprintf(text, sizeof text, "graph \"g\" { in %%x: f32[N,3] %%n: %s = test_find(%%x) out %%n }", rows[i][0]);
    hone_graph *graph = ir_parse(&f, text), *copy = NULL;
    char *once = ir_print(&f, graph);
    if (!strstr(once, rows[i][1])) fail_msg("want %s in %s", rows[i][1], once);
    ir_expect(&f, hn_graph_clone(graph, &copy), HONE_OK);
    ir_expect(&f, hn_infer_graph(copy), HONE_OK);
    ir_verify(&f, copy);
    char *twice = ir_print(&f, copy);
    assert_string_equal(once, twice);
    free(twice);
    hone_graph *again = ir_parse(&f, once);
    twice = ir_print(&f, again);
    assert_string_equal(once, twice);
    assert_false(ir_value(graph, "x")->fact.type.shape.dim[0] >= 0);
    assert_false(hn_dim_is_after_run(&graph->dims, ir_value(graph, "x")->fact.type.shape.dim[0]));
    free(once);
    free(twice);
    hn_graph_destroy(again);
    hn_graph_destroy(copy);
    hn_graph_destroy(graph);
    ir_end(&f);
  }
}

/* Nothing is read before or behind the text: each lies alone in a block of its size. */
static void test_short_texts(void **state) {
  (void)state;
  for (int pair = 0; pair < 256 * 257; ++pair) {
    const size_t length = pair < 256 ? 1 : 2;
    char *text = malloc(length);
    text[0] = (char)pair;
    if (length == 2) text[1] = (char)(pair / 256 - 1);
    ir_fixture f;
    hone_graph *graph = NULL;
    ir_begin_plain(&f);
    assert_int_equal(hn_graph_parse(&f.context, text, length, NULL, 0, &graph), HONE_MALFORMED);
    ir_end(&f);
    free(text);
  }
}

/* Whatever single change is made to a good text, it is read or refused with a message; what is read can be printed and
 * read again, and holds every rule. */
static void test_changed_bytes(void **state) {
  (void)state;
  static const char replacements[] = "%\"[]{}(),=:._#@0-9aN \\\n\xff";
  hn_random random = {7};
  const size_t length = strlen(ir_sample);
  int read = 0;
  for (int round = 0; round < 3000; ++round) {
    char *text = malloc(length);
    memcpy(text, ir_sample, length);
    size_t used = length;
    for (uint64_t edits = 1 + hn_random_u64(&random) % 3; edits > 0; --edits) {
      const size_t at = (size_t)(hn_random_u64(&random) % length);
      text[at] = replacements[hn_random_u64(&random) % (sizeof replacements - 1)];
    }
    if (round % 10 == 0) used = (size_t)(hn_random_u64(&random) % length);
    ir_fixture f;
    ir_begin(&f);
    hone_graph *graph = NULL;
    const hone_status status = hn_graph_parse(&f.context, text, used, NULL, 0, &graph);
    assert_int_equal(status == HONE_OK, graph != NULL);
    assert_int_equal(status == HONE_OK, f.context.diag.count == 0);
    assert_int_not_equal(status, HONE_INTERNAL);
    if (graph) {
      ++read;
      ir_verify(&f, graph);
      char *once = ir_print(&f, graph);
      hone_graph *again = ir_parse(&f, once);
      char *twice = ir_print(&f, again);
      assert_string_equal(once, twice);
      free(once);
      free(twice);
      hn_graph_destroy(again);
    }
    hn_graph_destroy(graph);
    ir_end(&f);
    free(text);
  }
  assert_true(read > 50); /* else the test shows nothing about what is read */
}

/* A list of symbols in one type, used in another order in the next: canonical forms may not depend on the reading. */
static void test_symbol_order(void **state) {
  (void)state;
  ir_fixture f;
  ir_begin(&f);
  hone_graph *graph = NULL;
  ir_expect(&f, hn_graph_create(&f.context, "g", &graph), HONE_OK);
  hn_dim_named(&graph->dims, "unused");
  const int64_t n = hn_dim_named(&graph->dims, "nan"), m = hn_dim_named(&graph->dims, "batch size");
  const int64_t dims[3] = {m, hn_dim_add(&graph->dims, m, n), hn_dim_floor_div(&graph->dims, n, 2)};
  const hone_type type = hn_tensor_type(HONE_F32, 3, dims);
  assert_non_null(hn_block_add_param(graph->main, "x", &type));
  char *once = ir_print(&f, graph);
  hone_graph *again = ir_parse(&f, once);
  char *twice = ir_print(&f, again);
  assert_string_equal(once, twice);
  free(once);
  free(twice);
  hn_graph_destroy(again);
  hn_graph_destroy(graph);
  ir_end(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_sample_is_canonical),
      cmocka_unit_test(test_far_constants),
      cmocka_unit_test(test_every_bit_pattern),
      cmocka_unit_test(test_types_and_origins),
      cmocka_unit_test(test_messages),
      cmocka_unit_test(test_limits),
      cmocka_unit_test(test_stated_types),
      cmocka_unit_test(test_short_texts),
      cmocka_unit_test(test_changed_bytes),
      cmocka_unit_test(test_symbol_order),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
