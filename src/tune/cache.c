/* SPDX-License-Identifier: Apache-2.0 */
/* cache.c - the timing cache: lines of `key<TAB>median low high runs<TAB>checksum` in a text file. The key holds all
 * that decides a time: device, versions, threads, tactic, parameters, operator, attributes, types, formats, constness.
 * The checksum is of the line before it. Contests in the network are lines, too (tune/in_network.c).
 *
 * Saving reads the file again under a lock and replaces it by its lines and the new ones, so that builds side by side
 * lose nothing. A build is not stopped by a bad file: damaged lines are dropped and counted; a file that is no timing
 * cache, or of another version, is left aside as it is. Merging refuses both. */
#include "tensor/storage.h"
#include "base/file.h"
#include "base/hash.h"
#include "tensor/shape.h"
#include "tune/tuning.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct entry {
  const char *key;
  double median_ns, low_ns, high_ns;
  int runs;
  bool own; /* measured by this build */
} entry;

struct hn_timing_cache {
  hn_arena *arena;
  const char *path; /* NULL: never written */
  hn_table table;
  entry **entries;
  int count, capacity;
  int dropped; /* damaged lines, as the caller was told */
  bool changed;
};

static const char header[] = "# hone timing cache 2\n";
static const char family[] = "# hone timing cache ";

enum { CHECKSUM_ROOM = 17 };

static void write_checksum(const char *line, size_t length, char *out) {
  snprintf(out, CHECKSUM_ROOM, "%016" PRIx64, hn_hash(line, length));
}

static bool add_entry(hn_timing_cache *cache, const entry *given) {
  entry *kept = hn_table_get(&cache->table, given->key);
  if (!kept) {
    kept = HN_NEW(cache->arena, entry, 1);
    const char *key = hn_arena_text(cache->arena, given->key);
    if (!kept || !key ||
        !hn_arena_grow(cache->arena, (void **)&cache->entries, &cache->capacity, cache->count + 1,
                       sizeof *cache->entries))
      return false;
    cache->entries[cache->count++] = kept;
    kept->key = key;
    if (!hn_table_put(&cache->table, key, kept)) return false;
  }
  const char *key = kept->key;
  *kept = *given;
  kept->key = key;
  return true;
}

/* false: the line is not of the form, or not as it was written. */
static bool parse_line(char *line, size_t length, entry *out) {
  char checksum[CHECKSUM_ROOM];
  if (memchr(line, 0, length)) return false;
  char *tab = strchr(line, '\t'), *sum = strrchr(line, '\t');
  if (!tab || tab == line || sum == tab) return false;
  write_checksum(line, (size_t)(sum - line), checksum);
  if (strcmp(sum + 1, checksum) != 0) return false;
  *tab = *sum = 0;
  *out = (entry){.key = line};
  char *at = tab + 1;
  out->median_ns = strtod(at, &at);
  out->low_ns = strtod(at, &at);
  out->high_ns = strtod(at, &at);
  out->runs = (int)strtol(at, &at, 10);
  return *at == 0 && out->median_ns > 0 && out->low_ns > 0 && out->high_ns >= out->low_ns && out->high_ns < 1e18 &&
         out->runs >= 1;
}

/* Of two measurements of the same, our own counts, then the one with more runs. NULL: no memory. */
static const entry *take(hn_timing_cache *cache, const entry *e) {
  const entry *known = hn_table_get(&cache->table, e->key);
  if (known && (known->own || known->runs >= e->runs)) return known;
  return add_entry(cache, e) ? e : NULL;
}

/* What a file is when it has no lines for us, in words; "" when it does. */
static void name_other(const char *text, char *out, size_t room) {
  out[0] = 0;
  if (strncmp(text, header, sizeof header - 1) == 0) return;
  if (strncmp(text, family, sizeof family - 1) != 0)
    hn_copy_text(out, room, "not a timing cache");
  else
    snprintf(out, room, "a timing cache of version %ld; this library has version %ld",
             strtol(text + sizeof family - 1, NULL, 10), strtol(header + sizeof family - 1, NULL, 10));
}

/* What is made of a bad file. */
typedef enum manner {
  STRICT,     /* it is an error, and so is an absent one */
  STRICT_OUT, /* the same, but it may be absent */
  LENIENT     /* lines are dropped, and other files left aside: the caller is warned */
} manner;

static hone_status add_lines(hone_context *context, hn_timing_cache *cache, char *text, size_t length, const char *path,
                             manner how) {
  int number = 0, bad = 0, good = 0;
  for (char *line = text, *end; line < text + length; line = end + 1) {
    entry e;
    end = memchr(line, '\n', (size_t)(text + length - line));
    if (!end) end = text + length;
    *end = 0;
    ++number;
    if (line == end || *line == '#') continue;
    const bool fine = parse_line(line, (size_t)(end - line), &e);
    if (fine && !take(cache, &e)) return HN_FAIL_MEMORY(&context->diag);
    good += fine;
    bad += !fine;
    if (!fine && how != LENIENT)
      return HN_FAIL(&context->diag, HONE_INVALID, "%s:%d: not a line of a timing cache, or damaged", path, number);
  }
  if (bad > cache->dropped) {
    hn_log(context, HONE_LOG_WARN, "%s: %d of %d lines are damaged and are dropped; the others are used", path, bad,
           bad + good);
    cache->dropped = bad;
    cache->changed = true; /* so that it is replaced by what is good */
  }
  return HONE_OK;
}

/* Adds a file's lines. An empty one has none. *out_aside: it is none of ours, as the caller was warned. */
static hone_status read_file(hone_context *context, hn_timing_cache *cache, const char *path, manner how,
                             bool *out_aside) {
  hn_blob blob;
  char other[128];
  *out_aside = false;
  if (access(path, F_OK) != 0 && how != STRICT) return HONE_OK;
  HN_TRY(hn_file_read(&context->diag, context->allocator, path, &blob));
  hone_status status = HONE_OK;
  char *text = hn_arena_alloc(cache->arena, blob.bytes + 1, 1);
  if (!text) status = HN_FAIL_MEMORY(&context->diag);
  if (status == HONE_OK && blob.bytes > 0) {
    memcpy(text, blob.data, blob.bytes);
    text[blob.bytes] = 0;
    name_other(text, other, sizeof other);
    *out_aside = other[0] && how == LENIENT;
    if (*out_aside)
      hn_log(context, HONE_LOG_WARN, "%s: %s; it is left as it is, and this build goes on without it", path, other);
    else if (other[0])
      status = HN_FAIL(&context->diag, HONE_INVALID, "%s: %s; it stays as it is", path, other);
    else
      status = add_lines(context, cache, text, blob.bytes, path, how);
  }
  hn_blob_close(&blob);
  return status;
}

hone_status hn_timing_cache_open(hone_context *context, hn_arena *arena, const char *path, hn_timing_cache **out) {
  *out = NULL;
  hn_timing_cache *cache = HN_NEW(arena, hn_timing_cache, 1);
  if (!cache) return HN_FAIL_MEMORY(&context->diag);
  cache->arena = arena;
  cache->path = path;
  hn_table_init(&cache->table, arena);
  bool aside = false;
  if (path) hn_file_drop_leftovers(path);
  if (path) HN_TRY(read_file(context, cache, path, LENIENT, &aside));
  if (aside) cache->path = NULL;
  *out = cache;
  return HONE_OK;
}

bool hn_timing_cache_get(const hn_timing_cache *cache, const char *key, hn_candidate *candidate) {
  const entry *e = hn_table_get(&cache->table, key);
  if (!e) return false;
  candidate->time_ns = e->median_ns;
  candidate->time_low_ns = e->low_ns;
  candidate->time_high_ns = e->high_ns;
  candidate->runs = e->runs;
  candidate->from_cache = true;
  candidate->known = !e->own;
  candidate->state = HN_CANDIDATE_TIMED;
  return true;
}

hone_status hn_timing_cache_put(hn_timing_cache *cache, const char *key, const hn_candidate *candidate) {
  const entry e = {.key = key,
                   .median_ns = candidate->time_ns,
                   .low_ns = candidate->time_low_ns,
                   .high_ns = candidate->time_high_ns,
                   .runs = candidate->runs,
                   .own = true};
  cache->changed = true;
  return add_entry(cache, &e) ? HONE_OK : HONE_NO_MEMORY;
}

static int compare_entries(const void *a, const void *b) {
  return strcmp((*(entry *const *)a)->key, (*(entry *const *)b)->key);
}

static hone_status write_file(hone_context *context, const hn_timing_cache *cache, const char *path) {
  hn_text text;
  hn_text_init(&text, context->allocator);
  hn_text_add(&text, header);
  qsort(cache->entries, (size_t)cache->count, sizeof *cache->entries, compare_entries);
  for (int i = 0; i < cache->count; ++i) {
    const entry *e = cache->entries[i];
    char checksum[CHECKSUM_ROOM];
    const size_t begin = text.length;
    hn_text_printf(&text, "%s\t%.1f %.1f %.1f %d", e->key, e->median_ns, e->low_ns, e->high_ns, e->runs);
    if (text.failed) break;
    write_checksum(text.data + begin, text.length - begin, checksum);
    hn_text_printf(&text, "\t%s\n", checksum);
  }
  const hone_status status =
      text.failed ? HN_FAIL_MEMORY(&context->diag) : hn_file_replace(&context->diag, path, text.data, text.length);
  hn_text_deinit(&text);
  return status;
}

hone_status hn_timing_cache_save(hone_context *context, hn_timing_cache *cache) {
  if (!cache->path || !cache->changed) return HONE_OK;
  const int lock = hn_file_lock_folder(cache->path);
  bool aside; /* somebody put another file there since */
  hone_status status = read_file(context, cache, cache->path, LENIENT, &aside);
  if (status == HONE_OK && !aside) status = write_file(context, cache, cache->path);
  hn_file_unlock_folder(lock);
  return status;
}

hone_status hn_timing_cache_merge(hone_context *context, const char *const *paths, int count, const char *out_path) {
  hn_arena arena;
  hn_arena_init(&arena, context->allocator);
  hn_timing_cache cache = {.arena = &arena};
  hn_table_init(&cache.table, &arena);
  hone_status status = HONE_OK;
  bool aside;
  for (int i = 0; i < count && status == HONE_OK; ++i) status = read_file(context, &cache, paths[i], STRICT, &aside);
  const int lock = status == HONE_OK ? hn_file_lock_folder(out_path) : -1;
  /* what is there already is merged, too: a build may be writing it */
  if (status == HONE_OK) status = read_file(context, &cache, out_path, STRICT_OUT, &aside);
  if (status == HONE_OK) status = write_file(context, &cache, out_path);
  hn_file_unlock_folder(lock);
  hn_arena_deinit(&arena);
  return status;
}

const char *hn_choice_key(hn_choices *choices, const hn_choice *choice) {
  const hn_node *node = choice->node;
  hn_text text;
  hn_text_init(&text, choices->context->allocator);
  hn_text_add(&text, node->op->name);
  hn_text_attrs(&text, &node->attrs, NULL);
  for (int i = 0; i < node->in_count; ++i) {
    hn_text_add(&text, choice->in[i].constant ? " const " : " ");
    if (choice->in[i].type.kind == HONE_ABSENT)
      hn_text_add(&text, "_");
    else
      hn_text_type(&text, &choice->in[i].type, &choices->graph->dims);
  }
  hn_text_add(&text, " ->");
  for (int i = 0; i < node->out_count; ++i) {
    hn_text_add(&text, " ");
    hn_text_type(&text, &choice->out[i].type, &choices->graph->dims);
  }
  const char *key = text.failed ? NULL : hn_arena_text(&choices->arena, hn_text_string(&text));
  hn_text_deinit(&text);
  return key;
}

const char *hn_timing_cache_key(hn_choices *choices, const char *choice_key, const hn_candidate *candidate) {
  const hone_facts *facts = &choices->devices[candidate->device]->facts;
  uint64_t hash = hn_hash_join(hn_hash_text(choice_key), hn_hash_text(facts->name));
  hash = hn_hash_join(hash, hn_hash_text(facts->version));
  hash = hn_hash_join(hash, (uint64_t)facts->isa << 16 | (uint64_t)facts->threads);
  if (choices->options->keep_subnormals) hash = hn_hash_join(hash, hn_hash_text("keep_subnormals"));
  for (int p = 0; p < candidate->params.count; ++p)
    hash = hn_hash_join(
        hash, hn_hash_join(hn_hash_text(candidate->params.items[p].name), (uint64_t)candidate->params.items[p].value));
  return hn_arena_printf(&choices->arena, "%s@%u:%s:%s:%d:%016llx", candidate->tactic->name, candidate->tactic->version,
                         hn_storage_name(candidate->storages.in), hn_storage_name(candidate->storages.out),
                         facts->threads, (unsigned long long)hash);
}
