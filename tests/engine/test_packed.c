/* SPDX-License-Identifier: Apache-2.0 */
/* test_packed.c - elements of 2 and 4 bits in odd numbers: the bits behind the last one are zero, and neither outputs
 * nor engines depend on what fresh memory holds. */
#include "ir/text.h"
#include "support/guard.h"
#include "support/saved_engine.h"
#include "support/small_net.h"
#include <hone/hone.h>
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

enum { MOST_BYTES = 64 };

/* One output %out of a packed type. */
static const struct {
  const char *text;
  size_t bytes, used; /* bits of the last byte */
} rows[] = {
    {"graph \"g\" opset 25 {\n in %x: f32[3,7]\n const %s: f32[] = [0.1]\n"
     " %out = quantize_linear(%x, %s) [output_dtype=22]\n out %out\n}\n",
     11, 4},
    {"graph \"g\" opset 25 {\n in %x: f32[5]\n const %s: f32[] = [0.1]\n"
     " %q = quantize_linear(%x, %s) [output_dtype=21]\n %to = cast(%q) [to=1]\n %out = cast(%to) [to=21]\n out "
     "%out\n}\n",
     3, 4},
    {"graph \"g\" opset 25 {\n in %x: f32[1]\n in %y: i4[3]\n const %z: i4[2] = [1, 2]\n"
     " %out = concat(%y, %z) [axis=0]\n out %out\n}\n",
     3, 4},
    {"graph \"g\" opset 25 {\n in %x: f32[3]\n const %s: f32[] = [0.1]\n const %n: i64[] = [5]\n"
     " %o, %out = loop(%n, _, %x) (%i: i64[], %go: bool[], %c: f32[3]) {\n"
     "  %q = quantize_linear(%c, %s) [output_dtype=22]\n %d = neg(%c)\n yield %go, %d, %q\n }\n out %o\n out %out\n}\n",
     8, 4},
    {"graph \"g\" opset 25 {\n in %x: f32[1]\n const %w: f32[3,7] = random 1\n const %s: f32[] = [0.1]\n"
     " %out = quantize_linear(%w, %s) [output_dtype=21]\n out %out\n}\n",
     11, 4},
};

typedef struct result {
  uint8_t out[MOST_BYTES], *engine;
  size_t engine_bytes;
} result;

static void read_engine(const hone_engine *engine, hone_context *context, result *r) {
  char path[] = "/tmp/hone_packed_XXXXXX";
  const int file = mkstemp(path);
  assert_true(file >= 0);
  (void)close(file);
  assert_int_equal(hone_engine_save(engine, path, hone_context_diagnostics(context)), HONE_OK);
  FILE *saved = fopen(path, "rb");
  assert_non_null(saved);
  assert_int_equal(fseek(saved, 0, SEEK_END), 0);
  r->engine_bytes = (size_t)ftell(saved);
  rewind(saved);
  r->engine = malloc(r->engine_bytes);
  assert_int_equal(fread(r->engine, 1, r->engine_bytes, saved), r->engine_bytes);
  (void)fclose(saved);
  saved_engine_remove(path);
}

static void run(const char *text, unsigned char pattern, size_t bytes, result *r) {
  const hone_context_options guarded = {.struct_size = sizeof guarded, .resize = guard_resize, .resize_user = &pattern};
  const hone_device_options one = {.struct_size = sizeof one, .threads = 1};
  const hone_build_options build = {.struct_size = sizeof build, .reference_only = true};
  hone_context *context;
  hone_device *device;
  hone_graph *graph;
  hone_engine *engine = NULL;
  hone_session *session;
  hone_tensor t;
  assert_int_equal(hone_context_create(&guarded, &context), HONE_OK);
  assert_int_equal(hone_device_open(context, "cpu", 0, &one, &device), HONE_OK);
  if (hn_graph_parse(context, text, strlen(text), NULL, 0, &graph) != HONE_OK ||
      hone_engine_build(context, graph, &device, 1, &build, &engine) != HONE_OK)
    fail_msg("%s: %s", hone_context_message(context, 0, NULL), text);
  read_engine(engine, context, r);
  assert_int_equal(hone_session_create(engine, NULL, &session, NULL), HONE_OK);
  if (hone_session_tensor(session, "x", &t) == HONE_OK && t.data) small_net_fill(&t, 3);
  if (hone_session_run(session) != HONE_OK) fail_msg("%s: %s", hone_session_message(session, 0, NULL), text);
  assert_int_equal(hone_session_tensor(session, "out", &t), HONE_OK);
  assert_int_equal(t.bytes, bytes);
  memcpy(r->out, t.data, bytes);
  hone_session_destroy(session);
  hone_engine_release(engine);
  hone_graph_destroy(graph);
  hone_device_close(device);
  hone_context_destroy(context);
}

static void test_rows(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    result a = {0}, b = {0};
    run(rows[i].text, 0xA5, rows[i].bytes, &a);
    run(rows[i].text, 0x5A, rows[i].bytes, &b);
    assert_memory_equal(a.out, b.out, rows[i].bytes);
    assert_int_equal(a.out[rows[i].bytes - 1] >> rows[i].used, 0);
    assert_int_equal(a.engine_bytes, b.engine_bytes);
    assert_memory_equal(a.engine, b.engine, a.engine_bytes);
    free(a.engine);
    free(b.engine);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_rows)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
