/* SPDX-License-Identifier: Apache-2.0 */
/* test_diff.c - two plans made by hand, one of which fused what the other did not: every time in them is known. */
#include "report/diff.h"
#include "ops/registry.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

enum { BLOCKS = 7, BLOCK = 3, RUNS = BLOCKS * BLOCK };

static const char *const of_conv[] = {"conv"}, *const of_relu[] = {"relu"}, *const of_both[] = {"conv", "relu"},
                         *const of_fc[] = {"fc"};
static const hone_tactic fast = {.name = "cpu.fast"}, slow = {.name = "cpu.slow"};

static hn_plan_step call(const char *name, const char *op, const hone_tactic *tactic, const char *const *origins,
                         int count) {
  return (hn_plan_step){.kind = HN_STEP_CALL,
                        .name = name,
                        .op = hn_op_find(hn_builtin_ops(), op),
                        .provider = "cpu",
                        .tactic = tactic,
                        .origins = origins,
                        .origin_count = count,
                        .error_rel_l2 = -1};
}

/* Each run takes the step's time, and 1 us more in every second block. */
static void fill(float *samples, double ns) {
  for (int i = 0; i < RUNS; ++i) samples[i] = (float)(ns + (i / BLOCK % 2 ? 1000 : 0));
}

static void test_layers(void **state) {
  (void)state;
  hn_plan_step a[] = {call("conv", "conv", &fast, of_both, 2), call("fc", "linear", &fast, of_fc, 1)};
  hn_plan_step b[] = {call("conv", "conv", &fast, of_conv, 1), call("relu", "relu", &fast, of_relu, 1),
                      call("fc", "linear", &slow, of_fc, 1), call("fc/convert_0", "convert", &fast, NULL, 0)};
  b[3].caused_by = "fc";
  static float times_a[3][RUNS], times_b[5][RUNS];
  static const double ns_a[] = {5000, 9000, 15000}, ns_b[] = {4000, 3000, 12000, 500, 21000};
  const float *rows_a[3], *rows_b[5];
  for (int s = 0; s < 3; ++s) fill(times_a[s], ns_a[s]), rows_a[s] = times_a[s];
  for (int s = 0; s < 5; ++s) fill(times_b[s], ns_b[s]), rows_b[s] = times_b[s];
  const hn_plan plan_a = {.step_count = 2, .steps = a}, plan_b = {.step_count = 4, .steps = b};
  hn_diff_input input = {{{"one", &plan_a, rows_a, 0}, {"two", &plan_b, rows_b, 0}}, BLOCKS, BLOCK, 10};
  const hone_report_options text = {.struct_size = sizeof text}, json = {.struct_size = sizeof json, .json = true};
  hn_arena arena;
  hn_text out;
  bool regressed;
  hn_arena_init(&arena, hn_allocator_default());
  hn_text_init(&out, hn_allocator_default());
  assert_int_equal(hn_report_diff(&input, &json, &arena, &out, &regressed), HONE_OK);
  assert_true(regressed);
  const char *fc = strstr(hn_text_string(&out), "\"name\": \"fc\""),
             *conv = strstr(hn_text_string(&out), "\"name\": \"conv\"");
  if (!fc || !conv || fc > conv) fail_msg("fc comes first: %s", hn_text_string(&out));
  assert_non_null(strstr(fc, "\"differs_in\": \"tactic, converts: 0 and 1\""));
  assert_non_null(strstr(fc, "\"difference_ns\": 3500")); /* 12000 + 500 - 9000, in most blocks */
  assert_non_null(strstr(conv, "\"differs_in\": \"fusion: 1 and 2 steps\""));
  assert_non_null(strstr(conv, "\"difference_ns\": 2000"));
  assert_non_null(strstr(conv, "\"difference_ns\": 6000")); /* of whole runs */
  input.max_regression = 50;                                /* 40 % is less */
  assert_int_equal(hn_report_diff(&input, &text, &arena, &out, &regressed), HONE_OK);
  assert_false(regressed);
  input.sides[1] = input.sides[0];
  input.max_regression = 0;
  hn_text_clear(&out);
  assert_int_equal(hn_report_diff(&input, &text, &arena, &out, &regressed), HONE_OK);
  assert_false(regressed);
  assert_non_null(strstr(hn_text_string(&out), "no decision differs"));
  hn_text_deinit(&out);
  hn_arena_deinit(&arena);
}

/* Tables of the sign test: ranks 1 of 6, 10 of 31, 40 of 100 count from 1 on. */
static void test_ranks(void **state) {
  (void)state;
  assert_int_equal(hn_median_rank(5), -1);
  assert_int_equal(hn_median_rank(6), 0);
  assert_int_equal(hn_median_rank(31), 9);
  assert_int_equal(hn_median_rank(100), 39);
  assert_true(hn_median_rank(512) > 225 && hn_median_rank(512) < 256);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_layers), cmocka_unit_test(test_ranks)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
