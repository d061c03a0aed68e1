/* SPDX-License-Identifier: Apache-2.0 */
/* test_sites.c - which values of small graphs are rounded, what weights and biases become, and ranges as text. */
#include "calib/cache.h"
#include "unit/pass/pass_support.h"
#include <math.h>

#define HEAD                                                                                                           \
  "graph \"g\" opset 17 {\n in %x: f32[1,2,4,4]\n const %w: f32[2,2,1,1] = [1, -2, 0.5, 0.25]\n"                       \
  " const %b: f32[2] = [0.5, -1]\n"
#define ENDS " }\n"

typedef struct example {
  bench b;
  hn_sites sites;
} example;

static void begin(example *e, const char *text, const char *const *keep, int keep_count) {
  bench_parse(&e->b, text, strlen(text));
  if (hn_sites_find(e->b.graph, keep, keep_count, &e->b.arena, &e->sites) != HONE_OK)
    fail_msg("%s", last_message(&e->b));
}

static bool is_site(const example *e, const char *name) {
  for (int i = 0; i < e->sites.count; ++i)
    if (strcmp(e->sites.items[i].value->name, name) == 0) return true;
  return false;
}

static const hn_site *site(const example *e, const char *name) {
  for (int i = 0; i < e->sites.count; ++i)
    if (strcmp(e->sites.items[i].value->name, name) == 0) return &e->sites.items[i];
  fail_msg("%s is not rounded", name);
  return NULL;
}

/* Each row: a graph, and the values that are rounded, in no order. */
static const struct {
  const char *name, *text, *rounded[8];
} graphs[] = {
    {"a layer takes over its bound", HEAD " %c = conv(%x, %w, %b) %r = relu(%c) out %r" ENDS, {"x", "r"}},
    {"a bound of what floats make stays with it",
     HEAD " %m = softmax(%x) %r = relu(%m) %c = conv(%r, %w) out %c" ENDS,
     {"r", "c"}},
    {"two readers: the bound is not the layer's",
     HEAD " %c = conv(%x, %w, %b) %r = relu(%c) %t = tanh(%c) out %r out %t" ENDS,
     {"x", "c"}},
    {"a pool between layers has its input's scale",
     HEAD " %c = conv(%x, %w) %p = max_pool(%c) [kernel_shape=[2,2]] %d = conv(%p, %w) out %d" ENDS,
     {"x", "c", "p", "d"}},
    {"a sum between layers, and its bound",
     HEAD " %c = conv(%x, %w) %a = add(%c, %x) %r = relu(%a) %d = conv(%r, %w) out %d" ENDS,
     {"x", "c", "r", "d"}},
    {"a sum that only floats read stays in floats",
     HEAD " %c = conv(%x, %w) %a = add(%c, %x) %s = softmax(%a) out %s" ENDS,
     {"x", "c"}},
    {"floats before a layer", HEAD " %s = softmax(%x) %c = conv(%s, %w) out %c" ENDS, {"s", "c"}},
    {"a function of one byte is a table",
     HEAD " %c = conv(%x, %w) %s = sigmoid(%c) %d = conv(%s, %w) out %d" ENDS,
     {"x", "c", "s", "d"}},
    {"parts of a concatenation",
     HEAD
     " const %v: f32[1,4,1,1] = [1, 2, 3, 4]\n %c = conv(%x, %w) %j = concat(%c, %x) [axis=1] %d = conv(%j, %v) out "
     "%d" ENDS,
     {"x", "c", "j", "d"}},
    {"a product's output stays in floats",
     "graph \"g\" opset 17 { in %x: f32[3,2] const %w: f32[2,2] = [1, 2, 3, 4] %y = matmul(%x, %w) out %y }",
     {"x"}},
    {"weights that vary are no weights",
     "graph \"g\" opset 17 { in %x: f32[3,2] in %w: f32[2,2] %y = matmul(%x, %w) out %y }",
     {NULL}},
};

static void test_where(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof graphs / sizeof *graphs; ++i) {
    example e;
    int count = 0;
    begin(&e, graphs[i].text, NULL, 0);
    for (; graphs[i].rounded[count]; ++count)
      if (!is_site(&e, graphs[i].rounded[count]))
        fail_msg("%s: %s is not rounded", graphs[i].name, graphs[i].rounded[count]);
    if (e.sites.count != count) fail_msg("%s: %d values are rounded, not %d", graphs[i].name, e.sites.count, count);
    bench_end(&e.b);
  }
}

static void test_kept(void **state) {
  (void)state;
  static const char text[] =
      HEAD " %c = conv(%x, %w) @\"stem/first\" %r = relu(%c) %d = conv(%r, %w) @\"second\" out %d" ENDS;
  static const char *const first[] = {"stem/*"}, *const ops[] = {"conv"}, *const none[] = {"first", "second"};
  example e;
  begin(&e, text, first, 1);
  assert_true(is_site(&e, "r") && is_site(&e, "d") && e.sites.count == 2);
  assert_string_equal(e.sites.nodes[0].why, "it was named to stay");
  bench_end(&e.b);
  begin(&e, text, ops, 1);
  assert_int_equal(e.sites.count, 0);
  bench_end(&e.b);
  bench_parse(&e.b, text, strlen(text));
  assert_int_equal(hn_sites_find(e.b.graph, none, 2, &e.b.arena, &e.sites), HONE_INVALID);
  assert_non_null(strstr(last_message(&e.b), "\"first\""));
  bench_end(&e.b);
}

static void set_ranges(example *e, double low, double high) {
  const hn_scheme scheme = {.dtype = HONE_U8};
  for (int i = 0; i < e->sites.count; ++i) e->sites.items[i].range = (hn_range){low, high};
  hn_sites_scale(&e->sites, &scheme);
}

/* Bytes of the weights and numbers of the bias, by hand: the rows' largest are 2 and 0.5. */
static void test_weights(void **state) {
  (void)state;
  static const int want[4] = {16, -32, 32, 16}; /* the first grid that the weights lie on */
  example e;
  begin(&e, HEAD " %c = conv(%x, %w, %b) %r = relu(%c) out %r" ENDS, NULL, 0);
  set_ranges(&e, -4, 4);
  const hn_insertion how = {.scheme = {.dtype = HONE_U8}};
  assert_int_equal(hn_sites_insert(&e.sites, &how), HONE_OK);
  assert_int_equal(hn_graph_verify(e.b.graph), HONE_OK);
  assert_int_equal(bench_count(&e.b, "quantize_linear"), 2);
  assert_int_equal(bench_count(&e.b, "dequantize_linear"), 4);
  const hn_node *conv = e.b.graph->main->first;
  while (strcmp(conv->op->name, "conv") != 0) conv = conv->next;
  const hn_node *w = conv->in[1]->node, *b = conv->in[2]->node;
  for (int i = 0; i < 4; ++i) assert_int_equal(hn_int(w->in[0]->fact.constant, i), want[i]);
  const double x_scale = (double)site(&e, "x")->scale.scale;
  for (int o = 0; o < 2; ++o) {
    const double w_scale = hn_real(w->in[1]->fact.constant, o), b_scale = hn_real(b->in[1]->fact.constant, o);
    assert_true(fabs(w_scale - (o ? 0.5 : 2) / 32) < 1e-8);
    assert_true(fabs(b_scale - x_scale * w_scale) < 1e-6 * b_scale);
    assert_true(fabs((double)hn_int(b->in[0]->fact.constant, o) * b_scale - (o ? -1 : 0.5)) <= b_scale / 2 * 1.0001);
  }
  assert_string_equal(e.b.graph->main->results[0]->node->op->name, "dequantize_linear");
  bench_end(&e.b);
}

/* A channel that is all but dead must not overflow its bias. */
static void test_dead_channel(void **state) {
  (void)state;
  example e;
  begin(&e,
        "graph \"g\" opset 17 { in %x: f32[1,1,2,2] const %w: f32[2,1,1,1] = [1e-12, 0] const %b: f32[2] = [3, -3]\n"
        " %c = conv(%x, %w, %b) out %c }",
        NULL, 0);
  set_ranges(&e, -1, 1);
  const hn_insertion how = {.scheme = {.dtype = HONE_U8}};
  assert_int_equal(hn_sites_insert(&e.sites, &how), HONE_OK);
  const hn_node *conv = e.b.graph->main->first;
  while (strcmp(conv->op->name, "conv") != 0) conv = conv->next;
  const hn_node *b = conv->in[2]->node;
  for (int o = 0; o < 2; ++o)
    assert_true(fabs((double)hn_int(b->in[0]->fact.constant, o) * hn_real(b->in[1]->fact.constant, o) - (o ? -3 : 3)) <
                1e-2);
  bench_end(&e.b);
}

static void test_weights_not_finite(void **state) {
  (void)state;
  example e;
  begin(&e, "graph \"g\" opset 17 { in %x: f32[3,1] const %odd: f32[1,1] = [nan] %y = matmul(%x, %odd) @\"m\" out %y }",
        NULL, 0);
  set_ranges(&e, -1, 1);
  const hn_insertion how = {.scheme = {.dtype = HONE_U8}};
  assert_int_equal(hn_sites_insert(&e.sites, &how), HONE_UNSUPPORTED);
  assert_non_null(strstr(last_message(&e.b), "node m: its weights odd hold NaN"));
  bench_end(&e.b);
}

static void test_joined_scales(void **state) {
  (void)state;
  static const char text[] = HEAD " const %v: f32[1,4,1,1] = [1, 2, 3, 4]\n %c = conv(%x, %w) %j = concat(%c, %x) "
                                  "[axis=1] %d = conv(%j, %v) out %d" ENDS;
  const hn_scheme scheme = {.dtype = HONE_U8};
  for (int narrow = 0; narrow < 2; ++narrow) {
    example e;
    begin(&e, text, NULL, 0);
    for (int i = 0; i < e.sites.count; ++i) {
      const char *name = e.sites.items[i].value->name;
      e.sites.items[i].range = (hn_range){-1, strcmp(name, "x") == 0 ? (narrow ? -0.5 : 2) : 3};
    }
    hn_sites_scale(&e.sites, &scheme);
    assert_true(site(&e, "c")->scale.scale == site(&e, "j")->scale.scale || narrow);
    assert_true((site(&e, "x")->scale.scale == site(&e, "j")->scale.scale) == !narrow);
    bench_end(&e.b);
  }
}

static void test_quantised_already(void **state) {
  (void)state;
  example e;
  static const char text[] = "graph \"g\" opset 17 { in %x: f32[4] const %s: f32[] = [0.5] const %z: u8[] = [3]\n"
                             " %q = quantize_linear(%x, %s, %z) @\"q\" out %q }";
  bench_parse(&e.b, text, strlen(text));
  assert_int_equal(hn_sites_check_floats(e.b.graph), HONE_INVALID);
  assert_non_null(strstr(last_message(&e.b), "q is a quantize_linear"));
  bench_end(&e.b);
}

/* ---- text ---- */

static hone_status parse(bench *b, const char *text, hn_calib_cache *out) {
  return hn_calib_cache_parse(&b->context->diag, "file", text, strlen(text), &b->arena, out);
}

static void test_text(void **state) {
  (void)state;
  example e;
  hn_calib_cache cache;
  begin(&e, HEAD " %c = conv(%x, %w, %b) %\"r \\\"\\\\\\u0001\" = relu(%c) out %\"r \\\"\\\\\\u0001\"" ENDS, NULL, 0);
  set_ranges(&e, -0.1, 1.0 / 3);
  hn_text text;
  hn_text_init(&text, e.b.context->allocator);
  hn_calib_cache_write(&e.sites, 0x1234, "mse", 64, &text);
  assert_int_equal(parse(&e.b, hn_text_string(&text), &cache), HONE_OK);
  assert_int_equal(cache.model, 0x1234);
  assert_int_equal(cache.count, 2);
  const hn_cached_range *found = hn_calib_cache_find(&cache, "r \"\\\001");
  assert_non_null(found);
  assert_true(fabs(found->range.low + 0.1) < 1e-9 && fabs(found->range.high - 1.0 / 3) < 1e-9);
  assert_null(hn_calib_cache_find(&cache, "y"));
  hn_text_deinit(&text);
  bench_end(&e.b);
}

static void test_trt_text(void **state) {
  (void)state;
  bench b;
  hn_calib_cache cache;
  bench_begin(&b);
  assert_int_equal(parse(&b, "TRT-8601-EntropyCalibration2\r\nx: 3c010a14\nlayer:0/y: 3f800000\n\n", &cache), HONE_OK);
  assert_int_equal(cache.count, 2);
  const hn_range y = hn_calib_cache_find(&cache, "layer:0/y")->range;
  assert_true(y.low == -127 && y.high == 127);
  assert_true(fabs(hn_calib_cache_find(&cache, "x")->range.high - 127 * 0.00787593797) < 1e-6);
  bench_end(&b);
}

static void test_wrong_text(void **state) {
  (void)state;
  static const char *const wrong[][2] = {
      {"", "holds no range"},
      {"hello\n", "file:1: this is no calibration"},
      {"hone calibration 1\n", "holds no range"},
      {"hone calibration 1\nmodel xyz\n", "file:2: the model's hash"},
      {"hone calibration 1\n\n# words\nrange x 0 1\n", "file:4: a tensor's name stands between quotes"},
      {"hone calibration 1\nrange \"x 0 1\n", "file:2: a tensor's name"},
      {"hone calibration 1\nrange \"x\\", "file:2: a tensor's name"},
      {"hone calibration 1\nrange \"\\u00\" 0 1\n", "file:2: a tensor's name"},
      {"hone calibration 1\nrange \"x\" 1\n", "file:2: a range needs two finite numbers"},
      {"hone calibration 1\nrange \"x\" 2 1\n", "file:2: a range needs two finite numbers"},
      {"hone calibration 1\nrange \"x\" 0 inf\n", "file:2: a range needs two finite numbers"},
      {"hone calibration 1\nrange \"x\" nan 1\n", "file:2: a range needs two finite numbers"},
      {"hone calibration 1\nrange \"x\" 0 1 2\n", "file:2: a range needs two finite numbers"},
      {"hone calibration 1\nscale \"x\" 1\n", "file:2: a line begins with"},
      {"TRT-1\nx 3c010a14\n", "file:2: a line of trtexec's"},
      {"TRT-1\nx: 3c010a1\n", "file:2: a line of trtexec's"},
      {"TRT-1\nx: 7f800000\n", "file:2: a scale is no positive number"},
      {"TRT-1\nx: 00000000\n", "file:2: a scale is no positive number"},
      {"TRT-1\nx: bf800000\n", "file:2: a scale is no positive number"},
      {"TRT-1\n: 3f800000\n", "file:2: a line of trtexec's"}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
    bench b;
    hn_calib_cache cache;
    bench_begin(&b);
    assert_int_equal(parse(&b, wrong[i][0], &cache), HONE_MALFORMED);
    if (!strstr(last_message(&b), wrong[i][1])) fail_msg("\"%s\": %s", wrong[i][0], last_message(&b));
    bench_end(&b);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_where),
                                     cmocka_unit_test(test_kept),
                                     cmocka_unit_test(test_weights),
                                     cmocka_unit_test(test_dead_channel),
                                     cmocka_unit_test(test_weights_not_finite),
                                     cmocka_unit_test(test_joined_scales),
                                     cmocka_unit_test(test_quantised_already),
                                     cmocka_unit_test(test_text),
                                     cmocka_unit_test(test_trt_text),
                                     cmocka_unit_test(test_wrong_text)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
