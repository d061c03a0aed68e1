/* SPDX-License-Identifier: Apache-2.0 */
/* test_shapes.c - shapes of a dynamic engine: what is outside the profile is refused in words and changes nothing, the
 * prepared shapes are bounded and the least recently used one goes, results do not depend on which are kept. */
#include "support/small_net.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH_MIN = 2, BATCH_MAX = 5, CLASSES = 10, ITEM = 3 * 16 * 16 };

typedef struct fixture {
  hone_context *context;
  hone_device *device;
  hone_engine *engine;
} fixture;

static int set_up(void **state) {
  static fixture f;
  const hone_device_options options = {.struct_size = sizeof options, .threads = 1};
  const hone_profile_shape shape = {
      "x", {4, {BATCH_MIN, 3, 16, 16}}, {4, {3, 3, 16, 16}}, {4, {BATCH_MAX, 3, 16, 16}}, 0};
  const hone_build_options build = {.struct_size = sizeof build, .level = -1, .shapes = &shape, .shape_count = 1};
  hone_graph *graph;
  assert_int_equal(hone_context_create(NULL, &f.context), HONE_OK);
  assert_int_equal(hone_device_open(f.context, "cpu", 0, &options, &f.device), HONE_OK);
  assert_int_equal(small_net_graph(f.context, true, &graph), HONE_OK);
  assert_int_equal(hone_engine_build(f.context, graph, &f.device, 1, &build, &f.engine), HONE_OK);
  hone_graph_destroy(graph);
  *state = &f;
  return 0;
}

static int tear_down(void **state) {
  fixture *f = *state;
  hone_engine_release(f->engine);
  hone_device_close(f->device);
  hone_context_destroy(f->context);
  return 0;
}

static hone_session *open_session(const fixture *f, int instances) {
  const hone_session_options options = {.struct_size = sizeof options, .instance_cache = instances};
  hone_session *session;
  assert_int_equal(hone_session_create(f->engine, &options, &session, NULL), HONE_OK);
  return session;
}

/* The first rows of the same items, whatever the batch: row i is item i's. */
static void run(hone_session *session, int64_t batch, float *out) {
  static float data[BATCH_MAX * ITEM];
  hone_tensor x = {.type = {.kind = HONE_TENSOR, .dtype = HONE_F32, .shape = {4, {BATCH_MAX, 3, 16, 16}}},
                   .data = data,
                   .bytes = sizeof data};
  small_net_fill(&x, 11);
  x.type.shape.dim[0] = batch;
  x.bytes = (size_t)batch * ITEM * sizeof *data;
  hone_tensor y;
  assert_int_equal(hone_session_copy_in(session, "x", &x), HONE_OK);
  assert_int_equal(hone_session_run(session), HONE_OK);
  assert_int_equal(hone_session_tensor(session, "y", &y), HONE_OK);
  assert_int_equal(y.type.shape.dim[0], batch);
  memcpy(out, y.data, (size_t)batch * CLASSES * sizeof *out);
}

static int64_t instances_of(const hone_session *session) {
  hone_session_stats stats = HONE_SIZED(hone_session_stats);
  hone_session_get_stats(session, &stats);
  return stats.instances;
}

static void test_bounded(void **state) {
  const fixture *f = *state;
  hone_session *one = open_session(f, 1), *two = open_session(f, 2);
  float want[BATCH_MAX * CLASSES], got[BATCH_MAX * CLASSES];
  run(one, BATCH_MAX, want);
  static const int64_t batches[] = {3, 2, 3, 4, 3, 5, 2, 2, 4};
  for (size_t i = 0; i < sizeof batches / sizeof *batches; ++i) {
    run(i % 2 ? one : two, batches[i], got);
    assert_memory_equal(got, want, (size_t)batches[i] * CLASSES * sizeof *got);
    assert_int_equal(instances_of(one), 1);
    assert_true(instances_of(two) <= 2);
  }
  assert_int_equal(instances_of(two), 2);
  hone_session_destroy(one);
  hone_session_destroy(two);
}

static void expect_refused(hone_session *session, const char *input, int rank, const int64_t *dims, const char *says) {
  assert_int_equal(hone_session_set_shape(session, input, rank, dims), HONE_INVALID);
  assert_int_equal(hone_session_message_count(session), 1);
  const char *message = hone_session_message(session, 0, NULL);
  if (!strstr(message, says)) fail_msg("\"%s\" lacks \"%s\"", message, says);
}

static void test_out_of_range(void **state) {
  const fixture *f = *state;
  hone_session *session = open_session(f, 0);
  float want[BATCH_MAX * CLASSES], got[BATCH_MAX * CLASSES];
  run(session, 4, want);
  expect_refused(session, "x", 4, (int64_t[]){6, 3, 16, 16}, "input x: dim 0 is 6; allowed: 2 to 5");
  expect_refused(session, "x", 4, (int64_t[]){1, 3, 16, 16}, "input x: dim 0 is 1; allowed: 2 to 5");
  expect_refused(session, "x", 4, (int64_t[]){4, 3, 17, 16}, "input x: dim 2 is 17; allowed: 16 to 16");
  expect_refused(session, "x", 4, (int64_t[]){-4, 3, 16, 16}, "dim 0 is -4");
  expect_refused(session, "x", 3, (int64_t[]){4, 3, 16}, "input x has rank 4, not 3");
  expect_refused(session, "x", 99, (int64_t[]){4, 3, 16, 16}, "rank is 99");
  expect_refused(session, "z", 4, (int64_t[]){4, 3, 16, 16}, "called z; inputs: x");
  assert_int_equal(hone_session_run(session), HONE_OK); /* with the shape and the numbers that it had */
  hone_tensor y;
  assert_int_equal(hone_session_tensor(session, "y", &y), HONE_OK);
  memcpy(got, y.data, 4 * CLASSES * sizeof *got);
  assert_memory_equal(got, want, 4 * CLASSES * sizeof *got);
  hone_session_destroy(session);
}

static void test_profile(void **state) {
  const fixture *f = *state;
  hone_port_info port = HONE_SIZED(hone_port_info);
  assert_int_equal(hone_engine_input(f->engine, 0, &port), HONE_OK);
  assert_int_equal(port.type.shape.dim[0], -1);
  assert_int_equal(port.min.dim[0], BATCH_MIN);
  assert_int_equal(port.opt.dim[0], 3);
  assert_int_equal(port.max.dim[0], BATCH_MAX);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_bounded), cmocka_unit_test(test_out_of_range),
                                     cmocka_unit_test(test_profile)};
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
