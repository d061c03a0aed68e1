/* SPDX-License-Identifier: Apache-2.0 */
/* test_leftovers.c - which fusion a layer that is no product is told: by the passes, by the tuner, by its neighbours.
 */
#include "report/leftovers.h"
#include "ops/registry.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { STEPS = 5 };

/* A chain of steps, each reading what the one before it made. */
typedef struct fixture {
  hn_arena arena;
  hn_plan_tensor tensors[STEPS + 1];
  hn_plan_step steps[STEPS];
  int in[STEPS], out[STEPS];
  hn_plan plan;
  hn_trace_step times[STEPS];
  hn_profile_row rows[STEPS];
  hn_profile_input input;
  hone_report_options options;
  hn_profile profile;
} fixture;

static fixture *open_fixture(const char *const *ops, int count) {
  static const char *const names[STEPS] = {"a", "b", "c", "d", "e"};
  fixture *f = calloc(1, sizeof *f);
  assert_non_null(f);
  hn_arena_init(&f->arena, hn_allocator_default());
  for (int t = 0; t <= count; ++t)
    f->tensors[t] = (hn_plan_tensor){.name = "t", .place = HN_PLACE_ARENA, .alias_of = -1, .part_of = -1};
  for (int s = 0; s < count; ++s) {
    f->in[s] = s;
    f->out[s] = s + 1;
    f->steps[s] = (hn_plan_step){.kind = HN_STEP_CALL,
                                 .name = names[s],
                                 .op = hn_op_find(hn_builtin_ops(), ops[s]),
                                 .in_count = 1,
                                 .out_count = 1,
                                 .in = &f->in[s],
                                 .out = &f->out[s]};
    assert_non_null(f->steps[s].op);
    f->rows[s] = (hn_profile_row){
        .step = &f->steps[s], .times = &f->times[s], .median_ns = 1e5, .bound = {.compute_ns = 1e4, .memory_ns = 8e4}};
  }
  f->plan = (hn_plan){.step_count = count, .steps = f->steps, .tensor_count = count + 1, .tensors = f->tensors};
  f->input = (hn_profile_input){.plan = &f->plan};
  f->profile =
      (hn_profile){.in = &f->input, .options = &f->options, .arena = &f->arena, .count = count, .rows = f->rows};
  return f;
}

static void close_fixture(fixture *f) {
  hn_arena_deinit(&f->arena);
  free(f);
}

static void read_ledger(fixture *f, const char *text) {
  hn_json *read;
  assert_int_equal(hn_json_read(&f->arena, NULL, "ledger", text, strlen(text), &read), HONE_OK);
  f->input.ledger = read;
}

static const hn_leftover *find(fixture *f, const char *name) {
  assert_int_equal(hn_leftovers_find(&f->profile, &f->profile.leftovers), HONE_OK);
  for (int i = 0; i < f->profile.leftovers.count; ++i)
    if (strcmp(f->profile.leftovers.items[i].row->step->name, name) == 0) return &f->profile.leftovers.items[i];
  return NULL;
}

static void check_has(const char *text, const char *part) {
  if (!text || !strstr(text, part)) fail_msg("\"%s\" has no \"%s\"", text ? text : "(none)", part);
}

static void test_neighbours(void **state) {
  (void)state;
  static const struct {
    const char *ops[3]; /* the second one is asked for */
    const char *rule, *fusion, *unmet;
  } rows[] = {
      {{"conv", "relu", "conv"}, "fuse_conv", "the epilogue of a", "operands"},
      {{"conv", "max_pool", "conv"}, "conv_pool", "one kernel with a", "hone explain"},
      {{"concat", "max_pool", "relu"}, NULL, "each layer that a joins", "no such form"},
      {{"linear", "layer_norm", "linear"}, NULL, "moments in the epilogue of a", "no such form"},
      {{"matmul", "softmax", "matmul"}, "attention", "with a", "hone explain"},
      {{"relu", "transpose", "matmul"}, NULL, "c reading it where it lies", "no such form"},
      {{"conv", "global_average_pool", "relu"}, NULL, "sums over the image in the epilogue of a", "no such form"},
      {{"relu", "average_pool", "conv"}, NULL, "c reading it window by window", "no such form"},
      {{"layer_norm", "cum_sum", "layer_norm"}, NULL, NULL, NULL},
  };
  for (size_t i = 0; i < HN_COUNT(rows); ++i) {
    fixture *f = open_fixture(rows[i].ops, 3);
    const hn_leftover *left = find(f, "b");
    assert_non_null(left);
    assert_int_equal(left->fusion != NULL, rows[i].fusion != NULL);
    assert_int_equal(left->rule != NULL, rows[i].rule != NULL);
    if (rows[i].rule) check_has(left->rule, rows[i].rule);
    if (rows[i].fusion) check_has(left->fusion, rows[i].fusion);
    if (rows[i].unmet) check_has(left->unmet, rows[i].unmet);
    /* All but its arithmetic at half of the roof. */
    assert_true(fabs(left->saving_ns - (rows[i].fusion ? 8e4 : 0)) < 1);
    close_fixture(f);
  }
}

static void test_products_are_none(void **state) {
  (void)state;
  static const char *const ops[] = {"conv", "linear", "matmul"};
  fixture *f = open_fixture(ops, 3);
  assert_null(find(f, "b"));
  assert_int_equal(f->profile.leftovers.count, 0);
  close_fixture(f);
}

static void test_other_readers(void **state) {
  (void)state;
  static const char *const ops[] = {"conv", "relu", "conv"};
  fixture *f = open_fixture(ops, 3);
  f->in[2] = 1; /* a's output, too */
  check_has(find(f, "b")->unmet, "2 layers read what a makes");
  f->in[2] = 2;
  f->tensors[1].place = HN_PLACE_OUTPUT;
  check_has(find(f, "b")->unmet, "an output, too");
  close_fixture(f);
}

static void test_views_between(void **state) {
  (void)state;
  static const char *const ops[] = {"conv", "reshape", "relu", "conv"};
  fixture *f = open_fixture(ops, 4);
  f->steps[1].kind = HN_STEP_VIEW;
  check_has(find(f, "c")->fusion, "the epilogue of a");
  f->steps[2].caused_by = "d"; /* a convert for it */
  check_has(find(f, "c")->fusion, "d reading what lies there");
  close_fixture(f);
}

static void test_passes(void **state) {
  (void)state;
  static const char *const ops[] = {"conv", "global_average_pool", "relu", "mul"};
  fixture *f = open_fixture(ops, 4);
  f->in[3] = 1; /* the product reads what the mean does */
  read_ledger(f, "{\"splits\": [], \"passes\": [{\"rule\": \"squeeze\", \"node\": \"d\", \"unmet\": \"no kernel\"}]}");
  for (int i = 0; i < 2; ++i) {
    const hn_leftover *left = find(f, i ? "b" : "d");
    assert_string_equal(left->rule, "squeeze");
    assert_string_equal(left->fusion, "squeeze with d");
    assert_string_equal(left->unmet, "no kernel");
  }
  assert_null(find(f, "c")->fusion); /* the event is not about it */
  close_fixture(f);
}

static void test_tuning(void **state) {
  (void)state;
  static const char *const ops[] = {"conv", "max_pool", "conv"};
  fixture *f = open_fixture(ops, 3);
  read_ledger(f, "{\"splits\": [{\"node\": \"b\", \"op\": \"conv_pool\", \"why\": \"the parts are faster\", "
                 "\"fused_ns\": 2e6, \"parts_ns\": 1e6}], \"passes\": []}");
  const hn_leftover *left = find(f, "b");
  assert_string_equal(left->rule, "conv_pool");
  check_has(left->unmet, "2.0000 ms as one, 1.0000 ms as parts");
  assert_true(left->saving_ns == 0);
  assert_int_equal(f->profile.leftovers.region_count, 1);
  close_fixture(f);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_neighbours),    cmocka_unit_test(test_products_are_none),
      cmocka_unit_test(test_other_readers), cmocka_unit_test(test_views_between),
      cmocka_unit_test(test_passes),        cmocka_unit_test(test_tuning),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
