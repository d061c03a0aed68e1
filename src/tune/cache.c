/* SPDX-License-Identifier: Apache-2.0 */
/* cache.c - the timing cache: lines of `key<TAB>median low high runs` in a text file. The key holds all that decides a
 * time: device, versions, threads, tactic, parameters, operator, attributes, types, formats, constness. */
#include "base/file.h"
#include "base/hash.h"
#include "tensor/shape.h"
#include "tune/tuning.h"
#include <stdlib.h>
#include <string.h>

typedef struct entry {
  const char *key;
  double median_ns, low_ns, high_ns;
  int runs;
} entry;

struct hn_timing_cache {
  hn_arena *arena;
  const char *path; /* NULL: never written */
  hn_table table;
  entry **entries;
  int count, capacity;
  bool changed;
};

static const char header[] = "# hone timing cache 1\n";

static bool add_entry(hn_timing_cache *cache, const entry *given) {
  entry *kept = hn_table_get(&cache->table, given->key);
  if (!kept) {
    kept = HN_NEW(cache->arena, entry, 1);
    if (!kept || !hn_arena_grow(cache->arena, (void **)&cache->entries, &cache->capacity, cache->count + 1,
                                sizeof *cache->entries))
      return false;
    cache->entries[cache->count++] = kept;
  }
  *kept = *given;
  return hn_table_put(&cache->table, kept->key, kept);
}

/* A line that does not read is left out: a cache can always be made again. */
static bool read_line(hn_timing_cache *cache, char *line) {
  char *tab = strchr(line, '\t');
  if (!tab) return true;
  *tab = 0;
  entry e = {.key = line};
  char *at = tab + 1;
  e.median_ns = strtod(at, &at);
  e.low_ns = strtod(at, &at);
  e.high_ns = strtod(at, &at);
  e.runs = (int)strtol(at, &at, 10);
  if (!(e.median_ns > 0) || !(e.low_ns > 0) || !(e.high_ns >= e.low_ns) || e.runs < 1) return true;
  return add_entry(cache, &e);
}

static hone_status read_file(hone_context *context, hn_timing_cache *cache) {
  hn_blob blob;
  hone_diagnostics quiet = {0};
  if (hn_file_read(&quiet, context->allocator, cache->path, &blob) != HONE_OK) return HONE_OK; /* there is none yet */
  char *text = hn_arena_alloc(cache->arena, blob.bytes + 1, 1);
  bool good = text != NULL;
  if (text) {
    memcpy(text, blob.data, blob.bytes);
    text[blob.bytes] = 0;
    if (strncmp(text, header, sizeof header - 1) != 0) text[0] = 0; /* another version's */
    for (char *line = text; good && *line;) {
      char *end = strchr(line, '\n');
      if (end) *end = 0;
      if (*line != '#') good = read_line(cache, line);
      if (!end) break;
      line = end + 1;
    }
  }
  hn_blob_close(&blob);
  return good ? HONE_OK : HN_FAIL_MEMORY(&context->diag);
}

hone_status hn_timing_cache_open(hone_context *context, hn_arena *arena, const char *path, hn_timing_cache **out) {
  *out = NULL;
  hn_timing_cache *cache = HN_NEW(arena, hn_timing_cache, 1);
  if (!cache) return HN_FAIL_MEMORY(&context->diag);
  cache->arena = arena;
  cache->path = path;
  hn_table_init(&cache->table, arena);
  if (path) HN_TRY(read_file(context, cache));
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
  candidate->state = HN_CANDIDATE_TIMED;
  return true;
}

hone_status hn_timing_cache_put(hn_timing_cache *cache, const char *key, const hn_candidate *candidate) {
  const entry e = {.key = key,
                   .median_ns = candidate->time_ns,
                   .low_ns = candidate->time_low_ns,
                   .high_ns = candidate->time_high_ns,
                   .runs = candidate->runs};
  cache->changed = true;
  return add_entry(cache, &e) ? HONE_OK : HONE_NO_MEMORY;
}

static int compare_entries(const void *a, const void *b) {
  return strcmp((*(entry *const *)a)->key, (*(entry *const *)b)->key);
}

hone_status hn_timing_cache_save(hone_context *context, const hn_timing_cache *cache) {
  if (!cache->path || !cache->changed) return HONE_OK;
  hn_text text;
  hn_text_init(&text, context->allocator);
  hn_text_add(&text, header);
  qsort(cache->entries, (size_t)cache->count, sizeof *cache->entries, compare_entries);
  for (int i = 0; i < cache->count; ++i) {
    const entry *e = cache->entries[i];
    hn_text_printf(&text, "%s\t%.1f %.1f %.1f %d\n", e->key, e->median_ns, e->low_ns, e->high_ns, e->runs);
  }
  const hone_status status = text.failed ? HN_FAIL_MEMORY(&context->diag)
                                         : hn_file_replace(&context->diag, cache->path, text.data, text.length);
  hn_text_deinit(&text);
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
  for (int p = 0; p < candidate->params.count; ++p)
    hash = hn_hash_join(
        hash, hn_hash_join(hn_hash_text(candidate->params.items[p].name), (uint64_t)candidate->params.items[p].value));
  return hn_arena_printf(&choices->arena, "%s@%u:%s:%s:%d:%016llx", candidate->tactic->name, candidate->tactic->version,
                         hone_format_name(candidate->formats.in), hone_format_name(candidate->formats.out),
                         facts->threads, (unsigned long long)hash);
}
