/* SPDX-License-Identifier: Apache-2.0 */
/* engine_bytes.c - every byte of the small engines changed in four ways, as it is and with the checksums made
 * right. */
#include "../engine_patch.h"
#include "engines.h"
#include "seeds.h"
#include <stdlib.h>
#include <string.h>

enum { WAYS = 4 }; /* two bits flipped, another byte, a letter that means something in the header */

static void *begin(const campaign_options *options, int64_t *out_total) {
  engine_world *world = engines_build(options);
  *out_total = 0;
  for (int i = 0; world && i < ENGINES; ++i) *out_total += (int64_t)world->engines[i].count * WAYS * 2;
  return world;
}

static void end(void *world) { engines_free(world); }

typedef struct place {
  const small_engine *engine;
  size_t at;
  int way;
  bool patched;
} place;

/* Neighbours in number are far from one another in the file, so that a few cases are a sample of all. */
static place place_of(const engine_world *world, int64_t number) {
  int64_t total = 0;
  for (int i = 0; i < ENGINES; ++i) total += (int64_t)world->engines[i].count * WAYS * 2;
  static const int64_t stride = 1000003; /* a prime that no total of ours is a multiple of */
  int64_t k = (int64_t)((unsigned __int128)number * stride % (uint64_t)total);
  place p = {.patched = k % 2};
  k /= 2;
  p.way = (int)(k % WAYS);
  k /= WAYS;
  for (p.engine = world->engines; k >= (int64_t)p.engine->count; ++p.engine) k -= (int64_t)p.engine->count;
  p.at = (size_t)k;
  return p;
}

static void make(void *user, uint64_t seed, int64_t number, campaign_file *file) {
  const place p = place_of(user, number);
  hn_random random = campaign_random(seed, number);
  file->bytes = malloc(p.engine->count);
  if (!file->bytes) abort();
  file->count = p.engine->count;
  memcpy(file->bytes, p.engine->bytes, file->count);
  uint8_t *byte = &file->bytes[p.at];
  if (p.way < 2)
    *byte ^= (uint8_t)(1u << (4 * p.way + (int)campaign_below(&random, 4)));
  else if (p.way == 2)
    *byte = (uint8_t)hn_random_u64(&random);
  else
    *byte = (uint8_t) "0129-\",:[]{} eE.n"[campaign_below(&random, 17)];
  if (p.patched) engine_patch(file->bytes, file->count, 0);
  snprintf(file->name, sizeof file->name, "engine %s, byte %zu, way %d%s", p.engine->name, p.at, p.way,
           p.patched ? ", patched" : "");
}

static const char *attempt(void *user, const campaign_file *file, uint64_t seed, int64_t number, campaign_slot *slot) {
  const place p = place_of(user, number);
  (void)seed;
  return engines_attempt(user, file, p.patched ? 0 : p.engine->hash, slot);
}

const campaign_family campaign_engine_bytes = {
    .name = "engine-bytes",
    .doc = "every byte of six engines in four ways, checksums as they were and patched",
    .begin = begin,
    .end = end,
    .make = make,
    .attempt = attempt};

static void *begin_files(const campaign_options *options, int64_t *out_total) {
  seed_list *list = seeds_read(options, ".bin");
  *out_total = list ? list->count : 0;
  return list;
}

static void make_file(void *user, uint64_t seed, int64_t number, campaign_file *file) {
  const seed_list *list = user;
  (void)seed;
  seeds_take(&list->items[number % list->count], file);
}

static const char *attempt_file(void *user, const campaign_file *file, uint64_t seed, int64_t number,
                                campaign_slot *slot) {
  const seed_list *list = user;
  (void)seed;
  (void)number;
  const engine_world world = {.options = list->options};
  return engines_attempt(&world, file, 0, slot);
}

const campaign_family campaign_engine_files = {.name = "engine-files",
                                               .doc = "the files *.bin as they are",
                                               .begin = begin_files,
                                               .end = seeds_free,
                                               .make = make_file,
                                               .attempt = attempt_file};
