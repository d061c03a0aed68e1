/* SPDX-License-Identifier: Apache-2.0 */
/* damage.c - a small engine, damaged in every place. */
#include "support/damage.h"
#include "../fuzz/engine_patch.h"
#include "support/saved_engine.h"
#include "support/small_net.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { CLASSES = 10, MOST_SCHEDULES = 2, ITEM = 3 * 16 * 16 };

typedef struct bench {
  hone_context *context;
  hone_device *device;
  hone_tensor x; /* a batch of MOST_SCHEDULES items; schedule k runs the first k + 1 */
  uint8_t *bytes, *copy;
  size_t count;
  int schedules;
  float want[MOST_SCHEDULES][MOST_SCHEDULES * CLASSES];
} bench;

/* What became of a damaged engine. */
typedef enum fate { REFUSED, RAN_RIGHT, RAN_OTHERWISE, WRONG } fate;

static void check(hone_status status, const hone_context *context) {
  if (status == HONE_OK) return;
  for (int i = 0; i < hone_context_message_count(context); ++i)
    print_error("%s\n", hone_context_message(context, i, NULL));
  fail_msg("%s", hone_status_name(status));
}

static hone_tensor first_items(const bench *b, int count) {
  hone_tensor x = b->x;
  x.type.shape.dim[0] = count;
  x.bytes = (size_t)count * ITEM * sizeof(float);
  return x;
}

static fate run(const bench *b, hone_engine *engine, hone_session *session) {
  hone_port_info in = HONE_SIZED(hone_port_info), out = HONE_SIZED(hone_port_info);
  fate end = RAN_RIGHT;
  if (hone_engine_input_count(engine) != 1 || hone_engine_output_count(engine) != 1) return RAN_OTHERWISE;
  if (hone_engine_input(engine, 0, &in) != HONE_OK || hone_engine_output(engine, 0, &out) != HONE_OK) return WRONG;
  for (int k = 0; k < b->schedules; ++k) {
    const hone_tensor x = first_items(b, k + 1);
    const size_t want_bytes = (size_t)(k + 1) * CLASSES * sizeof(float);
    hone_tensor y;
    hone_status status = hone_session_copy_in(session, in.name, &x);
    if (status == HONE_OK) status = hone_session_run(session);
    if (status != HONE_OK) return hone_session_message_count(session) > 0 ? REFUSED : WRONG;
    if (hone_session_tensor(session, out.name, &y) != HONE_OK) return WRONG;
    if (y.bytes != want_bytes || memcmp(y.data, b->want[k], want_bytes) != 0) end = RAN_OTHERWISE;
  }
  return end;
}

static fate open_and_run(bench *b, const uint8_t *bytes, size_t count) {
  hone_engine *engine;
  hone_session *session;
  hone_context_clear_messages(b->context);
  hone_status status = hone_engine_load_memory(b->context, bytes, count, &b->device, 1, &engine);
  if (status != HONE_OK)
    return engine == NULL && status != HONE_INTERNAL && hone_context_message_count(b->context) ? REFUSED : WRONG;
  status = hone_session_create(engine, NULL, &session, hone_context_diagnostics(b->context));
  fate end = REFUSED;
  if (status == HONE_OK)
    end = run(b, engine, session);
  else if (session || status == HONE_INTERNAL || hone_context_message_count(b->context) == 0)
    end = WRONG;
  hone_session_destroy(session);
  hone_engine_release(engine);
  return end;
}

static void count_fate(bench *b, size_t count, bool patched, const char *how, size_t at, damage_counts *counts) {
  const fate became = open_and_run(b, b->copy, count);
  ++counts->tried;
  counts->refused += became == REFUSED;
  counts->ran += became != REFUSED;
  if (became == WRONG || (!patched && became == RAN_OTHERWISE))
    fail_msg("%s %zu, checksums %s: %s", how, at, patched ? "patched" : "as they were",
             became == WRONG ? "an error without words" : "another result");
}

static void save_bytes(bench *b, const hone_engine *engine) {
  char path[] = "/tmp/hone_damage_XXXXXX";
  const int file = mkstemp(path);
  assert_true(file >= 0);
  close(file);
  check(hone_engine_save(engine, path, hone_context_diagnostics(b->context)), b->context);
  FILE *in = fopen(path, "rb");
  assert_non_null(in);
  assert_int_equal(fseek(in, 0, SEEK_END), 0);
  b->count = (size_t)ftell(in);
  rewind(in);
  b->bytes = malloc(b->count);
  b->copy = malloc(b->count);
  assert_true(b->bytes && b->copy && fread(b->bytes, 1, b->count, in) == b->count);
  fclose(in);
  saved_engine_remove(path);
}

static void begin(bench *b) {
  const hone_device_options one = {.struct_size = sizeof one, .threads = 1};
  static const hone_profile_shape shapes[] = {{"x", {4, {1, 3, 16, 16}}, {4, {1, 3, 16, 16}}, {4, {1, 3, 16, 16}}, 0},
                                              {"x", {4, {2, 3, 16, 16}}, {4, {2, 3, 16, 16}}, {4, {3, 3, 16, 16}}, 1}};
  const hone_build_options options = {
      .struct_size = sizeof options, .level = -1, .shapes = shapes, .shape_count = b->schedules};
  const hone_type type = {.kind = HONE_TENSOR, .dtype = HONE_F32, .shape = {4, {MOST_SCHEDULES, 3, 16, 16}}};
  hone_graph *graph;
  hone_engine *engine;
  hone_session *session;
  assert_int_equal(hone_context_create(NULL, &b->context), HONE_OK);
  check(hone_device_open(b->context, "cpu", 0, &one, &b->device), b->context);
  check(small_net_graph(b->context, b->schedules > 1, &graph), b->context);
  check(hone_engine_build(b->context, graph, &b->device, 1, &options, &engine), b->context);
  check(hone_tensor_alloc(b->context, &type, &b->x), b->context);
  small_net_fill(&b->x, 1);
  check(hone_session_create(engine, NULL, &session, NULL), b->context);
  for (int k = 0; k < b->schedules; ++k) {
    const hone_tensor x = first_items(b, k + 1);
    hone_tensor y;
    check(hone_session_copy_in(session, "x", &x), b->context);
    check(hone_session_run(session), b->context);
    check(hone_session_tensor(session, "y", &y), b->context);
    assert_int_equal(y.bytes, (size_t)(k + 1) * CLASSES * sizeof(float));
    memcpy(b->want[k], y.data, y.bytes);
  }
  save_bytes(b, engine);
  hone_session_destroy(session);
  hone_engine_release(engine);
  hone_graph_destroy(graph);
}

static void end(bench *b) {
  free(b->bytes);
  free(b->copy);
  hone_tensor_free(b->context, &b->x);
  hone_device_close(b->device);
  hone_context_destroy(b->context);
}

void damage_sweep(int schedules, size_t stride, size_t weights_stride) {
  bench b = {.schedules = schedules};
  begin(&b);
  assert_int_equal(open_and_run(&b, b.bytes, b.count), RAN_RIGHT);
  hn_engine_fixed fixed;
  memcpy(&fixed, b.bytes, sizeof fixed);
  for (int patched = 0; patched < 2; ++patched) {
    damage_counts flips = {0}, cuts = {0};
    for (size_t at = 0; at < b.count; at += at < fixed.weights_offset ? stride : weights_stride) {
      memcpy(b.copy, b.bytes, b.count);
      b.copy[at] ^= (uint8_t)(1u << (at / stride % 8));
      if (patched) engine_patch(b.copy, b.count, 0);
      count_fate(&b, b.count, patched, "byte flipped:", at, &flips);
    }
    for (size_t count = 0; count < b.count; count += stride) {
      memcpy(b.copy, b.bytes, b.count);
      if (patched) engine_patch(b.copy, count, 1);
      count_fate(&b, count, patched, "cut at", count, &cuts);
    }
    print_message("%zu bytes, checksums %s: %ld flips, %ld refused, %ld ran; %ld cuts, %ld refused, %ld ran\n", b.count,
                  patched ? "patched" : "as they were", flips.tried, flips.refused, flips.ran, cuts.tried, cuts.refused,
                  cuts.ran);
  }
  end(&b);
}
