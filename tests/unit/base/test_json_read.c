/* SPDX-License-Identifier: Apache-2.0 */
/* test_json_read.c - what the reader takes, what it refuses and where it says so, in bounded memory. */
#include "base/json.h"
#include "base/random.h"
#include "unit/base/comma.h"
#include "unit/base/faults.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
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

static hone_status read_text(bench *b, const char *text, size_t length, hn_json **out) {
  char *exact = malloc(length + 1); /* without an end, so that the address sanitizer sees a step too far */
  assert_non_null(exact);
  memcpy(exact, text, length);
  char *shrunk = realloc(exact, length > 0 ? length : 1);
  assert_non_null(shrunk);
  const hone_status status = hn_json_read(&b->arena, &b->diag, "plan.json", shrunk, length, out);
  free(shrunk);
  return status;
}

static const struct {
  const char *text;
  const char *want; /* part of the message */
} refused[] = {
    {"", "line 1, column 1: the text ends"},
    {"  \n ", "line 2, column 2: the text ends"},
    {"nul", "a value was expected"},
    {"tru", "a value was expected"},
    {"True", "a value was expected"},
    {"NaN", "a value was expected"},
    {"Infinity", "a value was expected"},
    {"'a'", "a value was expected"},
    {"\xef\xbb\xbf{}", "a value was expected"},
    {"nulll", "line 1, column 5: something follows"},
    {"{} {}", "line 1, column 4: something follows"},
    {"1 2", "something follows"},
    {"01", "line 1, column 2: something follows"},
    {"+1", "a value was expected"},
    {"-", "not a number"},
    {"-a", "not a number"},
    {".5", "a value was expected"},
    {"1.", "not a number"},
    {"1.e5", "not a number"},
    {"1e", "not a number"},
    {"1e+", "not a number"},
    {"0x10", "something follows"},
    {"1e400", "beyond the range"},
    {"-1e400", "beyond the range"},
    {"[", "a value was expected"},
    {"[1", "',' or ']' was expected"},
    {"[1,", "a value was expected"},
    {"[1,]", "column 4: a value was expected"},
    {"[,1]", "a value was expected"},
    {"[1 2]", "',' or ']' was expected"},
    {"[1}", "',' or ']' was expected"},
    {"{", "a key was expected"},
    {"{\"a\"", "a colon was expected"},
    {"{\"a\":", "a value was expected"},
    {"{\"a\":1", "',' or '}' was expected"},
    {"{\"a\":1,}", "a key was expected"},
    {"{a:1}", "a key was expected"},
    {"{1:1}", "a key was expected"},
    {"{\"a\" 1}", "a colon was expected"},
    {"{\"a\":1,\n \"b\":2,\n \"a\":3}", "line 3, column 7: an object with the same key twice"},
    {"{\"a\":1,\"\\u0061\":2}", "the same key twice"},
    {"{\"a\\u0000\":1}", "a key with a zero"},
    {"\"", "does not end"},
    {"\"abc", "does not end"},
    {"\"\\\"", "does not end"},
    {"\"\\", "an unknown escape"},
    {"\"\\x41\"", "an unknown escape"},
    {"\"\\'\"", "an unknown escape"},
    {"\"\\u12\"", "four hexadecimal"},
    {"\"\\u", "four hexadecimal"},
    {"\"\\u12G4\"", "four hexadecimal"},
    {"\"\\ud800\"", "surrogate"},
    {"\"\\ud800x\"", "surrogate"},
    {"\"\\ud800\\u0041\"", "surrogate"},
    {"\"\\ud800\\ud800\"", "surrogate"},
    {"\"\\udc00\"", "surrogate"},
    {"\"\\ud800\\u", "surrogate"},
    {"\"a\nb\"", "control character"},
    {"\"a\tb\"", "control character"},
    {"\"\xff\"", "column 2: not UTF-8"},
    {"\"\xc3\"", "not UTF-8"},
    {"\"\xc0\x80\"", "not UTF-8"},
    {"\"\xed\xa0\x80\"", "not UTF-8"},
    {"[1] // comment", "something follows"},
    {"/**/1", "a value was expected"},
    {"\f1", "a value was expected"},
};

static void test_refused(void **state) {
  (void)state;
  for (size_t i = 0; i < HN_COUNT(refused); ++i) {
    bench b;
    begin(&b);
    hn_json *out = (hn_json *)&b;
    const hone_status got = read_text(&b, refused[i].text, strlen(refused[i].text), &out);
    if (got != HONE_MALFORMED || out || b.diag.count != 1 || !strstr(b.entries[0].text, refused[i].want) ||
        strncmp(b.entries[0].text, "plan.json: line ", 16) != 0)
      fail_msg("%s: got %d, \"%s\"", refused[i].text, (int)got, b.diag.count ? b.entries[0].text : "");
    hn_arena_deinit(&b.arena);
  }
}

static void test_zero_bytes(void **state) {
  (void)state;
  static const char *const rows[] = {"[1]\0", "\0[1]", "[1\0]", "\"\0\""};
  static const size_t lengths[] = {4, 4, 4, 3};
  for (size_t i = 0; i < HN_COUNT(rows); ++i) {
    bench b;
    begin(&b);
    hn_json *out;
    assert_int_equal(read_text(&b, rows[i], lengths[i], &out), HONE_MALFORMED);
    hn_arena_deinit(&b.arena);
  }
}

static void test_numbers(void **state) {
  (void)state;
  static const struct {
    const char *text;
    hn_json_kind kind;
    int64_t i;
    double real;
  } row[] = {
      {"0", HN_JSON_INT, 0, 0},
      {"-1", HN_JSON_INT, -1, -1},
      {"9007199254740993", HN_JSON_INT, 9007199254740993, 9007199254740992.0},
      {"9223372036854775807", HN_JSON_INT, INT64_MAX, 9223372036854775807.0},
      {"-9223372036854775808", HN_JSON_INT, INT64_MIN, -9223372036854775808.0},
      {"9223372036854775808", HN_JSON_REAL, 0, 9223372036854775808.0},
      {"-9223372036854775809", HN_JSON_REAL, 0, -9223372036854775809.0},
      {"1.0", HN_JSON_REAL, 0, 1},
      {"1e3", HN_JSON_REAL, 0, 1000},
      {"-0", HN_JSON_REAL, 0, -0.0},
      {"-0.5E-2", HN_JSON_REAL, 0, -0.005},
      {"1e-400", HN_JSON_REAL, 0, 0},
      {"0.1000000000000000055511151231257827021181583404541015625000000000000000000000000000000000000001", HN_JSON_REAL,
       0, 0.1},
  };
  for (size_t i = 0; i < HN_COUNT(row); ++i) {
    bench b;
    begin(&b);
    hn_json *out;
    assert_int_equal(read_text(&b, row[i].text, strlen(row[i].text), &out), HONE_OK);
    assert_int_equal(b.diag.count, 0);
    assert_int_equal(out->kind, row[i].kind);
    assert_true(out->i == row[i].i);
    assert_memory_equal(&out->real, &row[i].real, sizeof(double));
    hn_arena_deinit(&b.arena);
  }
}

static void test_decimal_comma(void **state) {
  (void)state;
  if (!comma_begin()) {
    print_message("no locale with a decimal comma can be had\n");
    skip();
  }
  bench b;
  begin(&b);
  hn_json *out;
  const hone_status got = read_text(&b, "[0.5,1]", 7, &out);
  comma_end();
  assert_int_equal(got, HONE_OK);
  assert_int_equal(out->length, 2);
  assert_true(out->items[0].real == 0.5);
  hn_arena_deinit(&b.arena);
}

static void test_strings(void **state) {
  (void)state;
  static const struct {
    const char *text, *want;
    size_t length;
  } row[] = {
      {"\"\"", "", 0},
      {"\"a\\\"\\\\\\/\\b\\f\\n\\r\\tz\"", "a\"\\/\b\f\n\r\tz", 10},
      {"\"\\u0041\\u00e9\\u20AC\\ud83d\\uDE00\"", "A\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 10},
      {"\"\\ud800\\udc00\\udbff\\udfff\"", "\xf0\x90\x80\x80\xf4\x8f\xbf\xbf", 8},
      {"\"\\u007f\\u0080\\u07ff\\u0800\\uffff\"", "\x7f\xc2\x80\xdf\xbf\xe0\xa0\x80\xef\xbf\xbf", 11},
      {"\"a\\u0000b\"", "a\0b", 3},
      {"\"\xf0\x9f\x98\x80\"", "\xf0\x9f\x98\x80", 4},
  };
  for (size_t i = 0; i < HN_COUNT(row); ++i) {
    bench b;
    begin(&b);
    hn_json *out;
    assert_int_equal(read_text(&b, row[i].text, strlen(row[i].text), &out), HONE_OK);
    assert_int_equal(out->kind, HN_JSON_STRING);
    assert_int_equal(out->length, row[i].length);
    assert_memory_equal(out->string, row[i].want, row[i].length + 1);
    hn_arena_deinit(&b.arena);
  }
}

static void test_depth(void **state) {
  (void)state;
  for (int depth = 63; depth <= 66; ++depth) {
    char text[200];
    for (int i = 0; i < depth; ++i) {
      text[i] = '[';
      text[2 * depth - 1 - i] = ']';
    }
    bench b;
    begin(&b);
    hn_json *out;
    assert_int_equal(read_text(&b, text, (size_t)(2 * depth), &out), depth <= 64 ? HONE_OK : HONE_MALFORMED);
    assert_int_equal(out != NULL, depth <= 64);
    if (depth > 64) assert_non_null(strstr(b.entries[0].text, "column 65: nested deeper"));
    hn_arena_deinit(&b.arena);
  }
  enum { BYTES = 1 << 20 }; /* would overflow the stack if depth were not capped */
  char *text = malloc(BYTES);
  assert_non_null(text);
  for (int i = 0; i < BYTES; ++i) text[i] = '[';
  bench b;
  begin(&b);
  hn_json *out;
  assert_int_equal(hn_json_read(&b.arena, &b.diag, "deep", text, BYTES, &out), HONE_MALFORMED);
  hn_arena_deinit(&b.arena);
  free(text);
}

static const char document[] = " { \"name\" : \"conv_1\", \"dims\":[1, 64,56,56],\t\"scale\":0.5,\n"
                               "\"none\":null,\"yes\":true,\"no\":false,\"empty\":{},\"list\":[],"
                               "\"deep\":{\"a\":[{\"b\":[[-7]]}, \"x\"]}, \"zero\":\"a\\u0000\"} ";

static void test_document(void **state) {
  (void)state;
  bench b;
  begin(&b);
  hn_json *d;
  assert_int_equal(read_text(&b, document, sizeof document - 1, &d), HONE_OK);
  assert_int_equal(d->kind, HN_JSON_OBJECT);
  assert_int_equal(d->length, 10);
  const hn_json *dims = hn_json_get(d, "dims");
  assert_int_equal(dims->kind, HN_JSON_ARRAY);
  assert_int_equal(dims->length, 4);
  assert_null(dims->items[1].key);
  assert_int_equal(dims->items[1].i, 64);
  assert_int_equal(hn_json_get(d, "none")->kind, HN_JSON_NULL);
  assert_int_equal(hn_json_get(d, "yes")->i, 1);
  assert_int_equal(hn_json_get(d, "no")->i, 0);
  assert_int_equal(hn_json_get(d, "no")->kind, HN_JSON_BOOL);
  assert_int_equal(hn_json_get(d, "empty")->length, 0);
  assert_int_equal(hn_json_get(hn_json_get(d, "deep"), "a")->items[0].items[0].items[0].items[0].i, -7);
  assert_null(hn_json_get(d, "absent"));
  assert_null(hn_json_get(dims, "name"));
  assert_null(hn_json_get(NULL, "name"));
  hn_arena_deinit(&b.arena);
}

static void test_getters(void **state) {
  (void)state;
  bench b;
  begin(&b);
  hn_json *d;
  assert_int_equal(read_text(&b, document, sizeof document - 1, &d), HONE_OK);
  const hn_json *dims = NULL, *list = hn_json_get(d, "dims");
  const char *name = NULL;
  double real = 0;
  int64_t i = 0;
  assert_int_equal(hn_json_text(d, "name", &name, &b.diag), HONE_OK);
  assert_string_equal(name, "conv_1");
  assert_int_equal(hn_json_array(d, "dims", &dims, &b.diag), HONE_OK);
  assert_ptr_equal(dims, list);
  assert_int_equal(hn_json_real(d, "scale", &real, &b.diag), HONE_OK);
  assert_true(real == 0.5);
  assert_int_equal(hn_json_int(hn_json_get(d, "deep"), "a", 0, 1, &i, &b.diag), HONE_MALFORMED);
  assert_int_equal(b.diag.count, 1);
  static const struct {
    const char *key, *want;
  } text_row[] = {{"absent", "\"absent\" is missing"},
                  {"scale", "not a string"},
                  {"zero", "zero character"},
                  {"none", "not a string"}};
  for (size_t k = 0; k < HN_COUNT(text_row); ++k) {
    hn_diag_clear(&b.diag);
    name = "unset";
    assert_int_equal(hn_json_text(d, text_row[k].key, &name, &b.diag), HONE_MALFORMED);
    assert_null(name);
    assert_int_equal(b.diag.count, 1);
    assert_non_null(strstr(b.entries[0].text, text_row[k].want));
  }
  assert_int_equal(hn_json_array(d, "deep", &dims, &b.diag), HONE_MALFORMED);
  assert_null(dims);
  assert_int_equal(hn_json_array(list, "x", &dims, NULL), HONE_MALFORMED);
  assert_int_equal(hn_json_real(d, "name", &real, NULL), HONE_MALFORMED);
  assert_int_equal(hn_json_real(d, "yes", &real, NULL), HONE_MALFORMED);
  assert_int_equal(hn_json_int(d, "scale", 0, 9, &i, NULL), HONE_MALFORMED);
  hn_arena_deinit(&b.arena);
}

static void test_int_range(void **state) {
  (void)state;
  bench b;
  begin(&b);
  hn_json *d;
  assert_int_equal(read_text(&b, "{\"n\":7}", 7, &d), HONE_OK);
  int64_t i;
  assert_int_equal(hn_json_int(d, "n", 7, 7, &i, &b.diag), HONE_OK);
  assert_int_equal(i, 7);
  assert_int_equal(b.diag.count, 0);
  assert_int_equal(hn_json_int(d, "n", 8, 9, &i, &b.diag), HONE_MALFORMED);
  assert_int_equal(i, 0);
  assert_string_equal(b.entries[0].text, "\"n\" is 7, not within 8 to 9");
  assert_int_equal(hn_json_int(d, "n", -9, 6, &i, &b.diag), HONE_MALFORMED);
  hn_arena_deinit(&b.arena);
}

/* Many keys: one equal pair among them is found wherever it stands, and none is invented. */
static void test_many_keys(void **state) {
  (void)state;
  hn_random random = {7};
  for (int round = 0; round < 40; ++round) {
    const int count = 2 + (int)(hn_random_u64(&random) % 300), twin = (int)(hn_random_u64(&random) % (unsigned)count);
    const int other = (int)(hn_random_u64(&random) % (unsigned)count);
    hn_text text;
    hn_text_init(&text, hn_allocator_default());
    for (int i = 0; i < count; ++i)
      hn_text_printf(&text, "%s\"k%d\":%d", i ? "," : "{", (i == twin ? other : i) * 7919 % 100003, i);
    hn_text_add(&text, "}");
    bench b;
    begin(&b);
    hn_json *out;
    assert_int_equal(read_text(&b, hn_text_string(&text), text.length, &out), twin == other ? HONE_OK : HONE_MALFORMED);
    hn_arena_deinit(&b.arena);
    hn_text_deinit(&text);
  }
}

static void test_memory_in_proportion(void **state) {
  (void)state;
  hn_text text;
  hn_text_init(&text, hn_allocator_default());
  hn_text_add(&text, "[");
  for (int i = 0; i < 50000; ++i) hn_text_add(&text, i ? ",[0]" : "[0]");
  hn_text_add(&text, "]");
  bench b;
  begin(&b);
  hn_json *out;
  assert_int_equal(read_text(&b, hn_text_string(&text), text.length, &out), HONE_OK);
  assert_int_equal(out->length, 50000);
  assert_true(b.arena.used_bytes < 110 * text.length); /* 100,000 items of 64 bytes and the stack that held them */
  hn_arena_deinit(&b.arena);
  b.arena.limit_bytes = 1 << 20;
  assert_int_equal(read_text(&b, hn_text_string(&text), text.length, &out), HONE_NO_MEMORY);
  assert_null(out);
  hn_arena_deinit(&b.arena);
  hn_text_deinit(&text);
}

static void test_faults(void **state) {
  (void)state;
  hn_text text;
  hn_text_init(&text, hn_allocator_default());
  hn_text_add(&text, "[");
  for (int i = 0; i < 60; ++i) hn_text_printf(&text, "%s,%*d,", document, 80, 1);
  hn_text_add(&text, "0]");
  for (int at = 0;; ++at) {
    faults f = {.countdown = at};
    bench b;
    begin(&b);
    hn_arena_init(&b.arena, faults_allocator(&f));
    hn_json *out;
    const hone_status got = hn_json_read(&b.arena, &b.diag, "j", hn_text_string(&text), text.length, &out);
    assert_int_equal(b.diag.count, got != HONE_OK);
    assert_int_equal(out != NULL, got == HONE_OK);
    hn_arena_deinit(&b.arena);
    assert_int_equal(f.live, 0);
    if (got == HONE_OK) {
      assert_true(at > 4);
      break;
    }
    assert_int_equal(got, HONE_NO_MEMORY);
  }
  hn_text_deinit(&text);
}

/* Cut anywhere, changed anywhere: an answer, never a crash. */
static void test_damaged(void **state) {
  (void)state;
  hn_random random = {11};
  for (size_t length = 0; length < sizeof document - 2; ++length) {
    bench b;
    begin(&b);
    hn_json *out;
    assert_int_equal(read_text(&b, document, length, &out), HONE_MALFORMED);
    hn_arena_deinit(&b.arena);
  }
  for (int round = 0; round < 5000; ++round) {
    char copy[sizeof document];
    memcpy(copy, document, sizeof document);
    for (int k = 0; k < 3; ++k) copy[hn_random_u64(&random) % (sizeof document - 1)] = (char)hn_random_u64(&random);
    bench b;
    begin(&b);
    hn_json *out;
    const hone_status got = read_text(&b, copy, sizeof document - 1, &out);
    assert_true(got == HONE_OK || got == HONE_MALFORMED);
    assert_int_equal(b.diag.count, got != HONE_OK);
    hn_arena_deinit(&b.arena);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_refused),
      cmocka_unit_test(test_zero_bytes),
      cmocka_unit_test(test_numbers),
      cmocka_unit_test(test_strings),
      cmocka_unit_test(test_decimal_comma),
      cmocka_unit_test(test_depth),
      cmocka_unit_test(test_document),
      cmocka_unit_test(test_getters),
      cmocka_unit_test(test_int_range),
      cmocka_unit_test(test_many_keys),
      cmocka_unit_test(test_memory_in_proportion),
      cmocka_unit_test(test_faults),
      cmocka_unit_test(test_damaged),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
