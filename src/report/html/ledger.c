/* SPDX-License-Identifier: Apache-2.0 */
/* ledger.c - a ledger with few bytes. It lists thousands of candidates that share their names, reasons and, where they
 * were rejected, everything: texts and rows are written once, and places refer to them. */
#include "report/html/html.h"
#include "base/hash.h"
#include <string.h>

/* Texts in the order in which they came first. */
typedef struct pool {
  hn_table table; /* to the place in items, counted from 1 */
  hn_arena *arena;
  const char **items;
  int count, capacity;
} pool;

typedef struct packer {
  hn_arena *arena;
  pool texts, rows; /* rows: as they will be written */
  hn_text row;
  bool failed;
} packer;

static int place_of(packer *p, pool *of, const char *text) {
  const uintptr_t known = (uintptr_t)hn_table_get(&of->table, text);
  if (known) return (int)known - 1;
  if (!hn_arena_grow(p->arena, (void **)&of->items, &of->capacity, of->count + 1, sizeof *of->items) ||
      !hn_table_put(&of->table, text, (void *)((uintptr_t)of->count + 1))) {
    p->failed = true;
    return 0;
  }
  of->items[of->count] = text;
  return of->count++;
}

/* "{a=1,b=2}", as other reports write parameters. */
static const char *params_text(packer *p, const hn_json *params) {
  hn_text text;
  hn_text_init(&text, p->arena->allocator);
  for (size_t i = 0; params && i < params->length; ++i)
    hn_text_printf(&text, "%s%s=%lld", i ? "," : "{", params->items[i].key, (long long)params->items[i].i);
  if (text.length) hn_text_add(&text, "}");
  const char *copy = hn_arena_text(p->arena, hn_text_string(&text));
  if (text.failed || !copy) p->failed = true;
  hn_text_deinit(&text);
  return copy ? copy : "";
}

static void add_text(packer *p, const char *text) {
  if (p->row.length > 1) hn_text_add(&p->row, ",");
  if (text && *text)
    hn_text_printf(&p->row, "%d", place_of(p, &p->texts, text));
  else
    hn_text_add(&p->row, "null");
}

static void add_real(packer *p, const hn_json *value) {
  hn_text_add(&p->row, ",");
  if (value && (value->kind == HN_JSON_REAL || value->kind == HN_JSON_INT))
    hn_text_double(&p->row, value->real);
  else
    hn_text_add(&p->row, "null");
}

static int row_of(packer *p, const hn_json *candidate) {
  static const char *const texts[] = {"tactic", "provider", "in", "out"};
  static const char *const reals[] = {"estimate_ns", "time_ns", "low_ns", "high_ns", "runs", "error", "bound"};
  hn_text_clear(&p->row);
  hn_text_add(&p->row, "[");
  for (size_t i = 0; i < HN_COUNT(texts); ++i) {
    const hn_json *value = hn_json_get(candidate, texts[i]);
    add_text(p, value ? value->string : NULL);
  }
  add_text(p, params_text(p, hn_json_get(candidate, "params")));
  const hn_json *state = hn_json_get(candidate, "state"), *reason = hn_json_get(candidate, "reason");
  add_text(p, state ? state->string : NULL);
  add_text(p, reason ? reason->string : NULL);
  for (size_t i = 0; i < HN_COUNT(reals); ++i) add_real(p, hn_json_get(candidate, reals[i]));
  while (p->row.length > 5 && memcmp(p->row.data + p->row.length - 5, ",null", 5) == 0)
    p->row.data[p->row.length -= 5] = 0;
  hn_text_add(&p->row, "]");
  const char *copy = hn_arena_text(p->arena, hn_text_string(&p->row));
  if (copy) return place_of(p, &p->rows, copy);
  p->failed = true;
  return 0;
}

static void put_node(packer *p, const hn_json *node, hn_json_writer *w) {
  hn_json_open_flat(w, NULL, '{');
  for (size_t i = 0; i < node->length; ++i) {
    const hn_json *field = &node->items[i];
    if (strcmp(field->key, "candidates") != 0 || field->kind != HN_JSON_ARRAY) {
      hn_json_put(w, field->key, field);
      continue;
    }
    hn_json_open_flat(w, "candidates", '[');
    for (size_t k = 0; k < field->length; ++k) hn_json_put_int(w, NULL, row_of(p, &field->items[k]));
    hn_json_close(w, ']');
  }
  hn_json_close(w, '}');
}

hone_status hn_html_put_ledger(const hn_json *explained, hn_arena *arena, hn_json_writer *w) {
  packer p = {.arena = arena};
  hn_table_init(&p.texts.table, arena);
  hn_table_init(&p.rows.table, arena);
  hn_text_init(&p.row, arena->allocator);
  hn_json_open(w, "ledger", '{');
  hn_json_open(w, "nodes", '[');
  for (size_t i = 0; explained->kind == HN_JSON_ARRAY && i < explained->length; ++i)
    put_node(&p, &explained->items[i], w);
  hn_json_close(w, ']');
  hn_json_open_flat(w, "texts", '[');
  for (int i = 0; i < p.texts.count; ++i) hn_json_put_text(w, NULL, p.texts.items[i]);
  hn_json_close(w, ']');
  hn_text_add(w->text, ",\n  \"rows\": [");
  for (int i = 0; i < p.rows.count; ++i) {
    if (i) hn_text_add(w->text, ",\n");
    hn_text_add(w->text, p.rows.items[i]);
  }
  hn_text_add(w->text, "]");
  hn_json_close(w, '}');
  const bool failed = p.failed || p.row.failed;
  hn_text_deinit(&p.row);
  return failed ? HONE_NO_MEMORY : HONE_OK;
}
