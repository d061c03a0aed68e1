/* SPDX-License-Identifier: Apache-2.0 */
/* test_halves.c - networks whose author computes in f16 or bf16 run on kernels: layers that have none for halves are
 * f32 between casts, what the author stores is of the author's type, and the results are the reference's. */
#include "base/context.h"
#include "plan/plan.h"
#include "run/engine.h"
#include "tensor/element.h"
#include "tensor/shape.h"
#include <hone/hone.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { CHANNELS = 40, SIDE = 9 };
static hone_context *context;

static hone_value *constant(hone_graph *graph, hone_dtype dtype, int rank, const int64_t *dims) {
  static int number;
  char name[16];
  hone_tensor t;
  hone_value *value;
  const hone_type type = hn_tensor_type(dtype, rank, dims);
  assert_int_equal(hone_tensor_alloc(context, &type, &t), HONE_OK);
  for (int64_t i = 0; i < hn_elems(&type.shape); ++i)
    hn_store_real(&t, i, sin((double)(i * 7 + rank)) * (rank == 1 ? 0.5 : 0.1));
  snprintf(name, sizeof name, "c%d", number++);
  assert_int_equal(hone_graph_add_constant(graph, name, &t, &value), HONE_OK);
  hone_tensor_free(context, &t);
  return value;
}

static hone_value *node(hone_graph *graph, const char *op, hone_value *const *in, int count, const hone_attr *attrs,
                        int attr_count) {
  hone_value *y;
  assert_int_equal(hone_graph_add_node(graph, op, NULL, in, count, attrs, attr_count, &y, 1), HONE_OK);
  return y;
}

static hone_value *convolution(hone_graph *graph, hone_dtype dtype, hone_value *x, int64_t group) {
  static const int64_t pads[4] = {1, 1, 1, 1};
  const hone_attr attrs[] = {{.name = "pads", .kind = HONE_ATTR_INTS, .ints = pads, .count = 4},
                             {.name = "group", .kind = HONE_ATTR_INT, .i = group}};
  hone_value *in[3] = {x, constant(graph, dtype, 4, (int64_t[]){CHANNELS, CHANNELS / group, 3, 3}),
                       constant(graph, dtype, 1, (int64_t[]){CHANNELS})};
  return node(graph, "conv", in, 3, attrs, 2);
}

/* A convolution with an activation, read twice; a depthwise one and a pool; their sum, a mean and a product. */
static hone_graph *make_graph(hone_dtype dtype) {
  static const int64_t dims[4] = {2, CHANNELS, SIDE, SIDE}, kernel[2] = {3, 3}, pads[4] = {1, 1, 1, 1};
  const hone_attr pool[] = {{.name = "kernel_shape", .kind = HONE_ATTR_INTS, .ints = kernel, .count = 2},
                            {.name = "pads", .kind = HONE_ATTR_INTS, .ints = pads, .count = 4}};
  hone_graph *graph;
  hone_value *x, *both[2];
  assert_int_equal(hone_graph_create(context, "halves", &graph), HONE_OK);
  assert_int_equal(hone_graph_add_input(graph, "x", dtype, 4, dims, NULL, &x), HONE_OK);
  x = convolution(graph, dtype, x, 1);
  x = node(graph, "relu", &x, 1, NULL, 0);
  both[0] = convolution(graph, dtype, x, CHANNELS);
  both[1] = node(graph, "max_pool", &x, 1, pool, 2);
  x = node(graph, "add", both, 2, NULL, 0);
  x = node(graph, "global_average_pool", &x, 1, NULL, 0);
  x = node(graph, "flatten", &x, 1, NULL, 0);
  both[0] = x, both[1] = constant(graph, dtype, 2, (int64_t[]){CHANNELS, 10});
  x = node(graph, "matmul", both, 2, NULL, 0);
  x = node(graph, "softmax", &x, 1, NULL, 0);
  assert_int_equal(hone_graph_add_output(graph, "y", x), HONE_OK);
  return graph;
}

static hone_engine *build(hone_graph *graph, hone_device *cpu, bool reference) {
  const hone_build_options options = {
      .struct_size = sizeof options, .level = reference ? 0 : 1, .reference_only = reference};
  hone_engine *engine;
  assert_int_equal(hone_engine_build(context, graph, &cpu, 1, &options, &engine), HONE_OK);
  return engine;
}

static void run(hone_engine *engine, hone_dtype dtype, double *out) {
  static uint16_t x[2 * CHANNELS * SIDE * SIDE];
  const hone_session_options options = {.struct_size = sizeof options};
  hone_session *session;
  hone_tensor t = {
      .type = hn_tensor_type(dtype, 4, (int64_t[]){2, CHANNELS, SIDE, SIDE}), .data = x, .bytes = sizeof x};
  for (int i = 0; i < 2 * CHANNELS * SIDE * SIDE; ++i) hn_store_real(&t, i, cos(i * 0.37));
  assert_int_equal(hone_session_create(engine, &options, &session, hone_context_diagnostics(context)), HONE_OK);
  assert_int_equal(hone_session_copy_in(session, "x", &t), HONE_OK);
  assert_int_equal(hone_session_run(session), HONE_OK);
  assert_int_equal(hone_session_tensor(session, "y", &t), HONE_OK);
  assert_int_equal(t.type.dtype, dtype);
  for (int i = 0; i < 20; ++i) out[i] = hn_real(&t, i);
  hone_session_destroy(session);
}

/* Everything but the casts reads and writes one of the two types; nothing is on the reference. */
static void check_plan(const hone_engine *engine, hone_dtype dtype) {
  const hn_plan *plan = engine->schedules->plans[0];
  int casts = 0, wide = 0;
  for (int s = 0; s < plan->step_count; ++s) {
    const hn_plan_step *step = &plan->steps[s];
    if (step->kind != HN_STEP_CALL) continue;
    assert_false(step->tactic->flags & HONE_TACTIC_REFERENCE);
    casts += strcmp(step->op->name, "cast") == 0;
    if (strcmp(step->op->name, "conv") != 0) continue;
    ++wide;
    assert_int_equal(plan->tensors[step->in[0]].dtype, HONE_F32);
    assert_int_equal(plan->tensors[step->out[0]].dtype, HONE_F32);
  }
  assert_int_equal(wide, 2);
  assert_true(casts >= 4);
  for (int t = 0; t < plan->tensor_count; ++t)
    assert_true(plan->tensors[t].dtype == HONE_F32 || plan->tensors[t].dtype == dtype);
}

static void test_author(void **state) {
  (void)state;
  const hone_device_options options = {.struct_size = sizeof options, .threads = 1};
  const hone_dtype types[] = {HONE_F16, HONE_BF16};
  hone_device *cpu;
  assert_int_equal(hone_device_open(context, "cpu", 0, &options, &cpu), HONE_OK);
  for (int i = 0; i < 2; ++i) {
    double want[20], got[20];
    hone_graph *graph = make_graph(types[i]);
    hone_engine *reference = build(graph, cpu, true), *engine = build(graph, cpu, false);
    check_plan(engine, types[i]);
    run(reference, types[i], want);
    run(engine, types[i], got);
    for (int k = 0; k < 20; ++k)
      assert_true(fabs(got[k] - want[k]) <= (types[i] == HONE_F16 ? 2e-3 : 1.6e-2) * want[k]);
    hone_engine_release(reference);
    hone_engine_release(engine);
    hone_graph_destroy(graph);
  }
  hone_device_close(cpu);
}

enum { IMAGE = CHANNELS * SIDE * SIDE };

/* Relative L2 of what the engine makes of the first images from what is wanted; keeps: that is what it makes. */
static double distance(hone_engine *engine, int64_t batch, const float *image, float *want, bool keeps) {
  double difference = 0, sum = 0;
  hone_session *session;
  hone_tensor y;
  const hone_tensor x = {.type = hn_tensor_type(HONE_F32, 4, (int64_t[]){batch, CHANNELS, SIDE, SIDE}),
                         .data = (void *)(uintptr_t)image,
                         .bytes = (size_t)batch * IMAGE * sizeof *image};
  assert_int_equal(hone_session_create(engine, NULL, &session, hone_context_diagnostics(context)), HONE_OK);
  assert_int_equal(hone_session_copy_in(session, "x", &x), HONE_OK);
  assert_int_equal(hone_session_run(session), HONE_OK);
  assert_int_equal(hone_session_tensor(session, "y", &y), HONE_OK);
  if (keeps) memcpy(want, y.data, x.bytes);
  for (int64_t i = 0; i < batch * IMAGE; ++i) {
    difference += pow(hn_real(&y, i) - (double)want[i], 2);
    sum += pow((double)want[i], 2);
  }
  hone_session_destroy(session);
  return sqrt(difference / sum);
}

/* A convolution that reads what another holds in bf16, of a batch that is free: the weights are f32, and so is to
 * inference what is held. */
static void test_held_and_free(void **state) {
  (void)state;
  static float image[3 * IMAGE], want[3 * IMAGE];
  static const int64_t dims[4] = {-1, CHANNELS, SIDE, SIDE};
  static const char *const free_batch[4] = {"N"}, *const tactics[] = {"*=cpu.conv.bf16.c"};
  const hone_shape least = {.rank = 4, .dim = {1, CHANNELS, SIDE, SIDE}},
                   most = {.rank = 4, .dim = {3, CHANNELS, SIDE, SIDE}};
  const hone_profile_shape shapes[] = {{.input = "x", .min = least, .opt = most, .max = most}};
  const hone_build_options plain = {
      .struct_size = sizeof plain, .reference_only = true, .shape_count = 1, .shapes = shapes};
  const hone_build_options held = {.struct_size = sizeof held,
                                   .level = -1,
                                   .shape_count = 1,
                                   .shapes = shapes,
                                   .precisions = HONE_BIT(HONE_BF16),
                                   .tactic_count = 1,
                                   .tactics = tactics};
  hone_graph *graph;
  hone_engine *engine;
  hone_value *x;
  hone_device *cpu;
  assert_int_equal(hone_device_open(context, "cpu", 0, NULL, &cpu), HONE_OK);
  assert_int_equal(hone_graph_create(context, "held", &graph), HONE_OK);
  assert_int_equal(hone_graph_add_input(graph, "x", HONE_F32, 4, dims, free_batch, &x), HONE_OK);
  x = convolution(graph, HONE_F32, convolution(graph, HONE_F32, x, 1), 1);
  assert_int_equal(hone_graph_add_output(graph, "y", x), HONE_OK);
  for (int i = 0; i < 3 * IMAGE; ++i) image[i] = cosf((float)i * 0.37f);
  assert_int_equal(hone_engine_build(context, graph, &cpu, 1, &plain, &engine), HONE_OK);
  assert_true(distance(engine, 3, image, want, true) == 0);
  hone_engine_release(engine);
  if (hone_engine_build(context, graph, &cpu, 1, &held, &engine) != HONE_OK)
    fail_msg("%s", hone_context_message(context, 0, NULL));
  for (int64_t batch = 3; batch > 0; --batch) {
    const double error = distance(engine, batch, image, want, false);
    assert_true(error > 0 && error <= 1e-2);
  }
  hone_engine_release(engine);
  hone_graph_destroy(graph);
  hone_device_close(cpu);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_author), cmocka_unit_test(test_held_and_free)};
  if (hone_context_create(NULL, &context) != HONE_OK) return 1;
  const int failed = cmocka_run_group_tests(tests, NULL, NULL);
  hone_context_destroy(context);
  return failed;
}
