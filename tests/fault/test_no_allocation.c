/* SPDX-License-Identifier: Apache-2.0 */
/* test_no_allocation.c - running allocates nothing: the C library's allocating functions and mmap are replaced here,
 * in the program itself, and counted while a session runs. Under a sanitizer, which has its own, only the context's
 * allocator is counted. */
#include "support/schedules.h"
#include "support/small_net.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_long calls; /* of any allocating function, by any thread */
static atomic_bool watching;

static void note(void) {
  if (atomic_load_explicit(&watching, memory_order_relaxed)) atomic_fetch_add(&calls, 1);
}

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__GLIBC__)
#define SANITIZED 1
#endif

#ifndef SANITIZED
/* What glibc's functions of the public names do. */
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *old, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);
void __libc_free(void *block);

void *malloc(size_t bytes) {
  note();
  return __libc_malloc(bytes);
}
void *calloc(size_t count, size_t bytes) {
  note();
  return __libc_calloc(count, bytes);
}
void *realloc(void *old, size_t bytes) {
  note();
  return __libc_realloc(old, bytes);
}
void free(void *block) {
  if (block) note();
  __libc_free(block);
}
void *aligned_alloc(size_t alignment, size_t bytes) {
  note();
  return __libc_memalign(alignment, bytes);
}
int posix_memalign(void **out, size_t alignment, size_t bytes) {
  note();
  *out = __libc_memalign(alignment, bytes);
  return *out ? 0 : ENOMEM;
}
void *mmap(void *address, size_t bytes, int protection, int flags, int file, off_t offset) {
  note();
  return (void *)syscall(SYS_mmap, address, bytes, protection, flags, file, offset); // NOLINT: what mmap is
}
#endif

static void *resize(void *user, void *old, size_t old_bytes, size_t new_bytes) {
  (void)user;
  note();
  void *fresh = new_bytes ? aligned_alloc(64, (new_bytes + 63) / 64 * 64) : NULL;
  if (fresh && old) memcpy(fresh, old, old_bytes < new_bytes ? old_bytes : new_bytes);
  if (new_bytes == 0 || fresh) free(old);
  return fresh;
}

static long count_of_run(hone_session *session) {
  atomic_store(&calls, 0);
  atomic_store(&watching, true);
  const hone_status status = hone_session_run(session);
  atomic_store(&watching, false);
  assert_int_equal(status, HONE_OK);
  return atomic_load(&calls);
}

/* Who listens needs no memory here. */
static void count_span(void *user, const hone_span *span) { *(int64_t *)user += span->end_ns >= span->begin_ns; }

typedef struct setting {
  const char *what;
  const char *device;
  int threads;
  bool reference_only, free_batch, profile, trace;
} setting;

static void run_setting(const setting *s) {
  const hone_context_options options = {.struct_size = sizeof options, .resize = resize};
  const hone_device_options device_options = {.struct_size = sizeof device_options, .threads = s->threads};
  const int64_t batch = s->free_batch ? 3 : 1;
  const hone_profile_shape shape = {"x", {4, {1, 3, 16, 16}}, {4, {batch, 3, 16, 16}}, {4, {batch, 3, 16, 16}}, 0};
  const hone_build_options build = {.struct_size = sizeof build,
                                    .reference_only = s->reference_only,
                                    .level = -1,
                                    .shapes = &shape,
                                    .shape_count = 1};
  int64_t spans = 0;
  const hone_session_options session_options = {.struct_size = sizeof session_options,
                                                .profile = s->profile,
                                                .on_span = s->trace ? count_span : NULL,
                                                .on_span_user = &spans,
                                                .trace_shares = s->trace ? 100 : 0};
  hone_context *context;
  hone_device *device;
  hone_graph *graph;
  hone_engine *engine;
  hone_session *session;
  hone_tensor x;
  assert_int_equal(hone_context_create(&options, &context), HONE_OK);
  assert_int_equal(hone_device_open(context, s->device, 0, &device_options, &device), HONE_OK);
  assert_int_equal(small_net_graph(context, s->free_batch, &graph), HONE_OK);
  assert_int_equal(hone_engine_build(context, graph, &device, 1, &build, &engine), HONE_OK);
  assert_int_equal(hone_session_create(engine, &session_options, &session, NULL), HONE_OK);
  const hone_type type = {.kind = HONE_TENSOR, .dtype = HONE_F32, .shape = {4, {1, 3, 16, 16}}};
  assert_int_equal(hone_tensor_alloc(context, &type, &x), HONE_OK);
  assert_int_equal(hone_session_copy_in(session, "x", &x), HONE_OK); /* with a free batch: another shape instance */
  assert_int_equal(hone_session_run(session), HONE_OK);
  for (int i = 0; i < 3; ++i) {
    const long count = count_of_run(session);
    if (count != 0) fail_msg("%s: run %d called allocating functions %ld times", s->what, i + 2, count);
  }
  assert_true((spans > 0) == s->trace);
  hone_tensor_free(context, &x);
  hone_session_destroy(session);
  hone_engine_release(engine);
  hone_graph_destroy(graph);
  hone_device_close(device);
  hone_context_destroy(context);
}

static void test_runs(void **state) {
  (void)state;
  static const setting settings[] = {
      {"cpu, one thread", "cpu", 1, false, false, false, false},
      {"cpu, two threads", "cpu", 2, false, false, false, false},
      {"cpu, profiled", "cpu", 2, false, false, true, false},
      {"cpu, traced", "cpu", 2, false, false, true, true},
      {"cpu, free batch", "cpu", 2, false, true, false, false},
      {"the reference alone", "cpu", 1, true, false, false, false},
      {"the null device", "null", 1, false, false, false, false},
  };
  for (size_t i = 0; i < sizeof settings / sizeof *settings; ++i) run_setting(&settings[i]);
}

/* The counter sees what it is there to see. */
static void test_counter(void **state) {
  (void)state;
  atomic_store(&calls, 0);
  atomic_store(&watching, true);
  void *volatile block = resize(NULL, NULL, 0, 100);
  resize(NULL, block, 100, 0);
#ifndef SANITIZED
  void *volatile plain = malloc(10);
  free(plain);
  void *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
#endif
  atomic_store(&watching, false);
#ifndef SANITIZED
  munmap(page, 4096);
  assert_true(atomic_load(&calls) >= 7);
#else
  assert_true(atomic_load(&calls) >= 2);
#endif
}

/* From one schedule to the other and back: what both need is there after their first runs. */
static void test_schedules(void **state) {
  (void)state;
  static const batch_range ranges[] = {{1, 1, 1}, {2, 4, 8}};
  const hone_context_options options = {.struct_size = sizeof options, .resize = resize};
  const hone_device_options two = {.struct_size = sizeof two, .threads = 2};
  const hone_session_options session_options = {.struct_size = sizeof session_options, .profile = true};
  hone_context *context;
  hone_device *device;
  hone_engine *engine;
  hone_session *session;
  hone_session_stats stats = HONE_SIZED(hone_session_stats);
  float y[SCHEDULES_MAX_BATCH * SCHEDULES_CLASSES];
  assert_int_equal(hone_context_create(&options, &context), HONE_OK);
  assert_int_equal(hone_device_open(context, "cpu", 0, &two, &device), HONE_OK);
  assert_int_equal(schedules_build(context, device, &schedules_conv, ranges, 2, NULL, &engine), HONE_OK);
  assert_int_equal(hone_session_create(engine, &session_options, &session, NULL), HONE_OK);
  for (int64_t batch = 1; batch <= 4; batch *= 4)
    assert_int_equal(schedules_run(&schedules_conv, session, batch, y), HONE_OK);
  for (int i = 0; i < 6; ++i) {
    const int64_t dims[4] = {i % 2 ? 4 : 1, 3, 16, 16};
    atomic_store(&calls, 0);
    atomic_store(&watching, true);
    const hone_status status = hone_session_set_shape(session, "x", 4, dims);
    atomic_store(&watching, false);
    assert_int_equal(status, HONE_OK);
    const long count = atomic_load(&calls) + count_of_run(session);
    if (count != 0) fail_msg("batch %d: allocating functions were called %ld times", (int)dims[0], count);
    hone_session_get_stats(session, &stats);
    assert_int_equal(stats.schedule, i % 2);
  }
  hone_session_destroy(session);
  hone_engine_release(engine);
  hone_device_close(device);
  hone_context_destroy(context);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_counter), cmocka_unit_test(test_runs),
                                     cmocka_unit_test(test_schedules)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
