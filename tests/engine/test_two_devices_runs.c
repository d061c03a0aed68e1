/* SPDX-License-Identifier: Apache-2.0 */
/* test_two_devices_runs.c - runs over two memories (support/two_devices.h): random graphs give the reference's numbers,
 * replayed or not, loaded or not, with the caller's buffers or not, tapped or not; free batches do, too. */
#include "support/two_devices.h"
#include "device/device.h"
#include "plan/plan.h"
#include "run/engine.h"
#include "support/small_net.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { GRAPHS = 40 };

/* Each root tensor crosses a border once in each direction at most. */
static void check_copies(const hn_plan *plan) {
  for (int s = 0; s < plan->step_count; ++s)
    for (int r = s + 1; r < plan->step_count; ++r)
      if (plan->steps[s].kind == HN_STEP_COPY && plan->steps[r].kind == HN_STEP_COPY)
        assert_int_not_equal(plan->steps[s].in[0], plan->steps[r].in[0]);
}

static void try_engine(hone_engine *engine, two_devices_numbers *inputs, const two_devices_numbers *want,
                       const two_devices_numbers *want_again) {
  static const char *const how[] = {"replayed", "bound", "launched", "profiled"};
  for (int k = 0; k < 4; ++k) {
    hone_session *session;
    hone_session_stats stats = HONE_SIZED(hone_session_stats);
    const hone_session_options options = {.struct_size = sizeof options, .no_replay = k == 2, .profile = k == 3};
    two_devices_check(hone_session_create(engine, &options, &session, hone_context_diagnostics(two_devices_context)));
    for (int again = 0; again < 3; ++again) {
      two_devices_numbers n = inputs[again & 1];
      two_devices_run(session, &n, k == 1 && again != 2);
      two_devices_compare(&n, again & 1 ? want_again : want, how[k]);
    }
    hone_session_get_stats(session, &stats);
    if (k == 2) assert_int_equal(stats.replays, 0);
    hone_session_destroy(session);
  }
}

static void test_random_graphs(void **state) {
  (void)state;
  const char *given = getenv("HONE_SEED");
  hone_device *devices[2] = {two_devices_far(0), two_devices_far(1)};
  int copies = 0, waits = 0, replays = 0;
  for (int g = 0; g < GRAPHS; ++g) {
    two_devices_seed = (given ? strtoull(given, NULL, 10) : 1) * 1000 + (uint64_t)g;
    const uint64_t first_seed = two_devices_seed;
    hone_graph *graph = two_devices_random(5 + g % 35);
    two_devices_numbers inputs[2], want[2];
    for (int i = 0; i < 4 * COUNT; ++i) inputs[i / (2 * COUNT)].in[i / COUNT % 2][i % COUNT] = two_devices_number();
    for (int i = 0; i < 2; ++i) two_devices_reference(graph, &inputs[i]);
    memcpy(want, inputs, sizeof want);
    for (int d = 0; d < 2; ++d) {
      hone_engine *engine, *loaded;
      const hone_build_options options = {.struct_size = sizeof options, .level = -1};
      two_devices_seed = first_seed;
      two_devices_check(hone_engine_build(two_devices_context, graph, &devices[d], 1, &options, &engine));
      check_copies(engine->schedules->plans[0]);
      for (int s = 0; s < engine->schedules->plans[0]->step_count; ++s) {
        copies += engine->schedules->plans[0]->steps[s].kind == HN_STEP_COPY;
        waits += engine->schedules->plans[0]->steps[s].kind == HN_STEP_WAIT;
      }
      try_engine(engine, inputs, &want[0], &want[1]);
      two_devices_check(
          hone_engine_save(engine, "two_devices_runs.hone", hone_context_diagnostics(two_devices_context)));
      hone_engine_release(engine);
      two_devices_check(hone_engine_load(two_devices_context, "two_devices_runs.hone", &devices[d], 1, &loaded));
      hone_session *session;
      hone_session_stats stats = HONE_SIZED(hone_session_stats);
      two_devices_check(hone_session_create(loaded, NULL, &session, hone_context_diagnostics(two_devices_context)));
      two_devices_numbers n = inputs[0];
      two_devices_run(session, &n, false);
      two_devices_compare(&n, &want[0], "loaded");
      hone_session_get_stats(session, &stats);
      replays += (int)stats.replays;
      hone_session_destroy(session);
      hone_engine_release(loaded);
    }
    hone_graph_destroy(graph);
  }
  print_message("%d copies, %d waits, %d replays\n", copies, waits, replays);
  assert_true(copies > 4 * GRAPHS && waits > GRAPHS && replays > GRAPHS); /* the graphs do cross the border */
  unlink("two_devices_runs.hone");
  unlink("two_devices_runs.hone.ledger");
  hone_device_close(devices[0]);
  hone_device_close(devices[1]);
}

static hone_engine *reload(hone_engine *engine, hone_device *device) {
  hone_engine *loaded;
  two_devices_check(hone_engine_save(engine, "free_batch.hone", hone_context_diagnostics(two_devices_context)));
  two_devices_check(hone_engine_load(two_devices_context, "free_batch.hone", &device, 1, &loaded));
  unlink("free_batch.hone");
  unlink("free_batch.hone.ledger");
  hone_engine_release(engine);
  return loaded;
}

/* Arenas of both devices are placed anew for each shape, and what was recorded belongs to it. The far device has the
 * weights of all schedules. */
static void run_free_batch(const hone_profile_shape *profiles, int count) {
  hone_device *far = two_devices_far(0), *ref;
  hone_graph *graph;
  hone_engine *engines[2];
  hone_session *sessions[2];
  two_devices_check(small_net_graph(two_devices_context, true, &graph));
  two_devices_check(hone_device_open(two_devices_context, "ref", 0, NULL, &ref));
  hone_device *const devices[2] = {far, ref};
  const hone_build_options options = {
      .struct_size = sizeof options, .level = -1, .shapes = profiles, .shape_count = count};
  for (int e = 0; e < 2; ++e) {
    two_devices_check(hone_engine_build(two_devices_context, graph, &devices[e], 1, &options, &engines[e]));
    assert_int_equal(hone_engine_schedule_count(engines[e]), count);
    engines[e] = reload(engines[e], devices[e]);
    two_devices_check(
        hone_session_create(engines[e], NULL, &sessions[e], hone_context_diagnostics(two_devices_context)));
  }
  for (int round = 0; round < 6; ++round) {
    const hone_type type = {.kind = HONE_TENSOR, .dtype = HONE_F32, .shape = {4, {1 + round * 3 % 4, 3, 16, 16}}};
    hone_tensor x, y[2];
    two_devices_check(hone_tensor_alloc(two_devices_context, &type, &x));
    small_net_fill(&x, (uint64_t)round);
    for (int e = 0; e < 2; ++e) {
      two_devices_check_session(sessions[e], hone_session_copy_in(sessions[e], "x", &x));
      two_devices_check_session(sessions[e], hone_session_run(sessions[e]));
      two_devices_check_session(sessions[e], hone_session_tensor(sessions[e], "y", &y[e]));
    }
    assert_int_equal(y[0].bytes, y[1].bytes);
    for (size_t i = 0; i < y[0].bytes / sizeof(float); ++i)
      assert_true(fabsf(((float *)y[0].data)[i] - ((float *)y[1].data)[i]) < 1e-4f);
    hone_tensor_free(two_devices_context, &x);
  }
  hone_session_stats stats = HONE_SIZED(hone_session_stats);
  hone_session_get_stats(sessions[0], &stats);
  assert_true(stats.replays >= stats.instances && stats.instances == 4);
  for (int e = 0; e < 2; ++e) {
    hone_session_destroy(sessions[e]);
    hone_engine_release(engines[e]);
  }
  hone_graph_destroy(graph);
  hone_device_close(ref);
  hone_device_close(far);
}

static void test_free_batch(void **state) {
  (void)state;
  static const hone_profile_shape one = {"x", {4, {1, 3, 16, 16}}, {4, {2, 3, 16, 16}}, {4, {4, 3, 16, 16}}, 0};
  static const hone_profile_shape two[] = {{"x", {4, {1, 3, 16, 16}}, {4, {1, 3, 16, 16}}, {4, {1, 3, 16, 16}}, 0},
                                           {"x", {4, {2, 3, 16, 16}}, {4, {4, 3, 16, 16}}, {4, {4, 3, 16, 16}}, 1}};
  run_free_batch(&one, 1);
  run_free_batch(two, 2);
}

/* Tapped values come from the device's memory as the reference has them; what was recorded is cut there. */
enum { MOST_TAPS = 128 };
typedef struct tapped {
  int count;
  char names[MOST_TAPS][32];
  float data[MOST_TAPS][COUNT];
} tapped;

static hone_status keep_tap(void *user, const hone_tap *tap) {
  tapped *t = user;
  if (t->count == MOST_TAPS || tap->tensor->bytes != COUNT * sizeof(float)) return HONE_OK;
  snprintf(t->names[t->count], sizeof t->names[0], "%s", tap->name);
  memcpy(t->data[t->count++], tap->tensor->data, tap->tensor->bytes);
  return HONE_OK;
}

static void run_tapped(hone_engine *engine, const char *const *taps, int count, two_devices_numbers *n, tapped *out,
                       hone_session_stats *stats) {
  hone_session *session;
  const hone_session_options options = {
      .struct_size = sizeof options, .taps = taps, .tap_count = count, .on_tap = keep_tap, .on_tap_user = out};
  two_devices_check(hone_session_create(engine, &options, &session, hone_context_diagnostics(two_devices_context)));
  for (int again = 0; again < 2; ++again) {
    out->count = 0;
    two_devices_run(session, n, false);
  }
  hone_session_get_stats(session, stats);
  hone_session_destroy(session);
}

static void test_taps(void **state) {
  (void)state;
  static tapped want, got, one;
  static const char *const all[] = {"*"};
  hone_device *devices[3] = {two_devices_far(0), two_devices_far(1)};
  two_devices_check(hone_device_open(two_devices_context, "ref", 0, NULL, &devices[2]));
  const hone_pass_options none = {.struct_size = sizeof none, .after = "fold_branches"};
  int shared = 0, cut = 0;
  for (int g = 0; g < GRAPHS / 4; ++g) {
    two_devices_seed = 5000 + (uint64_t)g;
    hone_graph *graph = two_devices_random(5 + g % 25);
    two_devices_numbers n = {0}, plain;
    hone_session_stats stats = HONE_SIZED(hone_session_stats), untapped = HONE_SIZED(hone_session_stats);
    for (int i = 0; i < 2 * COUNT; ++i) n.in[i / COUNT][i % COUNT] = two_devices_number();
    plain = n;
    hone_build_options options = {.struct_size = sizeof options, .level = -1, .passes = &none, .reference_only = true};
    hone_engine *reference_engine, *engine;
    two_devices_check(hone_engine_build(two_devices_context, graph, &devices[2], 1, &options, &reference_engine));
    run_tapped(reference_engine, all, 1, &plain, &want, &stats);
    options.passes = NULL;
    options.reference_only = false;
    two_devices_check(hone_engine_build(two_devices_context, graph, &devices[g % 2], 1, &options, &engine));
    run_tapped(engine, NULL, 0, &n, &got, &untapped);
    run_tapped(engine, all, 1, &n, &got, &stats);
    two_devices_compare(&n, &plain, "tapped");
    assert_true(stats.replays >= untapped.replays && stats.replayed_steps <= untapped.replayed_steps);
    cut += stats.replays > untapped.replays;
    for (int i = 0; i < got.count; ++i)
      for (int k = 0; k < want.count; ++k) {
        if (strcmp(got.names[i], want.names[k]) != 0) continue;
        ++shared;
        for (int e = 0; e < COUNT; ++e)
          if (!(fabsf(got.data[i][e] - want.data[k][e]) <= 1e-4f * (1 + fabsf(want.data[k][e]))))
            fail_msg("%s[%d] is %g, not %g (two_devices_seed %llu)", got.names[i], e, (double)got.data[i][e],
                     (double)want.data[k][e], (unsigned long long)two_devices_seed);
      }
    const char *some = got.names[got.count / 2]; /* one tap alone: the same value, the other steps are replayed */
    run_tapped(engine, &some, 1, &n, &one, &stats);
    assert_int_equal(one.count, 1);
    assert_memory_equal(one.data[0], got.data[got.count / 2], sizeof one.data[0]);
    hone_engine_release(reference_engine);
    hone_engine_release(engine);
    hone_graph_destroy(graph);
  }
  print_message("%d values in both, %d times a recorded run was cut\n", shared, cut);
  assert_true(shared > GRAPHS && cut > 2);
  for (int d = 0; d < 3; ++d) hone_device_close(devices[d]);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_graphs), cmocka_unit_test(test_free_batch),
                                     cmocka_unit_test(test_taps)};
  return cmocka_run_group_tests(tests, two_devices_set_up, two_devices_tear_down);
}
