/* SPDX-License-Identifier: Apache-2.0 */
/* test_many_ports.c - operators with more inputs or outputs than a mask has bits, constants among them: built, saved
 * and loaded, they say what the reference says. */
#include "base/text.h"
#include "support/built_session.h"
#include "support/saved_engine.h"
#include "support/small_net.h"
#include <hone/engine.h>
#include <hone/tensor_io.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

static const int counts[] = {33, 40, 64, 100, 250};

/* Every third input is a constant, the others are slices of x, some of them made by a step. */
static void write_inputs(hn_text *text, int count) {
  hn_text_printf(text, "graph \"g\" opset 17 {\n in %%x: f32[%d,3,4]\n in %%ask: bool[]\n", count);
  for (int i = 0; i < count; ++i) hn_text_printf(text, " const %%c%d: f32[1,3,4] = random %d\n", i, i);
  hn_text_printf(text, " const %%sizes: i64[%d] = [1", count);
  for (int i = 1; i < count; ++i) hn_text_add(text, ", 1");
  hn_text_add(text, "]\n %s0");
  for (int i = 1; i < count; ++i) hn_text_printf(text, ", %%s%d", i);
  hn_text_add(text, " = split(%x, %sizes) [axis=0]\n");
  for (int i = 0; i < count; i += 2) hn_text_printf(text, " %%r%d = tanh(%%s%d)\n", i, i);
}

static void write_list(hn_text *text, int count) {
  for (int i = 0; i < count; ++i)
    hn_text_printf(text, "%s%%%c%d", i ? ", " : "", i % 3 == 2 ? 'c' : i % 2 ? 's' : 'r', i);
}

static void compare(hone_session *a, hone_session *b) {
  hone_session *const sides[2] = {a, b};
  hone_tensor x, out[2];
  for (int k = 0; k < 2; ++k) {
    assert_int_equal(hone_session_tensor(sides[k], "x", &x), HONE_OK);
    small_net_fill(&x, 9);
    if (hone_session_tensor(sides[k], "ask", &x) == HONE_OK) memset(x.data, 1, 1);
    if (hone_session_run(sides[k]) != HONE_OK) fail_msg("side %d: %s", k, hone_session_message(sides[k], 0, NULL));
    assert_int_equal(hone_session_tensor(sides[k], "out", &out[k]), HONE_OK);
  }
  assert_int_equal(hone_tensor_count(&out[0]), hone_tensor_count(&out[1]));
  for (int64_t i = 0; i < hone_tensor_count(&out[0]); ++i)
    assert_float_equal(hone_tensor_real(&out[0], i), hone_tensor_real(&out[1], i), 1e-3);
}

/* Saved and loaded again, which checks the plan as a stranger's. */
static void compare_loaded(hone_context *context, hone_device *device, const built_session *tuned,
                           hone_session *reference) {
  char path[] = "/tmp/hone_many_ports_XXXXXX";
  hone_engine *engine;
  hone_session *session;
  const int file = mkstemp(path);
  assert_true(file >= 0);
  (void)close(file);
  assert_int_equal(hone_engine_save(tuned->engine, path, hone_context_diagnostics(context)), HONE_OK);
  assert_int_equal(hone_engine_load(context, path, &device, 1, &engine), HONE_OK);
  assert_int_equal(hone_session_create(engine, NULL, &session, NULL), HONE_OK);
  compare(session, reference);
  hone_session_destroy(session);
  hone_engine_release(engine);
  saved_engine_remove(path);
}

static void check_text(const char *text) {
  const hone_device_options options = {.struct_size = sizeof options, .threads = 2};
  hone_context *context;
  hone_device *device;
  assert_int_equal(hone_context_create(NULL, &context), HONE_OK);
  assert_int_equal(hone_device_open(context, "cpu", 0, &options, &device), HONE_OK);
  built_session tuned = built_session_make(context, device, text, false, false);
  built_session reference = built_session_make(context, device, text, true, false);
  compare(tuned.session, reference.session);
  compare_loaded(context, device, &tuned, reference.session);
  built_session_free(&tuned);
  built_session_free(&reference);
  hone_device_close(device);
  hone_context_destroy(context);
}

static void test_variadic(void **state) {
  (void)state;
  static const char *const ops[] = {"concat", "mean"};
  for (size_t c = 0; c < sizeof counts / sizeof *counts; ++c)
    for (size_t o = 0; o < sizeof ops / sizeof *ops; ++o) {
      hn_text text;
      hn_text_init(&text, hn_allocator_default());
      write_inputs(&text, counts[c]);
      hn_text_printf(&text, " %%out = %s(", ops[o]);
      write_list(&text, counts[c]);
      hn_text_add(&text, o ? ")\n out %out\n}\n" : ") [axis=1]\n out %out\n}\n");
      check_text(hn_text_string(&text));
      hn_text_deinit(&text);
    }
}

/* A branch that captures so many values. */
static void test_captures(void **state) {
  (void)state;
  hn_text text;
  const int count = 40;
  hn_text_init(&text, hn_allocator_default());
  write_inputs(&text, count);
  hn_text_add(&text, " %out = if(%ask, ");
  write_list(&text, count);
  hn_text_add(&text, ")");
  for (int b = 0; b < 2; ++b) {
    hn_text_add(&text, "\n (");
    for (int i = 0; i < count; ++i) hn_text_printf(&text, "%s%%p%d_%d: f32[1,3,4]", i ? ", " : "", b, i);
    hn_text_printf(&text, ") {\n %%y%d = %s(", b, b ? "mean" : "concat");
    for (int i = 0; i < count; ++i) hn_text_printf(&text, "%s%%p%d_%d", i ? ", " : "", b, i);
    hn_text_printf(&text, ")%s\n yield %%y%d\n }", b ? "" : " [axis=1]", b);
  }
  hn_text_add(&text, "\n out %out\n}\n");
  check_text(hn_text_string(&text));
  hn_text_deinit(&text);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_variadic), cmocka_unit_test(test_captures)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
