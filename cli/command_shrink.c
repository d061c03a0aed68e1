/* SPDX-License-Identifier: Apache-2.0 */
/* command_shrink.c - hone shrink: what each width of a layer would take on this machine. */
#include "cli.h"
#include "shrink.h"
#include <stdlib.h>
#include <string.h>

const cli_option cli_shrink_options[] = {
    {"layers", CLI_LIST, "NODE",
     .doc = "these layers alone: a name of the model or of the built graph, an operator, globs"},
    {"widths", CLI_INT, "N", .doc = "widths of each side, at most; default 8", .low = 2, .high = 64},
    {"multiple", CLI_INT, "N", .doc = "widths are multiples of N; default 8", .low = 1, .high = 1024},
    {"outputs-only", CLI_FLAG, .doc = "vary output channels, not the input channels of layers that read them"},
    {"int8", CLI_FLAG, .doc = "layers in 8 bits; no samples are needed, since times do not hang on ranges"},
    {"sparsity", CLI_TEXT, "2:4",
     .doc = "layers by weights of which two of four are zero, and what these are worth beside dense ones"},
    {"csv", CLI_FLAG, .doc = "comma-separated values, a line a width"},
    {"svg", CLI_TEXT, "FILE", .doc = "also draw the staircases", .writes = CLI_WRITES_IN_PLACE},
    {0},
};

static char *keep_text(const char *text) { return text ? strdup(text) : NULL; }

static void take(void *user, const hone_shrink_stairs *stairs) {
  cli_stairs_list *list = user;
  cli_stairs *items = realloc(list->items, (size_t)(list->count + 1) * sizeof *items);
  if (items) list->items = items;
  hone_shrink_step *steps = calloc((size_t)stairs->count, sizeof *steps);
  if (!items || !steps) {
    free(steps);
    list->failed = true;
    return;
  }
  memcpy(steps, stairs->steps, (size_t)stairs->count * sizeof *steps);
  cli_stairs *kept = &list->items[list->count++];
  *kept = (cli_stairs){.stairs = *stairs, .steps = steps};
  kept->layer = keep_text(stairs->layer);
  kept->like = keep_text(stairs->like);
  for (int i = 0; i < stairs->count; ++i) steps[i].tactic = keep_text(stairs->steps[i].tactic);
  list->failed |= !kept->layer || (stairs->like && !kept->like);
  kept->stairs.layer = kept->layer;
  kept->stairs.like = kept->like;
  kept->stairs.steps = steps; /* dense_why is static text */
}

static void drop(cli_stairs_list *list) {
  for (int i = 0; i < list->count; ++i) {
    for (int k = 0; k < list->items[i].stairs.count; ++k) free((void *)(uintptr_t)list->items[i].steps[k].tactic);
    free(list->items[i].steps);
    free(list->items[i].layer);
    free(list->items[i].like);
  }
  free(list->items);
}

static double saved(const hone_shrink_stairs *s, int step) {
  return s->steps[0].ns > 0 && s->steps[step].ns > 0 ? 100 * (1 - s->steps[step].ns / s->steps[0].ns) : 0;
}

static const char *side(const hone_shrink_stairs *s) { return s->inputs ? "inputs" : "outputs"; }

static void print_csv(const cli_stairs_list *list) {
  printf("layer,op,side,full,width,us,saved,edge,next,tactic,sparse_share\n");
  for (int i = 0; i < list->count; ++i) {
    const hone_shrink_stairs *s = &list->items[i].stairs;
    for (int k = 0; k < s->count; ++k)
      printf("\"%s\",%s,%s,%lld,%lld,%.6g,%.4g,%d,%d,%s,%.4g\n", s->layer, s->op, side(s), (long long)s->full,
             (long long)s->steps[k].width, s->steps[k].ns * 1e-3, saved(s, k) / 100, s->steps[k].edge,
             k > 0 && k == s->next, s->steps[k].tactic ? s->steps[k].tactic : "", s->sparse_share);
  }
}

static void print_json(const cli_stairs_list *list) {
  printf("[");
  for (int i = 0; i < list->count; ++i) {
    const hone_shrink_stairs *s = &list->items[i].stairs;
    printf("%s\n  {\"layer\": ", i ? "," : "");
    cli_json_text(stdout, s->layer);
    printf(", \"op\": \"%s\", \"side\": \"%s\", \"full\": %lld", s->op, side(s), (long long)s->full);
    if (s->like) {
      printf(", \"like\": ");
      cli_json_text(stdout, s->like);
    }
    if (s->next) printf(", \"next\": %lld", (long long)s->steps[s->next].width);
    if (s->sparse_share > 0) printf(", \"sparse_share\": %.4g", s->sparse_share);
    if (s->dense_why) {
      printf(", \"dense_why\": ");
      cli_json_text(stdout, s->dense_why);
    }
    printf(", \"widths\": [");
    for (int k = 0; k < s->count; ++k) {
      printf("%s\n    {\"width\": %lld", k ? "," : "", (long long)s->steps[k].width);
      if (s->steps[k].ns > 0)
        printf(", \"us\": %.6g, \"saved\": %.4g, \"edge\": %s", s->steps[k].ns * 1e-3, saved(s, k) / 100,
               s->steps[k].edge ? "true" : "false");
      if (s->steps[k].tactic) printf(", \"tactic\": \"%s\"", s->steps[k].tactic);
      printf("}");
    }
    printf("]}");
  }
  printf("\n]\n");
}

/* A layer and its widths, wrapped; tops of stairs carry a star. */
static void print_stairs(const hone_shrink_stairs *s, int width) {
  printf("%s (%s), %s %lld: %.4g us", s->layer, s->op, side(s), (long long)s->full, s->steps[0].ns * 1e-3);
  if (s->like) {
    printf(", like %s\n", s->like);
    return;
  }
  int column = width;
  for (int k = 1; k < s->count; ++k) {
    char text[64];
    const int length = s->steps[k].ns > 0
                           ? snprintf(text, sizeof text, "  %lld%s %.0f %%", (long long)s->steps[k].width,
                                      s->steps[k].edge ? "*" : "", saved(s, k) + 0.0)
                           : snprintf(text, sizeof text, "  %lld not timed", (long long)s->steps[k].width);
    if (column + length > width) column = printf("\n    saved at") - 1;
    column += printf("%s", text);
  }
  if (s->next)
    printf("\n    best next width: %lld, %.0f %% of the time for %.0f %% of the channels\n",
           (long long)s->steps[s->next].width, saved(s, s->next),
           100 - 100.0 * (double)s->steps[s->next].width / (double)s->full);
  else
    printf("\n    no width saves time\n");
  if (s->sparse_share > 0)
    printf("    two of four weights: %.2f of the fastest dense kernel's time\n", s->sparse_share);
  else if (s->dense_why)
    printf("    two of four weights: as dense ones, %s\n", s->dense_why);
}

static int shrink(cli_tool *cli, const hone_graph *graph, cli_stairs_list *list) {
  static cli_shrink_build build; /* large for a stack */
  const char *layers[CLI_MAX_GIVEN];
  int code = cli_shrink_build_read(cli, graph, &build);
  if (code == CLI_EXIT_OK) code = cli_open_device(cli);
  if (code != CLI_EXIT_OK) return code;
  const hone_shrink_options options = {.struct_size = sizeof options,
                                       .layers = layers,
                                       .layer_count = cli_list(cli, "layers", layers, CLI_MAX_GIVEN),
                                       .widths = (int)cli_int(cli, "widths", 8),
                                       .multiple = (int)cli_int(cli, "multiple", 8),
                                       .outputs_only = cli_has(cli, "outputs-only"),
                                       .build = &build.options,
                                       .int8 = cli_has(cli, "int8"),
                                       .sparsity = cli_text(cli, "sparsity")};
  const hone_status status = hone_graph_shrink(cli->context, graph, &cli->device, 1, &options, take, list);
  cli_progress_end(cli);
  if (status == HONE_OK && list->failed) {
    cli_error("out of memory");
    return CLI_EXIT_NO_MEMORY;
  }
  return status == HONE_OK ? CLI_EXIT_OK : cli_fail(cli, status);
}

static int show(cli_tool *cli, const cli_stairs_list *list) {
  const char *svg = cli_text(cli, "svg");
  if (cli_has(cli, "json"))
    print_json(list);
  else if (cli_has(cli, "csv"))
    print_csv(list);
  else
    for (int i = 0; i < list->count; ++i) print_stairs(&list->items[i].stairs, cli->width);
  if (!svg) return CLI_EXIT_OK;
  FILE *file = cli_open_output(svg);
  if (!file) return CLI_EXIT_IO;
  cli_stairs_svg(list, file);
  return cli_close_output(file, svg);
}

int cli_command_shrink(cli_tool *cli) {
  const char *path = cli_text(cli, "model");
  if (!path) return cli_usage_error(cli, "a model must be named");
  if (cli_has(cli, "json") && cli_has(cli, "csv")) return cli_usage_error(cli, "--json and --csv exclude each other");
  const char *sparsity = cli_text(cli, "sparsity");
  if (sparsity && strcmp(sparsity, "2:4") != 0)
    return cli_usage_error(cli, "--sparsity is \"%s\"; allowed is 2:4", sparsity);
  if (sparsity && cli_has(cli, "int8")) return cli_usage_error(cli, "--sparsity and --int8 exclude each other");
  hone_graph *graph;
  cli_stairs_list list = {0};
  const hone_status status = cli_load_graph(cli, path, &graph);
  int code = status == HONE_OK ? shrink(cli, graph, &list) : cli_fail(cli, status);
  if (code == CLI_EXIT_OK) code = show(cli, &list);
  drop(&list);
  hone_graph_destroy(graph);
  if (code == CLI_EXIT_OK) cli_next(cli, "hone prune %s --target-ms MS", path);
  return code;
}
