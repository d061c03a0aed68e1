/* SPDX-License-Identifier: Apache-2.0 */
/* test_json_write.c - the writer's layout, and that the reader takes all that it writes. */
#include "base/json.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

typedef struct bench {
  hn_arena arena;
  hn_diag_entry entries[4];
  hone_diagnostics diag;
} bench;

static void begin(bench *b) {
  hn_arena_init(&b->arena, hn_allocator_default());
  hn_diag_init(&b->diag, b->entries, 4);
}

static hone_status read_back(bench *b, const hn_text *text, hn_json **out) {
  return hn_json_read(&b->arena, &b->diag, "written", hn_text_string(text), text->length, out);
}

static void write_sample(hn_json_writer *w) {
  hn_json_open(w, NULL, '{');
  hn_json_put_text(w, "name", "a\"b");
  hn_json_put_int(w, "low", INT64_MIN);
  hn_json_open_flat(w, "dims", '[');
  for (int i = 1; i < 4; ++i) hn_json_put_int(w, NULL, i);
  hn_json_open(w, NULL, '{');
  hn_json_put_bool(w, "x", true);
  hn_json_put_bool(w, "y", false);
  hn_json_close(w, '}');
  hn_json_close(w, ']');
  hn_json_open(w, "rows", '[');
  hn_json_open(w, NULL, '{');
  hn_json_put_real(w, "r", 0.1);
  hn_json_put_real(w, "i", INFINITY);
  hn_json_put_real(w, "m", -INFINITY);
  hn_json_put_real(w, "n", NAN);
  hn_json_close(w, '}');
  hn_json_put_text(w, NULL, NULL);
  hn_json_close(w, ']');
  hn_json_open(w, "empty", '{');
  hn_json_close(w, '}');
  hn_json_open_flat(w, "none", '[');
  hn_json_close(w, ']');
  hn_json_put_bytes(w, "bytes", "a\0b", 3);
  hn_json_close(w, '}');
}

static void test_writer(void **state) {
  (void)state;
  hn_text text;
  hn_text_init(&text, hn_allocator_default());
  hn_json_writer w;
  hn_json_begin(&w, &text);
  write_sample(&w);
  assert_int_equal(w.depth, 0);
  assert_string_equal(hn_text_string(&text), "{\n"
                                             "  \"name\": \"a\\\"b\",\n"
                                             "  \"low\": -9223372036854775808,\n"
                                             "  \"dims\": [1, 2, 3, {\"x\": true, \"y\": false}],\n"
                                             "  \"rows\": [\n"
                                             "    {\n"
                                             "      \"r\": 0.1,\n"
                                             "      \"i\": \"inf\",\n"
                                             "      \"m\": \"-inf\",\n"
                                             "      \"n\": \"nan\"\n"
                                             "    },\n"
                                             "    null\n"
                                             "  ],\n"
                                             "  \"empty\": {},\n"
                                             "  \"none\": [],\n"
                                             "  \"bytes\": \"a\\u0000b\"\n"
                                             "}");
  bench b;
  begin(&b);
  hn_json *d;
  assert_int_equal(read_back(&b, &text, &d), HONE_OK);
  const hn_json *reals = &hn_json_get(d, "rows")->items[0];
  double real;
  assert_int_equal(hn_json_real(reals, "i", &real, &b.diag), HONE_OK);
  assert_true(isinf(real) && real > 0);
  assert_int_equal(hn_json_real(reals, "m", &real, &b.diag), HONE_OK);
  assert_true(isinf(real) && real < 0);
  assert_int_equal(hn_json_real(reals, "n", &real, &b.diag), HONE_OK);
  assert_true(isnan(real));
  int64_t low;
  assert_int_equal(hn_json_int(d, "low", INT64_MIN, INT64_MAX, &low, &b.diag), HONE_OK);
  assert_true(low == INT64_MIN);
  hn_arena_deinit(&b.arena);
  hn_text_deinit(&text);
}

static void test_writer_depth(void **state) {
  (void)state;
  hn_text text;
  hn_text_init(&text, hn_allocator_default());
  hn_json_writer w;
  hn_json_begin(&w, &text);
  for (int i = 0; i < 64; ++i) hn_json_open(&w, NULL, '[');
  for (int i = 0; i < 64; ++i) hn_json_close(&w, ']');
  bench b;
  begin(&b);
  hn_json *out;
  assert_int_equal(read_back(&b, &text, &out), HONE_OK); /* what we write we can read */
  hn_arena_deinit(&b.arena);
  hn_text_deinit(&text);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_writer), cmocka_unit_test(test_writer_depth)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
