/* SPDX-License-Identifier: Apache-2.0 */
/* test_in_network.c - rivals timed in the network, whose times are what the test says: by the tactics that were chosen
 * when the plan was made. */
#include "fake_device.h"
#include <unistd.h>

#define RELUS_AND_EXP                                                                                                  \
  "graph \"g\" opset 17 { in %x: f32[1,64,32,32] %y = relu(%x) @\"r\" %z = exp(%y) @\"e\" %w = relu(%z) @\"s\" out "   \
  "%w }"

/* A judge of plans: with so many relus by fake.relu.b a run takes ns[that many]. */
typedef struct judge_case {
  double ns[3];
  double slow_one; /* plan number slow_number is so many times slower, whatever it runs */
  int slow_number;
  bool cannot_enter; /* as where inputs are refused */
  hone_status error; /* of time() */
  int entered, left, samples;
} judge_case;

typedef struct judged {
  int relus;
  double times;
} judged;

static hone_status enter(void *user, const hn_choices *choices, void **out_plan) {
  judge_case *j = user;
  *out_plan = NULL;
  if (j->cannot_enter) return HONE_OK;
  judged *plan = calloc(1, sizeof *plan);
  assert_non_null(plan);
  for (int i = 0; i < choices->count; ++i) {
    const hn_choice *choice = &choices->items[i];
    assert_true(choice->candidates[choice->chosen].error_rel_l2 == 0); /* nothing unproved is run */
    plan->relus += strcmp(choice->candidates[choice->chosen].tactic->name, "fake.relu.b") == 0;
  }
  plan->times = j->entered++ == j->slow_number && j->slow_one > 0 ? j->slow_one : 1;
  *out_plan = plan;
  return HONE_OK;
}

static hone_status time_plan(void *user, void *plan, double *out_ns) {
  judge_case *j = user;
  const judged *p = plan;
  ++j->samples;
  *out_ns = j->ns[p->relus] * p->times;
  return j->error;
}

static void leave(void *user, void *plan) {
  ++((judge_case *)user)->left;
  free(plan);
}

static hone_status tune(tuning_case *t, judge_case *j, const hone_build_options *options) {
  const hn_judge judge = {.enter = enter, .time = time_plan, .leave = leave, .user = j};
  hone_shape *shapes = &t->graph->main->params[0]->fact.type.shape;
  hn_tuner *tuner;
  fake[RELU_A].plain_ns = 40e3;
  fake[RELU_B].plain_ns = 44e3;
  fake[EXP].plain_ns = 50e3;
  assert_int_equal(hn_tuner_open(t->context, options, 1, NULL, &tuner), HONE_OK);
  const hn_ranges ranges = {shapes, shapes, shapes};
  const hone_status status =
      hn_tuner_close(tuner, hn_tune(tuner, t->graph, t->devices, 2, &ranges, &judge, &t->choices));
  assert_int_equal(j->entered, j->left);
  return status;
}

typedef struct row {
  judge_case judge;
  int level;
  bool kept;
} row;

static void expect(const row *r) {
  tuning_case t;
  judge_case j = r->judge;
  case_begin(&t, RELUS_AND_EXP);
  const hone_build_options options = {.struct_size = sizeof options, .level = r->level};
  assert_int_equal(tune(&t, &j, &options), HONE_OK);
  for (int i = 0; i < 2; ++i) {
    const char *node = i ? "s" : "r";
    assert_string_equal(chosen_of(&t, node)->tactic->name, r->kept ? "fake.relu.b" : "fake.relu.a");
    assert_string_equal(choice_of(&t, node)->why, r->kept ? "fastest in the network" : "fastest");
  }
  assert_true(t.choices->total_ns == (r->kept ? 138e3 : 130e3));
  assert_true((j.samples > 0) == (r->level == 5 && !r->judge.cannot_enter));
  case_end(&t);
}

/* Identical layers change together; a gain counts that is above what two plans of the same choices differ by. */
static void test_kept(void **state) {
  (void)state;
  static const row rows[] = {
      {{.ns = {100e3, 1, 90e3}}, 5, true},
      {{.ns = {100e3, 1, 90e3}}, 3, false},   /* of a level that has none where the host computes */
      {{.ns = {100e3, 1, 99.9e3}}, 5, false}, /* too little */
      {{.ns = {100e3, 1, 101e3}}, 5, false},  /* slower */
      {{.ns = {100e3, 1, 120e3}}, 5, false},  /* and hopeless */
      {{.ns = {100e3, 1, 95e3}, .slow_one = 1.06, .slow_number = 1}, 5, false}, /* less than memory's places do */
      {{.ns = {100e3, 1, 80e3}, .slow_one = 1.06, .slow_number = 1}, 5, true},
      {{.ns = {100e3, 1, 100e3}, .slow_one = 0.9, .slow_number = 2}, 5, false}, /* the rival's plan lies well */
      {{.ns = {100e3, 1, 95e3}, .slow_one = 1.2, .slow_number = 4}, 5, false},  /* it lay well, its next one does not */
      {{.ns = {100e3, 1, 95e3}, .slow_one = 0.9, .slow_number = 3}, 5, false},  /* or the chosen one's lay badly */
      {{.cannot_enter = true}, 5, false},
  };
  for (size_t i = 0; i < HN_COUNT(rows); ++i) expect(&rows[i]);
}

/* The timing cache keeps what came of the contests: another build makes no plan, and chooses the same. */
static void test_cached(void **state) {
  (void)state;
  static const char path[] = "test_in_network.cache";
  static const double relus_ns[2][3] = {{100e3, 95e3, 90e3}, {100e3, 105e3, 110e3}};
  for (int lost = 0; lost < 2; ++lost) {
    const hone_build_options options = {.struct_size = sizeof options, .level = 5, .timing_cache_path = path};
    unlink(path);
    for (int build = 0; build < 2; ++build) {
      tuning_case t;
      judge_case j = {.ns = {relus_ns[lost][0], relus_ns[lost][1], relus_ns[lost][2]}};
      case_begin(&t, RELUS_AND_EXP);
      assert_int_equal(tune(&t, &j, &options), HONE_OK);
      assert_string_equal(chosen_of(&t, "r")->tactic->name, lost ? "fake.relu.a" : "fake.relu.b");
      assert_int_equal(j.entered > 0, build == 0);
      case_end(&t);
    }
  }
  unlink(path);
}

/* A rival over its bound is not run, whatever it would win. */
static void test_inexact(void **state) {
  (void)state;
  tuning_case t;
  judge_case j = {.ns = {100e3, 1, 50e3}};
  case_begin(&t, RELUS_AND_EXP);
  fake[RELU_B].wrong = true;
  const hone_build_options options = {.struct_size = sizeof options, .level = 5};
  assert_int_equal(tune(&t, &j, &options), HONE_OK);
  assert_string_equal(chosen_of(&t, "r")->tactic->name, "fake.relu.a");
  case_end(&t);
}

/* An error ends the build, and no plan is left behind. Few samples, a lock and the words of options ask for none. */
static void test_ends(void **state) {
  (void)state;
  tuning_case t;
  judge_case j = {.ns = {100e3, 1, 50e3}, .error = HONE_CANCELLED};
  case_begin(&t, RELUS_AND_EXP);
  const hone_build_options options = {.struct_size = sizeof options, .level = 5};
  assert_int_equal(tune(&t, &j, &options), HONE_CANCELLED);
  case_end(&t);
  j = (judge_case){.ns = {100e3, 1, 50e3}};
  case_begin(&t, RELUS_AND_EXP);
  const hone_build_options few = {.struct_size = sizeof few, .level = 5, .timing_runs = 1};
  assert_int_equal(tune(&t, &j, &few), HONE_OK);
  assert_int_equal(j.entered, 0);
  case_end(&t);
  case_begin(&t, ONE_RELU); /* the network is the layer */
  assert_int_equal(tune(&t, &j, &options), HONE_OK);
  assert_int_equal(j.entered, 0);
  case_end(&t);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_kept), cmocka_unit_test(test_inexact),
                                     cmocka_unit_test(test_cached), cmocka_unit_test(test_ends)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
