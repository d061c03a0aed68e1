/* SPDX-License-Identifier: Apache-2.0 */
/* test_next_weights.c - a call that streams its weights is told of the next one's, the last of a run of the first's. */
#include "plan/plan.h"
#include "run/session.h"
#include "support/two_devices.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

/* Products with other steps between them, one after the other. */
static hone_graph *chain(int products) {
  static const int64_t dims[2] = {ROWS, COLUMNS}, square[2] = {COLUMNS, COLUMNS};
  hone_graph *graph;
  hone_value *a, *b;
  two_devices_check(hone_graph_create(two_devices_context, "chain", &graph));
  two_devices_check(hone_graph_add_input(graph, "a", HONE_F32, 2, dims, NULL, &a));
  two_devices_check(hone_graph_add_input(graph, "b", HONE_F32, 2, dims, NULL, &b));
  for (int i = 0; i < products; ++i) {
    a = two_devices_add(graph, "matmul", a, two_devices_constant(graph, 2, square), NULL);
    a = two_devices_add(graph, "softmax", a, NULL, NULL);
  }
  two_devices_check(hone_graph_add_output(graph, "y", two_devices_add(graph, "add", a, b, NULL)));
  two_devices_check(hone_graph_add_output(graph, "z", two_devices_add(graph, "neg", a, NULL, NULL)));
  return graph;
}

static void check_order(const hn_instance *instance, int products) {
  const hn_plan *plan = instance->plan;
  int found[8], count = 0;
  for (int s = 0; s < plan->step_count; ++s) {
    const hn_plan_step *step = &plan->steps[s];
    if (step->tactic && step->tactic->flags & HONE_TACTIC_STREAMS)
      found[count++] = s;
    else
      assert_null(instance->steps[s].launch.next_packed);
  }
  assert_int_equal(count, products);
  for (int i = 0; i < count; ++i) {
    const int next = found[(i + 1) % count];
    const hone_launch *launch = &instance->steps[found[i]].launch;
    assert_non_null(launch->next_packed);
    assert_ptr_equal(launch->next_packed, instance->steps[next].launch.packed);
    assert_int_equal(launch->next_bytes, plan->steps[next].packed_bytes);
  }
}

static void test_order(void **state) {
  (void)state;
  for (int products = 0; products < 4; ++products) { /* one alone is the next of itself */
    hone_graph *graph = chain(products);
    hone_device *far = two_devices_far(0);
    hone_engine *engine;
    hone_session *session;
    const hone_build_options options = {.struct_size = sizeof options, .level = -1};
    two_devices_check(hone_engine_build(two_devices_context, graph, &far, 1, &options, &engine));
    two_devices_check(hone_session_create(engine, NULL, &session, hone_context_diagnostics(two_devices_context)));
    two_devices_numbers n = {0};
    two_devices_run(session, &n, false);
    check_order(session->current, products);
    hone_session_destroy(session);
    hone_engine_release(engine);
    hone_graph_destroy(graph);
    hone_device_close(far);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_order)};
  return cmocka_run_group_tests(tests, two_devices_set_up, two_devices_tear_down);
}
