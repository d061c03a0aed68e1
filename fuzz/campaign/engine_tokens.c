/* SPDX-License-Identifier: Apache-2.0 */
/* engine_tokens.c - the small engines' headers with values replaced: planted absences (indices -1, counts 0, names
 * empty, lists emptied), other numbers, elements dropped and doubled; and splices of one engine into another. */
#include "../engine_patch.h"
#include "engines.h"
#include "spans.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A header at work. */
typedef struct header {
  char *text;
  size_t length;
  spans spans;
} header;

typedef struct donor {
  const char *text;
  size_t length;
  spans spans;
} donor;

typedef struct token_world {
  engine_world *engines;
  donor donors[ENGINES]; /* each engine's header */
} token_world;

static void put(header *h, size_t start, size_t length, const char *text, size_t text_length) {
  const size_t fresh = h->length - length + text_length;
  char *out = malloc(fresh + 1);
  if (!out) abort();
  memcpy(out, h->text, start);
  if (text_length) memcpy(out + start, text, text_length);
  memcpy(out + start + text_length, h->text + start + length, h->length - start - length);
  free(h->text);
  h->text = out;
  h->length = fresh;
}

static void put_text(header *h, const span *at, const char *text) { put(h, at->start, at->length, text, strlen(text)); }

/* A span of this kind; 0: any. NULL: there is none. */
static const span *pick(const spans *all, char kind, hn_random *random) {
  int count = 0;
  for (int i = 0; i < all->count; ++i) count += !kind || all->items[i].kind == kind;
  int k = count ? (int)campaign_below(random, (uint64_t)count) : -1;
  for (int i = 0; i < all->count && k >= 0; ++i)
    if ((!kind || all->items[i].kind == kind) && k-- == 0) return &all->items[i];
  return NULL;
}

static void change_number(header *h, const token_world *world, hn_random *random) {
  static const char *const numbers[] = {"-1",
                                        "0",
                                        "1",
                                        "2",
                                        "3",
                                        "7",
                                        "8",
                                        "-2",
                                        "64",
                                        "4096",
                                        "2147483647",
                                        "2147483648",
                                        "-2147483649",
                                        "1099511627776",
                                        "4611686018427387904",
                                        "-4611686018427387904",
                                        "-4611686018427387905",
                                        "9223372036854775807",
                                        "-9223372036854775808",
                                        "1e300",
                                        "0.5",
                                        "null",
                                        "\"\"",
                                        "\"inf\"",
                                        "[]",
                                        "true"};
  char text[32];
  (void)world;
  const span *at = pick(&h->spans, 'n', random);
  if (!at) return;
  char *end;
  const long long now = strtoll(h->text + at->start, &end, 10);
  const uint64_t way = campaign_below(random, 4);
  if (way < 2 || end != h->text + at->start + at->length) {
    put_text(h, at, numbers[campaign_below(random, sizeof numbers / sizeof *numbers)]);
    return;
  }
  const uint64_t step = 1 + campaign_below(random, 3);
  snprintf(text, sizeof text, "%lld", (long long)(way == 2 ? (uint64_t)now + step : (uint64_t)now - step));
  put_text(h, at, text);
}

static void change_text(header *h, const token_world *world, hn_random *random) {
  static const char *const texts[] = {"\"\"",       "\"x\"",        "null",     "\"arena\"", "\"heap\"",
                                      "\"input\"",  "\"constant\"", "\"none\"", "\"f32\"",   "\"i64\"",
                                      "\"string\"", "\"relu\"",     "\"loop\"", "0"};
  (void)world;
  const span *at = pick(&h->spans, '"', random);
  if (at) put_text(h, at, texts[campaign_below(random, sizeof texts / sizeof *texts)]);
}

/* The value of another span of the same key, of this engine or another. */
static void take_value(header *h, const donor *from, hn_random *random) {
  const span *at = pick(&h->spans, 0, random);
  if (!at) return;
  int count = 0;
  for (int i = 0; i < from->spans.count; ++i) count += span_same_key(h->text, at, from->text, &from->spans.items[i]);
  int k = count ? (int)campaign_below(random, (uint64_t)count) : -1;
  for (int i = 0; i < from->spans.count && k >= 0; ++i) {
    const span *other = &from->spans.items[i];
    if (!span_same_key(h->text, at, from->text, other) || k-- > 0) continue;
    put(h, at->start, at->length, from->text + other->start, other->length);
    return;
  }
}

static void take_own(header *h, const token_world *world, hn_random *random) {
  (void)world;
  donor *own = malloc(sizeof *own);
  char *text = malloc(h->length + 1);
  if (!own || !text) abort();
  memcpy(text, h->text, h->length);
  own->text = text;
  own->length = h->length;
  spans_copy(&own->spans, &h->spans);
  take_value(h, own, random);
  free(text);
  free(own);
}

static void take_other(header *h, const token_world *world, hn_random *random) {
  take_value(h, &world->donors[campaign_below(random, ENGINES)], random);
}

static void empty_container(header *h, const token_world *world, hn_random *random) {
  (void)world;
  const char kind = campaign_below(random, 2) ? '[' : '{';
  const span *at = pick(&h->spans, kind, random);
  if (at) put_text(h, at, kind == '[' ? "[]" : "{}");
}

/* With its key, and one comma beside it. */
static void drop_value(header *h, const token_world *world, hn_random *random) {
  (void)world;
  const span *at = pick(&h->spans, 0, random);
  if (!at) return;
  size_t start = at->whole_start, end = at->start + at->length;
  while (end < h->length && memchr(" \n", h->text[end], 2)) ++end;
  if (end < h->length && h->text[end] == ',') {
    ++end;
  } else {
    while (start > 0 && memchr(" \n", h->text[start - 1], 2)) --start;
    if (start > 0 && h->text[start - 1] == ',') --start;
  }
  put(h, start, end - start, "", 0);
}

static void double_value(header *h, const token_world *world, hn_random *random) {
  (void)world;
  const span *at = pick(&h->spans, 0, random);
  if (!at || at->key_length) return;
  char *text = malloc(at->length + 1);
  if (!text) abort();
  memcpy(text, h->text + at->start, at->length);
  text[at->length] = ',';
  put(h, at->start, 0, text, at->length + 1);
  free(text);
}

typedef void (*change_fn)(header *h, const token_world *world, hn_random *random);
/* How often a change is drawn is how often it stands here. */
static const change_fn changes[] = {change_number, change_number, change_number,   change_text, take_own,
                                    take_own,      take_own,      empty_container, drop_value,  double_value};
static const change_fn splices[] = {take_other, take_other, take_own};

static void change_header(const token_world *world, int engine, const change_fn *from, size_t count, hn_random *random,
                          campaign_file *file) {
  const donor *own = &world->donors[engine];
  header *h = malloc(sizeof *h);
  if (!h || !(h->text = malloc(own->length + 1))) abort();
  memcpy(h->text, own->text, own->length);
  h->length = own->length;
  spans_copy(&h->spans, &own->spans);
  const int rounds = 1 + (int)campaign_below(random, 3);
  for (int i = 0; i < rounds; ++i) {
    if (i) spans_read(&h->spans, h->text, h->length);
    from[campaign_below(random, count)](h, world, random);
  }
  engines_assemble(h->text, h->length, &world->engines->engines[engine], file);
  free(h->text);
  free(h);
}

static void *begin(const campaign_options *options, int64_t *out_total) {
  token_world *world = calloc(1, sizeof *world);
  if (!world) return NULL;
  *out_total = INT64_MAX;
  world->engines = engines_build(options);
  for (int i = 0; world->engines && i < ENGINES; ++i) {
    donor *d = &world->donors[i];
    d->text = engines_header(&world->engines->engines[i], &d->length);
    spans_read(&d->spans, d->text, d->length);
  }
  if (world->engines) return world;
  free(world);
  return NULL;
}

static void end(void *user) {
  token_world *world = user;
  engines_free(world->engines);
  free(world);
}

static void make_tokens(void *user, uint64_t seed, int64_t number, campaign_file *file) {
  const token_world *world = user;
  hn_random random = campaign_random(seed, number);
  const int engine = (int)campaign_below(&random, ENGINES);
  change_header(world, engine, changes, sizeof changes / sizeof *changes, &random, file);
  snprintf(file->name, sizeof file->name, "engine %s, tokens", world->engines->engines[engine].name);
}

/* Bytes of one file over those of another, of any length, at the same place or at another one. */
static void splice_bytes(const engine_world *world, int engine, hn_random *random, campaign_file *file) {
  const small_engine *to = &world->engines[engine], *from = &world->engines[campaign_below(random, ENGINES)];
  const size_t start = (size_t)campaign_below(random, from->count);
  size_t at = campaign_below(random, 2) ? start : (size_t)campaign_below(random, to->count);
  if (at >= to->count) at = to->count - 1;
  size_t length = 1 + (size_t)campaign_below(random, (uint64_t)1 << (1 + campaign_below(random, 14)));
  if (length > from->count - start) length = from->count - start;
  if (length > to->count - at) length = to->count - at;
  file->count = to->count;
  file->bytes = malloc(file->count);
  if (!file->bytes) abort();
  memcpy(file->bytes, to->bytes, to->count);
  memcpy(file->bytes + at, from->bytes + start, length);
  if (campaign_below(random, 4)) engine_patch(file->bytes, file->count, (int)campaign_below(random, 2));
}

static void make_splice(void *user, uint64_t seed, int64_t number, campaign_file *file) {
  const token_world *world = user;
  hn_random random = campaign_random(seed, number);
  const int engine = (int)campaign_below(&random, ENGINES);
  const bool bytes = campaign_below(&random, 2);
  if (bytes)
    splice_bytes(world->engines, engine, &random, file);
  else
    change_header(world, engine, splices, sizeof splices / sizeof *splices, &random, file);
  snprintf(file->name, sizeof file->name, "engine %s, a splice of %s", world->engines->engines[engine].name,
           bytes ? "bytes" : "values");
}

static const char *attempt(void *user, const campaign_file *file, uint64_t seed, int64_t number, campaign_slot *slot) {
  const token_world *world = user;
  (void)seed;
  (void)number;
  return engines_attempt(world->engines, file, 0, slot);
}

const campaign_family campaign_engine_tokens = {
    .name = "engine-tokens",
    .doc = "values of six engines' headers replaced, emptied, dropped, doubled; checksums right",
    .begin = begin,
    .end = end,
    .make = make_tokens,
    .attempt = attempt};
const campaign_family campaign_engine_splices = {.name = "engine-splices",
                                                 .doc = "parts of one engine in another, as bytes and as values",
                                                 .begin = begin,
                                                 .end = end,
                                                 .make = make_splice,
                                                 .attempt = attempt};
