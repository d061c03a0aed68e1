/* SPDX-License-Identifier: Apache-2.0 */
/* test_loop_memory.c - a loop needs the memory of two turns, however many it makes: loops whose turns together would
 * need many times the heap limit run right, and a run that repeats another one allocates nothing. */
#include <hone/hone.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static atomic_long calls;

static void *resize(void *user, void *old, size_t old_bytes, size_t new_bytes) {
  (void)user;
  atomic_fetch_add(&calls, 1);
  void *fresh = new_bytes ? aligned_alloc(64, (new_bytes + 63) / 64 * 64) : NULL;
  if (fresh && old) memcpy(fresh, old, old_bytes < new_bytes ? old_bytes : new_bytes);
  if (new_bytes == 0 || fresh) free(old);
  return fresh;
}

/* Outputs of element e, all of them f32; every one is computed from x[e] = e % 7 - 3. */
typedef struct wanted {
  const char *output;
  int64_t count, stride; /* elements; the element of x behind element i is i % stride */
  double (*value)(double x, int64_t turn);
} wanted;

typedef struct loop_case {
  const char *name, *text;
  uint64_t limit_bytes;
  bool grows; /* what goes round grows with each turn */
  wanted outputs[3];
} loop_case;

static double plus_4000(double x, int64_t turn) { return x + 4000 + 0 * (double)turn; }

/* a, b = b + 1, a: 500 times */
static double swapped_a(double x, int64_t turn) { return x + 250 + 0 * (double)turn; }
static double swapped_b(double x, int64_t turn) { return x + 250 + 0 * (double)turn; }
static double swapped_old(double x, int64_t turn) { return x + (double)((turn + 1) / 2); }

static double nested_sum(double x, int64_t turn) { return x + 100 * 20 + 0 * (double)turn; }
static double nested_last(double x, int64_t turn) { return x + (double)turn * 20 + 20; }

/* +2 where the turn's number is even, else +1 */
static double branched(double x, int64_t turn) { return x + 500 + 250 + 0 * (double)turn; }

static double grown(double x, int64_t turn) { return x + 1000 * 180 * 179 / 2 + 0 * (double)turn; }

static double selected(double x, int64_t turn) { return x + 301 + 0 * (double)turn; }

static const loop_case cases[] = {
    {"2,000 turns of 1 MiB",
     "graph \"g\" opset 17 {\n in %x: f32[262144]\n const %n: i64[] = [2000]\n const %c: f32[1] = [1.0]\n"
     " const %k: i64[2] = [512, 512]\n const %f: i64[1] = [-1]\n"
     " %y = loop(%n, _, %x) (%i: i64[], %go: bool[], %s: f32[262144]) {\n"
     "  %t = add(%s, %c)\n  %u = reshape(%t, %k)\n  %v = add(%u, %c)\n  %w = reshape(%v, %f)\n  yield %go, %w\n }\n"
     " out %y\n}\n",
     16 << 20,
     false,
     {{"y", 262144, 262144, plus_4000}}},
    {"values that change places, one that is handed through, slices",
     "graph \"g\" opset 17 {\n in %x: f32[16384]\n const %n: i64[] = [500]\n const %c: f32[1] = [1.0]\n"
     " const %p: i64[1] = [0]\n const %q: i64[1] = [4]\n"
     " %y, %z, %k, %all = loop(%n, _, %x, %x, %x) (%i: i64[], %go: bool[], %a: f32[16384], %b: f32[16384],"
     " %h: f32[16384]) {\n"
     "  %t = add(%b, %c)\n  %s = slice(%a, %p, %q)\n  yield %go, %t, %a, %h, %s\n }\n"
     " out %y\n out %z\n out %all\n}\n",
     1 << 20,
     false,
     {{"y", 16384, 16384, swapped_a}, {"z", 16384, 16384, swapped_b}, {"all", 2000, 4, swapped_old}}},
    {"a loop in a loop, with slices of both",
     "graph \"g\" opset 17 {\n in %x: f32[8192]\n const %n: i64[] = [100]\n const %m: i64[] = [20]\n"
     " const %c: f32[1] = [1.0]\n const %p: i64[1] = [19]\n const %q: i64[1] = [20]\n const %r: i64[1] = [0]\n"
     " const %one: i64[1] = [1]\n"
     " %y, %all = loop(%n, _, %x) (%i: i64[], %go: bool[], %s: f32[8192]) {\n"
     "  %t, %each = loop(%m, _, %s) (%j: i64[], %on: bool[], %u: f32[8192]) {\n"
     "   %v = add(%u, %c)\n   %w = slice(%v, %r, %one)\n   yield %on, %v, %w\n  }\n"
     "  %l = slice(%each, %p, %q, %r)\n  yield %go, %t, %l\n }\n"
     " out %y\n out %all\n}\n",
     1 << 20,
     false,
     {{"y", 8192, 8192, nested_sum}, {"all", 100, 1, nested_last}}},
    {"a branch in a loop",
     "graph \"g\" opset 17 {\n in %x: f32[16384]\n const %n: i64[] = [500]\n const %c: f32[1] = [1.0]\n"
     " const %two: i64[] = [2]\n"
     " %y = loop(%n, _, %x) (%i: i64[], %go: bool[], %s: f32[16384]) {\n"
     "  %d = mod(%i, %two)\n  %odd = cast(%d) [to=9]\n"
     "  %t = if(%odd, %s) (%e: f32[16384]) {\n %f = add(%e, %c)\n yield %f\n }\n"
     "  (%g: f32[16384]) {\n %h = add(%g, %c)\n %o = add(%h, %c)\n yield %o\n }\n"
     "  yield %go, %t\n }\n out %y\n}\n",
     1 << 20,
     false,
     {{"y", 16384, 16384, branched}}},
    {"values that grow from turn to turn",
     "graph \"g\" opset 17 {\n in %x: f32[8]\n const %n: i64[] = [180]\n const %k: i64[] = [1000]\n"
     " const %a: i64[] = [0]\n const %d: i64[] = [1]\n"
     " %y = loop(%n, _, %x) (%i: i64[], %go: bool[], %s: f32[8]) {\n"
     "  %l = mul(%i, %k)\n  %p = range(%a, %l, %d)\n  %q = cast(%p) [to=1]\n  %e = neg(%q)\n  %h = shape(%e)\n"
     "  %f = cast(%h) [to=1]\n  %t = add(%s, %f)\n  yield %go, %t\n }\n out %y\n}\n",
     8 << 20,
     true,
     {{"y", 8, 8, grown}}},
    {"what is selected by its values",
     "graph \"g\" opset 17 {\n in %x: f32[16384]\n const %n: i64[] = [301]\n const %c: f32[1] = [1.0]\n"
     " const %k: f32[] = [0.5]\n const %most: f32[] = [0]\n"
     " %y = loop(%n, _, %x) (%i: i64[], %go: bool[], %s: f32[16384]) {\n"
     "  %m = greater(%s, %k)\n  %p = compress(%s, %m)\n  %q = reduce_max(%p) [keepdims=0]\n"
     "  %b = greater(%q, %most)\n  %o = cast(%b) [to=1]\n  %t = add(%s, %o)\n  yield %go, %t\n }\n out %y\n}\n",
     1 << 20,
     false,
     {{"y", 16384, 16384, selected}}},
};

static double x_at(int64_t i) { return (double)(i % 7) - 3; }

static void check_outputs(const loop_case *c, hone_session *session) {
  for (int k = 0; k < 3 && c->outputs[k].output; ++k) {
    const wanted *w = &c->outputs[k];
    hone_tensor out;
    assert_int_equal(hone_session_tensor(session, w->output, &out), HONE_OK);
    assert_int_equal(hone_tensor_count(&out), w->count);
    for (int64_t i = 0; i < w->count; ++i) {
      const double got = hone_tensor_real(&out, i), want = w->value(x_at(i % w->stride), i / w->stride);
      if (got != want) fail_msg("%s: %s[%lld] is %g, want %g", c->name, w->output, (long long)i, got, want);
    }
  }
}

static void run_case(const loop_case *c, bool reference) {
  const hone_context_options options = {.struct_size = sizeof options, .resize = resize};
  const hone_device_options device_options = {.struct_size = sizeof device_options, .threads = 2};
  const hone_build_options build = {.struct_size = sizeof build, .level = -1, .reference_only = reference};
  const hone_session_options session_options = {.struct_size = sizeof session_options,
                                                .heap_limit_bytes = c->limit_bytes};
  hone_context *context;
  hone_device *device;
  hone_graph *graph;
  hone_engine *engine = NULL;
  hone_session *session;
  hone_session_stats stats = HONE_SIZED(hone_session_stats);
  hone_tensor x;
  assert_int_equal(hone_context_create(&options, &context), HONE_OK);
  assert_int_equal(hone_device_open(context, "cpu", 0, &device_options, &device), HONE_OK);
  hone_status status = hone_graph_parse(context, c->text, strlen(c->text), &graph);
  if (status == HONE_OK) status = hone_engine_build(context, graph, &device, 1, &build, &engine);
  if (status != HONE_OK) fail_msg("%s: %s", c->name, hone_context_message(context, 0, NULL));
  assert_int_equal(hone_session_create(engine, &session_options, &session, NULL), HONE_OK);
  for (int run = 0; run < 3; ++run) {
    assert_int_equal(hone_session_tensor(session, "x", &x), HONE_OK);
    for (int64_t i = 0; i < hone_tensor_count(&x); ++i) ((float *)x.data)[i] = (float)x_at(i);
    atomic_store(&calls, 0);
    if (hone_session_run(session) != HONE_OK)
      fail_msg("%s, run %d: %s", c->name, run + 1, hone_session_message(session, 0, NULL));
    const long count = atomic_load(&calls);
    /* the run after the first one joins what the first one's blocks lie in */
    if (run == 2 && count != 0) fail_msg("%s: the third run called the allocator %ld times", c->name, count);
    if (run == 0 && !c->grows) assert_true(count < 40);
    hone_session_get_stats(session, &stats);
    assert_true(stats.heap_bytes > 0 && stats.heap_bytes <= c->limit_bytes);
    check_outputs(c, session);
  }
  hone_session_destroy(session);
  hone_engine_release(engine);
  hone_graph_destroy(graph);
  hone_device_close(device);
  hone_context_destroy(context);
}

static void test_loops(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) run_case(&cases[i], false);
}

static void test_reference(void **state) {
  (void)state;
  for (size_t i = 1; i < sizeof cases / sizeof *cases; ++i) run_case(&cases[i], true);
}

/* The limit counts whole lines of 64 bytes, which is what a tensor of one byte takes. */
static void test_limit(void **state) {
  (void)state;
  static const char text[] = "graph \"g\" opset 17 {\n in %x: f32[1]\n const %n: i64[] = [1000]\n"
                             " %y, %all = loop(%n, _, %x) (%i: i64[], %go: bool[], %s: f32[1]) {\n"
                             "  %t = exp(%s)\n  yield %go, %s, %t\n }\n out %all\n}\n";
  const hone_build_options build = {.struct_size = sizeof build, .level = -1};
  const hone_session_options limited = {.struct_size = sizeof limited, .heap_limit_bytes = 100000};
  hone_context *context;
  hone_device *device;
  hone_graph *graph;
  hone_engine *engine;
  hone_session *session;
  assert_int_equal(hone_context_create(NULL, &context), HONE_OK);
  assert_int_equal(hone_device_open(context, "cpu", 0, NULL, &device), HONE_OK);
  assert_int_equal(hone_graph_parse(context, text, strlen(text), &graph), HONE_OK);
  assert_int_equal(hone_engine_build(context, graph, &device, 1, &build, &engine), HONE_OK);
  assert_int_equal(hone_session_create(engine, &limited, &session, NULL), HONE_OK);
  assert_int_equal(hone_session_run(session), HONE_LIMIT);
  const char *message = hone_session_message(session, 0, NULL);
  assert_non_null(strstr(message, "100000 bytes"));
  assert_non_null(strstr(message, "--heap-limit"));
  hone_session_destroy(session);
  hone_engine_release(engine);
  hone_graph_destroy(graph);
  hone_device_close(device);
  hone_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_loops), cmocka_unit_test(test_reference),
                                     cmocka_unit_test(test_limit)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
