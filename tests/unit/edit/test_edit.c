/* SPDX-License-Identifier: Apache-2.0 */
/* test_edit.c - scripts over a model: what each edit leaves, and what is refused by which words. What is left is read
 * again as a graph, so that it is a model, too. */
#include <hone/hone.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static hone_context *context;
static char path[] = "/tmp/hone_edit_XXXXXX", out_path[] = "/tmp/hone_edit_out_XXXXXX";

/* y = r * sigmoid(r) - 2 with r = relu(x + 1), and n = -(x + 1) */
static const char source[] =
    "graph \"g\" opset 21 {\n  in %x: f32[2,3]\n  const %one: f32[] = [1]\n  const %two: f32[] = [2]\n"
    "  %a = add(%x, %one) @\"plus\"\n  %r = relu(%a) @\"rect\"\n  %s = sigmoid(%r) @\"gate\"\n"
    "  %m = mul(%r, %s) @\"times\"\n  %y = sub(%m, %two) @\"minus\"\n  %n = neg(%a) @\"turned\"\n  out %y\n  out "
    "%n\n}\n";

static int setup(void **state) {
  hone_graph *graph;
  (void)state;
  const int one = mkstemp(path), two = mkstemp(out_path);
  if (one < 0 || two < 0 || close(one) != 0 || close(two) != 0) return 1;
  if (hone_context_create(NULL, &context) != HONE_OK) return 1;
  if (hone_graph_parse(context, source, strlen(source), &graph) != HONE_OK) {
    fprintf(stderr, "%s\n", hone_context_message(context, 0, NULL));
    return 1;
  }
  const hone_status status = hone_graph_save_onnx(graph, path);
  hone_graph_destroy(graph);
  return status != HONE_OK;
}

static int teardown(void **state) {
  (void)state;
  (void)unlink(path);
  (void)unlink(out_path);
  hone_context_destroy(context);
  return 0;
}

static hone_model *load(const char *from) {
  hone_model *model;
  if (hone_model_load(context, from, &model) != HONE_OK) fail_msg("%s", hone_context_message(context, 0, NULL));
  return model;
}

static void add_node(void *user, const hone_node_info *node) {
  char *text = user;
  const size_t used = strlen(text);
  (void)snprintf(text + used, 1024 - used, "%s%s>%s", used ? " " : "", node->op, hone_value_name(node->out[0]));
}

/* "op>value op>value | inputs | outputs" of the file. */
static const char *tell(const char *file) {
  static char text[1024];
  hone_graph *graph;
  text[0] = 0;
  if (hone_graph_load_onnx(context, file, &graph) != HONE_OK) fail_msg("%s", hone_context_message(context, 0, NULL));
  hone_graph_visit_nodes(graph, add_node, text);
  for (int way = 0; way < 2; ++way) {
    (void)snprintf(text + strlen(text), sizeof text - strlen(text), " |");
    for (int i = 0; i < (way ? hone_graph_output_count(graph) : hone_graph_input_count(graph)); ++i)
      (void)snprintf(text + strlen(text), sizeof text - strlen(text), " %s",
                     way ? hone_graph_output_name(graph, i) : hone_value_name(hone_graph_input(graph, i)));
  }
  hone_graph_destroy(graph);
  return text;
}

static const struct {
  const char *script, *want;
} edits[] = {
    {"", "add>a relu>r sigmoid>s mul>m sub>y neg>n | x | y n"},
    {"extract r -> m", "sigmoid>s mul>m | r | m"},
    {"extract -> r", "add>a relu>r | x | r"},
    {"extract a -> y # the other output goes", "relu>r sigmoid>s mul>m sub>y | a | y"},
    {"before r", "add>a relu>r neg>n | x | r n"},
    {"behind r", "sigmoid>s mul>m sub>y | r | y"},
    {"remove rect", "add>a sigmoid>s mul>m sub>y neg>n | x | y n"},
    {"remove turned", "add>n relu>r sigmoid>s mul>m sub>y | x | y n"}, /* the output keeps its name */
    {"remove minus; remove turned", "add>n relu>r sigmoid>s mul>y | x | y n"},
    {"rename r -> \"layer 1, r\"", "add>a relu>layer 1, r sigmoid>s mul>m sub>y neg>n | x | y n"},
    {"rename x -> image", "add>a relu>r sigmoid>s mul>m sub>y neg>n | image | y n"},
    {"rename y -> scores", "add>a relu>r sigmoid>s mul>m sub>scores neg>n | x | scores n"},
    {"output m", "add>a relu>r sigmoid>s mul>m sub>y neg>n | x | y n m"},
    {"drop n", "add>a relu>r sigmoid>s mul>m sub>y | x | y"},
    {"drop y", "add>a neg>n | x | n"},
    {"insert Tanh(r) -> t for r", "add>a relu>r tanh>t sigmoid>s mul>m sub>y neg>n | x | y n"},
    {"insert LeakyRelu(y, alpha=0.5) -> z for y",
     "add>a relu>r sigmoid>s mul>m sub>y_before leaky_relu>y neg>n | x | y n"},
    {"constant half f32[3] 0.5\ninsert Mul(a, half) -> h for a",
     "add>a mul>h relu>r neg>n sigmoid>s mul>m sub>y | x | y n"},
    {"replace Mul(v, Sigmoid(v)) -> Tanh(v)", "add>a relu>r tanh>m sub>y neg>n | x | y n"},
    {"replace Relu(Add(p, q)) -> Add(p, Relu(q))", NULL}, /* a is read by another node, too */
    {"drop n; replace Relu(Add(p, q)) -> Add(p, Relu(q))", "relu>Relu_out add>r sigmoid>s mul>m sub>y | x | y"},
    {"insert Sqrt(two) -> root; insert Add(m, root) -> w for m; fold",
     "add>a relu>r sigmoid>s mul>m add>w sub>y neg>n | x | y n"},
};

static void test_edits(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof edits / sizeof edits[0]; ++i) {
    hone_model *model = load(path);
    const hone_status status = hone_model_edit(model, edits[i].script);
    if (!edits[i].want) {
      assert_int_equal(status, HONE_INVALID);
    } else {
      if (status != HONE_OK) fail_msg("%s: %s", edits[i].script, hone_context_message(context, 0, NULL));
      if (hone_model_save(model, out_path) != HONE_OK) fail_msg("%s", hone_context_message(context, 0, NULL));
      const char *got = tell(out_path);
      /* nodes may stand in another order of the same kind: names and edges are what counts */
      if (strlen(got) != strlen(edits[i].want) || strcmp(strchr(got, '|'), strchr(edits[i].want, '|')) != 0)
        fail_msg("%s: got %s, want %s", edits[i].script, got, edits[i].want);
      for (const char *at = edits[i].want; at && *at != '|'; at = strchr(at, ' ') ? strchr(at, ' ') + 1 : NULL) {
        char word[64];
        (void)snprintf(word, sizeof word, "%.*s", (int)strcspn(at, " |"), at);
        if (!strstr(got, word)) fail_msg("%s: got %s, want %s", edits[i].script, got, edits[i].want);
      }
    }
    hone_context_clear_messages(context);
    hone_model_destroy(model);
  }
}

static void test_types(void **state) {
  (void)state;
  hone_model *model = load(path);
  hone_graph *graph;
  hone_type type;
  assert_int_equal(hone_model_edit(model, "type x f32[N,3]"), HONE_OK);
  assert_int_equal(hone_model_save(model, out_path), HONE_OK);
  hone_model_destroy(model);
  assert_int_equal(hone_graph_load_onnx(context, out_path, &graph), HONE_OK);
  hone_value_type(hone_graph_input(graph, 0), &type);
  assert_int_equal(type.shape.rank, 2);
  assert_true(type.shape.dim[0] < 0);
  assert_int_equal(type.shape.dim[1], 3);
  hone_graph_destroy(graph);
}

static const struct {
  const char *script, *says;
} mistakes[] = {
    {"remove rekt", "the model has no node rekt; did you mean rect"},
    {"extract -> yy", "the model has no value yy; did you mean y"},
    {"extract y -> m", "y does not lead to what is extracted"},
    {"extract -> x", "x is an input or a constant of the model"},
    {"extract rect -> y", "rect is a node, not a value; it writes r"},
    {"behind s", "r crosses the cut, too"},
    {"rename r -> m", "m has that name already"},
    {"output y", "y is an output already"},
    {"drop m", "the model has no output m"},
    {"drop n; drop y", "y is the only output"},
    {"type r f99[2]", "f99[2] is not a type"},
    {"type r f32[2,-1]", "f32[2,-1] is not a type"},
    {"type one f32[2]", "one is a constant"},
    {"constant k f32[2] 1 2 3", "3 is too much"},
    {"constant k f32[3] 1 2", "k has 3 elements, and 2 numbers are given"},
    {"constant x f32[1] 1", "there is a value x already"},
    {"insert Relu(nothing) -> z", "the model has no value nothing"},
    {"insert Relu(r) -> m", "there is a value m already"},
    {"insert Relu(r", "expected , or ) after an operand of Relu"},
    {"replace Conv(v, w) -> Relu(v)", "nothing in the model matches"},
    {"fold\n\nremov rect", "line 3: there is no edit remov; did you mean remove"},
    {"rename \"r -> m", "a quoted name does not end"},
    {"remove rect gate", "gate is too much"},
};

static void test_mistakes(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof mistakes / sizeof mistakes[0]; ++i) {
    hone_model *model = load(path);
    const hone_status status = hone_model_edit(model, mistakes[i].script);
    const char *said = hone_context_message_count(context) ? hone_context_message(context, 0, NULL) : "nothing";
    if (status != HONE_INVALID || !strstr(said, mistakes[i].says))
      fail_msg("%s: %d, %s; want %s", mistakes[i].script, (int)status, said, mistakes[i].says);
    hone_context_clear_messages(context);
    hone_model_destroy(model);
  }
}

/* Some nodes alone: what lost its node is an input, or the constant that was given for it. */
static void test_parts(void **state) {
  (void)state;
  hone_model *model = load(path);
  float numbers[6] = {1, 2, 3, 4, 5, 6};
  const hone_named_tensor given = {"r", {{HONE_TENSOR, HONE_F32, HONE_PLAIN, {2, {2, 3}}}, numbers, sizeof numbers}};
  assert_int_equal(hone_model_node_count(model), 6);
  bool keep[6];
  for (int i = 0; i < 6; ++i) keep[i] = strcmp(hone_model_node_op(model, i), "Mul") == 0;
  assert_int_equal(hone_model_save_part(model, keep, NULL, 0, out_path), HONE_OK);
  assert_string_equal(tell(out_path), "mul>m | r s | m");
  assert_int_equal(hone_model_save_part(model, keep, &given, 1, out_path), HONE_OK);
  assert_string_equal(tell(out_path), "mul>m | s | m");
  memset(keep, 0, sizeof keep);
  assert_int_equal(hone_model_save_part(model, keep, NULL, 0, out_path), HONE_INVALID);
  assert_string_equal(hone_context_message(context, 0, NULL), "nothing would be left of the model");
  hone_context_clear_messages(context);
  hone_model_destroy(model);
}

/* Every prefix of a model, and every byte of it wrong once: an error or a model, never more than that (run by asan). */
static void test_damaged(void **state) {
  (void)state;
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  static unsigned char bytes[65536];
  const size_t count = fread(bytes, 1, sizeof bytes, file);
  fclose(file);
  for (size_t i = 0; i < 2 * count; ++i) {
    hone_model *model;
    const size_t length = i < count ? i : count;
    if (i >= count) bytes[i - count] ^= 0x55;
    file = fopen(out_path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    fclose(file);
    if (i >= count) bytes[i - count] ^= 0x55;
    if (hone_model_load(context, out_path, &model) == HONE_OK) {
      (void)!hone_model_edit(model, "output *\nfold");
      hone_model_destroy(model);
    } else {
      assert_true(hone_context_message_count(context) > 0);
    }
    hone_context_clear_messages(context);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_edits), cmocka_unit_test(test_types),
                                     cmocka_unit_test(test_mistakes), cmocka_unit_test(test_parts),
                                     cmocka_unit_test(test_damaged)};
  return cmocka_run_group_tests(tests, setup, teardown);
}
