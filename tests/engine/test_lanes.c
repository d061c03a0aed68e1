/* SPDX-License-Identifier: Apache-2.0 */
/* test_lanes.c - branches of a device's steps side by side: waits that give every dependency and none twice; the right
 * numbers where the stand-in device does its lanes in the worst order; kept where its clock says that it is faster. */
#include "plan/plan.h"
#include "run/session.h"
#include "support/two_devices.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include <unistd.h>

enum { MOST = 40, ORDERS = 400, GRAPHS = 40, BRANCHES = 3, LENGTH = 4 };
static const char file[] = "lanes.hone";

/* ---- the order alone ---- */

typedef struct pairs {
  bool of[MOST][MOST]; /* [earlier][later] */
} pairs;

static bool depends(const void *user, int earlier, int later) { return ((const pairs *)user)->of[earlier][later]; }

/* What is known to be done before each item, by its lane's order and its waits; false: a wait told nothing new. */
static bool follow(const hn_lane_step *items, int count, bool (*before)[MOST]) {
  int tails[HONE_MAX_LANES];
  bool needed = true;
  memset(tails, -1, sizeof tails);
  for (int i = 0; i < count; ++i) {
    const int tail = tails[items[i].lane];
    for (int e = 0; e < i; ++e) before[e][i] = tail >= 0 && (e == tail || before[e][tail]);
    for (int w = 0; w < items[i].wait_count; ++w) {
      const int at = items[i].waits[w];
      needed = needed && !before[at][i] && items[at].lane != items[i].lane;
      for (int e = 0; e < i; ++e) before[e][i] = before[e][i] || e == at || before[e][at];
    }
    tails[items[i].lane] = i;
  }
  return needed;
}

static int assign(const pairs *p, int count, int most, hn_lane_step *out) {
  hn_arena arena;
  hn_arena_init(&arena, hn_allocator_default());
  const int used = hn_lanes_assign(&arena, count, most, depends, p, out);
  hn_arena_deinit(&arena);
  return used;
}

static void test_shapes(void **state) {
  (void)state;
  hn_lane_step items[MOST];
  pairs chain = {0}, diamond = {0}, apart = {0};
  for (int i = 0; i + 1 < 8; ++i) chain.of[i][i + 1] = true;
  assert_int_equal(assign(&chain, 8, 4, items), 1);
  for (int i = 0; i < 8; ++i) assert_int_equal(items[i].wait_count, 0);
  diamond.of[0][1] = diamond.of[0][2] = diamond.of[1][3] = diamond.of[2][3] = true; /* a fork and its join */
  assert_int_equal(assign(&diamond, 4, 4, items), 2);
  assert_int_equal(items[1].lane, 0);
  assert_int_equal(items[2].lane, 1);
  assert_true(items[2].wait_count == 1 && items[2].waits[0] == 0);
  assert_int_equal(items[3].wait_count, 1);
  assert_int_equal(assign(&diamond, 4, 1, items), 1); /* one lane is always enough */
  assert_int_equal(items[3].wait_count, 0);
  assert_int_equal(assign(&apart, 6, 4, items), 4); /* no more than there are */
}

static void test_orders(void **state) {
  (void)state;
  static pairs p;
  static bool before[MOST][MOST];
  two_devices_seed = 7;
  for (int order = 0; order < ORDERS; ++order) {
    const int count = 2 + order % (MOST - 2), most = 1 + order % HONE_MAX_LANES;
    hn_lane_step items[MOST];
    memset(&p, 0, sizeof p);
    for (int later = 1; later < count; ++later)
      for (int k = 0; k < order % 3; ++k)
        p.of[(int)((two_devices_number() + 1) / 2 * (float)later) % later][later] = true;
    const int used = assign(&p, count, most, items);
    assert_true(used >= 1 && used <= most);
    memset(before, 0, sizeof before);
    assert_true(follow(items, count, before));
    for (int later = 0; later < count; ++later)
      for (int earlier = 0; earlier < later; ++earlier) assert_true(!p.of[earlier][later] || before[earlier][later]);
  }
}

/* ---- on the stand-in device ---- */

/* x, then so many branches of products, and their sum. */
static hone_graph *branches(void) {
  static const int64_t square[2] = {COLUMNS, COLUMNS}, dims[2] = {ROWS, COLUMNS};
  hone_graph *graph;
  hone_value *x, *b, *sum = NULL;
  two_devices_seed = 21;
  two_devices_check(hone_graph_create(two_devices_context, "branches", &graph));
  two_devices_check(hone_graph_add_input(graph, "a", HONE_F32, 2, dims, NULL, &x));
  two_devices_check(hone_graph_add_input(graph, "b", HONE_F32, 2, dims, NULL, &b));
  x = two_devices_add(graph, "add", x, b, NULL);
  for (int k = 0; k < BRANCHES; ++k) {
    hone_value *y = x;
    for (int i = 0; i < LENGTH; ++i)
      y = two_devices_add(graph, "matmul", y, two_devices_constant(graph, 2, square), NULL);
    sum = sum ? two_devices_add(graph, "add", sum, y, NULL) : y;
  }
  two_devices_check(hone_graph_add_output(graph, "y", sum));
  two_devices_check(hone_graph_add_output(graph, "z", two_devices_add(graph, "neg", sum, NULL, NULL)));
  return graph;
}

static hone_engine *build(const hone_graph *graph, hone_device *device, int level, int most) {
  hone_engine *engine;
  const hone_build_options options = {.struct_size = sizeof options, .level = level, .max_aux_streams = most};
  two_devices_check(hone_engine_build(two_devices_context, graph, &device, 1, &options, &engine));
  return engine;
}

static void fill(two_devices_numbers *n) {
  for (int i = 0; i < 2; ++i)
    for (int k = 0; k < COUNT; ++k) n->in[i][k] = two_devices_number();
}

/* Computing alone, by the device's clock. */
static double run(hone_engine *engine, two_devices_numbers *n) {
  const hone_session_options options = {.struct_size = sizeof options, .parts = true};
  hone_run_part parts[HONE_MOST_PARTS];
  hone_session *session;
  int count;
  double sum_ns = 0;
  two_devices_check(hone_session_create(engine, &options, &session, hone_context_diagnostics(two_devices_context)));
  for (int again = 0; again < 3; ++again) two_devices_run(session, n, again == 1);
  two_devices_check_session(session, hone_session_parts(session, parts, &count));
  for (int i = 0; i < count; ++i)
    if (parts[i].kind == HONE_PART_COMPUTE) sum_ns += parts[i].end_ns - parts[i].begin_ns;
  hone_session_destroy(session);
  return sum_ns;
}

/* Any graph in any number of lanes gives the reference's numbers, and takes no longer. */
static void test_numbers(void **state) {
  (void)state;
  int faster = 0;
  for (int k = 0; k < GRAPHS; ++k) {
    two_devices_seed = 100 + (uint64_t)k;
    hone_graph *graph = two_devices_random(4 + k % 24);
    hone_device *far = two_devices_far(k & 1);
    hone_engine *engine = build(graph, far, -1, 0);
    two_devices_numbers want, got;
    fill(&want);
    got = want;
    two_devices_reference(graph, &want);
    const double one_ns = run(engine, &got);
    two_devices_compare(&got, &want, "one lane");
    hn_arena arena;
    hn_arena_init(&arena, hn_allocator_default());
    two_devices_check(hn_plan_place(engine->schedules->plans[0], &arena, 2 + k % (HONE_MAX_LANES - 1),
                                    hone_context_diagnostics(two_devices_context)));
    const double lanes_ns = run(engine, &got);
    two_devices_compare(&got, &want, "lanes");
    assert_true(lanes_ns <= one_ns);
    faster += lanes_ns < one_ns;
    hn_arena_deinit(&arena);
    hone_engine_release(engine);
    hone_graph_destroy(graph);
    hone_device_close(far);
  }
  assert_true(faster > GRAPHS / 8);
}

static void test_kept(void **state) {
  (void)state;
  hone_graph *graph = branches();
  for (int unit = 0; unit < 2; ++unit) {
    hone_device *far = two_devices_far(unit);
    hone_engine *one = build(graph, far, 1, -1), *lanes = build(graph, far, 1, 0), *two = build(graph, far, 1, 1),
                *untimed = build(graph, far, -1, 0), *loaded;
    assert_int_equal(one->schedules->plans[0]->lanes, 1);
    assert_int_equal(untimed->schedules->plans[0]->lanes, 1);
    assert_int_equal(lanes->schedules->plans[0]->lanes, BRANCHES);
    assert_int_equal(two->schedules->plans[0]->lanes, 2);
    two_devices_numbers want, got;
    fill(&want);
    got = want;
    two_devices_reference(graph, &want);
    two_devices_check(hone_engine_save(lanes, file, hone_context_diagnostics(two_devices_context)));
    two_devices_check(hone_engine_load(two_devices_context, file, &far, 1, &loaded));
    assert_int_equal(loaded->schedules->plans[0]->lanes, BRANCHES);
    const double one_ns = run(one, &got), lanes_ns = run(loaded, &got), two_ns = run(two, &got);
    two_devices_compare(&got, &want, "kept lanes");
    /* Of 12 products in a row 4 are left, or 8; what stands before, between and behind them stays. */
    assert_true(lanes_ns < two_ns && two_ns < one_ns);
    assert_true(one_ns - lanes_ns == 5000.0 * (BRANCHES - 1) * LENGTH);
    hone_engine *const engines[] = {one, lanes, two, untimed, loaded};
    for (size_t i = 0; i < sizeof engines / sizeof *engines; ++i) hone_engine_release(engines[i]);
    hone_device_close(far);
  }
  unlink(file);
  unlink("lanes.hone.ledger");
  hone_graph_destroy(graph);
}

/* A softmax runs on the host alone: named, and refused. */
static void test_strict(void **state) {
  (void)state;
  static const int64_t dims[2] = {ROWS, COLUMNS};
  hone_graph *graph;
  hone_value *x;
  hone_engine *engine;
  hone_device *far = two_devices_far(0), *cpu;
  const hone_build_options options = {.struct_size = sizeof options, .level = -1, .strict_device = true};
  two_devices_check(hone_graph_create(two_devices_context, "strict", &graph));
  two_devices_check(hone_graph_add_input(graph, "a", HONE_F32, 2, dims, NULL, &x));
  two_devices_check(hone_graph_add_output(graph, "y", two_devices_add(graph, "softmax", x, NULL, NULL)));
  assert_int_equal(hone_engine_build(two_devices_context, graph, &far, 1, &options, &engine), HONE_UNSUPPORTED);
  assert_non_null(strstr(hone_context_message(two_devices_context, 0, NULL), "1 step would run on the host: "));
  assert_non_null(strstr(hone_context_message(two_devices_context, 0, NULL), "(softmax)"));
  hone_context_clear_messages(two_devices_context);
  two_devices_check(hone_device_open(two_devices_context, "cpu", 0, NULL, &cpu));
  assert_int_equal(hone_engine_build(two_devices_context, graph, &cpu, 1, &options, &engine), HONE_INVALID);
  hone_context_clear_messages(two_devices_context);
  hone_graph_destroy(graph);
  graph = branches();
  two_devices_check(hone_engine_build(two_devices_context, graph, &far, 1, &options, &engine));
  hone_engine_release(engine);
  hone_graph_destroy(graph);
  hone_device_close(cpu);
  hone_device_close(far);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_shapes), cmocka_unit_test(test_orders),
                                     cmocka_unit_test(test_numbers), cmocka_unit_test(test_kept),
                                     cmocka_unit_test(test_strict)};
  return cmocka_run_group_tests(tests, two_devices_set_up, two_devices_tear_down);
}
