/* SPDX-License-Identifier: Apache-2.0 */
/* test_described.c - machines on paper: the same plan whatever the host is, by estimates alone; such an engine tells
 * about itself, and is neither saved nor run. */
#include "support/small_net.h"
#include <hone/hone.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct text {
  char data[1 << 16];
  size_t length;
} text;

static bool collect(void *user, const char *bytes, size_t length) {
  text *t = user;
  assert_true(t->length + length < sizeof t->data);
  memcpy(t->data + t->length, bytes, length);
  t->length += length;
  t->data[t->length] = 0;
  return true;
}

static hone_engine *build(hone_context *context, const hone_device_options *options, int level) {
  hone_graph *graph;
  hone_device *device;
  hone_engine *engine;
  const hone_profile_shape shape = {
      .input = "x", .min = {4, {1, 3, 16, 16}}, .opt = {4, {1, 3, 16, 16}}, .max = {4, {1, 3, 16, 16}}};
  const hone_build_options build_options = {
      .struct_size = sizeof build_options, .level = level, .shapes = &shape, .shape_count = 1};
  assert_int_equal(small_net_graph(context, true, &graph), HONE_OK);
  assert_int_equal(hone_device_open(context, "cpu", 0, options, &device), HONE_OK);
  assert_int_equal(hone_engine_build(context, graph, &device, 1, &build_options, &engine), HONE_OK);
  hone_graph_destroy(graph);
  hone_device_close(device);
  return engine;
}

/* Level and host's threads make no difference; the machine does. */
static void test_same_everywhere(void **state) {
  (void)state;
  static text told[3];
  static const struct {
    const char *machine;
    int level;
  } rows[3] = {{"avx2", 0}, {"avx2", 5}, {"c", 0}};
  hone_context *context;
  assert_int_equal(hone_context_create(NULL, &context), HONE_OK);
  for (int i = 0; i < 3; ++i) {
    const hone_device_options options = {.struct_size = sizeof options, .machine = rows[i].machine};
    hone_engine *engine = build(context, &options, rows[i].level);
    const hone_report_options report = {.struct_size = sizeof report, .json = true};
    assert_int_equal(hone_report_engine(engine, &report, collect, &told[i], NULL), HONE_OK);
    hone_engine_release(engine);
  }
  assert_string_equal(told[0].data, told[1].data);
  assert_string_not_equal(told[0].data, told[2].data);
  assert_null(strstr(told[2].data, "avx")); /* portable code alone */
  assert_null(strstr(told[0].data, "avx512"));
  hone_context_destroy(context);
}

static void test_never_runs(void **state) {
  (void)state;
  char path[] = "/tmp/hone_described_XXXXXX";
  const int file = mkstemp(path);
  assert_true(file >= 0);
  close(file);
  unlink(path);
  hone_context *context;
  assert_int_equal(hone_context_create(NULL, &context), HONE_OK);
  const hone_device_options options = {.struct_size = sizeof options, .machine = "avx512"};
  hone_engine *engine = build(context, &options, 3);
  hone_session *session;
  assert_int_equal(hone_session_create(engine, NULL, &session, hone_context_diagnostics(context)), HONE_UNSUPPORTED);
  assert_null(session);
  assert_non_null(strstr(hone_context_message(context, 0, NULL), "avx512"));
  assert_int_equal(hone_engine_save(engine, path, hone_context_diagnostics(context)), HONE_UNSUPPORTED);
  assert_int_not_equal(access(path, F_OK), 0);
  hone_engine_release(engine);
  hone_context_destroy(context);
}

static void test_names(void **state) {
  (void)state;
  hone_context *context;
  hone_device *device;
  assert_int_equal(hone_context_create(NULL, &context), HONE_OK);
  hone_device_options options = {.struct_size = sizeof options, .machine = "abacus"};
  assert_int_equal(hone_device_open(context, "cpu", 0, &options, &device), HONE_INVALID);
  assert_non_null(strstr(hone_context_message(context, 0, NULL), "avx512 avx2 c"));
  options.machine = "avx2";
  assert_int_equal(hone_device_open(context, "ref", 0, &options, &device), HONE_INVALID);
  assert_int_equal(hone_device_open(context, "cpu", 0, &options, &device), HONE_OK);
  hone_facts facts = HONE_SIZED(hone_facts);
  hone_device_facts(device, &facts);
  assert_true(facts.described && facts.threads == 2);
  hone_device_close(device);
  hone_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_same_everywhere),
      cmocka_unit_test(test_never_runs),
      cmocka_unit_test(test_names),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
