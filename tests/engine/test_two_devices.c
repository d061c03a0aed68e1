/* SPDX-License-Identifier: Apache-2.0 */
/* test_two_devices.c - plans over two memories, on a device (tests/plugin/far.c) that does its work as late or as early
 * as it may and whose addresses the host cannot touch: random graphs give the reference's numbers, replayed or not,
 * loaded or not, with the caller's buffers or not; every byte that crosses does so once; damaged plans are refused. */
#include "device/device.h"
#include "plan/plan.h"
#include "run/engine.h"
#include "support/small_net.h"
#include <hone/hone.h>
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

enum { ROWS = 6, COLUMNS = 8, COUNT = ROWS * COLUMNS, MAX_VALUES = 64, GRAPHS = 40 };

static hone_context *context;
static uint64_t seed;

static uint64_t next(void) { /* SplitMix64 (Steele, Lea, Flood 2014) */
  uint64_t z = (seed += 0x9e3779b97f4a7c15u);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}
static float number(void) { return (float)((double)(next() >> 11) / (double)((uint64_t)1 << 52) - 1); }

static void check(hone_status status) {
  if (status == HONE_OK) return;
  for (int i = 0; i < hone_context_message_count(context); ++i)
    print_error("%s\n", hone_context_message(context, i, NULL));
  fail_msg("%s (seed %llu)", hone_status_name(status), (unsigned long long)seed);
}

static void check_session(const hone_session *session, hone_status status) {
  if (status == HONE_OK) return;
  for (int i = 0; i < hone_session_message_count(session); ++i)
    print_error("%s\n", hone_session_message(session, i, NULL));
  fail_msg("%s (seed %llu)", hone_status_name(status), (unsigned long long)seed);
}

static hone_device *open_far(int index) {
  hone_device *device;
  const hone_device_options one = {.struct_size = sizeof one, .threads = 1};
  check(hone_device_open(context, "far", index, &one, &device));
  return device;
}

static hone_value *add(hone_graph *graph, const char *op, hone_value *a, hone_value *b, const hone_attr *attr) {
  hone_value *const in[2] = {a, b};
  hone_value *out;
  check(hone_graph_add_node(graph, op, NULL, in, b ? 2 : 1, attr, attr ? 1 : 0, &out, 1));
  return out;
}

static hone_value *constant(hone_graph *graph, int rank, const int64_t *dims) {
  static float data[COUNT * COUNT];
  hone_type type = {.kind = HONE_TENSOR, .dtype = HONE_F32, .shape.rank = rank};
  size_t count = 1;
  for (int i = 0; i < rank; ++i) count *= (size_t)(type.shape.dim[i] = dims[i]);
  for (size_t i = 0; i < count; ++i) data[i] = number();
  const hone_tensor tensor = {.type = type, .data = data, .bytes = count * sizeof *data};
  hone_value *value;
  check(hone_graph_add_constant(graph, NULL, &tensor, &value));
  return value;
}

/* One more value of ROWS x COLUMNS from earlier ones. far runs products and elementwise ops, the host the others. */
static hone_value *grow(hone_graph *graph, hone_value *const *values, int count) {
  hone_value *a = values[next() % (unsigned)count], *b = values[next() % (unsigned)count];
  static const int64_t square[2] = {COLUMNS, COLUMNS}, row[1] = {COLUMNS}, flat[1] = {COUNT}, back[2] = {ROWS, COLUMNS};
  static const int64_t order[2] = {1, 0};
  const hone_attr perm = {.name = "perm", .kind = HONE_ATTR_INTS, .count = 2, .ints = order};
  int64_t dims[2] = {COUNT, 0};
  const hone_tensor to_flat = {{HONE_TENSOR, HONE_I64, HONE_PLAIN, {1, {1}}}, dims, 8};
  int64_t both[2] = {back[0], back[1]};
  const hone_tensor to_back = {{HONE_TENSOR, HONE_I64, HONE_PLAIN, {1, {2}}}, both, 16};
  hone_value *shape, *other;
  switch (next() % 9) {
  case 0:
    return add(graph, "add", add(graph, "matmul", a, constant(graph, 2, square), NULL), constant(graph, 1, row), NULL);
  case 1:
    other = add(graph, "matmul", a, constant(graph, 2, square), NULL);
    return add(graph, "tanh", add(graph, "add", other, b, NULL), NULL, NULL);
  case 2: return add(graph, "mul", a, b, NULL);
  case 3:
  case 4: return add(graph, "softmax", a, NULL, NULL);
  case 5:
    other = add(graph, "matmul", a, constant(graph, 2, square), NULL);
    return add(graph, "sub", other, constant(graph, 1, row), NULL);
  case 6: /* a view, something on either side of it, and back */
    check(hone_graph_add_constant(graph, NULL, &to_flat, &shape));
    other = add(graph, "reshape", a, shape, NULL);
    other = next() % 2 ? add(graph, "softmax", other, NULL, NULL)
                       : add(graph, "add", other, constant(graph, 1, flat), NULL);
    check(hone_graph_add_constant(graph, NULL, &to_back, &shape));
    return add(graph, "reshape", other, shape, NULL);
  case 7:
    return add(graph, "transpose", add(graph, "softmax", add(graph, "transpose", a, NULL, &perm), NULL, NULL), NULL,
               &perm);
  default: return add(graph, "max", a, b, NULL);
  }
}

static hone_graph *random_graph(int nodes) {
  hone_graph *graph;
  hone_value *values[MAX_VALUES];
  const int64_t dims[2] = {ROWS, COLUMNS};
  check(hone_graph_create(context, "random", &graph));
  check(hone_graph_add_input(graph, "a", HONE_F32, 2, dims, NULL, &values[0]));
  check(hone_graph_add_input(graph, "b", HONE_F32, 2, dims, NULL, &values[1]));
  int count = 2;
  while (count < nodes + 2) {
    values[count] = grow(graph, values, count);
    ++count;
  }
  check(hone_graph_add_output(graph, "y", values[count - 1]));
  check(hone_graph_add_output(graph, "z", values[2 + next() % (unsigned)(count - 2)]));
  return graph;
}

typedef struct numbers {
  float in[2][COUNT], out[2][COUNT];
} numbers;

static const char *const names[4] = {"a", "b", "y", "z"};

static hone_tensor tensor_over(float *data) {
  return (hone_tensor){{HONE_TENSOR, HONE_F32, HONE_PLAIN, {2, {ROWS, COLUMNS}}}, data, COUNT * sizeof *data};
}

static void run_session(hone_session *session, numbers *n, bool bound) {
  for (int i = 0; i < 4; ++i) {
    hone_tensor t = tensor_over(i < 2 ? n->in[i] : n->out[i - 2]);
    if (!bound) t.data = NULL;
    if (bound || i >= 2) check_session(session, hone_session_bind(session, names[i], &t));
    t = tensor_over(n->in[i & 1]);
    if (!bound && i < 2) check_session(session, hone_session_copy_in(session, names[i], &t));
  }
  check_session(session, hone_session_run(session));
  for (int i = 0; i < 2 && !bound; ++i) {
    hone_tensor t;
    check_session(session, hone_session_tensor(session, names[2 + i], &t));
    memcpy(n->out[i], t.data, t.bytes);
  }
}

static void compare(const numbers *got, const numbers *want, const char *what) {
  for (int o = 0; o < 2; ++o)
    for (int i = 0; i < COUNT; ++i)
      if (!(fabsf(got->out[o][i] - want->out[o][i]) <= 1e-4f * (1 + fabsf(want->out[o][i]))))
        fail_msg("%s: output %s[%d] is %g, not %g (seed %llu)", what, names[2 + o], i, (double)got->out[o][i],
                 (double)want->out[o][i], (unsigned long long)seed);
}

/* Each root tensor crosses a border once in each direction at most. */
static void check_copies(const hn_plan *plan) {
  for (int s = 0; s < plan->step_count; ++s)
    for (int r = s + 1; r < plan->step_count; ++r)
      if (plan->steps[s].kind == HN_STEP_COPY && plan->steps[r].kind == HN_STEP_COPY)
        assert_int_not_equal(plan->steps[s].in[0], plan->steps[r].in[0]);
}

static void try_engine(hone_engine *engine, numbers *inputs, const numbers *want, const numbers *want_again) {
  static const char *const how[] = {"replayed", "bound", "launched", "profiled"};
  for (int k = 0; k < 4; ++k) {
    hone_session *session;
    hone_session_stats stats;
    const hone_session_options options = {.struct_size = sizeof options, .no_replay = k == 2, .profile = k == 3};
    check(hone_session_create(engine, &options, &session, hone_context_diagnostics(context)));
    for (int again = 0; again < 3; ++again) {
      numbers n = inputs[again & 1];
      run_session(session, &n, k == 1 && again != 2);
      compare(&n, again & 1 ? want_again : want, how[k]);
    }
    hone_session_get_stats(session, &stats);
    if (k == 2) assert_int_equal(stats.replays, 0);
    hone_session_destroy(session);
  }
}

static void reference(hone_graph *graph, numbers *n) {
  hone_device *device;
  hone_engine *engine;
  hone_session *session;
  check(hone_device_open(context, "ref", 0, NULL, &device));
  check(hone_engine_build(context, graph, &device, 1, NULL, &engine));
  check(hone_session_create(engine, NULL, &session, hone_context_diagnostics(context)));
  run_session(session, n, false);
  hone_session_destroy(session);
  hone_engine_release(engine);
  hone_device_close(device);
}

static void test_random_graphs(void **state) {
  (void)state;
  const char *given = getenv("HONE_SEED");
  hone_device *devices[2] = {open_far(0), open_far(1)};
  int copies = 0, waits = 0, replays = 0;
  for (int g = 0; g < GRAPHS; ++g) {
    seed = (given ? strtoull(given, NULL, 10) : 1) * 1000 + (uint64_t)g;
    const uint64_t first_seed = seed;
    hone_graph *graph = random_graph(5 + g % 35);
    numbers inputs[2], want[2];
    for (int i = 0; i < 4 * COUNT; ++i) inputs[i / (2 * COUNT)].in[i / COUNT % 2][i % COUNT] = number();
    for (int i = 0; i < 2; ++i) reference(graph, &inputs[i]);
    memcpy(want, inputs, sizeof want);
    for (int d = 0; d < 2; ++d) {
      hone_engine *engine, *loaded;
      const hone_build_options options = {.struct_size = sizeof options, .level = -1};
      seed = first_seed;
      check(hone_engine_build(context, graph, &devices[d], 1, &options, &engine));
      check_copies(engine->schedules->plans[0]);
      for (int s = 0; s < engine->schedules->plans[0]->step_count; ++s) {
        copies += engine->schedules->plans[0]->steps[s].kind == HN_STEP_COPY;
        waits += engine->schedules->plans[0]->steps[s].kind == HN_STEP_WAIT;
      }
      try_engine(engine, inputs, &want[0], &want[1]);
      check(hone_engine_save(engine, "two_devices.hone", hone_context_diagnostics(context)));
      hone_engine_release(engine);
      check(hone_engine_load(context, "two_devices.hone", &devices[d], 1, &loaded));
      hone_session *session;
      hone_session_stats stats;
      check(hone_session_create(loaded, NULL, &session, hone_context_diagnostics(context)));
      numbers n = inputs[0];
      run_session(session, &n, false);
      compare(&n, &want[0], "loaded");
      hone_session_get_stats(session, &stats);
      replays += (int)stats.replays;
      hone_session_destroy(session);
      hone_engine_release(loaded);
    }
    hone_graph_destroy(graph);
  }
  print_message("%d copies, %d waits, %d replays\n", copies, waits, replays);
  assert_true(copies > 4 * GRAPHS && waits > GRAPHS && replays > GRAPHS); /* the graphs do cross the border */
  unlink("two_devices.hone");
  unlink("two_devices.hone.ledger");
  hone_device_close(devices[0]);
  hone_device_close(devices[1]);
}

/* far, host, far: steps, arenas and devices as they must be, and what the checks say when they are not. */
static hone_engine *sandwich(hone_device *far) {
  static const int64_t square[2] = {COLUMNS, COLUMNS}, dims[2] = {ROWS, COLUMNS};
  hone_graph *graph;
  hone_value *x;
  hone_engine *engine;
  seed = 7;
  check(hone_graph_create(context, "sandwich", &graph));
  check(hone_graph_add_input(graph, "a", HONE_F32, 2, dims, NULL, &x));
  x = add(graph, "tanh", add(graph, "matmul", x, constant(graph, 2, square), NULL), NULL, NULL);
  x = add(graph, "softmax", x, NULL, NULL);
  x = add(graph, "matmul", x, constant(graph, 2, square), NULL);
  check(hone_graph_add_output(graph, "y", x));
  const hone_build_options options = {.struct_size = sizeof options, .level = -1};
  check(hone_engine_build(context, graph, &far, 1, &options, &engine));
  hone_graph_destroy(graph);
  return engine;
}

static void test_plan(void **state) {
  (void)state;
  hone_device *far = open_far(0);
  hone_engine *engine = sandwich(far);
  hn_plan *plan = engine->schedules->plans[0];
  static const hn_step_kind kinds[] = {HN_STEP_COPY, HN_STEP_CALL, HN_STEP_COPY, HN_STEP_WAIT,
                                       HN_STEP_CALL, HN_STEP_COPY, HN_STEP_CALL, HN_STEP_COPY};
  static const char *const on[] = {"far", "far", "far", "far", "cpu", "far", "far", "far"};
  assert_int_equal(plan->step_count, 8);
  for (int s = 0; s < 8; ++s) {
    assert_int_equal(plan->steps[s].kind, kinds[s]);
    assert_string_equal(plan->device_kinds[plan->steps[s].device], on[s]);
  }
  assert_int_equal(plan->host, 1);
  assert_true(plan->home_arena_bytes[0] > 0 && plan->home_arena_bytes[1] > 0);
  assert_int_equal(plan->home_arena_bytes[0] + plan->home_arena_bytes[1], plan->arena_bytes);
  hone_diagnostics *diag = hone_context_diagnostics(context);
  assert_int_equal(hn_plan_check(plan, diag), HONE_OK);

  const hn_plan_step wait = plan->steps[3], copy = plan->steps[2], host = plan->steps[4];
  plan->steps[3].device = 1; /* a wait for the host itself */
  assert_int_equal(hn_plan_check(plan, diag), HONE_MALFORMED);
  plan->steps[3] = copy; /* nobody waits */
  plan->steps[2] = wait;
  assert_int_equal(hn_plan_check(plan, diag), HONE_MALFORMED);
  assert_non_null(strstr(hone_context_message(context, hone_context_message_count(context) - 1, NULL), "waited"));
  plan->steps[3] = wait;
  plan->steps[2] = copy;
  plan->steps[4].device = 2; /* the reference has no such tactic */
  assert_int_equal(hn_plan_check(plan, diag), HONE_MALFORMED);
  plan->steps[4] = host;
  plan->tensors[host.in[0]].device = 0; /* the host would read the device's memory */
  assert_int_equal(hn_plan_check(plan, diag), HONE_MALFORMED);
  plan->tensors[host.in[0]].device = 1;
  plan->home_arena_bytes[0] -= 64; /* one arena too small, the other too large */
  plan->home_arena_bytes[1] += 64;
  assert_int_equal(hn_plan_check(plan, diag), HONE_MALFORMED);
  plan->home_arena_bytes[0] += 64;
  plan->home_arena_bytes[1] -= 64;
  assert_int_equal(hn_plan_check(plan, diag), HONE_OK);
  hone_engine_release(engine);
  hone_device_close(far);
  hone_context_clear_messages(context);
}

/* What is elementwise alone between the host's steps stays there: nothing crosses. With a product it goes. */
static void test_stay(void **state) {
  (void)state;
  static const int64_t square[2] = {COLUMNS, COLUMNS}, dims[2] = {ROWS, COLUMNS};
  hone_device *far = open_far(0);
  for (int product = 0; product < 2; ++product) {
    hone_graph *graph;
    hone_value *x;
    hone_engine *engine;
    seed = 9;
    check(hone_graph_create(context, "stay", &graph));
    check(hone_graph_add_input(graph, "a", HONE_F32, 2, dims, NULL, &x));
    x = add(graph, "softmax", x, NULL, NULL);
    if (product) x = add(graph, "matmul", x, constant(graph, 2, square), NULL);
    x = add(graph, "mul", add(graph, "tanh", x, NULL, NULL), x, NULL);
    x = add(graph, "softmax", x, NULL, NULL);
    check(hone_graph_add_output(graph, "y", x));
    const hone_build_options options = {.struct_size = sizeof options, .level = -1};
    check(hone_engine_build(context, graph, &far, 1, &options, &engine));
    int copies = 0;
    for (int s = 0; s < engine->schedules->plans[0]->step_count; ++s)
      copies += engine->schedules->plans[0]->steps[s].kind == HN_STEP_COPY;
    assert_int_equal(copies, product ? 2 : 0);
    hone_engine_release(engine);
    hone_graph_destroy(graph);
  }
  hone_device_close(far);
}

static int count_steps(const hone_engine *engine, const char *op, const char *kind) {
  int count = 0;
  for (int s = 0; s < engine->schedules->plans[0]->step_count; ++s) {
    const hn_plan_step *step = &engine->schedules->plans[0]->steps[s];
    count += step->kind == HN_STEP_CALL && strcmp(step->op->name, op) == 0 &&
             strcmp(engine->schedules->plans[0]->device_kinds[step->device], kind) == 0;
  }
  return count;
}

/* What the host runs is fused as if it were alone; what far runs is not fused into what only the host has. */
static void test_fusion(void **state) {
  (void)state;
  static const int64_t square[2] = {COLUMNS, COLUMNS}, dims[2] = {ROWS, COLUMNS};
  hone_device *far = open_far(0), *cpu;
  hone_graph *net, *graph;
  hone_value *x;
  hone_engine *here, *both;
  const hone_build_options options = {.struct_size = sizeof options, .level = 0};
  check(hone_device_open(context, "cpu", 0, NULL, &cpu));
  check(small_net_graph(context, false, &net));
  check(hone_engine_build(context, net, &cpu, 1, &options, &here));
  check(hone_engine_build(context, net, &far, 1, &options, &both));
  assert_true(count_steps(here, "conv", "cpu") > 0);
  assert_int_equal(count_steps(both, "conv", "cpu"), count_steps(here, "conv", "cpu"));
  assert_int_equal(count_steps(both, "relu", "cpu") + count_steps(both, "relu", "far"),
                   count_steps(here, "relu", "cpu"));
  hone_engine_release(both);
  hone_engine_release(here);
  hone_graph_destroy(net);

  seed = 11;
  check(hone_graph_create(context, "sigmoid", &graph));
  check(hone_graph_add_input(graph, "a", HONE_F32, 2, dims, NULL, &x));
  x = add(graph, "sigmoid", add(graph, "matmul", x, constant(graph, 2, square), NULL), NULL, NULL);
  check(hone_graph_add_output(graph, "y", x));
  check(hone_engine_build(context, graph, &cpu, 1, &options, &here));
  check(hone_engine_build(context, graph, &far, 1, &options, &both));
  assert_int_equal(count_steps(here, "sigmoid", "cpu"), 0); /* the host has it in its product */
  assert_int_equal(count_steps(both, "linear", "far"), 1);
  assert_int_equal(count_steps(both, "sigmoid", "far"), 1);
  hone_engine_release(both);
  hone_engine_release(here);
  hone_graph_destroy(graph);
  hone_device_close(cpu);
  hone_device_close(far);
}

/* The host's bytes that a copy reads live until the host waits. */
static void test_lives(void **state) {
  (void)state;
  hone_device *far = open_far(0);
  hone_engine *engine = sandwich(far);
  const hn_plan *plan = engine->schedules->plans[0];
  hn_life lives[64];
  assert_true(plan->tensor_count < 64);
  hn_plan_lives(plan, lives);
  assert_int_equal(lives[plan->steps[5].in[0]].last, plan->step_count - 1);
  assert_int_equal(lives[plan->steps[0].in[0]].last, 3);
  hone_engine_release(engine);
  hone_device_close(far);
}

static bool write_to(void *user, const char *piece, size_t length) { return fwrite(piece, 1, length, user) == length; }

/* An engine for far is refused, in words, where far is not. */
static void test_without(void **state) {
  (void)state;
  hone_device *far = open_far(0), *cpu;
  hone_engine *engine = sandwich(far), *loaded;
  check(hone_engine_save(engine, "two_devices.hone", hone_context_diagnostics(context)));
  hone_engine_release(engine);
  check(hone_device_open(context, "cpu", 0, NULL, &cpu));
  assert_int_equal(hone_engine_load(context, "two_devices.hone", &cpu, 1, &loaded), HONE_DEVICE);
  assert_non_null(strstr(hone_context_message(context, hone_context_message_count(context) - 1, NULL), "far"));
  hone_context_clear_messages(context);
  /* It can be looked at: its tactics are told apart from those that are here; a session of it is refused, in words. */
  hone_session *session;
  char *text = NULL;
  size_t bytes = 0;
  FILE *sink = open_memstream(&text, &bytes);
  assert_non_null(sink);
  check(hone_engine_load(context, "two_devices.hone", NULL, 0, &loaded));
  check(hone_report_engine(loaded, NULL, write_to, sink, hone_context_diagnostics(context)));
  check(hone_report_memory(loaded, NULL, write_to, sink, hone_context_diagnostics(context)));
  fclose(sink);
  assert_non_null(strstr(text, "far.linear (not here)"));
  assert_null(strstr(text, "softmax.f32.avx2 (not here)"));
  free(text);
  assert_int_equal(hone_session_create(loaded, NULL, &session, hone_context_diagnostics(context)), HONE_DEVICE);
  assert_non_null(strstr(hone_context_message(context, hone_context_message_count(context) - 1, NULL), "look at"));
  hone_context_clear_messages(context);
  hone_engine_release(loaded);
  unlink("two_devices.hone");
  unlink("two_devices.hone.ledger");
  hone_device_close(cpu);
  hone_device_close(far);
}

static hone_engine *reload(hone_engine *engine, hone_device *device) {
  hone_engine *loaded;
  check(hone_engine_save(engine, "free_batch.hone", hone_context_diagnostics(context)));
  check(hone_engine_load(context, "free_batch.hone", &device, 1, &loaded));
  unlink("free_batch.hone");
  unlink("free_batch.hone.ledger");
  hone_engine_release(engine);
  return loaded;
}

/* Arenas of both devices are placed anew for each shape, and what was recorded belongs to it. The far device has the
 * weights of all schedules. */
static void run_free_batch(const hone_profile_shape *profiles, int count) {
  hone_device *far = open_far(0), *ref;
  hone_graph *graph;
  hone_engine *engines[2];
  hone_session *sessions[2];
  check(small_net_graph(context, true, &graph));
  check(hone_device_open(context, "ref", 0, NULL, &ref));
  hone_device *const devices[2] = {far, ref};
  const hone_build_options options = {
      .struct_size = sizeof options, .level = -1, .shapes = profiles, .shape_count = count};
  for (int e = 0; e < 2; ++e) {
    check(hone_engine_build(context, graph, &devices[e], 1, &options, &engines[e]));
    assert_int_equal(hone_engine_schedule_count(engines[e]), count);
    engines[e] = reload(engines[e], devices[e]);
    check(hone_session_create(engines[e], NULL, &sessions[e], hone_context_diagnostics(context)));
  }
  for (int round = 0; round < 6; ++round) {
    const hone_type type = {.kind = HONE_TENSOR, .dtype = HONE_F32, .shape = {4, {1 + round * 3 % 4, 3, 16, 16}}};
    hone_tensor x, y[2];
    check(hone_tensor_alloc(context, &type, &x));
    small_net_fill(&x, (uint64_t)round);
    for (int e = 0; e < 2; ++e) {
      check_session(sessions[e], hone_session_copy_in(sessions[e], "x", &x));
      check_session(sessions[e], hone_session_run(sessions[e]));
      check_session(sessions[e], hone_session_tensor(sessions[e], "y", &y[e]));
    }
    assert_int_equal(y[0].bytes, y[1].bytes);
    for (size_t i = 0; i < y[0].bytes / sizeof(float); ++i)
      assert_true(fabsf(((float *)y[0].data)[i] - ((float *)y[1].data)[i]) < 1e-4f);
    hone_tensor_free(context, &x);
  }
  hone_session_stats stats;
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

static void test_verify(void **state) {
  (void)state;
  hone_device *far = open_far(1);
  hone_engine *engine = sandwich(far);
  bool within = false;
  char *text = NULL;
  size_t bytes = 0;
  FILE *sink = open_memstream(&text, &bytes);
  assert_non_null(sink);
  check(hone_verify(engine, NULL, write_to, sink, &within, hone_context_diagnostics(context)));
  fclose(sink);
  assert_true(within);
  assert_non_null(strstr(text, "far.linear"));
  free(text);
  hone_engine_release(engine);
  hone_device_close(far);
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

static void run_tapped(hone_engine *engine, const char *const *taps, int count, numbers *n, tapped *out,
                       hone_session_stats *stats) {
  hone_session *session;
  const hone_session_options options = {
      .struct_size = sizeof options, .taps = taps, .tap_count = count, .on_tap = keep_tap, .on_tap_user = out};
  check(hone_session_create(engine, &options, &session, hone_context_diagnostics(context)));
  for (int again = 0; again < 2; ++again) {
    out->count = 0;
    run_session(session, n, false);
  }
  hone_session_get_stats(session, stats);
  hone_session_destroy(session);
}

static void test_taps(void **state) {
  (void)state;
  static tapped want, got, one;
  static const char *const all[] = {"*"};
  hone_device *devices[3] = {open_far(0), open_far(1)};
  check(hone_device_open(context, "ref", 0, NULL, &devices[2]));
  const hone_pass_options none = {.struct_size = sizeof none, .after = "fold_branches"};
  int shared = 0, cut = 0;
  for (int g = 0; g < GRAPHS / 4; ++g) {
    seed = 5000 + (uint64_t)g;
    hone_graph *graph = random_graph(5 + g % 25);
    numbers n = {0}, plain;
    hone_session_stats stats, untapped;
    for (int i = 0; i < 2 * COUNT; ++i) n.in[i / COUNT][i % COUNT] = number();
    plain = n;
    hone_build_options options = {.struct_size = sizeof options, .level = -1, .passes = &none, .reference_only = true};
    hone_engine *reference_engine, *engine;
    check(hone_engine_build(context, graph, &devices[2], 1, &options, &reference_engine));
    run_tapped(reference_engine, all, 1, &plain, &want, &stats);
    options.passes = NULL;
    options.reference_only = false;
    check(hone_engine_build(context, graph, &devices[g % 2], 1, &options, &engine));
    run_tapped(engine, NULL, 0, &n, &got, &untapped);
    run_tapped(engine, all, 1, &n, &got, &stats);
    compare(&n, &plain, "tapped");
    assert_true(stats.replays >= untapped.replays && stats.replayed_steps <= untapped.replayed_steps);
    cut += stats.replays > untapped.replays;
    for (int i = 0; i < got.count; ++i)
      for (int k = 0; k < want.count; ++k) {
        if (strcmp(got.names[i], want.names[k]) != 0) continue;
        ++shared;
        for (int e = 0; e < COUNT; ++e)
          if (!(fabsf(got.data[i][e] - want.data[k][e]) <= 1e-4f * (1 + fabsf(want.data[k][e]))))
            fail_msg("%s[%d] is %g, not %g (seed %llu)", got.names[i], e, (double)got.data[i][e],
                     (double)want.data[k][e], (unsigned long long)seed);
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

static int set_up(void **state) {
  (void)state;
  char path[4096];
  const char *folder = getenv("HONE_BUILD_DIR");
  snprintf(path, sizeof path, "%s/tests/libfar.so", folder ? folder : "build/release");
  if (hone_context_create(NULL, &context) != HONE_OK) return -1;
  check(hone_plugin_load(context, path));
  return 0;
}
static int tear_down(void **state) {
  (void)state;
  hone_context_destroy(context);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_plan),       cmocka_unit_test(test_lives),         cmocka_unit_test(test_stay),
      cmocka_unit_test(test_fusion),     cmocka_unit_test(test_random_graphs), cmocka_unit_test(test_without),
      cmocka_unit_test(test_free_batch), cmocka_unit_test(test_verify),        cmocka_unit_test(test_taps)};
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
