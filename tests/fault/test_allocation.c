/* SPDX-License-Identifier: Apache-2.0 */
/* test_allocation.c - the n-th allocation fails, for every n until nothing fails: each call then says NO_MEMORY, holds
 * nothing afterwards, and leaves no half-written file. */
#include "support/share.h"
#include "support/small_net.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <signal.h>
#include <dirent.h>

/* The allocator of a context: counts what is held, and refuses from a number on. */
typedef struct counting {
  atomic_long requests, live_blocks, live_bytes;
  long refuse_at; /* this request fails; -1: none */
} counting;

static void *resize(void *user, void *old, size_t old_bytes, size_t new_bytes) {
  counting *c = user;
  if (new_bytes == 0) {
    if (old) {
      atomic_fetch_sub(&c->live_blocks, 1);
      atomic_fetch_sub(&c->live_bytes, (long)old_bytes);
    }
    free(old);
    return NULL;
  }
  if (atomic_fetch_add(&c->requests, 1) == c->refuse_at) return NULL;
  void *fresh = aligned_alloc(64, (new_bytes + 63) / 64 * 64);
  if (!fresh) return NULL;
  if (old) {
    memcpy(fresh, old, old_bytes < new_bytes ? old_bytes : new_bytes);
    free(old);
  } else {
    atomic_fetch_add(&c->live_blocks, 1);
  }
  atomic_fetch_add(&c->live_bytes, (long)new_bytes - (long)old_bytes);
  return fresh;
}

static char folder[] = "/tmp/hone_fault_XXXXXX";
static char model_path[64], engine_path[64], family_path[64], written_path[64];

/* Everything a sweep needs that must not fail: made anew for each attempt with refusing switched off. */
typedef struct attempt {
  counting memory;
  hone_context *context;
  hone_device *device;
  hone_graph *graph;
  hone_engine *engine;
  hone_session *session;
  hone_pool *pool;
  hone_tensor input;
} attempt;

typedef hone_status (*stage)(attempt *a);

static hone_status create(attempt *a) {
  const hone_context_options options = {.struct_size = sizeof options, .resize = resize, .resize_user = &a->memory};
  return hone_context_create(&options, &a->context);
}

static hone_status open_device(attempt *a) {
  const hone_device_options one = {.struct_size = sizeof one, .threads = 1};
  return hone_device_open(a->context, "cpu", 0, &one, &a->device);
}

static hone_status import(attempt *a) { return hone_graph_load_onnx(a->context, model_path, &a->graph); }
static hone_status by_hand(attempt *a) { return small_net_graph(a->context, true, &a->graph); }

static const char *wanted_tactic; /* as --tactic has it; NULL: any */

static hone_status build_with(attempt *a, bool reference_only) {
  const hone_profile_shape shapes[] = {{"x", {4, {1, 3, 16, 16}}, {4, {1, 3, 16, 16}}, {4, {1, 3, 16, 16}}, 0},
                                       {"x", {4, {2, 3, 16, 16}}, {4, {2, 3, 16, 16}}, {4, {3, 3, 16, 16}}, 1}};
  const hone_build_options options = {.struct_size = sizeof options,
                                      .reference_only = reference_only,
                                      .level = -1,
                                      .shapes = shapes,
                                      .shape_count = 2,
                                      .tactics = &wanted_tactic,
                                      .tactic_count = wanted_tactic ? 1 : 0};
  return hone_engine_build(a->context, a->graph, &a->device, 1, &options, &a->engine);
}

static hone_status build_reference(attempt *a) { return build_with(a, true); }
static hone_status build_cpu(attempt *a) { return build_with(a, false); }
static hone_status save(attempt *a) {
  return hone_engine_save(a->engine, written_path, hone_context_diagnostics(a->context));
}
static bool drop(void *user, const char *bytes, size_t count) {
  (void)user, (void)bytes, (void)count;
  return true;
}
static hone_status write_bytes(attempt *a) {
  return hone_engine_write(a->engine, drop, NULL, hone_context_diagnostics(a->context));
}
static hone_status load(attempt *a) { return hone_engine_load(a->context, engine_path, &a->device, 1, &a->engine); }
static hone_status load_family(attempt *a) {
  return hone_engine_load(a->context, family_path, &a->device, 1, &a->engine);
}
static hone_status export(attempt *a) { return hone_graph_save_onnx(a->graph, written_path); }

static hone_status attach_recipe(attempt *a) {
  static const char text[] = "resize input bicubic\nchannels bgr\nscale 1/255\nmean 1,2,3\nstd 2\nlabel 3 three\n";
  hone_recipe *recipe;
  hone_graph *made = NULL;
  hone_status status = hone_recipe_read(a->context, text, sizeof text - 1, "r", &recipe);
  if (status == HONE_OK) status = hone_graph_attach_recipe(a->graph, recipe, &made);
  hone_recipe_destroy(recipe);
  if (status != HONE_OK) return status;
  hone_graph_destroy(a->graph);
  a->graph = made;
  return HONE_OK;
}

static hone_status prepare_image(attempt *a) {
  static const char text[] = "grey\nletterbox 9x7\nresize 4x8\naffine 1,0,1,0,1,1 5x5\ncrop 4x4\n";
  static const uint8_t rgb[6 * 5 * 3] = {7, 8, 9};
  hone_recipe *recipe;
  hone_status status = hone_recipe_read(a->context, text, sizeof text - 1, "r", &recipe);
  if (status == HONE_OK) status = hone_recipe_prepare(recipe, a->context, rgb, 6, 5, &a->input, NULL);
  hone_recipe_destroy(recipe);
  return status;
}

static hone_status open_session(attempt *a) {
  return hone_session_create(a->engine, NULL, &a->session, hone_context_diagnostics(a->context));
}

static hone_status open_pool(attempt *a) {
  const hone_pool_options options = {.struct_size = sizeof options, .sessions = 2, .threads = 1};
  return hone_pool_create(a->context, a->engine, &options, &a->pool);
}

static hone_status see(void *user, const hone_tap *tap) {
  (void)user;
  return tap->tensor->data ? HONE_OK : HONE_INTERNAL;
}
static hone_status open_tapped(attempt *a) {
  const char *const all[] = {"*", "x"};
  const hone_session_options options = {.struct_size = sizeof options, .taps = all, .tap_count = 2, .on_tap = see};
  return hone_session_create(a->engine, &options, &a->session, hone_context_diagnostics(a->context));
}

static hone_status run_session(attempt *a) {
  const hone_type type = {.kind = HONE_TENSOR, .dtype = HONE_F32, .shape = {4, {1, 3, 16, 16}}};
  hone_status status = hone_tensor_alloc(a->context, &type, &a->input);
  if (status == HONE_OK) status = hone_session_copy_in(a->session, "x", &a->input);
  if (status == HONE_OK) status = hone_session_run(a->session);
  static const int64_t two[] = {2, 3, 16, 16}; /* the other schedule's */
  if (status == HONE_OK) status = hone_session_set_shape(a->session, "x", 4, two);
  if (status == HONE_OK) status = hone_session_run(a->session);
  return status;
}

static hone_status profile_session(attempt *a) {
  const hone_session_options options = {.struct_size = sizeof options, .profile = true};
  const hone_status status =
      hone_session_create(a->engine, &options, &a->session, hone_context_diagnostics(a->context));
  return status == HONE_OK ? run_session(a) : status;
}
static hone_status write_page(attempt *a) {
  char ledger[sizeof engine_path + 8];
  (void)snprintf(ledger, sizeof ledger, "%s.ledger", engine_path);
  const hone_html_options options = {.struct_size = sizeof options, .ledger_path = ledger};
  return hone_report_html(a->session, written_path, &options, hone_context_diagnostics(a->context));
}

static void clean_up(attempt *a) {
  if (a->context) hone_tensor_free(a->context, &a->input);
  hone_pool_destroy(a->pool);
  hone_session_destroy(a->session);
  hone_engine_release(a->engine);
  hone_graph_destroy(a->graph);
  hone_device_close(a->device);
  hone_context_destroy(a->context);
}

static bool exists(const char *path) { return access(path, F_OK) == 0; }

static void check_failed(const attempt *a, const char *what, long n, hone_status status) {
  if (status != HONE_NO_MEMORY)
    fail_msg("%s: allocation %ld refused, and the status is %s: %s", what, n, hone_status_name(status),
             a->context && hone_context_message_count(a->context) ? hone_context_message(a->context, 0, NULL) : "");
  if (a->context && hone_context_message_count(a->context) == 0 && a->session == NULL)
    fail_msg("%s: allocation %ld refused without a message", what, n);
  if (exists(written_path)) fail_msg("%s: allocation %ld refused, and a file was written", what, n);
}

/* Runs the stages of `before`, then `last` with each of its allocations (of this build's share) refused in turn. */
static void sweep(const char *what, const stage *before, int before_count, stage last) {
  for (long n = 0;; n += TEST_SHARE) {
    attempt a = {.memory.refuse_at = -1};
    for (int i = 0; i < before_count; ++i)
      if (before[i](&a) != HONE_OK) fail_msg("%s: what comes before fails", what);
    unlink(written_path);
    atomic_store(&a.memory.requests, 0);
    a.memory.refuse_at = n;
    const hone_status status = last(&a);
    const bool refused = atomic_load(&a.memory.requests) > n;
    a.memory.refuse_at = -1;
    if (status != HONE_OK) check_failed(&a, what, n, status);
    clean_up(&a);
    if (atomic_load(&a.memory.live_blocks) != 0 || atomic_load(&a.memory.live_bytes) != 0)
      fail_msg("%s: allocation %ld refused: %ld blocks (%ld bytes) are still held", what, n,
               atomic_load(&a.memory.live_blocks), atomic_load(&a.memory.live_bytes));
    if (!refused) {
      print_message("%s: %ld allocations\n", what, n);
      return;
    }
  }
}

#define SWEEP(what, last, ...)                                                                                         \
  do {                                                                                                                 \
    static const stage before[] = {__VA_ARGS__};                                                                       \
    sweep(what, before, (int)(sizeof before / sizeof *before), last);                                                  \
  } while (0)

static void test_context(void **state) {
  (void)state;
  sweep("create a context", NULL, 0, create);
  SWEEP("open a device", open_device, create);
}

static void test_graph(void **state) {
  (void)state;
  SWEEP("build a graph by hand", by_hand, create);
  SWEEP("export", export, create, by_hand);
  SWEEP("import", import, create);
}

static void test_recipe(void **state) {
  (void)state;
  SWEEP("attach a recipe", attach_recipe, create, import);
  SWEEP("prepare an image", prepare_image, create);
}

static void test_build(void **state) {
  (void)state;
  SWEEP("build for the reference", build_reference, create, open_device, import);
  SWEEP("build for the CPU", build_cpu, create, open_device, import);
}

static void test_engine(void **state) {
  (void)state;
  SWEEP("save", save, create, open_device, import, build_cpu);
  SWEEP("write", write_bytes, create, open_device, import, build_cpu);
  SWEEP("load", load, create, open_device);
  SWEEP("open a session", open_session, create, open_device, load);
  SWEEP("open a pool of sessions", open_pool, create, open_device, load);
  SWEEP("run", run_session, create, open_device, load, open_session);
  SWEEP("open a session with taps", open_tapped, create, open_device, load);
  SWEEP("run with taps", run_session, create, open_device, load, open_tapped);
}

static void test_page(void **state) {
  (void)state;
  SWEEP("write the page", write_page, create, open_device, load, profile_session);
}

/* What one level and one machine choose is not all that runs: every family of tactics that the net can take. */
static void test_families(void **state) {
  (void)state;
  static const char *const families[] = {
      "*=*.winograd4.*", "*=*.winograd2.*", "*=*.direct.*", "*=cpu.conv.f32.nchw.*", "*=*.c", "*=parts",
#ifndef HONE_NO_AVX
      "*=*.avx2",        "*=*.avx512",
#endif
  };
  static const stage start[] = {create, open_device, import};
  for (size_t f = 0; f < sizeof families / sizeof *families; ++f) {
    wanted_tactic = families[f];
    attempt a = {.memory.refuse_at = -1};
    for (int i = 0; i < 3; ++i) assert_int_equal(start[i](&a), HONE_OK);
    const hone_status status = build_cpu(&a);
    if (status == HONE_OK) assert_int_equal(hone_engine_save(a.engine, family_path, NULL), HONE_OK);
    clean_up(&a);
    assert_true(status == HONE_OK || status == HONE_UNSUPPORTED); /* a machine without such instructions */
    if (status != HONE_OK) continue;
    sweep(families[f], start, 3, build_cpu);
    SWEEP("load its engine", load_family, create, open_device);
    SWEEP("open a session of it", open_session, create, open_device, load_family);
  }
  wanted_tactic = NULL;
}

static int count_files(void) {
  int count = 0;
  DIR *dir = opendir(folder);
  for (const struct dirent *entry; dir && (entry = readdir(dir));) count += entry->d_name[0] != '.';
  if (dir) closedir(dir);
  return count;
}

/* The disk is full after `limit` bytes: IO, and neither the file nor a temporary one is there. */
static void check_full_disk(const char *what, attempt *a, stage write, long limit) {
  unlink(written_path);
  const int files = count_files();
  struct rlimit before, small;
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
  small = before;
  small.rlim_cur = (rlim_t)limit;
  void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
  const hone_status status = write(a);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
  signal(SIGXFSZ, handler);
  if (status != HONE_IO || exists(written_path) || count_files() != files)
    fail_msg("%s with room for %ld bytes: %s, %d files more", what, limit, hone_status_name(status),
             count_files() - files);
}

static void test_full_disk(void **state) {
  (void)state;
  attempt a = {.memory.refuse_at = -1};
  static const stage stages[] = {create, open_device, import, build_cpu};
  for (size_t i = 0; i < sizeof stages / sizeof *stages; ++i) assert_int_equal(stages[i](&a), HONE_OK);
  static const long limits[] = {0, 1, 63, 64, 4095, 4096, 30000};
  for (size_t i = 0; i < sizeof limits / sizeof *limits; ++i) {
    check_full_disk("save", &a, save, limits[i]);
    check_full_disk("export", &a, export, limits[i]);
  }
  clean_up(&a);
}

/* The model and the engine that the sweeps read. */
static int make_files(void **state) {
  (void)state;
  if (!mkdtemp(folder)) return -1;
  snprintf(model_path, sizeof model_path, "%s/m.onnx", folder);
  snprintf(engine_path, sizeof engine_path, "%s/m.hone", folder);
  snprintf(family_path, sizeof family_path, "%s/f.hone", folder);
  snprintf(written_path, sizeof written_path, "%s/written", folder);
  attempt a = {.memory.refuse_at = -1};
  hone_status status = create(&a);
  if (status == HONE_OK) status = open_device(&a);
  if (status == HONE_OK) status = by_hand(&a);
  if (status == HONE_OK) status = hone_graph_save_onnx(a.graph, model_path);
  if (status == HONE_OK) status = build_cpu(&a);
  if (status == HONE_OK) status = hone_engine_save(a.engine, engine_path, NULL);
  for (int i = 0; a.context && i < hone_context_message_count(a.context); ++i)
    print_error("%s\n", hone_context_message(a.context, i, NULL));
  clean_up(&a);
  return status == HONE_OK ? 0 : -1;
}

static int remove_files(void **state) {
  (void)state;
  DIR *dir = opendir(folder);
  for (const struct dirent *entry; dir && (entry = readdir(dir));) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
    if (entry->d_name[0] != '.') unlink(path);
  }
  if (dir) closedir(dir);
  return rmdir(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_context), cmocka_unit_test(test_graph),    cmocka_unit_test(test_build),
      cmocka_unit_test(test_engine),  cmocka_unit_test(test_families), cmocka_unit_test(test_full_disk),
      cmocka_unit_test(test_page),    cmocka_unit_test(test_recipe),
  };
  return cmocka_run_group_tests(tests, make_files, remove_files);
}
