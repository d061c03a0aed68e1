/* SPDX-License-Identifier: Apache-2.0 */
/* test_diag.c - messages, notes, cutting, full lists; the context's log and stop check; the clock. */
#include "base/diag.h"
#include "base/clock.h"
#include "base/context.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

static void test_names(void **state) {
  (void)state;
  for (int a = HONE_OK; a <= HONE_INTERNAL; ++a) {
    assert_string_not_equal(hone_status_name((hone_status)a), "unknown");
    for (int b = HONE_OK; b < a; ++b)
      assert_string_not_equal(hone_status_name((hone_status)a), hone_status_name((hone_status)b));
  }
  assert_string_equal(hone_status_name(HONE_MALFORMED), "malformed");
  assert_string_equal(hone_status_name((hone_status)99), "unknown");
  assert_string_equal(hone_status_name((hone_status)-1), "unknown");
}

static hone_status inner(hone_diagnostics *diag) {
  return HN_FAIL(diag, HONE_MALFORMED, "axis %d, but x has rank %d", 5, 2);
}

static hone_status outer(hone_diagnostics *diag) {
  HN_TRY(HONE_OK);
  HN_TRY_NOTE(diag, inner(diag), "in node %s (%s)", "prob", "softmax");
  return HONE_OK;
}

static void test_note(void **state) {
  (void)state;
  hn_diag_entry entry[2];
  hone_diagnostics diag;
  hn_diag_init(&diag, entry, 2);
  assert_int_equal(outer(&diag), HONE_MALFORMED);
  assert_int_equal(diag.count, 1);
  assert_int_equal(entry[0].status, HONE_MALFORMED);
  assert_string_equal(entry[0].text, "axis 5, but x has rank 2\nin node prob (softmax)");
  assert_non_null(strstr(entry[0].file, "test_diag.c"));
  assert_true(entry[0].line > 0);
  assert_int_equal(outer(NULL), HONE_MALFORMED);
}

static void test_full(void **state) {
  (void)state;
  hn_diag_entry entry[2];
  hone_diagnostics diag;
  hn_diag_init(&diag, entry, 2);
  for (int i = 0; i < 5; ++i) assert_int_equal(hone_fail(&diag, HONE_INVALID, "message %d", i), HONE_INVALID);
  assert_int_equal(diag.count, 2);
  assert_int_equal(diag.dropped, 3);
  assert_int_equal(hone_note(&diag, HONE_INVALID, "of the fifth"), HONE_INVALID);
  assert_string_equal(entry[1].text, "message 1"); /* the note belongs to a message that was dropped */
  hn_diag_clear(&diag);
  assert_int_equal(diag.count + diag.dropped, 0);
  assert_int_equal(hone_note(&diag, HONE_IO, "of nothing"), HONE_IO);
  assert_int_equal(diag.count, 0);
}

static void test_cut(void **state) {
  (void)state;
  hn_diag_entry entry[1];
  hone_diagnostics diag;
  for (int shift = 0; shift < 4; ++shift) { /* the cut falls on every byte of a three-byte character */
    char text[3 * HN_DIAG_TEXT_BYTES];
    memset(text, 'a', sizeof text);
    for (size_t i = (size_t)shift; i + 3 < sizeof text; i += 3) memcpy(text + i, "\xe2\x82\xac", 3);
    text[sizeof text - 1] = 0;
    hn_diag_init(&diag, entry, 1);
    hone_fail(&diag, HONE_IO, "%s", text);
    const size_t length = strlen(entry[0].text);
    assert_true(length < HN_DIAG_TEXT_BYTES && length >= HN_DIAG_TEXT_BYTES - 4);
    assert_string_equal(entry[0].text + length - 3, "...");
    assert_int_equal((length - 3 - (size_t)shift) % 3, 0); /* whole characters */
    hone_note(&diag, HONE_IO, "no room for this");
    assert_null(strstr(entry[0].text, "room"));
  }
  char longish[450];
  memset(longish, 'b', sizeof longish);
  longish[sizeof longish - 1] = 0;
  hn_diag_init(&diag, entry, 1);
  hone_fail(&diag, HONE_IO, "%s", longish);
  hone_note(&diag, HONE_IO, "%s", longish); /* cut as well, inside the array */
  assert_int_equal(strlen(entry[0].text), HN_DIAG_TEXT_BYTES - 1);
  assert_string_equal(entry[0].text + HN_DIAG_TEXT_BYTES - 4, "...");
}

typedef struct lines {
  int count;
  hone_log_level level;
  char last[2000];
} lines;

static void keep_line(void *user, hone_log_level level, const char *line) {
  lines *l = user;
  ++l->count;
  l->level = level;
  snprintf(l->last, sizeof l->last, "%s", line);
}

static void test_log(void **state) {
  (void)state;
  lines l = {0};
  hone_context context = {.logger = {keep_line, &l, HONE_LOG_INFO}};
  hn_log(&context, HONE_LOG_WARN, "%d of %d", 1, 2);
  assert_int_equal(l.count, 1);
  assert_int_equal(l.level, HONE_LOG_WARN);
  assert_string_equal(l.last, "1 of 2");
  hn_log(&context, HONE_LOG_INFO, "also");
  assert_int_equal(l.count, 2);
  hn_log(&context, HONE_LOG_VERBOSE, "too detailed");
  assert_int_equal(l.count, 2);
  hn_log(&context, HONE_LOG_WARN, "%*d", 5000, 1);
  assert_int_equal(l.count, 3);
  assert_true(strlen(l.last) < 2000);
  context.logger.log = NULL;
  hn_log(&context, HONE_LOG_WARN, "nobody listens");
  hn_log(NULL, HONE_LOG_WARN, "no context");
  assert_int_equal(l.count, 3);
}

static void test_stop(void **state) {
  (void)state;
  hn_diag_entry entry[4];
  hone_context context = {0};
  hn_diag_init(&context.diag, entry, 4);
  atomic_bool cancel = false;
  context.stop = (hn_stop){.cancel = &cancel, .allowed_ms = 3600000};
  hn_call_begin(&context);
  assert_int_equal(hn_check_stop(&context), HONE_OK);
  assert_int_equal(context.diag.count, 0);
  context.stop.deadline_ns = hn_clock_ns();
  assert_int_equal(hn_check_stop(&context), HONE_LIMIT);
  assert_int_equal(context.diag.count, 1);
  atomic_store(&cancel, true);
  context.stop.deadline_ns += INT64_C(3600000000000);
  assert_int_equal(hn_check_stop(&context), HONE_LIMIT); /* why the call ends stays why */
  hn_call_begin(&context);
  assert_int_equal(hn_check_stop(&context), HONE_CANCELLED);
  assert_int_equal(context.diag.count, 3);
  context.stop = (hn_stop){0};
  hn_call_begin(&context);
  assert_int_equal(hn_check_stop(&context), HONE_OK);
}

static void test_defaults(void **state) {
  (void)state;
  const hn_limits limits = hn_limits_default();
  assert_true(limits.max_nodes > 0 && limits.max_tensors > 0 && limits.max_string_bytes > 0 &&
              limits.max_fold_bytes > 0);
  const int64_t before = hn_clock_ns();
  assert_true(before > 0 && hn_clock_ns() >= before);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_names),    cmocka_unit_test(test_note), cmocka_unit_test(test_full),
      cmocka_unit_test(test_cut),      cmocka_unit_test(test_log),  cmocka_unit_test(test_stop),
      cmocka_unit_test(test_defaults),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
