/* SPDX-License-Identifier: Apache-2.0 */
/* test_rebuild.c - engines whose file carries the model or leaves the weights out: what does not fit this library any
 * more names the command that builds it anew, and is built anew from what it carries; without weights nothing runs
 * until a refit gives some. */
#include "../fuzz/engine_patch.h"
#include "support/saved_engine.h"
#include "support/small_net.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CLASSES = 10 };
static hone_context *context;
static hone_device *device;
static hone_engine *whole;
static char path[] = "/tmp/hone_rebuild_XXXXXX";

static void check(hone_status status) {
  if (status == HONE_OK) return;
  for (int i = 0; i < hone_context_message_count(context); ++i)
    print_error("%s\n", hone_context_message(context, i, NULL));
  fail_msg("%s", hone_status_name(status));
}

static bool was_said(const char *text) {
  for (int i = 0; i < hone_context_message_count(context); ++i)
    if (strstr(hone_context_message(context, i, NULL), text)) return true;
  return false;
}

static uint8_t *read_file(size_t *out_count) {
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  assert_int_equal(fseek(file, 0, SEEK_END), 0);
  *out_count = (size_t)ftell(file);
  rewind(file);
  uint8_t *bytes = malloc(*out_count);
  assert_true(bytes && fread(bytes, 1, *out_count, file) == *out_count);
  fclose(file);
  return bytes;
}

static hone_status load(const uint8_t *bytes, size_t count, bool with_device, hone_engine **out) {
  hone_context_clear_messages(context);
  return hone_engine_load_memory(context, bytes, count, &device, with_device ? 1 : 0, out);
}

static void run(hone_engine *engine, float out[CLASSES]) {
  const hone_type type = {.kind = HONE_TENSOR, .dtype = HONE_F32, .shape = {4, {1, 3, 16, 16}}};
  hone_session *session;
  hone_tensor x, y;
  check(hone_tensor_alloc(context, &type, &x));
  small_net_fill(&x, 1);
  check(hone_session_create(engine, NULL, &session, hone_context_diagnostics(context)));
  check(hone_session_copy_in(session, "x", &x));
  check(hone_session_run(session));
  check(hone_session_tensor(session, "y", &y));
  assert_int_equal(y.bytes, CLASSES * sizeof(float));
  memcpy(out, y.data, y.bytes);
  hone_session_destroy(session);
  hone_tensor_free(context, &x);
}

/* Every tactic becomes one of a version that this library does not have. */
static void age(uint8_t *bytes, size_t count) {
  static const char key[] = "\"version\": ";
  int changed = 0;
  for (size_t i = 0; i + sizeof key < count; ++i)
    if (memcmp(bytes + i, key, sizeof key - 1) == 0) {
      bytes[i + sizeof key - 1] = '9';
      ++changed;
    }
  assert_true(changed > 3);
  engine_patch(bytes, count, 0);
}

static void test_other_version(void **state) {
  (void)state;
  static const char onnx[] = "/tmp/hone_rebuild.onnx";
  const hone_build_options options = {.struct_size = sizeof options, .level = -1, .refittable = true};
  hone_graph *graph;
  hone_engine *old, *made;
  float want[CLASSES], got[CLASSES];
  size_t count, onnx_count;
  const void *carried;
  check(small_net_graph(context, false, &graph));
  check(hone_graph_save_onnx(graph, onnx));
  FILE *file = fopen(onnx, "rb");
  static uint8_t onnx_bytes[1 << 20];
  assert_non_null(file);
  onnx_count = fread(onnx_bytes, 1, sizeof onnx_bytes, file);
  fclose(file);
  unlink(onnx);
  const hone_save_options with = {.struct_size = sizeof with, .onnx = onnx_bytes, .onnx_bytes = onnx_count};
  check(hone_engine_save_with(whole, path, &with, hone_context_diagnostics(context)));
  uint8_t *bytes = read_file(&count);
  run(whole, want);
  age(bytes, count);
  assert_int_equal(load(bytes, count, true, &old), HONE_INCOMPATIBLE);
  assert_true(was_said("hone build --from"));
  check(load(bytes, count, false, &old)); /* to look at */
  check(hone_engine_model(old, &carried, &count, hone_context_diagnostics(context)));
  assert_int_equal(count, onnx_count);
  assert_memory_equal(carried, onnx_bytes, count);
  check(hone_engine_rebuild(context, old, &device, 1, &options, &made));
  run(made, got);
  assert_memory_equal(got, want, sizeof want);
  hone_engine_release(made);
  hone_engine_release(old);
  hone_graph_destroy(graph);
  free(bytes);
}

static void test_without_model(void **state) {
  (void)state;
  size_t count;
  const void *carried;
  hone_engine *made;
  assert_int_equal(hone_engine_model(whole, &carried, &count, hone_context_diagnostics(context)), HONE_INVALID);
  assert_int_equal(hone_engine_rebuild(context, whole, &device, 1, NULL, &made), HONE_INVALID);
  assert_null(made);
  assert_true(was_said("does not carry its model"));
}

static void test_stripped(void **state) {
  (void)state;
  const hone_save_options strip = {.struct_size = sizeof strip, .strip_weights = true};
  hone_engine *small, *made;
  hone_session *session;
  hone_graph *graph;
  hone_engine_summary summary = HONE_SIZED(hone_engine_summary);
  float want[CLASSES], got[CLASSES];
  size_t count, whole_count;
  check(hone_engine_save(whole, path, hone_context_diagnostics(context)));
  free(read_file(&whole_count));
  check(hone_engine_save_with(whole, path, &strip, hone_context_diagnostics(context)));
  uint8_t *bytes = read_file(&count);
  check(load(bytes, count, true, &small));
  check(hone_engine_summarize(small, &summary));
  assert_true(summary.stripped && summary.refittable && summary.weights_bytes > 0);
  assert_int_equal(count + summary.weights_bytes, whole_count);
  assert_int_equal(hone_session_create(small, NULL, &session, hone_context_diagnostics(context)), HONE_INCOMPATIBLE);
  assert_true(was_said("hone refit"));
  check(small_net_graph(context, false, &graph));
  check(hone_engine_refit(context, small, graph, &device, 1, &made));
  run(whole, want);
  run(made, got);
  assert_memory_equal(got, want, sizeof want);
  check(hone_engine_save(small, path, hone_context_diagnostics(context))); /* it stays what it is */
  size_t again;
  uint8_t *same = read_file(&again);
  assert_int_equal(again, count);
  assert_memory_equal(same, bytes, count);
  free(same);
  free(bytes);
  hone_engine_release(made);
  hone_engine_release(small);
  hone_graph_destroy(graph);
}

static int begin(void **state) {
  (void)state;
  const hone_device_options one = {.struct_size = sizeof one, .threads = 2};
  const hone_build_options options = {.struct_size = sizeof options, .level = -1, .refittable = true};
  hone_graph *graph;
  const int file = mkstemp(path);
  assert_true(file >= 0);
  close(file);
  assert_int_equal(hone_context_create(NULL, &context), HONE_OK);
  check(hone_device_open(context, "cpu", 0, &one, &device));
  check(small_net_graph(context, false, &graph));
  check(hone_engine_build(context, graph, &device, 1, &options, &whole));
  hone_graph_destroy(graph);
  return 0;
}

static int end(void **state) {
  (void)state;
  hone_engine_release(whole);
  hone_device_close(device);
  hone_context_destroy(context);
  saved_engine_remove(path);
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_other_version), cmocka_unit_test(test_without_model),
                                     cmocka_unit_test(test_stripped)};
  return cmocka_run_group_tests(tests, begin, end);
}
