/* SPDX-License-Identifier: Apache-2.0 */
/* command_sensitivity.c - hone sensitivity: what 8 bits in one layer, and in all up to it, do to a model's outputs. */
#include "calib.h"
#include <stdlib.h>

const cli_option cli_sensitivity_options[] = {
    {"method", CLI_TEXT, "NAME", .doc = "how ranges are picked, as in hone quantize"},
    {"activations", CLI_TEXT, "u8|s8", .doc = "as in hone quantize"},
    {"per-tensor", CLI_FLAG, .doc = "one scale for a layer's weights"},
    {"keep", CLI_LIST, "NODE", .doc = "layers that are left out: they stay in f32"},
    {"ranges", CLI_TEXT, "FILE", .doc = "ranges as text, read or written", .writes = CLI_WRITES_WHEN_ABSENT},
    {"csv", CLI_FLAG, .doc = "comma-separated values, in the order of the layers"},
    {0},
};

typedef struct rows {
  hone_sensitivity *items; /* alone, then cumulative, in the order of the layers */
  char (*names)[128];
  int64_t count, room;
  bool failed;
} rows;

static void take(void *user, const hone_sensitivity *row) {
  rows *r = user;
  if (r->count == r->room) {
    const int64_t room = r->room ? 2 * r->room : 128;
    hone_sensitivity *items = realloc(r->items, (size_t)room * sizeof *items);
    if (items) r->items = items;
    char(*names)[128] = realloc(r->names, (size_t)room * sizeof *names);
    if (names) r->names = names;
    if (!items || !names) {
      r->failed = true;
      return;
    }
    r->room = room;
  }
  (void)snprintf(r->names[r->count], sizeof *r->names, "%s", row->layer);
  r->items[r->count++] = *row;
}

static int worst_first(const void *a, const void *b) {
  const hone_sensitivity *x = a, *y = b;
  if (x->rel_l2 != y->rel_l2) return x->rel_l2 > y->rel_l2 ? -1 : 1; /* the worst first */
  return x->index > y->index ? 1 : -1;
}

static void print_csv(const rows *r) {
  printf("layer,op,weights,rel_l2,sqnr_db,cosine,top1,cumulative_rel_l2,cumulative_sqnr_db,cumulative_cosine,"
         "cumulative_top1\n");
  for (int64_t i = 0; i < r->count / 2; ++i) {
    const hone_sensitivity *one = &r->items[i], *all = &r->items[i + r->count / 2];
    printf("\"%s\",%s,%.0f,%.6g,%.4g,%.8g,%.4g,%.6g,%.4g,%.8g,%.4g\n", r->names[i], one->op, one->weights, one->rel_l2,
           one->sqnr_db, one->cosine, one->top1, all->rel_l2, all->sqnr_db, all->cosine, all->top1);
  }
}

static void print_json(const rows *r) {
  printf("[");
  for (int64_t i = 0; i < r->count; ++i) {
    const hone_sensitivity *row = &r->items[i];
    printf("%s\n  {\"layer\": ", i ? "," : "");
    cli_json_text(stdout, r->names[i]);
    printf(", \"op\": \"%s\", \"cumulative\": %s, \"weights\": %.0f, \"rel_l2\": %.6g, \"sqnr_db\": %.4g, "
           "\"cosine\": %.8g, \"top1\": %.4g}",
           row->op, row->cumulative ? "true" : "false", row->weights, row->rel_l2, row->sqnr_db, row->cosine,
           row->top1);
  }
  printf("\n]\n");
}

/* The worst layers first; behind them what all up to there do together. */
static void print_table(rows *r) {
  const int64_t count = r->count / 2;
  printf("%-40s %-7s %9s %9s %7s %7s | %s\n", "layer, the worst first", "op", "weights", "rel. L2", "SQNR dB", "top-1",
         "with all before it: L2, top-1");
  for (int64_t i = 0; i < count; ++i) r->items[i].layer = r->names[i];
  hone_sensitivity *sorted = malloc((size_t)(count + 1) * sizeof *sorted);
  for (int64_t i = 0; sorted && i < count; ++i) sorted[i] = r->items[i];
  if (sorted) qsort(sorted, (size_t)count, sizeof *sorted, worst_first);
  for (int64_t i = 0; i < count; ++i) {
    const hone_sensitivity *one = sorted ? &sorted[i] : &r->items[i], *all = &r->items[count + one->index];
    printf("%-40s %-7s %9.0f %9.5f %7.1f %6.1f%% | %9.5f %6.1f%%\n", one->layer, one->op, one->weights, one->rel_l2,
           one->sqnr_db, 100 * one->top1, all->rel_l2, 100 * all->top1);
  }
  free(sorted);
}

static int measure(cli_tool *cli, const hone_graph *graph, rows *r) {
  const char *kept[CLI_MAX_GIVEN];
  hone_quantize_options options;
  int code = cli_quantize_options_read(cli, &options, kept);
  if (code == CLI_EXIT_OK) code = cli_sensitivity(cli, graph, &options, take, r);
  if (code == CLI_EXIT_OK && r->failed) {
    cli_error("out of memory");
    return CLI_EXIT_NO_MEMORY;
  }
  if (code != CLI_EXIT_OK) return code;
  if (cli_has(cli, "json"))
    print_json(r);
  else if (cli_has(cli, "csv"))
    print_csv(r);
  else
    print_table(r);
  return CLI_EXIT_OK;
}

int cli_command_sensitivity(cli_tool *cli) {
  const char *path = cli_text(cli, "model");
  if (!path) return cli_usage_error(cli, "a model must be named");
  if (!cli_has(cli, "calib"))
    return cli_usage_error(cli, "--calib FOLDER must be given: samples of what the model will see");
  hone_graph *graph;
  rows r = {0};
  const hone_status status = cli_load_graph(cli, path, &graph);
  const int code = status == HONE_OK ? measure(cli, graph, &r) : cli_fail(cli, status);
  hone_graph_destroy(graph);
  free(r.items);
  free(r.names);
  if (code == CLI_EXIT_OK) cli_next(cli, "hone quantize %s --calib FOLDER --keep LAYER", path);
  return code;
}
