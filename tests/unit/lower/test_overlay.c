/* SPDX-License-Identifier: Apache-2.0 */
/* test_overlay.c - joins and splits without copies: parts lie in the whole, results stay right, and a plan whose parts
 * would be written over while they are needed is refused. */
#include "run/engine.h"
#include "support/ref_graph.h"
#include <hone/hone.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

/* Channels in multiples of 16 and planes in multiples of 16 floats, so that parts begin at multiples of 64 bytes in
 * every format. Joins as in DenseNet: each takes everything made before. */
static const char joins[] = "graph \"g\" opset 17 {\n"
                            "  in %x: f32[1,16,8,8]\n"
                            "  %a = exp(%x)\n"
                            "  %b = tanh(%a)\n"
                            "  %ab = concat(%a, %b) [axis=1]\n"
                            "  %m = max_pool(%ab) [kernel_shape=[3,3], pads=[1,1,1,1], strides=[1,1]]\n"
                            "  %abm = concat(%a, %b, %m) [axis=1]\n"
                            "  %n = average_pool(%abm) [kernel_shape=[2,2], strides=[2,2]]\n"
                            "  out %n\n"
                            "}\n";

static const char splits[] = "graph \"g\" opset 17 {\n"
                             "  in %x: f32[1,32,8,8]\n"
                             "  const %sizes: i64[2] = [16, 16]\n"
                             "  %a = exp(%x)\n"
                             "  %l, %r = split(%a, %sizes) [axis=1]\n"
                             "  %t = max_pool(%r) [kernel_shape=[3,3], pads=[1,1,1,1], strides=[1,1]]\n"
                             "  %j = concat(%t, %l) [axis=1]\n"
                             "  %n = average_pool(%j) [kernel_shape=[2,2], strides=[2,2]]\n"
                             "  out %n\n"
                             "}\n";

static hone_context *context;
static hone_device *device;

static void check(hone_status status) {
  if (status == HONE_OK) return;
  for (int i = 0; i < hone_context_message_count(context); ++i)
    print_error("%s\n", hone_context_message(context, i, NULL));
  fail_msg("%s", hone_status_name(status));
}

static int set_up(void **state) {
  (void)state;
  const hone_device_options options = {.struct_size = sizeof options, .threads = 2};
  return hone_context_create(NULL, &context) != HONE_OK ||
         hone_device_open(context, "cpu", 0, &options, &device) != HONE_OK;
}

static int tear_down(void **state) {
  (void)state;
  hone_device_close(device);
  hone_context_destroy(context);
  return 0;
}

static int count_parts(const hn_plan *plan) {
  int parts = 0;
  for (int t = 0; t < plan->tensor_count; ++t) parts += plan->tensors[t].part_of >= 0;
  return parts;
}

/* Builds, runs and compares with the graph run node by node. The caller releases the engine. */
static hone_engine *right_engine(const char *text) {
  hone_graph *graph;
  hone_engine *engine;
  hone_session *session;
  const hone_build_options options = {.struct_size = sizeof options, .level = -1};
  check(hone_graph_parse(context, text, strlen(text), &graph));
  check(hone_engine_build(context, graph, &device, 1, &options, &engine));
  check(hone_session_create(engine, NULL, &session, hone_context_diagnostics(context)));
  hn_arena arena;
  hn_arena_init(&arena, hn_allocator_default());
  hone_tensor in, want, got;
  for (uint64_t seed = 1; seed < 4; ++seed) {
    check(ref_graph_inputs(graph, &arena, seed, 1, &in));
    check(ref_graph_run(graph, &arena, &in, &want));
    check(hone_session_copy_in(session, "x", &in));
    check(hone_session_run(session));
    check(hone_session_tensor(session, "n", &got));
    assert_int_equal(got.bytes, want.bytes);
    for (size_t i = 0; i < got.bytes / sizeof(float); ++i)
      assert_float_equal(((const float *)got.data)[i], ((const float *)want.data)[i], 1e-5);
  }
  hn_arena_deinit(&arena);
  hone_session_destroy(session);
  hone_graph_destroy(graph);
  return engine;
}

static void test_joins(void **state) {
  (void)state;
  hone_engine *engine = right_engine(joins);
  /* a, b and m lie in the last join, and so does the first one */
  assert_int_equal(count_parts(engine->schedules->plans[0]), 4);
  hone_engine_release(engine);
}

static void test_splits(void **state) {
  (void)state;
  hone_engine *engine = right_engine(splits);
  /* both parts lie in what is split; of the join, the pool's output lies in it and the other part is copied */
  assert_int_equal(count_parts(engine->schedules->plans[0]), 3);
  hone_engine_release(engine);
}

static hn_plan_tensor *part_named(hn_plan *plan, const char *name) {
  for (int t = 0; t < plan->tensor_count; ++t)
    if (plan->tensors[t].part_of >= 0 && strcmp(plan->tensors[t].name, name) == 0) return &plan->tensors[t];
  fail_msg("%s is no part", name);
  return NULL;
}

static void test_refused(void **state) {
  (void)state;
  hone_engine *engine = right_engine(joins);
  hn_plan *plan = engine->schedules->plans[0];
  hone_diagnostics *diag = hone_context_diagnostics(context);
  assert_int_equal(hn_plan_check(plan, diag), HONE_OK);
  hn_plan_tensor *b = part_named(plan, "b");
  const uint64_t right = b->offset;
  b->offset += 64; /* over what follows */
  assert_int_equal(hn_plan_check(plan, diag), HONE_MALFORMED);
  b->offset = right - 64; /* over a's end while a is needed */
  assert_int_equal(hn_plan_check(plan, diag), HONE_MALFORMED);
  b->offset = plan->arena_bytes; /* outside */
  assert_int_equal(hn_plan_check(plan, diag), HONE_MALFORMED);
  b->offset = right;
  const int whole = b->part_of;
  b->part_of = (int)(b - plan->tensors); /* in itself */
  assert_int_equal(hn_plan_check(plan, diag), HONE_MALFORMED);
  b->part_of = -1; /* its own place, over a living one */
  assert_int_equal(hn_plan_check(plan, diag), HONE_MALFORMED);
  b->part_of = whole;
  assert_int_equal(hn_plan_check(plan, diag), HONE_OK);
  hone_engine_release(engine);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_joins), cmocka_unit_test(test_splits),
                                     cmocka_unit_test(test_refused)};
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
