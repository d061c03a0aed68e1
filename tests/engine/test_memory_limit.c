/* SPDX-License-Identifier: Apache-2.0 */
/* test_memory_limit.c - a context's memory limit: small models that want gigabytes end with NO_MEMORY and never take
 * more than was allowed; what was made with a context keeps the limit behind its end, and nothing is lost. */
#include <hone/hone.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { LIMIT_BYTES = 64 << 20 };

static atomic_llong live, most;

static void *resize(void *user, void *old, size_t old_bytes, size_t new_bytes) {
  (void)user;
  void *fresh = new_bytes ? aligned_alloc(64, (new_bytes + 63) / 64 * 64) : NULL;
  if (new_bytes && !fresh) return NULL;
  const long long now = atomic_fetch_add(&live, (long long)new_bytes) + (long long)new_bytes;
  if (now > atomic_load(&most)) atomic_store(&most, now);
  if (fresh && old) memcpy(fresh, old, old_bytes < new_bytes ? old_bytes : new_bytes);
  free(old);
  atomic_fetch_sub(&live, (long long)old_bytes);
  return fresh;
}

typedef struct hungry {
  const char *name, *text;
} hungry;

static const hungry graphs[] = {
    {"expand", "in %x: f32[1]\n const %r: i64[1] = [1000000000]\n %t = expand(%x, %r)\n %y = exp(%t)\n out %y\n"},
    {"constant_of_shape", "in %x: f32[1]\n const %r: i64[1] = [1000000000]\n %t = constant_of_shape(%r)\n"
                          " %y = add(%t, %x)\n out %y\n"},
    {"tile", "in %x: f32[1000]\n const %r: i64[1] = [1000000]\n %y = tile(%x, %r)\n out %y\n"},
    {"matmul", "in %x: f32[30000,4]\n in %w: f32[4,30000]\n %t = matmul(%x, %w)\n %u = softmax(%t)\n"
               " %y = matmul(%u, %t)\n out %y\n"},
};

static hone_context *limited_context(uint64_t bytes) {
  const hone_context_options options = {.struct_size = sizeof options, .resize = resize, .memory_limit_bytes = bytes};
  hone_context *context;
  assert_int_equal(hone_context_create(&options, &context), HONE_OK);
  return context;
}

static hone_status build(hone_context *context, hone_device *device, const char *body, hone_engine **out_engine) {
  char text[1024] = "graph \"g\" opset 17 {\n ";
  const hone_build_options options = {.struct_size = sizeof options, .level = -1};
  hone_graph *graph;
  strcat(strcat(text, body), "}\n");
  hone_status status = hone_graph_parse(context, text, strlen(text), &graph);
  if (status == HONE_OK) status = hone_engine_build(context, graph, &device, 1, &options, out_engine);
  hone_graph_destroy(graph);
  return status;
}

static void test_builds(void **state) {
  (void)state;
  const hone_device_options options = {.struct_size = sizeof options, .threads = 2};
  for (size_t i = 0; i < sizeof graphs / sizeof *graphs; ++i) {
    atomic_store(&most, 0);
    hone_context *context = limited_context(LIMIT_BYTES);
    hone_device *device;
    hone_engine *engine = NULL;
    hone_session *session = NULL;
    assert_int_equal(hone_device_open(context, "cpu", 0, &options, &device), HONE_OK);
    hone_status status = build(context, device, graphs[i].text, &engine);
    if (status == HONE_OK) status = hone_session_create(engine, NULL, &session, hone_context_diagnostics(context));
    const char *message = status == HONE_OK ? "" : hone_context_message(context, 0, NULL);
    if (status != HONE_NO_MEMORY) fail_msg("%s: %s: %s", graphs[i].name, hone_status_name(status), message);
    if (!strstr(message, "the memory limit is 67108864 bytes")) fail_msg("%s: says %s", graphs[i].name, message);
    if (atomic_load(&most) > LIMIT_BYTES + 4096) fail_msg("%s: took %lld", graphs[i].name, (long long)most);
    hone_session_destroy(session);
    hone_engine_release(engine);
    hone_device_close(device);
    hone_context_destroy(context);
    assert_int_equal(atomic_load(&live), 0);
  }
}

/* An engine, a session and a device outlive their context, in any order. */
static void test_lives(void **state) {
  (void)state;
  for (int order = 0; order < 4; ++order) {
    hone_context *context = limited_context(LIMIT_BYTES);
    hone_device *device;
    hone_engine *engine;
    hone_session *session;
    assert_int_equal(hone_device_open(context, "cpu", 0, NULL, &device), HONE_OK);
    assert_int_equal(build(context, device, "in %x: f32[100]\n %y = exp(%x)\n out %y\n", &engine), HONE_OK);
    if (order & 1) hone_context_destroy(context);
    assert_int_equal(hone_session_create(engine, NULL, &session, NULL), HONE_OK);
    assert_int_equal(hone_session_run(session), HONE_OK);
    if (order & 2) hone_engine_release(engine);
    hone_session_destroy(session);
    if (!(order & 2)) hone_engine_release(engine);
    hone_device_close(device);
    if (!(order & 1)) hone_context_destroy(context);
    assert_int_equal(atomic_load(&live), 0);
  }
}

static void test_tiny(void **state) {
  (void)state;
  for (uint64_t bytes = 1; bytes < (uint64_t)1 << 20; bytes *= 3) {
    const hone_context_options options = {.struct_size = sizeof options, .resize = resize, .memory_limit_bytes = bytes};
    hone_context *context;
    const hone_status status = hone_context_create(&options, &context);
    assert_true(status == HONE_OK || status == HONE_NO_MEMORY);
    hone_context_destroy(context);
    assert_int_equal(atomic_load(&live), 0);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_builds), cmocka_unit_test(test_lives),
                                     cmocka_unit_test(test_tiny)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
