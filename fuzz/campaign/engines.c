/* SPDX-License-Identifier: Apache-2.0 */
/* engines.c - the small engines that are damaged: texts, profiles, and the try of one. */
#include "engines.h"
#include "../engine_patch.h"
#include <stdlib.h>
#include <string.h>

enum { RUN_SEED = 1 };

typedef struct source {
  const char *name, *text;
  int profiles;    /* of x's first dim: 1..2, then 2..5 */
  int64_t columns; /* of x, where there are profiles */
  bool far;
} source;

static const source sources[ENGINES] = {
    {"if",
     "graph \"if\" opset 17 {\n in %x: f32[1,4,6,6]\n in %ask: bool[]\n const %w: f32[4,4,3,3] = random 1\n"
     " const %u: f32[4,4,1,1] = random 2\n %p = relu(%x)\n"
     " %r, %q = if(%ask, %p)\n"
     "  (%a: f32[1,4,6,6]) {\n %b = conv(%a, %w) [pads=[1,1,1,1]]\n %c = relu(%b)\n yield %c, %a\n }\n"
     "  (%e: f32[1,4,6,6]) {\n %f = conv(%e, %u)\n %g = tanh(%e)\n yield %f, %g\n }\n"
     " %s = softmax(%r) [axis=1]\n out %s as \"s\"\n out %q as \"q\"\n}\n",
     0, 0, false},
    {"loop",
     "graph \"loop\" opset 17 {\n in %n: i64[]\n in %x: f32[4,6]\n const %w: f32[6,6] = random 1\n"
     " const %k: f32[] = [0.1]\n"
     " %y, %z, %all = loop(%n, _, %x, %x) (%i: i64[], %go: bool[], %s: f32[4,6], %old: f32[4,6]) {\n"
     "  %m = matmul(%s, %w)\n %o = mul(%m, %k)\n %t = tanh(%o)\n %p = softmax(%t)\n %q = add(%t, %old)\n"
     "  yield %go, %q, %s, %p\n }\n out %y as \"y\"\n out %z as \"z\"\n out %all as \"all\"\n}\n",
     0, 0, false},
    {"schedules",
     "graph \"mlp\" opset 17 { dim n in %x: f32[n,8]\nconst %w1: f32[8,12] = random 1 const %b1: f32[12] = random 2\n"
     "const %w2: f32[12,6] = random 3 const %b2: f32[6] = random 4\n"
     "%a = gemm(%x, %w1, %b1) %c = relu(%a) %d = gemm(%c, %w2, %b2) %e = softmax(%d)\n"
     "%t = transpose(%e) [perm=[1,0]] out %e as \"e\" out %t as \"t\" }",
     2, 8, false},
    {"dependent",
     "graph \"dependent\" opset 17 {\n in %x: f32[4,5]\n in %keep: bool[4]\n const %w: f32[5,3] = random 1\n"
     " const %one: f32[1,3] = random 2\n const %axis: i64[1] = [0]\n"
     " %z = non_zero(%x)\n %c = compress(%x, %keep) [axis=0]\n %m = matmul(%c, %w)\n %a = add(%m, %one)\n"
     " %r = relu(%a)\n %s = reduce_sum(%r, %axis)\n out %z as \"z\"\n out %r as \"r\"\n out %s as \"s\"\n}\n",
     0, 0, false},
    {"quantised",
     "graph \"quantised\" opset 17 {\n in %x: f32[2,8]\n const %s: f32[] = [0.02]\n const %zero: u8[] = [128]\n"
     " const %w: i8[8,6] = random 1\n const %ws: f32[] = [0.01]\n const %wz: i8[] = [0]\n"
     " const %zi: i8[] = [0]\n const %ks: f32[6] = random 3\n"
     " %q = quantize_linear(%x, %s, %zero)\n %y = qlinear_matmul(%q, %s, %zero, %w, %ws, %wz, %s, %zero)\n"
     " %d = dequantize_linear(%y, %s, %zero)\n %wd = dequantize_linear(%w, %ws, %wz)\n %m = matmul(%x, %wd)\n"
     " %t = add(%d, %m)\n %u = quantize_linear(%t, %s, %zi)\n out %u as \"u\"\n out %y as \"y\"\n}\n",
     0, 0, false},
    {"far",
     "graph \"far\" opset 17 {\n in %x: f32[6,8]\n in %z: f32[6,8]\n const %w: f32[8,8] = random 1\n"
     " const %b: f32[8] = random 2\n const %v: f32[8,8] = random 3\n"
     " %m = matmul(%x, %w)\n %a = add(%m, %b)\n %s = softmax(%a)\n %o = mul(%s, %z)\n %p = matmul(%o, %v)\n"
     " %t = transpose(%p) [perm=[1,0]]\n %u = tanh(%t)\n out %u as \"u\"\n out %o as \"o\"\n}\n",
     0, 0, true},
};

static hone_shape rows(int64_t count, int64_t columns) { return (hone_shape){.rank = 2, .dim = {count, columns}}; }

static const char *build(trial *t, const source *from, hone_engine **out) {
  hone_graph *graph = NULL;
  const hone_profile_shape shapes[2] = {
      {.input = "x", .min = rows(1, from->columns), .opt = rows(2, from->columns), .max = rows(2, from->columns)},
      {.input = "x",
       .min = rows(2, from->columns),
       .opt = rows(4, from->columns),
       .max = rows(5, from->columns),
       .profile = 1}};
  const hone_build_options options = {
      .struct_size = sizeof options, .level = -1, .shapes = shapes, .shape_count = from->profiles};
  hone_status status = hone_graph_parse(t->context, from->text, strlen(from->text), &graph);
  if (status == HONE_OK) status = hone_engine_build(t->context, graph, t->devices, t->device_count, &options, out);
  hone_graph_destroy(graph);
  return status == HONE_OK ? NULL : hone_status_name(status);
}

static const char *make(const campaign_options *options, const source *from, small_engine *out) {
  trial t;
  campaign_slot slot = {0};
  hone_engine *engine = NULL;
  out->name = from->name;
  out->far = from->far;
  const char *complaint = trial_begin(&t, options, from->far, 1) ? NULL : "no device";
  if (!complaint) complaint = build(&t, from, &engine);
  if (!complaint) complaint = trial_save(&t, engine, &out->bytes, &out->count);
  if (!complaint) complaint = trial_run(&t, engine, RUN_SEED, &slot, &out->hash);
  if (!complaint && slot.stage != STAGE_DONE) complaint = "it does not run";
  if (complaint) {
    fprintf(stderr, "engine %s: %s\n", from->name, complaint);
    trial_print_messages(&t);
  }
  hone_engine_release(engine);
  trial_end(&t);
  return complaint;
}

engine_world *engines_build(const campaign_options *options) {
  engine_world *world = calloc(1, sizeof *world);
  if (!world) return NULL;
  world->options = options;
  for (int i = 0; i < ENGINES; ++i) {
    if (!make(options, &sources[i], &world->engines[i])) continue;
    engines_free(world);
    return NULL;
  }
  return world;
}

void engines_free(engine_world *world) {
  for (int i = 0; i < ENGINES; ++i) free(world->engines[i].bytes);
  free(world);
}

static const char *load_and_run(trial *t, const campaign_file *file, uint64_t same_hash, campaign_slot *slot) {
  hone_engine *engine;
  campaign_enter(slot, STAGE_LOAD);
  const hone_status status =
      hone_engine_load_memory(t->context, file->bytes, file->count, t->devices, t->device_count, &engine);
  if ((status == HONE_OK) != (engine != NULL)) return "a status and an engine that contradict one another";
  if (status != HONE_OK) return trial_check(t, status, "load");
  uint64_t hash = 0;
  const char *complaint = trial_run(t, engine, RUN_SEED, slot, &hash);
  hone_engine_release(engine);
  if (!complaint && same_hash && slot->stage == STAGE_DONE && hash != same_hash)
    complaint = "damaged, accepted, and another result";
  return complaint;
}

const char *engines_attempt(const engine_world *world, const campaign_file *file, uint64_t same_hash,
                            campaign_slot *slot) {
  static char said[256];
  trial t;
  const bool far = memmem(file->bytes, file->count, "\"far", 4) != NULL;
  if (!trial_begin(&t, world->options, far, 1)) return "no device";
  const char *complaint = load_and_run(&t, file, same_hash, slot);
  if (complaint) snprintf(said, sizeof said, "%s", complaint);
  const char *left = trial_end(&t);
  return complaint ? said : left ? strcpy(said, left) : NULL;
}

const char *engines_header(const small_engine *engine, size_t *out_bytes) {
  hn_engine_fixed fixed;
  memcpy(&fixed, engine->bytes, sizeof fixed);
  *out_bytes = (size_t)fixed.header_bytes;
  return (const char *)engine->bytes + HN_ENGINE_FIXED_BYTES;
}

void engines_assemble(const char *header, size_t header_bytes, const small_engine *weights_of, campaign_file *file) {
  hn_engine_fixed fixed;
  memcpy(&fixed, weights_of->bytes, sizeof fixed);
  const uint8_t *weights = weights_of->bytes + fixed.weights_offset;
  const size_t weights_bytes = weights_of->count - (size_t)fixed.weights_offset;
  fixed.header_bytes = header_bytes;
  fixed.weights_offset =
      (HN_ENGINE_FIXED_BYTES + header_bytes + HN_ENGINE_ALIGNMENT - 1) / HN_ENGINE_ALIGNMENT * HN_ENGINE_ALIGNMENT;
  file->count = (size_t)fixed.weights_offset + weights_bytes;
  file->bytes = calloc(1, file->count);
  if (!file->bytes) abort();
  memcpy(file->bytes, &fixed, sizeof fixed);
  memcpy(file->bytes + HN_ENGINE_FIXED_BYTES, header, header_bytes);
  memcpy(file->bytes + fixed.weights_offset, weights, weights_bytes);
  engine_patch(file->bytes, file->count, 1);
}
