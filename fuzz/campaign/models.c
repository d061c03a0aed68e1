/* SPDX-License-Identifier: Apache-2.0 */
/* models.c - mutants of models through import, build, save, load and run, at the corners of their profiles. */
#include "onnx_mutate.h"
#include "seeds.h"
#include "trial.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_INPUTS = 32, PROFILES_OF_A_FILE = 8, MOST_SHAPES = 2 * MOST_INPUTS };

static void *begin(const campaign_options *options, int64_t *out_total) {
  *out_total = INT64_MAX;
  return seeds_read(options, ".onnx");
}

static void *begin_files(const campaign_options *options, int64_t *out_total) {
  seed_list *list = seeds_read(options, ".onnx");
  *out_total = list ? (int64_t)list->count * PROFILES_OF_A_FILE : 0;
  return list;
}

static void make_file(void *user, uint64_t seed, int64_t number, campaign_file *file) {
  const seed_list *list = user;
  (void)seed;
  seeds_take(&list->items[number / PROFILES_OF_A_FILE % list->count], file);
}

static const seed_file *pick_seed(const seed_list *world, hn_random *random) {
  return &world->items[campaign_below(random, (uint64_t)world->count)];
}

static void make_structure(void *user, uint64_t seed, int64_t number, campaign_file *file) {
  const seed_list *world = user;
  hn_random random = campaign_random(seed, number);
  const seed_file *from = pick_seed(world, &random), *other = pick_seed(world, &random);
  onnx_tree tree, donor;
  seeds_take(from, file);
  if (!onnx_tree_read(&tree, from->bytes, from->count)) return; /* a damaged file as it is */
  free(file->bytes);
  const bool own = !onnx_tree_read(&donor, other->bytes, other->count);
  if (own && !onnx_tree_read(&donor, from->bytes, from->count)) abort();
  onnx_mutate(&tree, &donor, &random);
  file->bytes = onnx_tree_write(&tree, &file->count);
  onnx_tree_free(&tree);
  onnx_tree_free(&donor);
}

/* Bits flipped, bytes set, taken out, put in, and copied from elsewhere. */
static void make_bytes(void *user, uint64_t seed, int64_t number, campaign_file *file) {
  const seed_list *world = user;
  hn_random random = campaign_random(seed, number);
  const seed_file *from = pick_seed(world, &random), *other = pick_seed(world, &random);
  const int rounds = 1 + (int)campaign_below(&random, 3);
  seeds_take(from, file);
  file->bytes = realloc(file->bytes, from->count + 64 * (size_t)rounds);
  if (!file->bytes) abort();
  for (int i = 0; i < rounds; ++i) {
    const size_t at = (size_t)campaign_below(&random, file->count), left = file->count - at;
    size_t length = 1 + (size_t)campaign_below(&random, 63);
    switch (campaign_below(&random, 12)) { /* most leave the lengths right */
    case 0: file->bytes[at] ^= (uint8_t)(1u << campaign_below(&random, 8)); break;
    case 1: file->bytes[at] = (uint8_t)hn_random_u64(&random); break;
    case 2: file->bytes[at] = (uint8_t)(file->bytes[at] + 1 - 2 * (int)campaign_below(&random, 2)); break;
    case 3: memcpy(file->bytes + at, other->bytes + campaign_below(&random, other->count), 1); break;
    case 4:
      if (length >= left) break;
      memmove(file->bytes + at, file->bytes + at + length, left - length);
      file->count -= length;
      break;
    case 5:
      memmove(file->bytes + at + length, file->bytes + at, left);
      file->count += length;
      break;
    case 6:
      if (length > left) length = left;
      if (length > other->count) length = other->count;
      memcpy(file->bytes + at, other->bytes + campaign_below(&random, other->count - length + 1), length);
      break;
    default: file->bytes[at] = (uint8_t)(file->bytes[at] ^ campaign_below(&random, 16));
    }
  }
}

/* Free dims of one name have one range, mostly; so that min, opt and max are of the case's own numbers. */
static int profile(const hone_graph *graph, hn_random random, int number, hone_profile_shape *shapes) {
  const int inputs = hone_graph_input_count(graph);
  const uint64_t salt = hn_random_u64(&random);
  int count = 0;
  for (int i = 0; i < inputs && count < MOST_INPUTS; ++i) {
    hone_value *value = hone_graph_input(graph, i);
    hone_type type;
    bool is_free = false;
    hone_value_type(value, &type);
    if (type.kind != HONE_TENSOR || type.shape.rank < 0) continue;
    hone_profile_shape shape = {
        .input = hone_value_name(value), .min = type.shape, .opt = type.shape, .max = type.shape, .profile = number};
    for (int d = 0; d < type.shape.rank; ++d) {
      if (type.shape.dim[d] >= 0) continue;
      is_free = true;
      hn_random own = {salt ^ (uint64_t)type.shape.dim[d] * 0x9e3779b97f4a7c15u};
      if (campaign_below(&random, 16) == 0) own = random;
      shape.min.dim[d] = (int64_t)campaign_below(&own, 4);
      shape.opt.dim[d] = shape.min.dim[d] + (int64_t)campaign_below(&own, 4);
      shape.max.dim[d] = shape.opt.dim[d] + (int64_t)campaign_below(&own, 6);
    }
    if (is_free) shapes[count++] = shape;
  }
  return count;
}

/* What was imported is exported, and imported again. */
static const char *export_and_import(trial *t, const hone_graph *graph) {
  char path[64];
  hone_graph *again = NULL;
  trial_path(path, sizeof path, "onnx");
  hone_context_clear_messages(t->context);
  hone_status status = hone_graph_save_onnx(graph, path);
  const char *complaint = trial_check(t, status, "save_onnx");
  if (status == HONE_OK) {
    status = hone_graph_load_onnx(t->context, path, &again);
    complaint = trial_check(t, status, "import of its own export");
    hone_graph_destroy(again);
    if (!complaint && status != HONE_OK && status != HONE_NO_MEMORY) complaint = "its own export is refused";
  }
  unlink(path);
  return complaint;
}

/* Most cases build as users do; some with two profiles, on the reference, or with hardly any scratch memory. */
static const char *build(trial *t, const hone_graph *graph, hn_random random, hone_engine **out) {
  hone_profile_shape shapes[MOST_SHAPES];
  hone_build_options options = {.struct_size = sizeof options, .level = -1, .shapes = shapes};
  const uint64_t way = campaign_below(&random, 16);
  options.shape_count = profile(graph, random, 0, shapes);
  if (way < 4 && options.shape_count) {
    hn_random other = {random.state + 1};
    options.shape_count += profile(graph, other, 1, shapes + options.shape_count);
  }
  options.reference_only = way == 4;
  options.scratch_limit_bytes = way == 5 ? 1 : 0;
  hone_context_clear_messages(t->context);
  const hone_status status = hone_engine_build(t->context, graph, t->devices, t->device_count, &options, out);
  if ((status == HONE_OK) != (*out != NULL)) return "a status and an engine that contradict one another";
  return trial_check(t, status, "build");
}

static const char *import_and_build(trial *t, const campaign_file *file, hn_random random, campaign_slot *slot,
                                    hone_engine **out) {
  hone_graph *graph;
  campaign_enter(slot, STAGE_IMPORT);
  const hone_status status = hone_graph_load_onnx_memory(t->context, file->bytes, file->count, NULL, &graph);
  if ((status == HONE_OK) != (graph != NULL)) return "a status and a graph that contradict one another";
  if (status != HONE_OK) return trial_check(t, status, "import");
  const char *complaint = campaign_below(&random, 4) ? NULL : export_and_import(t, graph);
  campaign_enter(slot, STAGE_BUILD);
  if (!complaint) complaint = build(t, graph, random, out);
  hone_graph_destroy(graph);
  return complaint;
}

/* The engine that was saved and loaded again must say what the one that was built says. */
static const char *save_and_run(trial *t, hone_engine *built, uint64_t seed, campaign_slot *slot) {
  campaign_file saved = {0};
  hone_engine *loaded = NULL;
  uint64_t of_built = 0, of_loaded = 0;
  campaign_enter(slot, STAGE_SAVE);
  const char *complaint = trial_save(t, built, &saved.bytes, &saved.count);
  if (complaint) return complaint;
  campaign_enter(slot, STAGE_LOAD);
  hone_context_clear_messages(t->context);
  const hone_status status =
      hone_engine_load_memory(t->context, saved.bytes, saved.count, t->devices, t->device_count, &loaded);
  free(saved.bytes);
  complaint = trial_check(t, status, "load");
  if (!complaint && status == HONE_MALFORMED) complaint = "its own engine is malformed";
  if (!complaint && loaded) complaint = trial_run(t, loaded, seed, slot, &of_loaded);
  hone_engine_release(loaded);
  if (complaint || !loaded || slot->stage != STAGE_DONE) return complaint;
  complaint = trial_run(t, built, seed, slot, &of_built);
  if (!complaint && slot->stage != STAGE_DONE) return NULL; /* memory: two engines are there now and then */
  return complaint ? complaint : of_built == of_loaded ? NULL : "built and loaded engine say different things";
}

static const char *attempt(void *user, const campaign_file *file, uint64_t seed, int64_t number, campaign_slot *slot) {
  static char said[256];
  const seed_list *world = user;
  trial t;
  hone_engine *engine = NULL;
  hn_random random = campaign_random(seed ^ 0x70726f66, number);
  const bool with_far = campaign_below(&random, 8) == 0;
  if (!trial_begin(&t, world->options, with_far, campaign_below(&random, 8) ? 1 : 3)) return "no device";
  const char *complaint = import_and_build(&t, file, random, slot, &engine);
  if (!complaint && engine) complaint = save_and_run(&t, engine, random.state, slot);
  if (complaint) snprintf(said, sizeof said, "%s", complaint);
  hone_engine_release(engine);
  const char *left = trial_end(&t);
  return complaint ? said : left ? strcpy(said, left) : NULL;
}

const campaign_family campaign_model_bytes = {.name = "model-bytes",
                                              .doc = "bytes of models changed; import, build, save, load, run",
                                              .begin = begin,
                                              .end = seeds_free,
                                              .make = make_bytes,
                                              .attempt = attempt};
const campaign_family campaign_model_structure = {
    .name = "model-structure",
    .doc = "fields of models changed, taken out, grafted; dims made free; import, build, save, load, run",
    .begin = begin,
    .end = seeds_free,
    .make = make_structure,
    .attempt = attempt};
const campaign_family campaign_model_files = {.name = "model-files",
                                              .doc = "the MODELS as they are, each with eight profiles",
                                              .begin = begin_files,
                                              .end = seeds_free,
                                              .make = make_file,
                                              .attempt = attempt};
