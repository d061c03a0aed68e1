/* SPDX-License-Identifier: Apache-2.0 */
/* test_sensitive.c - a recurrent layer whose weights multiply each rounding from step to step runs on a kernel: the
 * bound is what one rounding of its input does to the reference. Where roundings die out it is the tactic's own. */
#include "ir/text.h"
#include "plan/plan.h"
#include "run/engine.h"
#include <hone/hone.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

static void check(const char *factor, bool is_sensitive) {
  char text[512];
  hone_context *context;
  hone_device *device;
  hone_graph *graph;
  hone_engine *engine;
  const hone_build_options options = {.struct_size = sizeof options, .level = -1};
  snprintf(text, sizeof text,
           "graph \"g\" opset 17 {\n in %%x: f32[80,1,8]\n const %%w: f32[1,256,8] = random 1\n"
           " const %%v: f32[1,256,64] = random 2\n const %%k: f32[] = [%s]\n %%r = mul(%%v, %%k)\n"
           " %%y = lstm(%%x, %%w, %%r) [hidden_size=64]\n out %%y\n}\n",
           factor);
  assert_int_equal(hone_context_create(NULL, &context), HONE_OK);
  assert_int_equal(hone_device_open(context, "cpu", 0, NULL, &device), HONE_OK);
  assert_int_equal(hn_graph_parse(context, text, strlen(text), NULL, 0, &graph), HONE_OK);
  assert_int_equal(hone_engine_build(context, graph, &device, 1, &options, &engine), HONE_OK);
  const hn_plan *plan = engine->schedules->plans[0];
  int layers = 0;
  for (int s = 0; s < plan->step_count; ++s) {
    const hn_plan_step *step = &plan->steps[s];
    if (step->kind != HN_STEP_CALL || strcmp(step->op->name, "lstm") != 0) continue;
    ++layers;
    assert_false(step->tactic->flags & HONE_TACTIC_REFERENCE);
    assert_true(step->error_rel_l2 >= 0 && step->error_rel_l2 <= step->error_bound);
    assert_int_equal(step->error_bound > 1e-5, is_sensitive);
    assert_true(step->error_bound <= 0.01);
  }
  assert_int_equal(layers, 1);
  hone_engine_release(engine);
  hone_graph_destroy(graph);
  hone_device_close(device);
  hone_context_destroy(context);
}

static void test_grows(void **state) {
  (void)state;
  check("1", true);
}

static void test_dies_out(void **state) {
  (void)state;
  check("0.2", false);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_grows), cmocka_unit_test(test_dies_out)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
