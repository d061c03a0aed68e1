/* SPDX-License-Identifier: Apache-2.0 */
/* command_sensitivity.c - hone sensitivity: what 8 bits in one layer, and in all up to it, do to a model's
 * outputs, and the time that they save. */
#include "calib.h"
#include <stdlib.h>

const cli_option cli_sensitivity_options[] = {
    {"method", CLI_TEXT, "NAME", .doc = "how ranges are picked, as in hone quantize"},
    {"activations", CLI_TEXT, "u8|s8", .doc = "as in hone quantize"},
    {"per-tensor", CLI_FLAG, .doc = "one scale for a layer's weights"},
    {"keep", CLI_LIST, "NODE", .doc = "layers that are left out: they stay in f32"},
    {"ranges", CLI_TEXT, "FILE", .doc = "ranges as text, read or written", .writes = CLI_WRITES_WHEN_ABSENT},
    {"level", CLI_INT, "0..5", .doc = "tuning effort of the two builds that layers' times come from; default 2",
     .low = 0, .high = 5},
    {"timing-cache", CLI_TEXT, "FILE", .doc = "measured times, read and updated", .writes = CLI_WRITES_FILE},
    {"no-times", CLI_FLAG, .doc = "measure errors alone"},
    {"svg", CLI_TEXT, "FILE", .doc = "plot errors and times, too: one file of SVG for any browser",
     .writes = CLI_WRITES_FILE},
    {"csv", CLI_FLAG, .doc = "comma-separated values, in the order of the layers"},
    {0},
};

typedef struct rows {
  hone_sensitivity *items; /* alone, then cumulative, in the order of the layers */
  char (*names)[128];
  int64_t count, room;
  hone_layer_time *times; /* one a layer; of conversions and of all else behind them */
  int64_t time_count;
  bool failed;
} rows;

static const hone_layer_time *time_of(const rows *r, int64_t index) {
  return index < r->time_count ? &r->times[index] : NULL;
}

/* Rows of layers come in the order in which they were measured alone. */
static void take_time(void *user, const hone_layer_time *row) {
  rows *r = user;
  if (!r->times) r->times = calloc((size_t)(r->count / 2 + 2), sizeof *r->times);
  if (!r->times || r->time_count >= r->count / 2 + 2) {
    r->failed = true;
    return;
  }
  r->times[r->time_count++] = *row;
}

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
         "cumulative_top1,f32_us,int8_us,shared\n");
  for (int64_t i = 0; i < r->count / 2; ++i) {
    const hone_sensitivity *one = &r->items[i], *all = &r->items[i + r->count / 2];
    const hone_layer_time *time = time_of(r, i);
    printf("\"%s\",%s,%.0f,%.6g,%.4g,%.8g,%.4g,%.6g,%.4g,%.8g,%.4g,", r->names[i], one->op, one->weights, one->rel_l2,
           one->sqnr_db, one->cosine, one->top1, all->rel_l2, all->sqnr_db, all->cosine, all->top1);
    if (time)
      printf("%.3f,%.3f,%d\n", time->f32_ns * 1e-3, time->int8_ns * 1e-3, time->shared);
    else
      printf(",,\n");
  }
}

static void print_json(const rows *r) {
  printf("[");
  for (int64_t i = 0; i < r->count; ++i) {
    const hone_sensitivity *row = &r->items[i];
    printf("%s\n  {\"layer\": ", i ? "," : "");
    cli_json_text(stdout, r->names[i]);
    printf(", \"op\": \"%s\", \"cumulative\": %s, \"weights\": %.0f, \"rel_l2\": %.6g, \"sqnr_db\": %.4g, "
           "\"cosine\": %.8g, \"top1\": %.4g",
           row->op, row->cumulative ? "true" : "false", row->weights, row->rel_l2, row->sqnr_db, row->cosine,
           row->top1);
    const hone_layer_time *time = row->cumulative ? NULL : time_of(r, i);
    if (time)
      printf(", \"f32_us\": %.3f, \"int8_us\": %.3f, \"layers_of_step\": %d", time->f32_ns * 1e-3, time->int8_ns * 1e-3,
             time->shared);
    printf("}");
  }
  for (int64_t i = r->count / 2; i < r->time_count; ++i)
    printf(",\n  {\"layer\": null, \"op\": \"%s\", \"f32_us\": %.3f, \"int8_us\": %.3f}", r->times[i].op,
           r->times[i].f32_ns * 1e-3, r->times[i].int8_ns * 1e-3);
  printf("\n]\n");
}

/* "~": the time is an equal part of a step's that computes several layers. */
static void print_times(const hone_layer_time *time, int before) {
  if (time)
    printf("%*s | %s%.1f %.1f %.1f", before, "", time->shared > 1 ? "~" : "", time->f32_ns * 1e-3, time->int8_ns * 1e-3,
           (time->f32_ns - time->int8_ns) * 1e-3);
  printf("\n");
}

/* The worst layers first; behind them what all up to there do together. */
static void print_table(rows *r) {
  const int64_t count = r->count / 2;
  printf("%-40s %-7s %9s %9s %7s %7s | %-29s%s\n", "layer, the worst first", "op", "weights", "rel. L2", "SQNR dB",
         "top-1", "with all before it: L2, top-1", r->time_count > 0 ? " | us: f32, int8, saved" : "");
  for (int64_t i = 0; i < count; ++i) r->items[i].layer = r->names[i];
  hone_sensitivity *sorted = malloc((size_t)(count + 1) * sizeof *sorted);
  for (int64_t i = 0; sorted && i < count; ++i) sorted[i] = r->items[i];
  if (sorted) qsort(sorted, (size_t)count, sizeof *sorted, worst_first);
  for (int64_t i = 0; i < count; ++i) {
    const hone_sensitivity *one = sorted ? &sorted[i] : &r->items[i], *all = &r->items[count + one->index];
    printf("%-40s %-7s %9.0f %9.5f %7.1f %6.1f%% | %9.5f %6.1f%%", one->layer, one->op, one->weights, one->rel_l2,
           one->sqnr_db, 100 * one->top1, all->rel_l2, 100 * all->top1);
    print_times(time_of(r, one->index), 11);
  }
  free(sorted);
  for (int64_t i = count; i < r->time_count; ++i) {
    printf("%-40s %-7s %43s |%18s", r->times[i].op, "", "", "");
    print_times(&r->times[i], 11);
  }
}

static int plot(cli_tool *cli, rows *r) {
  const char *path = cli_text(cli, "svg");
  if (!path) return CLI_EXIT_OK;
  for (int64_t i = 0; i < r->count; ++i) r->items[i].layer = r->names[i];
  const int64_t count = r->count / 2;
  const hone_status status = hone_sensitivity_plot(cli->context, cli_text(cli, "model"), r->items, r->items + count,
                                                   r->time_count >= count ? r->times : NULL, count, path);
  if (status != HONE_OK) return cli_fail(cli, status);
  cli_note(cli, "wrote %s", path);
  return CLI_EXIT_OK;
}

static int measure(cli_tool *cli, const hone_graph *graph, rows *r) {
  const char *kept[CLI_MAX_GIVEN];
  hone_quantize_options options;
  const int64_t level = cli_int(cli, "level", 2);
  const hone_build_options build = {.struct_size = sizeof build,
                                    .level = level == 0 ? -1 : (int)level,
                                    .timing_cache_path = cli_text(cli, "timing-cache"),
                                    .progress = cli_progress_samples,
                                    .progress_user = cli};
  int code = cli_quantize_options_read(cli, &options, kept);
  if (!cli_has(cli, "no-times")) {
    options.layer_time = take_time;
    options.layer_time_user = r;
    options.build = &build;
  }
  if (code == CLI_EXIT_OK) code = cli_sensitivity(cli, graph, &options, take, r);
  if (code == CLI_EXIT_OK && r->failed) {
    cli_error("out of memory");
    return CLI_EXIT_NO_MEMORY;
  }
  if (code == CLI_EXIT_OK) code = plot(cli, r);
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
  free(r.times);
  if (code == CLI_EXIT_OK) cli_next(cli, "hone quantize %s --calib FOLDER --keep LAYER", path);
  return code;
}
