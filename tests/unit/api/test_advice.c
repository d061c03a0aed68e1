/* SPDX-License-Identifier: Apache-2.0 */
/* test_advice.c - each defect row on a model that has it and on one that looks like it and has not; the object's own
 * functions; times compared by ranks. */
#include <hone/hone.h>
#include <math.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>
#include "support/small_net.h"

typedef struct fixture {
  hone_context *context;
  hone_device *device;
  hone_graph *graph;
  hone_engine *engine;
  hone_session *session;
  hone_advice *advice;
} fixture;

static const char *message(const fixture *f) {
  hone_status status;
  return hone_context_message_count(f->context) ? hone_context_message(f->context, 0, &status) : "no message";
}

static void require(const fixture *f, hone_status status) {
  if (status != HONE_OK) fail_msg("%s", message(f));
}

/* Estimates choose: what is found does not depend on times. */
static void advise(fixture *f, int level) {
  const hone_build_options build = {.struct_size = sizeof build, .level = -1};
  const hone_session_options profile = {.struct_size = sizeof profile, .profile = true};
  const hone_advise_options options = {.struct_size = sizeof options, .level = level};
  hone_diagnostics *diag = hone_context_diagnostics(f->context);
  require(f, hone_engine_build(f->context, f->graph, &f->device, 1, &build, &f->engine));
  require(f, hone_session_create(f->engine, &profile, &f->session, diag));
  for (int i = 0; i < 3; ++i) assert_int_equal(hone_session_run(f->session), HONE_OK);
  require(f, hone_advise(f->session, f->graph, &options, &f->advice, diag));
}

static void open_fixture(fixture *f) {
  const hone_device_options one = {.struct_size = sizeof one, .threads = 1};
  *f = (fixture){0};
  assert_int_equal(hone_context_create(NULL, &f->context), HONE_OK);
  require(f, hone_device_open(f->context, "cpu", 0, &one, &f->device));
}

static void open_text(fixture *f, const char *text) {
  open_fixture(f);
  require(f, hone_graph_parse(f->context, text, strlen(text), &f->graph));
  advise(f, 0);
}

static void close_fixture(fixture *f) {
  hone_advice_destroy(f->advice);
  hone_session_destroy(f->session);
  hone_engine_release(f->engine);
  hone_graph_destroy(f->graph);
  hone_device_close(f->device);
  hone_context_destroy(f->context);
}

static bool find(const fixture *f, const char *name, hone_advice_info *out) {
  for (int i = 0; i < hone_advice_count(f->advice); ++i)
    if (hone_advice_item(f->advice, i, out) == HONE_OK && strcmp(out->name, name) == 0) return true;
  return false;
}

static bool names(const hone_advice_info *info, const char *node) {
  for (int i = 0; i < info->layer_count; ++i)
    if (strcmp(info->layers[i], node) == 0) return true;
  return false;
}

/* ---- defects ---- */

#define IMAGE "in %x: f32[1,2,4,4]\n const %w: f32[2,2,1,1] = [1, 2, 3, 4]\n"
#define NORM "const %s: f32[2] = [2, 3]\n const %v: f32[2] = [1, 1]\n"
#define NET(text) "graph \"g\" opset 21 {\n" text "}\n"

typedef struct defect_case {
  const char *row, *text, *node; /* node NULL: the row must be silent */
  bool removed;                  /* the build does away with it */
} defect_case;

static const defect_case defects[] = {
    {"useless-transposes",
     NET(IMAGE "%c = conv(%x, %w)\n %t = transpose(%c) [perm=[0,2,3,1]]\n %r = relu(%t)\n"
               "%u = transpose(%r) [perm=[0,3,1,2]]\n %y = conv(%u, %w)\n out %y\n"),
     "transpose", true},
    {"useless-transposes",
     NET(IMAGE "%c = conv(%x, %w)\n %t = transpose(%c) [perm=[0,2,3,1]]\n %r = relu(%t)\n"
               "%u = transpose(%r) [perm=[0,2,1,3]]\n out %u\n"),
     NULL, false},
    {"useless-transposes",
     NET(IMAGE "%c = conv(%x, %w)\n %t = transpose(%c) [perm=[0,2,3,1]]\n %r = identity(%t)\n"
               "%u = transpose(%r) [perm=[0,3,1,2]]\n %y = conv(%u, %w)\n out %y\n"),
     "transpose", true},
    {"useless-transposes", NET(IMAGE "%t = transpose(%x) [perm=[0,2,3,1]]\n %r = relu(%t)\n out %r\n"), NULL, false},
    {"layout-clash",
     NET(IMAGE "%c = conv(%x, %w)\n %t = transpose(%c) [perm=[0,2,3,1]]\n %s = softmax(%t) [axis=1]\n"
               "%u = transpose(%s) [perm=[0,3,1,2]]\n %y = conv(%u, %w)\n out %y\n"),
     "transpose", false},
    {"layout-clash",
     NET(IMAGE "%c = conv(%x, %w)\n %t = transpose(%c) [perm=[0,2,3,1]]\n %s = softmax(%t) [axis=1]\n out %s\n"), NULL,
     false},
    {"unfused-norm",
     NET(IMAGE NORM "%c = conv(%x, %w)\n %n = batch_norm(%c, %s, %s, %s, %v)\n %y = relu(%n)\n out %y\n"), "batch_norm",
     true},
    {"unfused-norm", NET(IMAGE NORM "%n = batch_norm(%x, %s, %s, %s, %v)\n %y = relu(%n)\n out %y\n"), NULL, false},
    {"reshape-storm",
     NET("in %x: f32[2,8]\n const %a: i64[3] = [2, 2, 4]\n const %b: i64[2] = [4, 4]\n const %c: i64[2] = [2, 8]\n"
         "%p = reshape(%x, %a)\n %q = reshape(%p, %b)\n %r = reshape(%q, %c)\n %y = relu(%r)\n out %y\n"),
     "reshape", true},
    {"reshape-storm",
     NET("in %x: f32[2,8]\n const %a: i64[3] = [2, 2, 4]\n const %b: i64[2] = [4, 4]\n"
         "%p = reshape(%x, %a)\n %q = reshape(%p, %b)\n %y = relu(%q)\n out %y\n"),
     NULL, false},
    {"tiny-operators", NET("in %x: f32[64]\n const %o: f32[] = [1]\n %a = mul(%x, %o)\n %y = relu(%a)\n out %y\n"),
     "mul", true},
    {"tiny-operators", NET("in %x: f32[64]\n const %o: f32[] = [2]\n %a = mul(%x, %o)\n %y = relu(%a)\n out %y\n"),
     NULL, false},
    {"unfolded-constants",
     NET("in %x: f32[2]\n const %a: f32[2] = [1, 2]\n %b = exp(%a)\n %c = sqrt(%b)\n %y = mul(%x, %c)\n out %y\n"),
     "sqrt", true},
    {"unfolded-constants",
     NET("in %x: f32[2]\n const %a: f32[2] = [1, 2]\n %b = mul(%x, %a)\n %y = sqrt(%b)\n out %y\n"), NULL, false},
    {"f64-island",
     NET("in %x: f32[64]\n %a = cast(%x) [to=11]\n %b = exp(%a)\n %c = cast(%b) [to=1]\n %y = relu(%c)\n out %y\n"),
     "exp", false},
    {"f64-island", NET("in %x: f64[64]\n %b = exp(%x)\n %y = relu(%b)\n out %y\n"), NULL, false},
    {"blocking-quantisation",
     NET(IMAGE "const %k: f32[] = [0.1]\n const %z: i8[] = [0]\n %c = conv(%x, %w)\n %q = quantize_linear(%c, %k, %z)\n"
               "%d = dequantize_linear(%q, %k, %z)\n %y = relu(%d)\n out %y\n"),
     "quantize_linear", false},
    {"blocking-quantisation",
     NET(IMAGE "const %k: f32[] = [0.1]\n const %z: i8[] = [0]\n %p = quantize_linear(%x, %k, %z)\n"
               "%e = dequantize_linear(%p, %k, %z)\n %c = conv(%e, %w)\n %q = quantize_linear(%c, %k, %z)\n"
               "%d = dequantize_linear(%q, %k, %z)\n %y = relu(%d)\n out %y\n"),
     NULL, false},
};

static void test_defects(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof defects / sizeof defects[0]; ++i) {
    const defect_case *c = &defects[i];
    fixture f;
    hone_advice_info info = HONE_SIZED(hone_advice_info);
    open_text(&f, c->text);
    const bool found = find(&f, c->row, &info);
    if (found != (c->node != NULL)) fail_msg("case %zu: %s %s", i, c->row, found ? "where there is none" : "not found");
    if (found && !names(&info, c->node)) fail_msg("case %zu: %s names %s, not %s", i, c->row, info.layers[0], c->node);
    if (found && info.removed != c->removed) fail_msg("case %zu: %s: removed is %d", i, c->row, info.removed);
    if (found) assert_string_equal(info.kind, "defect");
    close_fixture(&f);
  }
}

/* A product over `depth`, of whose weights every `zero_every`-th is not zero. */
static void open_product(fixture *f, int64_t depth, int64_t keep_every) {
  enum { COLUMNS = 64 };
  const int64_t dims[2] = {4, depth};
  const size_t bytes = (size_t)depth * COLUMNS * sizeof(float);
  float *weights = calloc(1, bytes);
  hone_value *in[2], *out;
  assert_non_null(weights);
  for (int64_t i = 0; i < depth * COLUMNS; i += keep_every) weights[i] = 1;
  const hone_tensor tensor = {{HONE_TENSOR, HONE_F32, HONE_PLAIN, {2, {depth, COLUMNS}}}, weights, bytes};
  open_fixture(f);
  require(f, hone_graph_create(f->context, "g", &f->graph));
  require(f, hone_graph_add_input(f->graph, "x", HONE_F32, 2, dims, NULL, &in[0]));
  require(f, hone_graph_add_constant(f->graph, "w", &tensor, &in[1]));
  require(f, hone_graph_add_node(f->graph, "matmul", "product", in, 2, NULL, 0, &out, 1));
  require(f, hone_graph_add_output(f->graph, "y", out));
  free(weights);
  advise(f, 0);
}

static void test_weights(void **state) {
  (void)state;
  static const struct {
    const char *row;
    int64_t depth, keep_every;
    bool holds;
  } rows[] = {{"odd-depth", 253, 1, true}, {"odd-depth", 256, 1, false},     {"odd-depth", 116, 1, false},
              {"odd-depth", 60, 1, false}, {"sparse-weights", 256, 3, true}, {"sparse-weights", 256, 1, false}};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; ++i) {
    fixture f;
    hone_advice_info info = HONE_SIZED(hone_advice_info);
    open_product(&f, rows[i].depth, rows[i].keep_every);
    const bool found = find(&f, rows[i].row, &info);
    if (found != rows[i].holds) fail_msg("row %zu: %s is %d", i, rows[i].row, found);
    if (found) assert_true(names(&info, "product"));
    if (found) assert_false(info.applies_itself);
    close_fixture(&f);
  }
}

/* ---- the object ---- */

static bool collect(void *user, const char *text, size_t length) {
  char *to = user;
  assert_true(strlen(to) + length < 65536);
  strncat(to, text, length);
  return true;
}

static void check_has(const char *text, const char *want) {
  if (!strstr(text, want)) fail_msg("no %s in:\n%s", want, text);
}

static void test_report(void **state) {
  (void)state;
  static char text[65536];
  fixture f;
  hone_advice_info info = HONE_SIZED(hone_advice_info);
  open_text(&f, defects[0].text);
  hone_diagnostics *diag = hone_context_diagnostics(f.context);
  hone_advice_destroy(f.advice);
  const hone_advise_options untimed = {.struct_size = sizeof untimed, .level = -1, .machine_threads = 4};
  require(&f, hone_advise(f.session, f.graph, &untimed, &f.advice, diag));
  assert_true(find(&f, "useless-transposes", &info));
  assert_int_equal(hone_advice_item(f.advice, hone_advice_count(f.advice), &info), HONE_INVALID);
  assert_int_equal(hone_advice_item(f.advice, -1, &info), HONE_INVALID);
  char name[] = "bf16";
  const hone_advice_step first = {
      .struct_size = sizeof first, .name = "as given", .measured_ns = 4e6, .error = -1, .kept = true};
  const hone_advice_step step = {.struct_size = sizeof step,
                                 .name = name,
                                 .flags = "--bf16",
                                 .why = "faster",
                                 .predicted_ns = 2.5e6,
                                 .measured_ns = 2e6,
                                 .low_ns = -2.1e6,
                                 .high_ns = -1.9e6,
                                 .change_percent = -50,
                                 .error = 1e-3,
                                 .kept = true};
  require(&f, hone_advice_add_step(f.advice, &first, diag));
  require(&f, hone_advice_add_step(f.advice, &step, diag));
  memset(name, 'x', sizeof name - 1); /* it was copied */
  /* Neither session nor graph is needed any more. */
  hone_session_destroy(f.session);
  hone_engine_release(f.engine);
  hone_graph_destroy(f.graph);
  f.session = NULL;
  f.engine = NULL;
  f.graph = NULL;
  require(&f, hone_report_advice(f.advice, NULL, collect, text, diag));
  check_has(text, "pattern     ");
  check_has(text, "removed by the build\n  useless-transposes: ");
  check_has(text, "4.0000 -> 2.0000 ms: 50.0 % less\n");
  const hone_report_options json = {.struct_size = sizeof json, .json = true};
  text[0] = 0;
  require(&f, hone_report_advice(f.advice, &json, collect, text, diag));
  check_has(text, "\"pattern\": {\"name\": ");
  check_has(text, "\"removed\": [");
  check_has(text,
            "{\"step\": \"bf16\", \"flags\": \"--bf16\", \"predicted_ms\": 2.5, \"measured_ms\": 2, \"low_ms\": -2.1, "
            "\"high_ms\": -1.9, \"change_percent\": -50, \"error\": 0.001, \"kept\": true, \"why\": \"faster\"}");
  close_fixture(&f);
}

static void test_too_many_steps(void **state) {
  (void)state;
  fixture f;
  open_text(&f, defects[2].text);
  const hone_advice_step step = {.struct_size = sizeof step, .name = "s", .measured_ns = 1};
  hone_diagnostics *diag = hone_context_diagnostics(f.context);
  for (int i = 0; i < 64; ++i) require(&f, hone_advice_add_step(f.advice, &step, diag));
  assert_int_equal(hone_advice_add_step(f.advice, &step, diag), HONE_LIMIT);
  close_fixture(&f);
}

/* ---- times ---- */

static void test_times(void **state) {
  (void)state;
  enum { BLOCKS = 8, RUNS = 3 };
  double a[BLOCKS * RUNS], b[BLOCKS * RUNS];
  hone_times_difference d = HONE_SIZED(hone_times_difference);
  for (int i = 0; i < BLOCKS * RUNS; ++i) {
    a[i] = 100 + i / RUNS;                        /* the machine drifts */
    b[i] = 90 + i / RUNS + (i % RUNS == 0) * 500; /* one disturbed run a block */
  }
  assert_int_equal(hone_compare_times(a, b, BLOCKS, RUNS, &d, NULL), HONE_OK);
  assert_float_equal(d.difference_ns, -10, 1e-9);
  assert_float_equal(d.low_ns, -10, 1e-9);
  assert_float_equal(d.high_ns, -10, 1e-9);
  b[BLOCKS * RUNS - 1] = b[BLOCKS * RUNS - 2] = 200; /* and one disturbed block */
  assert_int_equal(hone_compare_times(a, b, BLOCKS, RUNS, &d, NULL), HONE_OK);
  assert_float_equal(d.difference_ns, -10, 1e-9);
  assert_true(d.high_ns > -10); /* eight blocks: the least and the most are the interval */
}

/* ---- expectations ---- */

static void expect(const fixture *f, const hone_build_options *build, hone_expectation *out) {
  *out = (hone_expectation){.struct_size = sizeof *out};
  require(f, hone_engine_expect(f->context, f->graph, &f->device, 1, build, f->engine, out));
}

/* Of a network that nothing is known of those layers are timed that it is made of, or none where nothing may be; after
 * its build nothing is left to time, and the sum is the build's own. */
static void test_expectation(void **state) {
  (void)state;
  fixture f;
  hone_expectation e;
  char cache[] = "/tmp/hone_advice_XXXXXX";
  const int file = mkstemp(cache);
  assert_true(file >= 0 && close(file) == 0);
  assert_int_equal(unlink(cache), 0);
  open_fixture(&f);
  require(&f, small_net_graph(f.context, false, &f.graph));
  const hone_build_options build = {.struct_size = sizeof build, .level = 1, .timing_cache_path = cache};
  atomic_bool stop = true;
  hone_build_options none = build;
  none.stop_timing = &stop;
  expect(&f, &none, &e);
  assert_true(e.unknown_layers >= 4 && e.timed_layers == 0 && e.known_share < 0.5);
  expect(&f, &build, &e);
  assert_true(e.unknown_layers >= 4 && e.timed_layers >= 1 && e.timed_layers <= e.unknown_layers);
  assert_true(e.known_share >= 0.95 && e.known_share <= 1.0001);
  assert_true(e.run_ns > 0 && e.like_ns == 0);
  assert_true(e.timed_ns > 0 && e.timed_ns <= e.likeliest_ns);
  require(&f, hone_engine_build(f.context, f.graph, &f.device, 1, &build, &f.engine));
  expect(&f, &build, &e);
  assert_int_equal(e.unknown_layers, 0);
  assert_int_equal(e.timed_layers, 0);
  assert_true(e.like_ns > 0);
  /* The cache has tenths of ns; of candidates that are as fast, within noise, the build may have taken the other one.
   */
  if (e.run_ns > e.like_ns * (1 + 1e-4) || e.run_ns < e.like_ns * 0.99)
    fail_msg("expected %.3f ns, the build says %.3f", e.run_ns, e.like_ns);
  (void)unlink(cache);
  close_fixture(&f);
}

/* Of an engine whose kernels estimates chose, the same times tell what it takes: no less than what times choose. */
static void test_expectation_of_untimed(void **state) {
  (void)state;
  fixture f;
  hone_expectation e;
  open_fixture(&f);
  require(&f, small_net_graph(f.context, false, &f.graph));
  const hone_build_options untimed = {.struct_size = sizeof untimed, .level = -1},
                           timed = {.struct_size = sizeof timed, .level = 2};
  require(&f, hone_engine_build(f.context, f.graph, &f.device, 1, &untimed, &f.engine));
  expect(&f, &timed, &e);
  assert_true(e.timed_layers > 0 && e.run_ns > 0);
  assert_true(e.like_ns >= e.run_ns * 0.9999 && e.like_ns < 20 * e.run_ns);
  expect(&f, &untimed, &e);
  assert_true(e.timed_layers == 0 && e.like_ns == 0); /* no times say anything of it */
  close_fixture(&f);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_defects),
                                     cmocka_unit_test(test_weights),
                                     cmocka_unit_test(test_report),
                                     cmocka_unit_test(test_too_many_steps),
                                     cmocka_unit_test(test_times),
                                     cmocka_unit_test(test_expectation),
                                     cmocka_unit_test(test_expectation_of_untimed)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
