/* SPDX-License-Identifier: Apache-2.0 */
/* test_calibrate.c - a build whose time is used up: what a tactic took where it was timed corrects its estimates where
 * it was not, so that times and estimates may stand in one sum. */
#include "fake_device.h"
#include <math.h>
#include <stdatomic.h>

typedef struct stopper {
  atomic_bool flag;
  int after, calls;
} stopper;

static void stop_after(void *user, const char *what, int64_t done, int64_t total) {
  stopper *s = user;
  (void)what, (void)done, (void)total;
  if (s->calls++ == s->after) atomic_store(&s->flag, true);
}

/* The likelier tactic is ten times slower than its row says. The large layer shows it; the small one, which is not
 * timed any more, does not fall for it. */
static void test_other_layer(void **state) {
  (void)state;
  int seen = 0; /* stops between the two */
  for (int after = 0; after < 4; ++after) {
    tuning_case t;
    stopper s = {.after = after};
    case_begin(&t, "graph \"g\" opset 17 { in %x: f32[1,64,64,64] %a = relu(%x) @\"large\" %p = max_pool(%a) "
                   "[kernel_shape=[2,2], strides=[2,2]] @\"p\" %b = relu(%p) @\"small\" out %b }");
    fake[RELU_A].plain_ns = 500e3;
    fake[RELU_B].plain_ns = 50e3;
    const hone_build_options options = {
        .struct_size = sizeof options, .progress = stop_after, .progress_user = &s, .stop_timing = &s.flag};
    case_tune_ok(&t, &options);
    const bool any_time = choice_of(&t, "large")->candidates[0].state == HN_CANDIDATE_TIMED;
    const hn_candidate *a = candidate_of(&t, "small", "fake.relu.a", 0);
    const hn_candidate *b = candidate_of(&t, "small", "fake.relu.b", 0);
    if (any_time && a->state == HN_CANDIDATE_ESTIMATED) {
      assert_true(a->estimate_ns > 5 * b->estimate_ns);
      assert_string_equal(chosen_of(&t, "small")->tactic->name, "fake.relu.b");
      assert_string_equal(a->reason, hn_time_used_up);
    }
    if (!any_time) assert_string_equal(chosen_of(&t, "small")->tactic->name, "fake.relu.a"); /* nothing is known */
    seen += any_time && a->state == HN_CANDIDATE_ESTIMATED;
    case_end(&t);
  }
  assert_int_equal(seen, 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_other_layer)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
