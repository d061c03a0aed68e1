/* SPDX-License-Identifier: Apache-2.0 */
/* test_branches.c - a branch that the shapes refuse, its condition an input: the model builds, the other branch runs
 * and says what it would alone, and the run that takes this one is the caller's mistake, in words. So from a file, too.
 */
#include "ir/graph.h"
#include "ir/text.h"
#include "support/saved_engine.h"
#include <hone/hone.h>
#include <hone/tensor_io.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

/* relu for 6 values, neg for 4: what does not fit is known only once N is. */
#define SIX " %a = reshape(%x, %six)\n %b = relu(%a)\n yield %b\n"
#define FOUR " %e = reshape(%y, %four)\n %f = neg(%e)\n yield %f\n"
#define HEAD                                                                                                           \
  "graph \"g\" opset 17 {\n in %v: f32[1,N]\n in %ask: bool[]\n const %six: i64[2] = [2,3]\n"                          \
  " const %four: i64[2] = [2,2]\n"

static const char plain[] = HEAD " %r = if(%ask, %v)\n (%x: f32[1,N]) {\n" SIX " }\n (%y: f32[1,N]) {\n" FOUR " }\n"
                                 " %s = mul(%r, %r)\n out %s\n}\n";

/* The second branch is itself one of two, neither of which fits six values. */
static const char nested[] =
    HEAD " %r = if(%ask, %v, %ask)\n (%x: f32[1,N], %p: bool[]) {\n" SIX " }\n (%z: f32[1,N], %q: bool[]) {\n"
         "  %i = if(%q, %z)\n (%y: f32[1,N]) {\n" FOUR " }\n (%w: f32[1,N]) {\n"
         "   %g = reshape(%w, %four)\n   yield %g\n }\n  yield %i\n }\n %s = mul(%r, %r)\n out %s\n}\n";

/* The second branch holds one whose condition is known, which yields rank 3 there: that what follows refuses it is seen
 * only once the inner one is folded. */
static const char chained[] =
    HEAD " const %axis: i64[1] = [0]\n const %one: i64[] = [1]\n const %wide: i64[] = [4]\n %r = if(%ask, %v)\n"
         " (%x: f32[1,N]) {\n" SIX " }\n (%z: f32[1,N]) {\n %h = shape(%z)\n %n = gather(%h, %one)\n"
         " %is = equal(%n, %wide)\n %t = if(%is, %z)\n  (%k: f32[1,N]) {\n %i = identity(%k)\n yield %i\n }\n"
         "  (%l: f32[1,N]) {\n %u = unsqueeze(%l, %axis)\n yield %u\n }\n %y = transpose(%t) [perm=[1,0]]\n" FOUR " }\n"
         " %s = mul(%r, %r)\n out %s\n}\n";

static hone_context *context;
static hone_device *device;

static int set_up(void **state) {
  (void)state;
  return hone_context_create(NULL, &context) != HONE_OK ||
         hone_device_open(context, "cpu", 0, NULL, &device) != HONE_OK;
}

static int tear_down(void **state) {
  (void)state;
  hone_device_close(device);
  hone_context_destroy(context);
  return 0;
}

static hone_status build(const char *text, int64_t extent, hone_engine **out) {
  const hone_shape shape = {.rank = 2, .dim = {1, extent}};
  const hone_profile_shape shapes[] = {{.input = "v", .min = shape, .opt = shape, .max = shape}};
  const hone_build_options options = {.struct_size = sizeof options, .level = 1, .shape_count = 1, .shapes = shapes};
  hone_graph *graph;
  *out = NULL;
  if (hn_graph_parse(context, text, strlen(text), NULL, 0, &graph) != HONE_OK)
    fail_msg("%s", hone_context_message(context, 0, NULL));
  const hone_status status = hone_engine_build(context, graph, &device, 1, &options, out);
  hone_graph_destroy(graph);
  return status;
}

/* Runs with x = -1, 2, -3, ... and says whether the branch fails as it should, or gives the squares of relu or neg. */
static void run(const hone_engine *engine, int64_t extent, bool ask, const char *failure) {
  float values[8];
  hone_session *session;
  assert_int_equal(hone_session_create((hone_engine *)(uintptr_t)engine, NULL, &session, NULL), HONE_OK);
  for (int i = 0; i < 8; ++i) values[i] = (float)(i % 2 ? i + 1 : -i - 1);
  const hone_tensor v = {.type = {.kind = HONE_TENSOR, .dtype = HONE_F32, .shape = {.rank = 2, .dim = {1, extent}}},
                         .data = values,
                         .bytes = (size_t)extent * 4};
  const hone_tensor c = {.type = {.kind = HONE_TENSOR, .dtype = HONE_BOOL}, .data = &ask, .bytes = 1};
  assert_int_equal(hone_session_copy_in(session, "v", &v), HONE_OK);
  assert_int_equal(hone_session_copy_in(session, "ask", &c), HONE_OK);
  const hone_status status = hone_session_run(session);
  if (failure) {
    assert_int_equal(status, HONE_INVALID);
    const char *message = hone_session_message(session, 0, NULL);
    if (!strstr(message, failure)) fail_msg("%s: lacks %s", message, failure);
  } else {
    hone_tensor s;
    assert_int_equal(status, HONE_OK);
    assert_int_equal(hone_session_tensor(session, "s", &s), HONE_OK);
    assert_int_equal(hone_tensor_count(&s), extent);
    for (int i = 0; i < extent; ++i) {
      const double want = ask && values[i] < 0 ? 0 : (double)values[i] * values[i];
      assert_float_equal(hone_tensor_real(&s, i), want, 1e-6);
    }
  }
  hone_session_destroy(session);
}

static void check(const char *text, int64_t extent, bool good, const char *failure) {
  hone_engine *engine, *loaded;
  char path[] = "/tmp/hone_branches_XXXXXX";
  if (build(text, extent, &engine) != HONE_OK) fail_msg("%s", hone_context_message(context, 0, NULL));
  const int file = mkstemp(path);
  assert_true(file >= 0);
  close(file);
  assert_int_equal(hone_engine_save(engine, path, NULL), HONE_OK);
  assert_int_equal(hone_engine_load(context, path, &device, 1, &loaded), HONE_OK);
  saved_engine_remove(path);
  for (int again = 0; again < 2; ++again) {
    run(engine, extent, good, NULL);
    run(engine, extent, !good, failure);
    run(loaded, extent, good, NULL);
    run(loaded, extent, !good, failure);
  }
  hone_engine_release(engine);
  hone_engine_release(loaded);
}

static void test_else(void **state) {
  (void)state;
  check(plain, 6, true, "its else branch does not fit the shapes: ");
}

static void test_then(void **state) {
  (void)state;
  check(plain, 4, false, "its then branch does not fit the shapes: ");
}

static void test_nested(void **state) {
  (void)state;
  check(nested, 6, true, "its else branch does not fit the shapes: ");
}

static void test_chained(void **state) {
  (void)state;
  check(chained, 6, true, "its else branch does not fit the shapes: ");
  check(chained, 4, false, "its then branch does not fit the shapes: ");
}

/* Where neither fits, the shapes are wrong, as before. */
static void test_neither(void **state) {
  (void)state;
  hone_engine *engine;
  assert_int_equal(build(plain, 5, &engine), HONE_INVALID);
  assert_null(engine);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_else), cmocka_unit_test(test_then),
                                     cmocka_unit_test(test_nested), cmocka_unit_test(test_chained),
                                     cmocka_unit_test(test_neither)};
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
