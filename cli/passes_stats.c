/* SPDX-License-Identifier: Apache-2.0 */
/* passes_stats.c - hone passes --stats: firings and near misses by rule, operators before and after. */
#include "passes.h"
#include <stdlib.h>
#include <string.h>

/* One line: how often something was met. key and detail are owned. */
typedef struct row {
  char *key, *detail, *node; /* node: where it was met first */
  int count, after;
} row;

typedef struct table {
  row *rows;
  int count, capacity;
} table;

struct cli_pass_stats {
  table ops, fired, missed;
  bool ended, failed;
};

static char *copy(const char *text) {
  const size_t bytes = strlen(text) + 1;
  char *made = malloc(bytes);
  return made ? memcpy(made, text, bytes) : NULL;
}

/* The row of key and detail, made when it is new; NULL: no memory. */
static row *find(table *t, const char *key, const char *detail, const char *node) {
  for (int i = 0; i < t->count; ++i)
    if (strcmp(t->rows[i].key, key) == 0 && strcmp(t->rows[i].detail, detail) == 0) return &t->rows[i];
  if (t->count == t->capacity) {
    const int capacity = t->capacity ? 2 * t->capacity : 32;
    row *rows = realloc(t->rows, (size_t)capacity * sizeof *rows);
    if (!rows) return NULL;
    t->rows = rows;
    t->capacity = capacity;
  }
  row *made = &t->rows[t->count++]; /* counted at once, so that drop() frees what it has */
  *made = (row){.key = copy(key), .detail = copy(detail), .node = copy(node)};
  return made->key && made->detail && made->node ? made : NULL;
}

static void see_op(void *user, const char *name, const char *op) {
  cli_pass_stats *stats = user;
  (void)name;
  row *r = stats->failed ? NULL : find(&stats->ops, op, "", "");
  if (!r)
    stats->failed = true;
  else
    ++*(stats->ended ? &r->after : &r->count);
}

static void see_event(void *user, const hone_pass_event *event) {
  cli_pass_stats *stats = user;
  row *r = stats->failed  ? NULL
           : event->unmet ? find(&stats->missed, event->rule, event->unmet, event->node)
                          : find(&stats->fired, event->rule, event->pass, event->node);
  if (!r)
    stats->failed = true;
  else
    ++r->count;
}

static int by_name(const void *a, const void *b) {
  const row *x = a, *y = b;
  const int order = strcmp(x->key, y->key);
  return order ? order : strcmp(x->detail, y->detail);
}

static int by_count(const void *a, const void *b) {
  const row *x = a, *y = b;
  return x->count != y->count ? (x->count < y->count) - (x->count > y->count) : by_name(a, b);
}

cli_pass_stats *cli_pass_stats_begin(const hone_graph *graph, hone_pass_options *passes) {
  cli_pass_stats *stats = calloc(1, sizeof *stats);
  if (!stats) return NULL;
  hone_graph_each_node(graph, see_op, stats);
  passes->event = see_event;
  passes->event_user = stats;
  return stats;
}

hone_status cli_pass_stats_end(cli_pass_stats *stats, const hone_graph *graph) {
  stats->ended = true;
  hone_graph_each_node(graph, see_op, stats);
  if (stats->failed) return HONE_NO_MEMORY;
  if (stats->ops.count) qsort(stats->ops.rows, (size_t)stats->ops.count, sizeof(row), by_name);
  if (stats->fired.count) qsort(stats->fired.rows, (size_t)stats->fired.count, sizeof(row), by_count);
  if (stats->missed.count) qsort(stats->missed.rows, (size_t)stats->missed.count, sizeof(row), by_count);
  return HONE_OK;
}

static void print_json(const table *t, const char *name, const char *key, const char *detail, bool with_after) {
  printf("  \"%s\": [", name);
  for (int i = 0; i < t->count; ++i) {
    const row *r = &t->rows[i];
    printf("%s\n    {\"%s\": ", i ? "," : "", key);
    cli_json_text(stdout, r->key);
    if (detail) {
      printf(", \"%s\": ", detail);
      cli_json_text(stdout, r->detail);
      printf(", \"first_node\": ");
      cli_json_text(stdout, r->node);
    }
    if (with_after)
      printf(", \"before\": %d, \"after\": %d}", r->count, r->after);
    else
      printf(", \"count\": %d}", r->count);
  }
  printf("\n  ]");
}

static int width_of(const table *t) {
  int width = 8;
  for (int i = 0; i < t->count; ++i)
    if ((int)strlen(t->rows[i].key) > width) width = (int)strlen(t->rows[i].key);
  return width;
}

static void print_ops(const table *t) {
  const int width = width_of(t);
  int before = 0, after = 0;
  printf("%-*s %8s %8s\n", width, "operator", "before", "after");
  for (int i = 0; i < t->count; ++i) {
    const row *r = &t->rows[i];
    before += r->count;
    after += r->after;
    if (r->after)
      printf("%-*s %8d %8d\n", width, r->key, r->count, r->after);
    else
      printf("%-*s %8d %8s\n", width, r->key, r->count, "-");
  }
  printf("%-*s %8d %8d\n", width, "all", before, after);
}

void cli_pass_stats_print(const cli_pass_stats *stats, bool json) {
  if (json) {
    printf("{\n  \"schema\": %d,\n", HONE_JSON_SCHEMA);
    print_json(&stats->ops, "operators", "op", NULL, true);
    printf(",\n");
    print_json(&stats->fired, "fired", "rule", "pass", false);
    printf(",\n");
    print_json(&stats->missed, "missed", "rule", "unmet", false);
    printf("\n}\n");
    return;
  }
  print_ops(&stats->ops);
  int width = width_of(&stats->fired);
  printf("\n%-*s %6s  pass\n", width, "fired", "times");
  for (int i = 0; i < stats->fired.count; ++i)
    printf("%-*s %6d  %s\n", width, stats->fired.rows[i].key, stats->fired.rows[i].count, stats->fired.rows[i].detail);
  if (stats->missed.count == 0) return;
  width = width_of(&stats->missed);
  printf("\n%-*s %6s  because\n", width, "not fired", "times");
  for (int i = 0; i < stats->missed.count; ++i) {
    const row *r = &stats->missed.rows[i];
    printf("%-*s %6d  %s (%s%s)\n", width, r->key, r->count, r->detail, r->count > 1 ? "first " : "", r->node);
  }
}

static void drop(table *t) {
  for (int i = 0; i < t->count; ++i) {
    free(t->rows[i].key);
    free(t->rows[i].detail);
    free(t->rows[i].node);
  }
  free(t->rows);
}

void cli_pass_stats_drop(cli_pass_stats *stats) {
  if (!stats) return;
  drop(&stats->ops);
  drop(&stats->fired);
  drop(&stats->missed);
  free(stats);
}
