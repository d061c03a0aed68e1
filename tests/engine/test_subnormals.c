/* SPDX-License-Identifier: Apache-2.0 */
/* test_subnormals.c - runs take zero for subnormal numbers, in inputs, constants and results, in every thread, and the
 * caller's thread is as before afterwards; an engine built to keep them does, also after it was saved and read. */
#include "base/float_mode.h"
#include "support/saved_engine.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <hone/hone.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { COUNT = 1 << 17 }; /* elements: work for several threads */
static const float tiny = 1e-40f, small = 1e-25f;

/* y = x * w: subnormal operands of either side at i % 4 of 1 and 2, a subnormal result at 3. */
static float x_at(int i) { return i % 4 == 1 ? tiny : i % 4 == 3 ? small : 1.0f; }
static float w_at(int i) { return i % 4 == 2 ? -tiny : i % 4 == 3 ? 1e-15f : 2.0f; }

static hone_graph *make_graph(hone_context *context) {
  const hone_type type = {.kind = HONE_TENSOR, .dtype = HONE_F32, .shape = {1, {COUNT}}};
  hone_graph *graph;
  hone_value *in[2], *y;
  hone_tensor w;
  assert_int_equal(hone_graph_create(context, "subnormals", &graph), HONE_OK);
  assert_int_equal(hone_tensor_alloc(context, &type, &w), HONE_OK);
  for (int i = 0; i < COUNT; ++i) ((float *)w.data)[i] = w_at(i);
  assert_int_equal(hone_graph_add_input(graph, "x", HONE_F32, 1, (int64_t[]){COUNT}, NULL, &in[0]), HONE_OK);
  assert_int_equal(hone_graph_add_constant(graph, "w", &w, &in[1]), HONE_OK);
  assert_int_equal(hone_graph_add_node(graph, "mul", "product", in, 2, NULL, 0, &y, 1), HONE_OK);
  assert_int_equal(hone_graph_add_output(graph, "y", y), HONE_OK);
  hone_tensor_free(context, &w);
  return graph;
}

static bool host_flushes(void) {
  const hn_float_mode before = hn_float_mode_flush(true);
  const bool flushes = hn_float_mode_get() != 0;
  hn_float_mode_set(before);
  return flushes;
}

static void check_outputs(const float *y, bool keep) {
  for (int i = 0; i < COUNT; ++i) {
    const float exact = x_at(i) * w_at(i), want = keep || fabsf(exact) >= 1.2e-38f ? exact : copysignf(0.0f, exact);
    if (memcmp(&y[i], &want, sizeof want) != 0)
      fail_msg("element %d is %a, not %a (%s)", i, (double)y[i], (double)want, keep ? "kept" : "flushed");
  }
}

static void run(hone_context *context, hone_engine *engine, bool keep) {
  const hone_type type = {.kind = HONE_TENSOR, .dtype = HONE_F32, .shape = {1, {COUNT}}};
  hone_session *session;
  hone_tensor x, y;
  assert_int_equal(hone_tensor_alloc(context, &type, &x), HONE_OK);
  for (int i = 0; i < COUNT; ++i) ((float *)x.data)[i] = x_at(i);
  assert_int_equal(hone_session_create(engine, NULL, &session, NULL), HONE_OK);
  assert_int_equal(hone_session_copy_in(session, "x", &x), HONE_OK);
  for (int caller = 0; caller < 2; ++caller) { /* whatever the caller's own mode is, it stays */
    const hn_float_mode before = hn_float_mode_flush(caller);
    const hn_float_mode mode = hn_float_mode_get();
    assert_int_equal(hone_session_run(session), HONE_OK);
    assert_true(hn_float_mode_get() == mode);
    hn_float_mode_set(before);
    assert_int_equal(hone_session_tensor(session, "y", &y), HONE_OK);
    check_outputs(y.data, keep);
  }
  hone_session_destroy(session);
  hone_tensor_free(context, &x);
}

static void check_engine(hone_context *context, hone_device *device, bool keep, bool reference) {
  char path[] = "/tmp/hone_subnormals_XXXXXX";
  const hone_build_options build = {
      .struct_size = sizeof build, .level = -1, .reference_only = reference, .keep_subnormals = keep};
  hone_graph *graph = make_graph(context);
  hone_engine *engine, *loaded;
  const hn_float_mode before = hn_float_mode_get();
  assert_int_equal(hone_engine_build(context, graph, &device, 1, &build, &engine), HONE_OK);
  assert_true(hn_float_mode_get() == before);
  run(context, engine, keep);
  const int fd = mkstemp(path);
  assert_true(fd >= 0);
  close(fd);
  assert_int_equal(hone_engine_save(engine, path, hone_context_diagnostics(context)), HONE_OK);
  assert_int_equal(hone_engine_load(context, path, &device, 1, &loaded), HONE_OK);
  run(context, loaded, keep);
  hone_engine_release(loaded);
  hone_engine_release(engine);
  hone_graph_destroy(graph);
  saved_engine_remove(path);
}

static void test_runs(void **state) {
  (void)state;
  if (!host_flushes()) {
    print_message("this processor has no mode that flushes subnormal numbers\n");
    skip();
  }
  hone_context *context;
  assert_int_equal(hone_context_create(NULL, &context), HONE_OK);
  for (int threads = 1; threads <= 4; threads += 3) {
    const hone_device_options options = {.struct_size = sizeof options, .threads = threads};
    hone_device *device;
    assert_int_equal(hone_device_open(context, "cpu", 0, &options, &device), HONE_OK);
    for (int kind = 0; kind < 4; ++kind) check_engine(context, device, kind & 1, kind & 2);
    hone_device_close(device);
  }
  hone_context_destroy(context);
}

/* Copied, not computed: only the constants themselves tell. */
static void test_constants(void **state) {
  (void)state;
  hone_context *context;
  hone_device *device;
  assert_int_equal(hone_context_create(NULL, &context), HONE_OK);
  assert_int_equal(hone_device_open(context, "cpu", 0, NULL, &device), HONE_OK);
  for (int keep = 0; keep < 2; ++keep) {
    const hone_build_options build = {.struct_size = sizeof build, .level = -1, .keep_subnormals = keep};
    const hone_type type = {.kind = HONE_TENSOR, .dtype = HONE_F32, .shape = {1, {4}}};
    const float values[4] = {tiny, -tiny, 1.0f, small};
    hone_graph *graph;
    hone_engine *engine;
    hone_session *session;
    hone_value *in[2], *y;
    hone_tensor w, x, got;
    assert_int_equal(hone_graph_create(context, "constants", &graph), HONE_OK);
    assert_int_equal(hone_tensor_alloc(context, &type, &w), HONE_OK);
    memcpy(w.data, values, sizeof values);
    assert_int_equal(hone_graph_add_input(graph, "x", HONE_F32, 1, (int64_t[]){4}, NULL, &in[0]), HONE_OK);
    assert_int_equal(hone_graph_add_constant(graph, "w", &w, &in[1]), HONE_OK);
    const hone_attr axis = {.name = "axis", .kind = HONE_ATTR_INT, .i = 0};
    assert_int_equal(hone_graph_add_node(graph, "concat", "joined", in, 2, &axis, 1, &y, 1), HONE_OK);
    assert_int_equal(hone_graph_add_output(graph, "y", y), HONE_OK);
    assert_int_equal(hone_engine_build(context, graph, &device, 1, &build, &engine), HONE_OK);
    assert_int_equal(hone_session_create(engine, NULL, &session, NULL), HONE_OK);
    assert_int_equal(hone_tensor_alloc(context, &type, &x), HONE_OK);
    memset(x.data, 0, 16);
    assert_int_equal(hone_session_copy_in(session, "x", &x), HONE_OK);
    assert_int_equal(hone_session_run(session), HONE_OK);
    assert_int_equal(hone_session_tensor(session, "y", &got), HONE_OK);
    const float want[4] = {keep ? tiny : 0.0f, keep ? -tiny : -0.0f, 1.0f, small};
    assert_memory_equal((const float *)got.data + 4, want, sizeof want);
    hone_tensor_free(context, &x);
    hone_tensor_free(context, &w);
    hone_session_destroy(session);
    hone_engine_release(engine);
    hone_graph_destroy(graph);
  }
  hone_device_close(device);
  hone_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_runs), cmocka_unit_test(test_constants)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
