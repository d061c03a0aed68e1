/* SPDX-License-Identifier: Apache-2.0 */
/* test_schedules_build.c - building several schedules: what profiles must be, in words; weights that schedules have in
 * common stand once; layers that they have in common are timed once; one lock for all; schedules that contradict one
 * another are refused when read. */
#include "../fuzz/engine_patch.h"
#include "support/schedules.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TEXT_ROOM = 1 << 20 };
static const batch_range two_ranges[] = {{2, 2, 4}, {5, 6, 16}};

static char folder[] = "/tmp/hone_schedules_XXXXXX";
static hone_context *context;
static hone_device *device;

static const char *in_folder(const char *name) {
  static char paths[8][256];
  static int at;
  char *path = paths[at++ % 8];
  snprintf(path, sizeof paths[0], "%s/%s", folder, name);
  return path;
}

static int set_up(void **state) {
  const hone_device_options options = {.struct_size = sizeof options, .threads = 1};
  (void)state;
  return !mkdtemp(folder) || hone_context_create(NULL, &context) != HONE_OK ||
         hone_device_open(context, "cpu", 0, &options, &device) != HONE_OK;
}

static int tear_down(void **state) {
  (void)state;
  hone_device_close(device);
  hone_context_destroy(context);
  char command[64];
  snprintf(command, sizeof command, "rm -r %s", folder);
  return system(command);
}

static void check(hone_status status) {
  if (status == HONE_OK) return;
  for (int i = 0; i < hone_context_message_count(context); ++i)
    print_error("%s\n", hone_context_message(context, i, NULL));
  fail_msg("%s", hone_status_name(status));
}

static size_t read_file(const char *name, char *out) {
  FILE *file = fopen(in_folder(name), "rb");
  if (!file) fail_msg("%s is not there", name);
  const size_t count = fread(out, 1, TEXT_ROOM - 1, file);
  fclose(file);
  out[count] = 0;
  return count;
}

static void write_file(const char *name, const char *bytes, size_t count) {
  FILE *file = fopen(in_folder(name), "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(bytes, 1, count, file), count);
  fclose(file);
}

/* ---- profiles ---- */

#define ONE(batch)                                                                                                     \
  {2, {batch, 48}}, {2, {batch, 48}}, {                                                                                \
    2, { batch, 48 }                                                                                                   \
  }

static void test_profiles(void **state) {
  (void)state;
  static const struct {
    hone_profile_shape shapes[2];
    int count;
    const char *says; /* NULL: it is built */
  } rows[] = {
      {{{"x", ONE(1), 0}, {"x", ONE(2), 1}}, 2, NULL},
      {{{"x", ONE(1), 1}, {"x", ONE(2), 0}}, 2, NULL},
      {{{"x", ONE(1), 0}, {"x", ONE(2), 2}}, 2, "there is a profile 2, but no profile 1"},
      {{{"x", ONE(1), 0}, {"x", ONE(2), 16}}, 2, "input x is in profile 16; 0 to 15 are possible"},
      {{{"x", ONE(1), 0}, {"x", ONE(2), -1}}, 2, "input x is in profile -1; 0 to 15 are possible"},
      {{{"x", ONE(1), 0}, {"x", ONE(2), 0}}, 2, "input x has two shapes in profile 0"},
      {{{"x", ONE(1), 1}}, 1, "profile 0 has no shape for input x, which has free dims"},
      {{{"z", ONE(1), 0}}, 1, "the model has no input z to give a shape to"},
      {{{"x", ONE(1), 0}, {"x", {2, {4, 48}}, {2, {2, 48}}, {2, {8, 48}}, 1}},
       2,
       "input x: dim 0 of the profile is not min <= opt <= max (4, 2, 8)"},
      {{{"x", ONE(1), 0}, {"x", {2, {4, 47}}, {2, {4, 47}}, {2, {4, 47}}, 1}},
       2,
       "input x: dim 1 is 48 in the model, not 47"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
    const hone_build_options options = {
        .struct_size = sizeof options, .level = -1, .shapes = rows[i].shapes, .shape_count = rows[i].count};
    hone_graph *graph;
    hone_engine *engine;
    check(schedules_graph(context, &schedules_mlp, &graph));
    const hone_status status = hone_engine_build(context, graph, &device, 1, &options, &engine);
    assert_int_equal(status, rows[i].says ? HONE_INVALID : HONE_OK);
    if (rows[i].says && !strstr(hone_context_message(context, 0, NULL), rows[i].says))
      fail_msg("\"%s\" lacks \"%s\"", hone_context_message(context, 0, NULL), rows[i].says);
    if (engine) assert_int_equal(hone_engine_schedule_count(engine), rows[i].count);
    hone_context_clear_messages(context);
    hone_engine_release(engine);
    hone_graph_destroy(graph);
  }
}

static void test_nothing_free(void **state) {
  (void)state;
  static const char text[] = "graph \"g\" opset 17 { in %x: f32[2,48] %y = relu(%x) @\"r\" out %y as \"y\" }";
  const hone_profile_shape shapes[] = {{"x", ONE(2), 0}, {"x", ONE(2), 1}};
  const hone_build_options options = {.struct_size = sizeof options, .level = -1, .shapes = shapes, .shape_count = 2};
  hone_graph *graph;
  hone_engine *engine;
  check(hone_graph_parse(context, text, strlen(text), &graph));
  assert_int_equal(hone_engine_build(context, graph, &device, 1, &options, &engine), HONE_INVALID);
  assert_string_equal(hone_context_message(context, 0, NULL),
                      "2 profiles were given, but no input of the model has a free dim");
  hone_context_clear_messages(context);
  hone_graph_destroy(graph);
}

/* ---- what schedules share ---- */

static uint64_t file_bytes(const hone_engine *engine) {
  hn_engine_fixed fixed;
  check(hone_engine_save(engine, in_folder("e.hone"), hone_context_diagnostics(context)));
  FILE *file = fopen(in_folder("e.hone"), "rb");
  assert_non_null(file);
  assert_int_equal(fread(&fixed, 1, sizeof fixed, file), sizeof fixed);
  fclose(file);
  return fixed.file_bytes - fixed.header_bytes;
}

static void test_weights(void **state) {
  (void)state;
  static const batch_range ranges[] = {{2, 4, 8}, {1, 4, 16}}; /* tuned alike, so that all is packed alike */
  static const schedules_net *const nets[] = {&schedules_conv, &schedules_mlp};
  for (int n = 0; n < 2; ++n) {
    hone_engine *one, *two;
    hone_engine_summary first = HONE_SIZED(hone_engine_summary), second = HONE_SIZED(hone_engine_summary),
                        alone = HONE_SIZED(hone_engine_summary);
    check(schedules_build(context, device, nets[n], ranges, 1, NULL, &one));
    check(schedules_build(context, device, nets[n], ranges, 2, NULL, &two));
    hone_engine_summarize(one, &alone);
    assert_int_equal(hone_engine_summarize_schedule(two, 0, &first), HONE_OK);
    assert_int_equal(hone_engine_summarize_schedule(two, 1, &second), HONE_OK);
    assert_int_equal(hone_engine_summarize_schedule(two, 2, &second), HONE_INVALID);
    assert_int_equal(hone_engine_summarize_schedule(two, 1, &second), HONE_OK);
    assert_true(alone.weights_bytes > 8000);
    assert_int_equal(first.schedule_weights_bytes, alone.schedule_weights_bytes);
    assert_int_equal(first.schedule_weights_bytes, second.schedule_weights_bytes);
    assert_int_equal(first.weights_bytes, alone.weights_bytes); /* of both */
    assert_int_equal(first.schedule_count, 2);
    assert_true(file_bytes(two) < file_bytes(one) + 4096);
    hone_engine_release(one);
    hone_engine_release(two);
  }
}

/* The same opt shapes twice: the second schedule finds every time in the cache of the build. */
static void test_timed_once(void **state) {
  (void)state;
  static const batch_range same[] = {{1, 4, 8}, {1, 4, 16}};
  static char ledger[TEXT_ROOM];
  const hone_build_options options = {.struct_size = sizeof options, .level = 1};
  hone_engine *engine;
  check(schedules_build(context, device, &schedules_conv, same, 2, &options, &engine));
  check(hone_engine_save(engine, in_folder("t.hone"), hone_context_diagnostics(context)));
  read_file("t.hone.ledger", ledger);
  char *second = strstr(ledger, "\"schedule\": 1");
  assert_non_null(second);
  *second++ = 0;
  assert_null(strstr(ledger, "from_cache"));
  int timed = 0, known = 0;
  for (const char *at = second; (at = strstr(at, "\"state\": \"timed\"")); ++at) ++timed;
  for (const char *at = second; (at = strstr(at, "\"from_cache\": true")); ++at) ++known;
  assert_true(timed > 0);
  assert_int_equal(known, timed);
  hone_engine_release(engine);
}

/* ---- the lock ---- */

static hone_status build_locked(const char *lock, int count, hone_engine **out) {
  const hone_build_options options = {.struct_size = sizeof options, .level = 1, .lock_path = in_folder(lock)};
  return schedules_build(context, device, &schedules_conv, two_ranges, count, &options, out);
}

static void expect_lock_refused(const char *text, const char *says) {
  hone_engine *engine;
  write_file("bad.lock", text, strlen(text));
  assert_int_equal(build_locked("bad.lock", 2, &engine), HONE_INVALID);
  if (!strstr(hone_context_message(context, 0, NULL), says))
    fail_msg("\"%s\" lacks \"%s\"", hone_context_message(context, 0, NULL), says);
  hone_context_clear_messages(context);
}

static void test_lock(void **state) {
  (void)state;
  static char lock[TEXT_ROOM], first[TEXT_ROOM], again[TEXT_ROOM];
  hone_engine *engine;
  for (int round = 0; round < 2; ++round) { /* the second reads what the first wrote */
    check(build_locked("two.lock", 2, &engine));
    check(hone_engine_save(engine, in_folder("l.hone"), hone_context_diagnostics(context)));
    hone_engine_release(engine);
    const size_t count = read_file("l.hone", round ? again : first);
    if (round) assert_memory_equal(first, again, count);
  }
  read_file("two.lock", lock);
  char *section = strstr(lock, "\n[schedule 1]\n");
  assert_non_null(section);
  assert_non_null(strstr(lock, "\n[schedule 0]\n"));
  assert_non_null(strstr(section, "\nlast\t"));
  check(build_locked("one.lock", 1, &engine));
  hone_engine_release(engine);
  read_file("one.lock", first);
  assert_null(strstr(first, "[schedule")); /* as ever */
  /* a change in the second section changes the second schedule alone */
  snprintf(again, sizeof again, "[schedule 1]\nlast\tref:ref.eval@1 in=plain out=plain\n");
  write_file("edited.lock", again, strlen(again));
  check(build_locked("edited.lock", 2, &engine));
  hone_engine_summary summary = HONE_SIZED(hone_engine_summary);
  for (int k = 0; k < 2; ++k) {
    assert_int_equal(hone_engine_summarize_schedule(engine, k, &summary), HONE_OK);
    assert_int_equal(summary.reference_steps, k);
  }
  hone_engine_release(engine);
  expect_lock_refused("# nothing\n[schedule 2]\n", "bad.lock:2: schedule 2 is not built here");
  expect_lock_refused("[schedule 1]\n[schedule 0]\n", "bad.lock:2: schedule 0 stands behind a later one");
  expect_lock_refused("[schedule x]\n", "bad.lock:1: a line is NODE, a tab, and a tactic");
  expect_lock_refused("[schedule 1]\n\nnone\tcpu:x@1\n", "bad.lock:3: the graph has no node none");
}

/* ---- files whose schedules contradict one another ---- */

/* Changes what stands behind the last `where` of the header; the lengths are equal. */
static void expect_file_refused(const char *where, const char *from, const char *to, const char *says) {
  static char bytes[TEXT_ROOM];
  hn_engine_fixed fixed;
  const size_t count = read_file("good.hone", bytes);
  memcpy(&fixed, bytes, sizeof fixed);
  char *at = NULL, *header = bytes + HN_ENGINE_FIXED_BYTES;
  for (char *next = header; (next = memmem(next, (size_t)(header + fixed.header_bytes - next), where, strlen(where)));
       ++next)
    at = next;
  assert_non_null(at);
  at = memmem(at, (size_t)(header + fixed.header_bytes - at), from, strlen(from));
  assert_non_null(at);
  assert_int_equal(strlen(from), strlen(to));
  memcpy(at, to, strlen(to));
  engine_patch((uint8_t *)bytes, count, 0);
  hone_engine *engine;
  hone_context_clear_messages(context);
  assert_int_equal(hone_engine_load_memory(context, bytes, count, &device, 1, &engine), HONE_MALFORMED);
  const int messages = hone_context_message_count(context);
  bool found = false;
  for (int i = 0; i < messages; ++i) found = found || strstr(hone_context_message(context, i, NULL), says);
  if (!found) fail_msg("\"%s\" lacks \"%s\"", hone_context_message(context, 0, NULL), says);
}

static void test_contradictions(void **state) {
  (void)state;
  hone_engine *engine;
  check(schedules_build(context, device, &schedules_mlp, two_ranges, 2, NULL, &engine));
  check(hone_engine_save(engine, in_folder("good.hone"), hone_context_diagnostics(context)));
  hone_engine_release(engine);
  expect_file_refused("\"inputs\": [", "\"name\": \"x\"", "\"name\": \"z\"",
                      "it is called z here and x in the first schedule");
  expect_file_refused("\"outputs\": [", "\"name\": \"y\"", "\"name\": \"z\"",
                      "it is called z here and y in the first schedule");
  expect_file_refused("\"inputs\": [", "\"min\": [5, 48]", "\"min\": [7, 48]", "its profile is not min <= opt <= max");
  expect_file_refused("\"schedules\": [", "schedules", "schedulez", "schedules");
  expect_file_refused("\"arena_bytes\": ", "arena_bytes", "arena_bytez", "arena_bytes");
  hone_context_clear_messages(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_profiles), cmocka_unit_test(test_nothing_free),
                                     cmocka_unit_test(test_weights),  cmocka_unit_test(test_timed_once),
                                     cmocka_unit_test(test_lock),     cmocka_unit_test(test_contradictions)};
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
