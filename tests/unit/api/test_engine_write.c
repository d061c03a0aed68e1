/* SPDX-License-Identifier: Apache-2.0 */
/* test_engine_write.c - an engine's bytes without a file: those that a file would have, and an engine again. */
#include "support/saved_engine.h"
#include "support/small_net.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <hone/hone.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CLASSES = 10 };

static hone_context *context;
static hone_device *device;
static hone_engine *engine;

typedef struct sink {
  uint8_t *bytes;
  size_t count;
  int calls, refuse_at; /* the call that is refused; -1: none */
} sink;

static bool take(void *user, const char *bytes, size_t count) {
  sink *s = user;
  if (s->calls++ == s->refuse_at) return false;
  s->bytes = realloc(s->bytes, s->count + count);
  assert_non_null(s->bytes);
  memcpy(s->bytes + s->count, bytes, count);
  s->count += count;
  return true;
}

static hone_engine *build(hone_device *on) {
  static const hone_profile_shape shapes[] = {{"x", {4, {1, 3, 16, 16}}, {4, {1, 3, 16, 16}}, {4, {1, 3, 16, 16}}, 0},
                                              {"x", {4, {2, 3, 16, 16}}, {4, {2, 3, 16, 16}}, {4, {3, 3, 16, 16}}, 1}};
  const hone_build_options options = {.struct_size = sizeof options, .level = -1, .shapes = shapes, .shape_count = 2};
  hone_graph *graph;
  hone_engine *built;
  assert_int_equal(small_net_graph(context, true, &graph), HONE_OK);
  assert_int_equal(hone_engine_build(context, graph, &on, 1, &options, &built), HONE_OK);
  hone_graph_destroy(graph);
  return built;
}

static int set_up(void **state) {
  (void)state;
  const hone_device_options one = {.struct_size = sizeof one, .threads = 1};
  assert_int_equal(hone_context_create(NULL, &context), HONE_OK);
  assert_int_equal(hone_device_open(context, "cpu", 0, &one, &device), HONE_OK);
  engine = build(device);
  return 0;
}

static int tear_down(void **state) {
  (void)state;
  hone_engine_release(engine);
  hone_device_close(device);
  hone_context_destroy(context);
  return 0;
}

static void test_bytes_are_the_files(void **state) {
  (void)state;
  char path[] = "/tmp/hone_engine_write_XXXXXX";
  const int fd = mkstemp(path);
  assert_true(fd >= 0);
  close(fd);
  sink s = {.refuse_at = -1};
  assert_int_equal(hone_engine_write(engine, take, &s, NULL), HONE_OK);
  assert_int_equal(hone_engine_save(engine, path, NULL), HONE_OK);
  FILE *file = fopen(path, "rb");
  uint8_t *saved = malloc(s.count + 1);
  assert_true(file && saved);
  assert_int_equal(fread(saved, 1, s.count + 1, file), s.count);
  assert_memory_equal(saved, s.bytes, s.count);
  fclose(file);
  free(saved);
  free(s.bytes);
  saved_engine_remove(path);
}

static void run(hone_engine *of, float y[CLASSES]) {
  const hone_type type = {.kind = HONE_TENSOR, .dtype = HONE_F32, .shape = {4, {1, 3, 16, 16}}};
  hone_session *session;
  hone_tensor x, out;
  assert_int_equal(hone_session_create(of, NULL, &session, NULL), HONE_OK);
  assert_int_equal(hone_tensor_alloc(context, &type, &x), HONE_OK);
  small_net_fill(&x, 7);
  assert_int_equal(hone_session_copy_in(session, "x", &x), HONE_OK);
  assert_int_equal(hone_session_run(session), HONE_OK);
  assert_int_equal(hone_session_tensor(session, "y", &out), HONE_OK);
  assert_int_equal(out.bytes, CLASSES * sizeof(float));
  memcpy(y, out.data, out.bytes);
  hone_tensor_free(context, &x);
  hone_session_destroy(session);
}

static void test_bytes_are_an_engine(void **state) {
  (void)state;
  sink first = {.refuse_at = -1}, second = {.refuse_at = -1};
  hone_engine *loaded;
  float want[CLASSES], got[CLASSES];
  assert_int_equal(hone_engine_write(engine, take, &first, NULL), HONE_OK);
  assert_int_equal(hone_engine_load_memory(context, first.bytes, first.count, &device, 1, &loaded), HONE_OK);
  run(engine, want);
  run(loaded, got);
  assert_memory_equal(got, want, sizeof want);
  assert_int_equal(hone_engine_write(loaded, take, &second, NULL), HONE_OK); /* of a loaded one: the same again */
  assert_int_equal(second.count, first.count);
  assert_memory_equal(second.bytes, first.bytes, first.count);
  hone_engine_release(loaded);
  free(first.bytes);
  free(second.bytes);
}

static void test_refused(void **state) {
  (void)state;
  sink s = {.refuse_at = -1};
  assert_int_equal(hone_engine_write(engine, take, &s, NULL), HONE_OK);
  const int calls = s.calls;
  free(s.bytes);
  assert_true(calls > 1);
  for (int at = 0; at < calls; ++at) {
    s = (sink){.refuse_at = at};
    hone_context_clear_messages(context);
    assert_int_equal(hone_engine_write(engine, take, &s, hone_context_diagnostics(context)), HONE_IO);
    assert_int_equal(hone_context_message_count(context), 1);
    assert_int_equal(s.calls, at + 1); /* nothing more is asked of it */
    free(s.bytes);
  }
}

static void test_described_machine(void **state) {
  (void)state;
  const hone_device_options options = {.struct_size = sizeof options, .machine = "avx2"};
  hone_device *described;
  sink s = {.refuse_at = -1};
  assert_int_equal(hone_device_open(context, "cpu", 0, &options, &described), HONE_OK);
  hone_engine *told = build(described);
  assert_int_equal(hone_engine_write(told, take, &s, NULL), HONE_UNSUPPORTED);
  assert_int_equal(s.calls, 0);
  hone_engine_release(told);
  hone_device_close(described);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_bytes_are_the_files),
      cmocka_unit_test(test_bytes_are_an_engine),
      cmocka_unit_test(test_refused),
      cmocka_unit_test(test_described_machine),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
