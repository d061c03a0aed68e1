/* SPDX-License-Identifier: Apache-2.0 */
/* test_doubles.c - networks stored in f64 run on kernels and compute in f64: no step of a small convolutional network
 * or of a perceptron is on the reference, their layers fuse as those of f32 do, and the results are the reference's. */
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

enum { CHANNELS = 24, SIDE = 11, ROWS = 5, WIDTH = 70, CLASSES = 10 };
static hone_context *context;

static hone_value *constant(hone_graph *graph, int rank, const int64_t *dims) {
  static int number;
  char name[16];
  hone_tensor t;
  hone_value *value;
  const hone_type type = hn_tensor_type(HONE_F64, rank, dims);
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

static hone_value *convolution(hone_graph *graph, hone_value *x, int64_t group) {
  static const int64_t pads[4] = {1, 1, 1, 1};
  const hone_attr attrs[] = {{.name = "pads", .kind = HONE_ATTR_INTS, .ints = pads, .count = 4},
                             {.name = "group", .kind = HONE_ATTR_INT, .i = group}};
  hone_value *in[3] = {x, constant(graph, 4, (int64_t[]){CHANNELS, CHANNELS / group, 3, 3}),
                       constant(graph, 1, (int64_t[]){CHANNELS})};
  return node(graph, "conv", in, 3, attrs, 2);
}

/* A convolution with an activation, read twice; a depthwise one and a pool; their sum, a mean and a product. */
static hone_graph *make_cnn(void) {
  static const int64_t dims[4] = {2, CHANNELS, SIDE, SIDE}, kernel[2] = {3, 3}, pads[4] = {1, 1, 1, 1};
  const hone_attr pool[] = {{.name = "kernel_shape", .kind = HONE_ATTR_INTS, .ints = kernel, .count = 2},
                            {.name = "pads", .kind = HONE_ATTR_INTS, .ints = pads, .count = 4}};
  hone_graph *graph;
  hone_value *x, *both[2];
  assert_int_equal(hone_graph_create(context, "cnn", &graph), HONE_OK);
  assert_int_equal(hone_graph_add_input(graph, "x", HONE_F64, 4, dims, NULL, &x), HONE_OK);
  x = convolution(graph, x, 1);
  x = node(graph, "relu", &x, 1, NULL, 0);
  both[0] = convolution(graph, x, CHANNELS);
  both[1] = node(graph, "max_pool", &x, 1, pool, 2);
  x = node(graph, "add", both, 2, NULL, 0);
  x = node(graph, "global_average_pool", &x, 1, NULL, 0);
  x = node(graph, "flatten", &x, 1, NULL, 0);
  both[0] = x, both[1] = constant(graph, 2, (int64_t[]){CHANNELS, CLASSES});
  x = node(graph, "matmul", both, 2, NULL, 0);
  x = node(graph, "softmax", &x, 1, NULL, 0);
  assert_int_equal(hone_graph_add_output(graph, "y", x), HONE_OK);
  return graph;
}

/* Two layers with a normalisation and gelu between them, and a mean of the rows. */
static hone_graph *make_mlp(void) {
  static const int64_t dims[2] = {ROWS, WIDTH};
  hone_graph *graph;
  hone_value *x, *in[3];
  assert_int_equal(hone_graph_create(context, "mlp", &graph), HONE_OK);
  assert_int_equal(hone_graph_add_input(graph, "x", HONE_F64, 2, dims, NULL, &x), HONE_OK);
  in[0] = x, in[1] = constant(graph, 2, (int64_t[]){WIDTH, WIDTH});
  x = node(graph, "matmul", in, 2, NULL, 0);
  in[0] = x, in[1] = constant(graph, 1, (int64_t[]){WIDTH});
  x = node(graph, "add", in, 2, NULL, 0);
  in[0] = x, in[1] = constant(graph, 1, (int64_t[]){WIDTH}), in[2] = constant(graph, 1, (int64_t[]){WIDTH});
  x = node(graph, "layer_norm", in, 3, NULL, 0);
  x = node(graph, "gelu", &x, 1, NULL, 0);
  in[0] = x, in[1] = constant(graph, 2, (int64_t[]){WIDTH, CLASSES});
  x = node(graph, "matmul", in, 2, NULL, 0);
  x = node(graph, "tanh", &x, 1, NULL, 0);
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

/* Returns how many outputs there are. */
static int run(hone_engine *engine, int rank, const int64_t *dims, double *out) {
  static double x[2 * CHANNELS * SIDE * SIDE];
  const hone_session_options options = {.struct_size = sizeof options};
  hone_session *session;
  hone_tensor t = {.type = hn_tensor_type(HONE_F64, rank, dims), .data = x};
  const int64_t count = hn_elems(&t.type.shape);
  t.bytes = (size_t)count * sizeof *x;
  for (int64_t i = 0; i < count; ++i) x[i] = cos((double)i * 0.37);
  assert_int_equal(hone_session_create(engine, &options, &session, hone_context_diagnostics(context)), HONE_OK);
  assert_int_equal(hone_session_copy_in(session, "x", &t), HONE_OK);
  assert_int_equal(hone_session_run(session), HONE_OK);
  assert_int_equal(hone_session_tensor(session, "y", &t), HONE_OK);
  assert_int_equal(t.type.dtype, HONE_F64);
  const int outputs = (int)hn_elems(&t.type.shape);
  for (int i = 0; i < outputs; ++i) out[i] = hn_real(&t, i);
  hone_session_destroy(session);
  return outputs;
}

/* Nothing is on the reference, nothing is converted, and activations are their layers' own. */
static void check_plan(const hone_engine *engine, int most_steps) {
  const hn_plan *plan = engine->schedules->plans[0];
  int calls = 0;
  for (int s = 0; s < plan->step_count; ++s) {
    const hn_plan_step *step = &plan->steps[s];
    if (step->kind != HN_STEP_CALL) continue;
    ++calls;
    if (step->tactic->flags & HONE_TACTIC_REFERENCE) fail_msg("%s is on the reference", step->op->name);
    if (strcmp(step->op->name, "convert") == 0) fail_msg("something is converted");
    if (strcmp(step->op->name, "relu") == 0) fail_msg("relu is a step of its own");
  }
  assert_in_range(calls, 2, most_steps);
}

static void check(hone_device *cpu, hone_graph *graph, int rank, const int64_t *dims, int most_steps) {
  enum { MOST = 64 };
  double got[MOST], want[MOST], difference = 0, size = 0;
  hone_engine *tuned = build(graph, cpu, false), *reference = build(graph, cpu, true);
  check_plan(tuned, most_steps);
  const int count = run(tuned, rank, dims, got);
  assert_in_range(count, 1, MOST);
  assert_int_equal(run(reference, rank, dims, want), count);
  for (int i = 0; i < count; ++i) {
    difference += (got[i] - want[i]) * (got[i] - want[i]);
    size += want[i] * want[i];
  }
  assert_true(size > 0 && sqrt(difference / size) < 1e-12);
  hone_engine_release(tuned);
  hone_engine_release(reference);
  hone_graph_destroy(graph);
}

static void test_networks(void **state) {
  (void)state;
  hone_device *cpu;
  assert_int_equal(hone_context_create(NULL, &context), HONE_OK);
  assert_int_equal(hone_device_open(context, "cpu", 0, NULL, &cpu), HONE_OK);
  check(cpu, make_cnn(), 4, (int64_t[]){2, CHANNELS, SIDE, SIDE}, 7);
  check(cpu, make_mlp(), 2, (int64_t[]){ROWS, WIDTH}, 5);
  hone_device_close(cpu);
  hone_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_networks)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
