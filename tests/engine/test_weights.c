/* SPDX-License-Identifier: Apache-2.0 */
/* test_weights.c - damaged weights of several MiB are found by however many threads look, and the first damaged MiB is
 * the one that is named; a session that trusts them does not look. */
#include "support/saved_engine.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <hone/hone.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROWS = 1100, COLUMNS = 1000, MIB = 1 << 20 }; /* 4.2 MiB */

typedef struct fixture {
  hone_context *context;
  uint8_t *bytes; /* an engine file */
  size_t count;
} fixture;

static hone_graph *make_graph(hone_context *context) {
  const hone_type w_type = {.kind = HONE_TENSOR, .dtype = HONE_F32, .shape = {2, {ROWS, COLUMNS}}};
  hone_graph *graph;
  hone_value *in[2], *y;
  hone_tensor w;
  assert_int_equal(hone_graph_create(context, "weights", &graph), HONE_OK);
  assert_int_equal(hone_tensor_alloc(context, &w_type, &w), HONE_OK);
  for (int i = 0; i < ROWS * COLUMNS; ++i) ((float *)w.data)[i] = (float)(i % 251) * 0.01f - 1;
  assert_int_equal(hone_graph_add_input(graph, "x", HONE_F32, 2, (int64_t[]){1, ROWS}, NULL, &in[0]), HONE_OK);
  assert_int_equal(hone_graph_add_constant(graph, "w", &w, &in[1]), HONE_OK);
  assert_int_equal(hone_graph_add_node(graph, "matmul", "product", in, 2, NULL, 0, &y, 1), HONE_OK);
  assert_int_equal(hone_graph_add_output(graph, "y", y), HONE_OK);
  hone_tensor_free(context, &w);
  return graph;
}

static hone_device *open_device(hone_context *context, int threads) {
  const hone_device_options options = {.struct_size = sizeof options, .threads = threads};
  hone_device *device;
  assert_int_equal(hone_device_open(context, "cpu", 0, &options, &device), HONE_OK);
  return device;
}

static void read_file(const char *path, fixture *f) {
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  assert_int_equal(fseek(file, 0, SEEK_END), 0);
  f->count = (size_t)ftell(file);
  rewind(file);
  f->bytes = malloc(f->count);
  assert_non_null(f->bytes);
  assert_int_equal(fread(f->bytes, 1, f->count, file), f->count);
  fclose(file);
}

static int set_up(void **state) {
  static fixture f;
  char path[] = "/tmp/hone_weights_XXXXXX";
  const int fd = mkstemp(path);
  assert_true(fd >= 0);
  close(fd);
  assert_int_equal(hone_context_create(NULL, &f.context), HONE_OK);
  hone_device *device = open_device(f.context, 1);
  hone_graph *graph = make_graph(f.context);
  const hone_build_options build = {.struct_size = sizeof build, .level = -1};
  hone_engine *engine;
  assert_int_equal(hone_engine_build(f.context, graph, &device, 1, &build, &engine), HONE_OK);
  assert_int_equal(hone_engine_save(engine, path, hone_context_diagnostics(f.context)), HONE_OK);
  read_file(path, &f);
  saved_engine_remove(path);
  hone_engine_release(engine);
  hone_graph_destroy(graph);
  hone_device_close(device);
  *state = &f;
  return 0;
}

static int tear_down(void **state) {
  fixture *f = *state;
  free(f->bytes);
  hone_context_destroy(f->context);
  return 0;
}

static hone_status open_session(fixture *f, int threads, bool trust, char *message, size_t room) {
  hone_context_clear_messages(f->context);
  hone_device *device = open_device(f->context, threads);
  hone_engine *engine;
  hone_session *session;
  const hone_session_options options = {.struct_size = sizeof options, .trust_weights = trust};
  assert_int_equal(hone_engine_load_memory(f->context, f->bytes, f->count, &device, 1, &engine), HONE_OK);
  const hone_status status = hone_session_create(engine, &options, &session, hone_context_diagnostics(f->context));
  const char *text = hone_context_message(f->context, 0, NULL);
  (void)snprintf(message, room, "%s", text ? text : "");
  hone_session_destroy(session);
  hone_engine_release(engine);
  hone_device_close(device);
  return status;
}

static void test_damage(void **state) {
  fixture *f = *state;
  char message[256];
  uint64_t offset;
  memcpy(&offset, f->bytes + 32, sizeof offset); /* docs/ENGINE.md */
  uint8_t *weights = f->bytes + offset;
  for (int threads = 1; threads <= 4; ++threads) {
    assert_int_equal(open_session(f, threads, false, message, sizeof message), HONE_OK);
    f->bytes[f->count - 5] ^= 1; /* in the last MiB */
    assert_int_equal(open_session(f, threads, false, message, sizeof message), HONE_MALFORMED);
    assert_non_null(strstr(message, "MiB 4 "));
    weights[MIB + 17] ^= 0x80; /* and before */
    weights[2 * MIB + 17] ^= 0x80;
    assert_int_equal(open_session(f, threads, false, message, sizeof message), HONE_MALFORMED);
    assert_non_null(strstr(message, "MiB 1 "));
    assert_int_equal(open_session(f, threads, true, message, sizeof message), HONE_OK);
    f->bytes[f->count - 5] ^= 1;
    weights[MIB + 17] ^= 0x80;
    weights[2 * MIB + 17] ^= 0x80;
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_damage)};
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
