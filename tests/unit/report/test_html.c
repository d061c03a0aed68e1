/* SPDX-License-Identifier: Apache-2.0 */
/* The page around its data: nothing of the data ends the script that holds it, and a ledger that is written with few
 * bytes tells the same. (What a browser makes of the page is asked in tests/html.) */
#include "report/html/html.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

static hn_arena arena;
static hn_text text;

static int setup(void **state) {
  (void)state;
  hn_arena_init(&arena, hn_allocator_default());
  hn_text_init(&text, hn_allocator_default());
  return 0;
}

static int teardown(void **state) {
  (void)state;
  hn_text_deinit(&text);
  hn_arena_deinit(&arena);
  return 0;
}

static const hn_json *read_json(const char *json, size_t length) {
  hn_json *value = NULL;
  assert_int_equal(hn_json_read(&arena, NULL, "the test", json, length, &value), HONE_OK);
  return value;
}

static const char begin_mark[] = "<script id=\"data\" type=\"application/json\">";

/* The data of the page that was written, as it was before it was escaped. */
static const hn_json *data_of_page(void) {
  const char *begin = strstr(hn_text_string(&text), begin_mark);
  assert_non_null(begin);
  begin += sizeof begin_mark - 1;
  const char *end = strstr(begin, "</script>");
  assert_non_null(end);
  return read_json(begin, (size_t)(end - begin));
}

static void test_escapes(void **state) {
  (void)state;
  static const char *const hostile[] = {"</script><script>alert(1)</script>",
                                        "<!-- <script>",
                                        "a\xe2\x80\xa8z\xe2\x80\xa9",
                                        "\"\\<\xe2\x80",
                                        "]]>",
                                        "{{js}} {{data}}"};
  const hone_facts facts = {.name = "a & b"};
  for (size_t i = 0; i < HN_COUNT(hostile); ++i) {
    const hone_span spans[] = {{.kind = HONE_SPAN_RUN, .name = "run", .begin_ns = 5, .end_ns = 25, .run = 3},
                               {.kind = HONE_SPAN_STEP, .name = hostile[i], .begin_ns = 7, .end_ns = 20},
                               {.kind = HONE_SPAN_SHARE, .name = hostile[i], .begin_ns = 8, .end_ns = 9, .parts = 2}};
    const hn_html_input input = {.title = hostile[i],
                                 .plain = hostile[i],
                                 .command = hostile[i],
                                 .profile = "{\"layers\": [\"<b>\"]}\n",
                                 .facts = &facts,
                                 .isa = "",
                                 .spans = spans,
                                 .span_count = 3};
    hn_text_clear(&text);
    assert_int_equal(hn_html_write(&input, &arena, &text), HONE_OK);
    assert_null(strstr(hn_text_string(&text), "alert(1)</script>"));
    assert_non_null(strstr(hn_text_string(&text), "\"use strict\""));
    if (i == 3) continue; /* bytes that are no UTF-8: not JSON, and still nothing of HTML */
    const hn_json *data = data_of_page();
    assert_string_equal(hn_json_get(data, "command")->string, hostile[i]);
    const hn_json *timeline = hn_json_get(data, "timeline"), *list = hn_json_get(timeline, "spans");
    assert_int_equal(hn_json_get(timeline, "end_ns")->i, 20);
    assert_int_equal(list->length, 2);
    assert_string_equal(hn_json_get(&list->items[0], "name")->string, hostile[i]);
    assert_int_equal(hn_json_get(&list->items[0], "begin_ns")->i, 2);
    assert_null(hn_json_get(&list->items[0], "thread"));
    assert_int_equal(hn_json_get(&list->items[1], "parts")->i, 2);
    assert_string_equal(hn_json_get(hn_json_get(data, "profile"), "layers")->items[0].string, "<b>");
  }
}

static const char *pooled(const hn_json *ledger, const hn_json *place) {
  return place->kind == HN_JSON_NULL ? "" : hn_json_get(ledger, "texts")->items[place->i].string;
}

static void test_ledger(void **state) {
  (void)state;
  static const char explained[] = "[{\"node\": \"a\", \"chosen\": 1, \"why\": \"fastest\", \"candidates\": ["
                                  "{\"tactic\": \"t\", \"provider\": \"cpu\", \"in\": \"plain\", \"out\": \"plain\", "
                                  "\"state\": \"rejected\", \"reason\": \"no\"},"
                                  "{\"tactic\": \"u\", \"provider\": \"cpu\", \"in\": \"plain\", \"out\": \"nhwc\", "
                                  "\"params\": {\"x\": 4, \"y\": -1}, "
                                  "\"state\": \"timed\", \"estimate_ns\": 2.5, \"time_ns\": 3, \"low_ns\": 2, "
                                  "\"high_ns\": 4, \"runs\": 7, \"error\": 0, \"bound\": 1e-5}]},"
                                  " {\"node\": \"b\", \"candidates\": ["
                                  "{\"tactic\": \"t\", \"provider\": \"cpu\", \"in\": \"plain\", \"out\": \"plain\", "
                                  "\"state\": \"rejected\", \"reason\": \"no\"}],"
                                  " \"f32\": {\"taken\": true, \"won\": null}},"
                                  " {\"node\": \"v\", \"why\": \"nothing runs\"}]";
  hn_json_writer writer;
  hn_json_begin(&writer, &text);
  hn_json_open(&writer, NULL, '{');
  assert_int_equal(hn_html_put_ledger(read_json(explained, sizeof explained - 1), &arena, &writer), HONE_OK);
  hn_json_close(&writer, '}');
  const hn_json *ledger = hn_json_get(read_json(hn_text_string(&text), text.length), "ledger");
  const hn_json *nodes = hn_json_get(ledger, "nodes"), *rows = hn_json_get(ledger, "rows");
  assert_int_equal(nodes->length, 3);
  assert_int_equal(rows->length, 2); /* the rejected one once */
  const hn_json *a = hn_json_get(&nodes->items[0], "candidates"), *b = hn_json_get(&nodes->items[1], "candidates");
  assert_int_equal(a->length, 2);
  assert_int_equal(a->items[0].i, b->items[0].i);
  const hn_json *refused = &rows->items[a->items[0].i], *timed = &rows->items[a->items[1].i];
  assert_int_equal(refused->length, 7); /* what is not known is left out at the end */
  assert_string_equal(pooled(ledger, &refused->items[6]), "no");
  assert_string_equal(pooled(ledger, &timed->items[0]), "u");
  assert_string_equal(pooled(ledger, &timed->items[3]), "nhwc");
  assert_string_equal(pooled(ledger, &timed->items[4]), "{x=4,y=-1}");
  assert_string_equal(pooled(ledger, &timed->items[6]), "");
  static const double numbers[] = {2.5, 3, 2, 4, 7, 0, 1e-5};
  for (size_t i = 0; i < HN_COUNT(numbers); ++i) assert_true(timed->items[7 + i].real == numbers[i]);
  assert_true(hn_json_get(hn_json_get(&nodes->items[1], "f32"), "taken")->i);
  assert_string_equal(hn_json_get(&nodes->items[2], "why")->string, "nothing runs");
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test_setup_teardown(test_escapes, setup, teardown),
                                     cmocka_unit_test_setup_teardown(test_ledger, setup, teardown)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
