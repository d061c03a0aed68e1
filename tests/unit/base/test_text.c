/* SPDX-License-Identifier: Apache-2.0 */
/* test_text.c - growing texts, numbers that read back in any locale, quoting, names, hashing and the table. */
#include "base/text.h"
#include "base/hash.h"
#include "base/random.h"
#include "unit/base/comma.h"
#include "unit/base/faults.h"
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

static void test_append(void **state) {
  (void)state;
  faults f = {.countdown = -1};
  hn_text text;
  hn_text_init(&text, faults_allocator(&f));
  assert_string_equal(hn_text_string(&text), "");
  hn_text_add(&text, "");
  hn_text_add_bytes(&text, "a\0b", 3);
  assert_int_equal(text.length, 3);
  assert_memory_equal(hn_text_string(&text), "a\0b", 4);
  hn_text_clear(&text);
  assert_string_equal(hn_text_string(&text), "");
  for (int i = 0; i < 1000; ++i) hn_text_printf(&text, "%04d,", i);
  assert_int_equal(text.length, 5000);
  assert_memory_equal(hn_text_string(&text) + 4995, "0999,", 6);
  assert_true(f.calls < 12); /* doubles */
  assert_false(text.failed);
  hn_text_deinit(&text);
  assert_int_equal(f.live_bytes, 0);
}

static void test_faults(void **state) {
  (void)state;
  for (int at = 0;; ++at) {
    faults f = {.countdown = at};
    hn_text text;
    hn_text_init(&text, faults_allocator(&f));
    for (int i = 0; i < 100; ++i) hn_text_printf(&text, "line %d\n", i);
    hn_text_double(&text, 0.5);
    hn_text_quoted(&text, "\x01", 1);
    const bool failed = text.failed;
    f.countdown = -1;
    const size_t length = text.length;
    hn_text_add(&text, "more"); /* sticks, though there is memory again */
    assert_int_equal(text.length, failed ? length : length + 4);
    hn_text_deinit(&text);
    assert_int_equal(f.live_bytes, 0);
    if (!failed) {
      assert_true(at > 2);
      return;
    }
  }
}

/* The printed form of a double, in a buffer of its own. */
static const char *as_text(double value, bool narrow) {
  static char copy[64];
  hn_text text;
  hn_text_init(&text, hn_allocator_default());
  if (narrow) {
    hn_text_float(&text, (float)value);
  } else {
    hn_text_double(&text, value);
  }
  assert_true(text.length < sizeof copy);
  strcpy(copy, hn_text_string(&text));
  hn_text_deinit(&text);
  return copy;
}

static void test_numbers(void **state) {
  (void)state;
  static const struct {
    double value;
    const char *wide, *narrow;
  } row[] = {
      {0, "0", "0"},
      {-0.0, "-0", "-0"},
      {1, "1", "1"},
      {0.1, "0.1", "0.1"},
      {-2.5, "-2.5", "-2.5"},
      {1e21, "1e+21", "1e+21"},
      {100000, "100000", "100000"},
      {0x1.fffffep127, NULL, "3.4028235e+38"},
      {0x1p-149, NULL, "1e-45"},
      {5e-324, "5e-324", "0"},
      {1.0 / 3, "0.3333333333333333", "0.33333334"},
      {DBL_MAX, "1.7976931348623157e+308", "inf"},
      {INFINITY, "inf", "inf"},
      {-INFINITY, "-inf", "-inf"},
      {NAN, "nan", "nan"},
  };
  for (size_t i = 0; i < sizeof row / sizeof row[0]; ++i) {
    if (row[i].wide) assert_string_equal(as_text(row[i].value, false), row[i].wide);
    if (row[i].value <= FLT_MAX || isinf(row[i].value)) assert_string_equal(as_text(row[i].value, true), row[i].narrow);
  }
}

static void check_reading_back(void) {
  hn_random random = {42};
  for (int i = 0; i < 20000; ++i) {
    const uint64_t bits = hn_random_u64(&random);
    double value;
    float narrow;
    const uint32_t low = (uint32_t)bits;
    memcpy(&value, &bits, sizeof value);
    memcpy(&narrow, &low, sizeof narrow);
    if (isfinite(value)) {
      const double back = strtod(as_text(value, false), NULL);
      assert_memory_equal(&back, &value, sizeof back);
    }
    if (isfinite(narrow)) {
      const float back = strtof(as_text((double)narrow, true), NULL);
      assert_memory_equal(&back, &narrow, sizeof back);
    }
  }
}

static void test_numbers_read_back(void **state) {
  (void)state;
  check_reading_back();
}

static void test_decimal_comma(void **state) {
  (void)state;
  if (!comma_begin()) {
    print_message("no locale with a decimal comma can be had\n");
    skip();
  }
  char own[16];
  snprintf(own, sizeof own, "%.1f", 0.5);
  const char *text = as_text(-1234567.125, false);
  comma_end();
  assert_string_equal(own, "0,5");
  assert_string_equal(text, "-1234567.125");
}

static void test_quoted(void **state) {
  (void)state;
  static const struct {
    const char *from;
    size_t length;
    const char *want;
  } row[] = {
      {"", 0, "\"\""},
      {"plain", 5, "\"plain\""},
      {"a\"b\\c", 5, "\"a\\\"b\\\\c\""},
      {"\n\t\r\x01", 4, "\"\\n\\t\\u000d\\u0001\""},
      {"a\0b", 3, "\"a\\u0000b\""},
      {"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 9, "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\""},
      {"\xff", 1, "\"\\u00ff\""},
      {"\xc3", 1, "\"\\u00c3\""},                                  /* cut short */
      {"\xed\xa0\x80", 3, "\"\\u00ed\\u00a0\\u0080\""},            /* a surrogate */
      {"\xc0\x80", 2, "\"\\u00c0\\u0080\""},                       /* overlong */
      {"\xf4\x90\x80\x80", 4, "\"\\u00f4\\u0090\\u0080\\u0080\""}, /* beyond U+10FFFF */
  };
  for (size_t i = 0; i < sizeof row / sizeof row[0]; ++i) {
    hn_text text;
    hn_text_init(&text, hn_allocator_default());
    hn_text_quoted(&text, row[i].from, row[i].length);
    assert_string_equal(hn_text_string(&text), row[i].want);
    hn_text_deinit(&text);
  }
}

static void test_names(void **state) {
  (void)state;
  assert_true(hn_name_equal("a", "a"));
  assert_false(hn_name_equal("a", "b"));
  assert_true(hn_name_equal(NULL, NULL));
  assert_false(hn_name_equal(NULL, ""));
  assert_false(hn_name_equal("", NULL));
  char room[4] = "xxx";
  hn_copy_text(room, sizeof room, "abcdef");
  assert_string_equal(room, "abc");
  hn_copy_text(room, sizeof room, "");
  assert_string_equal(room, "");
  room[0] = 'k';
  hn_copy_text(room, 0, "abc");
  assert_int_equal(room[0], 'k');
}

/* XXH3_64bits of "" with seed 0 is in the specification's reference vectors. */
static void test_unlike(void **state) {
  (void)state;
  static const struct {
    const char *written, *name;
    size_t want;
  } rows[] = {
      {"", "", 0},
      {"conv", "conv", 0},
      {"Conv", "cONV", 0},
      {"conw", "conv", 2},              /* changed */
      {"cnv", "conv", 2},               /* added */
      {"coonv", "conv", 2},             /* dropped */
      {"cnov", "conv", 2},              /* swapped */
      {"cnOv", "coNv", 2},              /* in another case */
      {"conv", "conv_transpose", 10},   /* follows */
      {"", "conv", 4},                  /* all of it follows */
      {"conv", "", 8},                  /* all of it is too much */
      {"onv", "conv", 2},               /* what is missing before is an edit */
      {"cnv", "conv_transpose", 12},    /* both */
      {"direkt", "direct.avx2", 2 + 5}, /* nearer than a short name with nothing in common */
      {"direkt", "gemm", 10},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    const size_t got = hn_text_unlike(rows[i].written, strlen(rows[i].written), rows[i].name);
    if (got != rows[i].want) fail_msg("%s, %s: %zu, want %zu", rows[i].written, rows[i].name, got, rows[i].want);
  }
  assert_int_equal(hn_text_unlike("conv:k=1", 4, "conv"), 0); /* not read to its end */
  static char written[1001], name[2001];
  memset(written, 'a', 1000);
  memset(name, 'b', 2000);
  assert_int_equal(hn_text_unlike(written, 1000, name), 2 * 1000 + 1 * 1000); /* longer than what is compared */
}

static void test_near(void **state) {
  (void)state;
  static const char *const names[] = {"relu_d", "softmax", "relu", "prelu", "relu_c", "relu", "selu", "elu", "gelu"};
  hn_near near = {.wanted = "relu:k", .length = 4};
  hn_text text;
  hn_text_init(&text, hn_allocator_default());
  hn_near_tell(&near, &text);
  assert_string_equal(hn_text_string(&text), "");
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) hn_near_add(&near, names[i]);
  hn_near_tell(&near, &text);
  assert_string_equal(hn_text_string(&text), "; near it: relu, relu_d, prelu, relu_c");
  hn_text_deinit(&text);
}

static void test_nearest_name(void **state) {
  (void)state;
  static const struct {
    const char *wanted, *names[3], *want;
  } rows[] = {
      {"buidl", {"bench", "build", NULL}, "build"},
      {"BULD", {"bench", "build", NULL}, "build"},
      {"resnet5", {"resnet18", "resnet50", NULL}, "resnet50"},
      {"mobile", {"resnet18", "mobilenet_v2", NULL}, "mobilenet_v2"}, /* the beginning of it */
      {"shapes", {"optShapes", NULL, NULL}, "optShapes"},             /* a part */
      {"ab", {"xxab", NULL, NULL}, NULL},                             /* too short to be one */
      {"abcd", {"acbe", "axxx", NULL}, "acbe"},
      {"abcd", {"axxx", "xbxx", NULL}, NULL}, /* two letters at most */
      {"y", {"x", "z", NULL}, "x"},           /* the first of equals */
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    const char *got = NULL;
    for (int n = 0; n < 3 && rows[i].names[n]; ++n) got = hone_nearest_name(rows[i].wanted, got, rows[i].names[n]);
    if (got != rows[i].want && (!got || !rows[i].want || strcmp(got, rows[i].want) != 0))
      fail_msg("%s: %s, want %s", rows[i].wanted, got ? got : "none", rows[i].want ? rows[i].want : "none");
  }
}

static void test_hash(void **state) {
  (void)state;
  assert_true(hn_hash("", 0) == UINT64_C(0x2d06800538d394c2));
  assert_true(hn_hash_text("conv") == hn_hash("conv", 4));
  assert_true(hn_hash_text("conv") != hn_hash_text("conw"));
  assert_true(hn_hash_join(1, 2) != hn_hash_join(2, 1));
}

static void test_table(void **state) {
  (void)state;
  hn_arena arena;
  hn_arena_init(&arena, hn_allocator_default());
  hn_table table;
  hn_table_init(&table, &arena);
  assert_null(hn_table_get(&table, "absent"));
  static int values[3000];
  for (int i = 0; i < 3000; ++i) assert_true(hn_table_put(&table, hn_arena_printf(&arena, "name%d", i), &values[i]));
  assert_int_equal(table.count, 3000);
  for (int i = 0; i < 3000; ++i) {
    char name[16];
    snprintf(name, sizeof name, "name%d", i);
    assert_ptr_equal(hn_table_get(&table, name), &values[i]);
  }
  assert_null(hn_table_get(&table, "name3000"));
  assert_true(hn_table_put(&table, "name7", &values[8]));
  assert_ptr_equal(hn_table_get(&table, "name7"), &values[8]);
  assert_int_equal(table.count, 3000);
  hn_arena_deinit(&arena);
}

static void test_table_faults(void **state) {
  (void)state;
  hn_arena arena;
  hn_arena_init(&arena, hn_allocator_default());
  arena.limit_bytes = 3000; /* room for 16 + 32 + 64 slots of 16 bytes, not for 128 */
  hn_table table;
  hn_table_init(&table, &arena);
  static char names[100][16];
  int stored = 0;
  for (; stored < 100; ++stored) {
    snprintf(names[stored], sizeof names[stored], "n%d", stored);
    if (!hn_table_put(&table, names[stored], names[stored])) break;
  }
  assert_int_equal(stored, 48);
  for (int i = 0; i < stored; ++i) assert_ptr_equal(hn_table_get(&table, names[i]), names[i]);
  assert_null(hn_table_get(&table, "n48"));
  assert_true(hn_table_put(&table, "n3", names[4])); /* replacing needs no room */
  assert_ptr_equal(hn_table_get(&table, "n3"), names[4]);
  hn_arena_deinit(&arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_append),        cmocka_unit_test(test_faults),
      cmocka_unit_test(test_numbers),       cmocka_unit_test(test_numbers_read_back),
      cmocka_unit_test(test_decimal_comma), cmocka_unit_test(test_quoted),
      cmocka_unit_test(test_names),         cmocka_unit_test(test_hash),
      cmocka_unit_test(test_table),         cmocka_unit_test(test_table_faults),
      cmocka_unit_test(test_unlike),        cmocka_unit_test(test_near),
      cmocka_unit_test(test_nearest_name),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
