/* SPDX-License-Identifier: Apache-2.0 */
/* test_lock.c - what the lock promises: the same bytes without the timing cache, one edited line is one changed step,
 * an unacceptable tactic is UNSUPPORTED; and a tactic with a planted fault is never chosen, and the ledger says why. */
#include "device/device.h"
#include "support/small_net.h"
#include "support/tactic_rows.h"
#include "tensor/storage.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { TEXT_ROOM = 1 << 20, CLASSES = 10 };

static char folder[] = "/tmp/hone_lock_XXXXXX";
static hone_context *context;
static hone_graph *graph;

static const char *in_folder(const char *name) {
  static char paths[8][512];
  static int at;
  char *path = paths[at++ % 8];
  snprintf(path, sizeof paths[0], "%s/%s", folder, name);
  return path;
}

static size_t read_file(const char *name, char *out) {
  FILE *file = fopen(in_folder(name), "rb");
  if (!file) fail_msg("%s is not there", name);
  const size_t count = fread(out, 1, TEXT_ROOM - 1, file);
  fclose(file);
  out[count] = 0;
  return count;
}

static void write_file(const char *name, const char *text) {
  FILE *file = fopen(in_folder(name), "wb");
  assert_non_null(file);
  assert_true(fputs(text, file) >= 0);
  fclose(file);
}

static void check(hone_status status) {
  if (status == HONE_OK) return;
  for (int i = 0; i < hone_context_message_count(context); ++i)
    print_error("%s\n", hone_context_message(context, i, NULL));
  fail_msg("%s", hone_status_name(status));
}

static hone_device *open_device(const hone_backend *backend, int threads) {
  const hone_device_options options = {.struct_size = sizeof options, .threads = threads};
  hone_device *device;
  check(hn_device_open(context, backend, 0, &options, &device));
  return device;
}

/* Builds with a lock (NULL: none) and saves under `name` (NULL: not). The caller releases the engine. */
static hone_status build(hone_device *device, const char *lock, const char *cache, const char *name,
                         hone_engine **out_engine) {
  const hone_build_options options = {.struct_size = sizeof options,
                                      .level = 1,
                                      .lock_path = lock ? in_folder(lock) : NULL,
                                      .timing_cache_path = cache ? in_folder(cache) : NULL};
  const hone_status status = hone_engine_build(context, graph, &device, 1, &options, out_engine);
  if (status == HONE_OK && name)
    check(hone_engine_save(*out_engine, in_folder(name), hone_context_diagnostics(context)));
  return status;
}

static hone_session *run(hone_engine *engine, float *out) {
  const hone_session_options options = {.struct_size = sizeof options, .profile = true};
  const hone_type type = {.kind = HONE_TENSOR, .dtype = HONE_F32, .shape = {4, {1, 3, 16, 16}}};
  hone_session *session;
  hone_tensor x, y;
  check(hone_session_create(engine, &options, &session, hone_context_diagnostics(context)));
  check(hone_tensor_alloc(context, &type, &x));
  small_net_fill(&x, 5);
  check(hone_session_copy_in(session, "x", &x));
  check(hone_session_run(session));
  check(hone_session_tensor(session, "y", &y));
  assert_int_equal(y.bytes, CLASSES * sizeof *out);
  memcpy(out, y.data, y.bytes);
  hone_tensor_free(context, &x);
  return session;
}

static void test_same_bytes(void **state) {
  (void)state;
  static char first[TEXT_ROOM], second[TEXT_ROOM];
  hone_device *device = open_device(hn_backend_find("cpu"), 1);
  hone_engine *engine;
  check(build(device, "a.lock", "cache", "first", &engine));
  hone_engine_release(engine);
  assert_int_equal(unlink(in_folder("cache")), 0);
  check(build(device, "a.lock", "cache", "second", &engine));
  hone_engine_release(engine);
  const size_t count = read_file("first", first);
  assert_true(count > 40000 && count == read_file("second", second));
  assert_memory_equal(first, second, count);
  hone_device_close(device);
}

/* The step's tactic in a profiled session; NULL when there is no such step. */
static const char *tactic_of(const hone_session *session, const char *step_name) {
  for (int s = 0; s < hone_session_step_count(session); ++s) {
    hone_step_profile step = HONE_SIZED(hone_step_profile);
    if (hone_session_step(session, s, &step) == HONE_OK && strcmp(step.name, step_name) == 0) return step.tactic;
  }
  return NULL;
}

/* Copies a lock with another right side for one node. */
static void edit_lock(const char *from, const char *to, const char *node, const char *wanted) {
  static char text[TEXT_ROOM], edited[TEXT_ROOM];
  read_file(from, text);
  size_t used = 0;
  int changed = 0;
  for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
    const size_t length = strlen(node);
    const bool here = strncmp(line, node, length) == 0 && line[length] == '\t';
    changed += here;
    used += (size_t)snprintf(edited + used, TEXT_ROOM - used, "%.*s%s\n", here ? (int)length + 1 : (int)strlen(line),
                             line, here ? wanted : "");
  }
  if (changed != 1) fail_msg("%s has %d lines of node %s", from, changed, node);
  write_file(to, edited);
}

static void test_edited_line(void **state) {
  (void)state;
  static const char *const steps[] = {"conv1", "conv2", "pool", "conv3", "mean"};
  char wanted[128];
  const hone_backend *reference = hn_backend_find("ref");
  snprintf(wanted, sizeof wanted, "ref:%s@%u in=plain out=plain", reference->families[0]->name,
           reference->families[0]->version);
  hone_device *device = open_device(hn_backend_find("cpu"), 1);
  hone_engine *before, *after;
  float want[CLASSES], got[CLASSES];
  check(build(device, "b.lock", NULL, NULL, &before));
  edit_lock("b.lock", "edited.lock", "pool", wanted);
  check(build(device, "edited.lock", NULL, NULL, &after));
  hone_session *old_session = run(before, want), *new_session = run(after, got);
  for (size_t i = 0; i < sizeof steps / sizeof *steps; ++i) {
    const char *was = tactic_of(old_session, steps[i]), *is = tactic_of(new_session, steps[i]);
    if (!was || !is) fail_msg("no step is named %s", steps[i]);
    const bool edited = strcmp(steps[i], "pool") == 0;
    if (edited ? strcmp(is, reference->families[0]->name) != 0 : strcmp(was, is) != 0)
      fail_msg("step %s ran %s, and now %s", steps[i], was, is);
  }
  for (int i = 0; i < CLASSES; ++i) assert_true(got[i] == want[i]); /* a maximum has no rounding */
  hone_session_destroy(old_session);
  hone_session_destroy(new_session);
  hone_engine_release(before);
  hone_engine_release(after);
  hone_device_close(device);
}

static void test_unacceptable(void **state) {
  (void)state;
  static const char *const wanted[] = {"cpu:cpu.no_such_tactic@1 in=plain out=plain",
                                       "cpu:cpu.softmax.f32.c@1 in=plain out=plain", "nonsense"};
  hone_device *device = open_device(hn_backend_find("cpu"), 1);
  hone_engine *engine;
  check(build(device, "c.lock", NULL, NULL, &engine));
  hone_engine_release(engine);
  for (size_t i = 0; i < sizeof wanted / sizeof *wanted; ++i) {
    edit_lock("c.lock", "bad.lock", "conv2", wanted[i]);
    hone_context_clear_messages(context);
    const hone_status status = build(device, "bad.lock", NULL, NULL, &engine);
    assert_int_equal(status, HONE_UNSUPPORTED);
    assert_null(engine);
    assert_true(hone_context_message_count(context) > 0);
    const char *message = hone_context_message(context, 0, NULL);
    if (!strstr(message, "conv2") || !strstr(message, "bad.lock")) fail_msg("it says only: %s", message);
  }
  hone_context_clear_messages(context);
  hone_device_close(device);
}

static void test_threads(void **state) {
  (void)state;
  hone_device *one = open_device(hn_backend_find("cpu"), 1), *two = open_device(hn_backend_find("cpu"), 2);
  hone_engine *engines[2];
  float out[2][CLASSES];
  check(build(one, "d.lock", NULL, NULL, &engines[0]));
  check(build(two, "d.lock", NULL, NULL, &engines[1]));
  for (int i = 0; i < 2; ++i) {
    hone_session_destroy(run(engines[i], out[i]));
    hone_engine_release(engines[i]);
  }
  assert_memory_equal(out[0], out[1], sizeof out[0]);
  hone_device_close(one);
  hone_device_close(two);
}

/* ---- planted faults: each of the CPU's tactics again, with the last seven elements shifted by one ---- */

enum { MAX_TACTICS = 1024 };
static hone_tactic planted[MAX_TACTICS];
static char planted_names[MAX_TACTICS][80];
static const hone_tactic *planted_families[MAX_TACTICS + 1];

typedef struct planted_state { /* stands before the state of the right tactic */
  _Alignas(64) const hone_tactic *right;
} planted_state;

static const char *const faulty_ops[] = {"conv", "max_pool", "global_average_pool", "gemm", "linear"};
static const hone_tactic *right_of(const hone_query *query);

static const char *planted_plan(const hone_query *query, void *state, hone_needs *needs) {
  hone_query asked = *query;
  planted_state *s = state;
  asked.tactic = right_of(query);
  if (s) s->right = asked.tactic;
  const char *reason = hn_tactic_plan(&asked, s ? s + 1 : NULL, needs);
  needs->state += sizeof(planted_state);
  return reason;
}

static int planted_variants(const hone_query *query, hone_params *out, int room) {
  hone_query asked = *query;
  asked.tactic = right_of(query);
  return asked.tactic->variants(&asked, out, room);
}

static hone_status planted_pack(const hone_query *query, void *to) {
  hone_query asked = *query;
  asked.tactic = right_of(query);
  return asked.tactic->pack(&asked, to);
}

/* Who is timed is expected first. */
static int expected[sizeof faulty_ops / sizeof *faulty_ops], unexpected;

static int *expected_of(const hone_query *query) {
  for (size_t i = 0; i < sizeof faulty_ops / sizeof *faulty_ops; ++i)
    if (strcmp(query->op->name, faulty_ops[i]) == 0) return &expected[i];
  return &unexpected;
}

static void planted_expect(hone_unit *unit, const hone_query *query) {
  (void)unit;
  hone_needs needs;
  assert_null(hn_tactic_plan(query, NULL, &needs));
  ++*expected_of(query);
}

static hone_status planted_prepare(hone_unit *unit, const hone_query *query, void *state, hone_diagnostics *diag) {
  planted_state *s = state;
  hone_query asked = *query;
  asked.tactic = s->right;
  unexpected += *expected_of(query) == 0;
  return s->right->prepare ? s->right->prepare(unit, &asked, s + 1, diag) : HONE_OK;
}

static void planted_release(void *state) {
  planted_state *s = state;
  if (s->right && s->right->release) s->right->release(s + 1);
}

static hone_status planted_launch(void *state, hone_stream *stream, const hone_launch *launch) {
  planted_state *s = state;
  const hone_status status = s->right->launch(s + 1, stream, launch);
  const hone_tensor *y = &launch->out[0];
  const size_t count = y->bytes / sizeof(float);
  float *last = (float *)y->data + count;
  if (status == HONE_OK && y->type.dtype == HONE_F32 && count > 8) memmove(last - 7, last - 8, 7 * sizeof *last);
  return status;
}

static const hone_tactic *right_rows[sizeof faulty_ops / sizeof *faulty_ops];

static const hone_tactic *right_of(const hone_query *query) {
  for (size_t i = 0; i < sizeof faulty_ops / sizeof *faulty_ops; ++i)
    if (strcmp(query->op->name, faulty_ops[i]) == 0) return right_rows[i];
  return NULL;
}

/* The CPU's backend with a wrong twin in front for the last row of each op of faulty_ops (portable C). */
static hone_backend faulty_backend(void) {
  hone_backend backend = *hn_backend_find("cpu");
  static const hone_tactic *rows[MAX_TACTICS];
  const int row_count = tactic_rows(&backend, rows, MAX_TACTICS);
  int count = 0, families = 0;
  for (size_t i = 0; i < sizeof faulty_ops / sizeof *faulty_ops; ++i) {
    for (int r = 0; r < row_count; ++r)
      if (strcmp(rows[r]->op, faulty_ops[i]) == 0 && hn_storage_dtype(rows[r]->storages[0].in) == HONE_NONE)
        right_rows[i] = rows[r];
    if (!right_rows[i]) continue;
    planted[count] = *right_rows[i];
    snprintf(planted_names[count], sizeof planted_names[count], "planted.%.60s", right_rows[i]->name);
    planted[count].name = planted_names[count];
    planted[count].plan = planted_plan;
    if (right_rows[i]->variants) planted[count].variants = planted_variants;
    if (right_rows[i]->pack) planted[count].pack = planted_pack;
    planted[count].expect = planted_expect;
    planted[count].prepare = planted_prepare;
    planted[count].release = planted_release;
    planted[count].launch = planted_launch;
    ++count;
  }
  planted[count] = (hone_tactic){0};
  planted_families[families++] = planted;
  for (const hone_tactic *const *family = backend.families; *family && families < MAX_TACTICS; ++family)
    planted_families[families++] = *family;
  planted_families[families] = NULL;
  backend.families = planted_families;
  return backend;
}

/* Every candidate of the ledger that is planted was measured and found inexact, unless it was never tried. */
static int count_caught(const char *ledger) {
  int caught = 0;
  for (const char *at = ledger; (at = strstr(at, "planted."));) {
    const char *next = strstr(at + 1, "\"tactic\""), *reason = strstr(at, "its measured error is over its bound");
    if (reason && (!next || reason < next)) ++caught;
    ++at;
  }
  return caught;
}

static void test_planted(void **state) {
  (void)state;
  static char ledger[TEXT_ROOM];
  const hone_backend backend = faulty_backend();
  hone_device *right = open_device(hn_backend_find("cpu"), 1), *faulty = open_device(&backend, 1);
  hone_engine *good, *engine;
  float want[CLASSES], got[CLASSES];
  check(build(right, NULL, NULL, NULL, &good));
  check(build(faulty, "faulty.lock", NULL, "faulty", &engine));
  hone_session *session = run(engine, got);
  hone_session_destroy(run(good, want));
  for (int i = 0; i < CLASSES; ++i) assert_float_equal(got[i], want[i], 1e-4f);
  for (int s = 0; s < hone_session_step_count(session); ++s) {
    hone_step_profile step = HONE_SIZED(hone_step_profile);
    if (hone_session_step(session, s, &step) == HONE_OK && step.tactic && strstr(step.tactic, "planted"))
      fail_msg("step %s runs %s", step.name, step.tactic);
  }
  read_file("faulty.ledger", ledger);
  const int caught = count_caught(ledger);
  print_message("planted tactics found inexact: %d\n", caught);
  assert_true(caught > 0);
  assert_int_equal(unexpected, 0);
  int any = 0;
  for (size_t i = 0; i < sizeof faulty_ops / sizeof *faulty_ops; ++i) any += expected[i];
  assert_true(any > 0);
  hone_session_destroy(session);
  hone_engine_release(engine);
  hone_engine_release(good);
  hone_device_close(right);
  hone_device_close(faulty);
}

static int make_graph(void **state) {
  (void)state;
  if (!mkdtemp(folder) || hone_context_create(NULL, &context) != HONE_OK) return -1;
  return small_net_graph(context, false, &graph) == HONE_OK ? 0 : -1;
}

static int remove_files(void **state) {
  (void)state;
  hone_graph_destroy(graph);
  hone_context_destroy(context);
  DIR *dir = opendir(folder);
  for (const struct dirent *entry; dir && (entry = readdir(dir));)
    if (entry->d_name[0] != '.') unlink(in_folder(entry->d_name));
  if (dir) closedir(dir);
  return rmdir(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_same_bytes), cmocka_unit_test(test_edited_line), cmocka_unit_test(test_unacceptable),
      cmocka_unit_test(test_threads),    cmocka_unit_test(test_planted),
  };
  return cmocka_run_group_tests(tests, make_graph, remove_files);
}
