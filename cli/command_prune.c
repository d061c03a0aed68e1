/* SPDX-License-Identifier: Apache-2.0 */
/* command_prune.c - hone prune: a model with fewer channels. */
#include "calib.h"
#include "shrink.h"
#include <stdlib.h>
#include <string.h>

const cli_option cli_prune_options[] = {
    {"output", CLI_TEXT, "FILE", .doc = "the pruned model; default: the model's name with _pruned.onnx or _sparse.onnx",
     .writes = CLI_WRITES_FILE},
    {"o", CLI_TEXT, "FILE", .same_as = "output"},
    {"ratio", CLI_REAL, "SHARE", .doc = "share of the channels that goes, of each group of layers: 0.3 is 30 %"},
    {"target-ms", CLI_REAL, "MS",
     .doc = "instead of a share: widths are chosen by measured times until a run takes so long, built and measured"},
    {"multiple", CLI_INT, "N", .doc = "the channels that stay are a multiple of N, and at least N; default 8", .low = 1,
     .high = 1024},
    {"global", CLI_FLAG, .doc = "channels of all layers compete, instead of the same share of each group"},
    {"score", CLI_TEXT, "NAME",
     .doc = "what a channel is worth: l1 (default), l2, or error (what its readers lose, on the samples of --calib)"},
    {"keep", CLI_LIST, "NODE", .doc = "nodes whose outputs keep their channels: a name, an operator, globs"},
    {"masked", CLI_TEXT, "FILE",
     .doc = "also write the unshrunk model, the weights of removed channels zero: it computes the same",
     .writes = CLI_WRITES_FILE},
    {"mask", CLI_TEXT, "FILE", .doc = "also write, as JSON, which channels of which layers go",
     .writes = CLI_WRITES_IN_PLACE},
    {"sparsity", CLI_TEXT, "2:4",
     .doc = "instead: of each four weights along the input channels the two of least magnitude become zero"},
    {"in-order", CLI_FLAG, .doc = "with --sparsity: leave channels in their order, where another keeps more magnitude"},
    {"table", CLI_FLAG, .doc = "list every layer with its channels before and after, or the reason why they stay"},
    {0},
};

typedef struct teller {
  const cli_tool *cli;
  bool table, json;
  int listed, masks;
  FILE *mask; /* NULL: none */
  FILE *list; /* of the table, kept until the end */
} teller;

static void json_places(FILE *to, const char *name, const int64_t *places, int64_t count) {
  fprintf(to, ", \"%s\": [", name);
  for (int64_t i = 0; i < count; ++i) fprintf(to, "%s%lld", i ? ", " : "", (long long)places[i]);
  fputc(']', to);
}

static void write_mask(teller *t, const hone_prune_layer *layer) {
  if (!layer->removed_inputs && !layer->removed_outputs) return;
  fprintf(t->mask, "%s\n    {\"layer\": ", t->masks++ ? "," : "");
  cli_json_text(t->mask, layer->name);
  json_places(t->mask, "removed_inputs", layer->removed_inputs, layer->inputs - layer->inputs_kept);
  json_places(t->mask, "removed_outputs", layer->removed_outputs, layer->outputs - layer->outputs_kept);
  fputc('}', t->mask);
}

static void json_layer(teller *t, const hone_prune_layer *layer) {
  fprintf(t->list, "%s\n    {\"layer\": ", t->listed++ ? "," : CLI_JSON_BEGIN "\"layers\": [");
  cli_json_text(t->list, layer->name);
  fprintf(t->list,
          ", \"op\": \"%s\", \"group\": %d, \"inputs\": %lld, \"inputs_kept\": %lld, \"outputs\": %lld, "
          "\"outputs_kept\": %lld",
          layer->op, layer->group, (long long)layer->inputs, (long long)layer->inputs_kept, (long long)layer->outputs,
          (long long)layer->outputs_kept);
  if (layer->why) {
    fprintf(t->list, ", \"why\": ");
    cli_json_text(t->list, layer->why);
  }
  if (layer->why_node) {
    fprintf(t->list, ", \"node\": ");
    cli_json_text(t->list, layer->why_node);
  }
  fputc('}', t->list);
}

static void table_layer(teller *t, const hone_prune_layer *layer) {
  char inputs[48], outputs[48], group[16] = "";
  if (t->listed++ == 0)
    fprintf(t->list, "%-40s %-14s %5s %15s %15s\n", "layer", "operator", "group", "inputs", "outputs");
  (void)snprintf(inputs, sizeof inputs, "%lld > %lld", (long long)layer->inputs, (long long)layer->inputs_kept);
  (void)snprintf(outputs, sizeof outputs, "%lld > %lld", (long long)layer->outputs, (long long)layer->outputs_kept);
  if (layer->group >= 0) (void)snprintf(group, sizeof group, "%d", layer->group);
  fprintf(t->list, "%-40s %-14s %5s %15s %15s", layer->name, layer->op, group, inputs, outputs);
  if (layer->why) fprintf(t->list, "  %s", layer->why);
  if (layer->why_node && strcmp(layer->why_node, layer->name) != 0) fprintf(t->list, " (%s)", layer->why_node);
  fputc('\n', t->list);
}

static void tell(void *user, const hone_prune_layer *layer) {
  teller *t = user;
  if (t->mask) write_mask(t, layer);
  if (t->json && t->table)
    json_layer(t, layer);
  else if (t->table)
    table_layer(t, layer);
  else if (layer->why)
    cli_note(t->cli, "%s (%s) keeps its outputs: %s%s%s%s", layer->name, layer->op, layer->why,
             layer->why_node ? " (" : "", layer->why_node ? layer->why_node : "", layer->why_node ? ")" : "");
}

static double saved(double before, double after) { return before > 0 ? 100 * (1 - after / before) : 0; }

static void print_json(const teller *t, const char *output, const hone_prune_summary *s) {
  printf("%s\"file\": ", t->table ? "\n  ], " : CLI_JSON_BEGIN);
  cli_json_text(stdout, output);
  printf(", \"flops\": %.17g, \"flops_kept\": %.17g, \"weights\": %.17g, \"weights_kept\": %.17g, \"channels\": %lld, "
         "\"channels_kept\": %lld, \"groups\": %lld, \"groups_pruned\": %lld, \"dead_channels\": %lld",
         s->flops, s->flops_kept, s->weights, s->weights_kept, (long long)s->channels, (long long)s->channels_kept,
         (long long)s->groups, (long long)s->groups_pruned, (long long)s->dead);
  if (s->ms > 0)
    printf(", \"ms\": %.6g, \"ms_kept\": %.6g, \"ms_predicted\": %.6g, \"builds\": %d", s->ms, s->ms_kept,
           s->ms_predicted, s->rounds);
  printf("}\n");
}

static void print_text(const char *output, const hone_prune_summary *s) {
  printf("%s: %lld of %lld groups of layers pruned, channels %lld > %lld\n", output, (long long)s->groups_pruned,
         (long long)s->groups, (long long)s->channels, (long long)s->channels_kept);
  if (s->flops > 0)
    printf("  FLOPs   %.4g > %.4g G (%.1f %% less)\n", s->flops * 1e-9, s->flops_kept * 1e-9,
           saved(s->flops, s->flops_kept));
  printf("  weights %.4g > %.4g M (%.1f %% less)\n", s->weights * 1e-6, s->weights_kept * 1e-6,
         saved(s->weights, s->weights_kept));
  if (s->ms > 0)
    printf("  time    %.4g > %.4g ms (%.1f %% less), predicted %.4g ms\n", s->ms, s->ms_kept, saved(s->ms, s->ms_kept),
           s->ms_predicted);
  if (s->dead > 0) printf("  %lld channels had no weights but zeros\n", (long long)s->dead);
}

static int write_models(cli_tool *cli, const hone_graph *pruned, const hone_graph *masked, const char *output) {
  const char *mask_path = cli_text(cli, "masked");
  hone_status status = hone_graph_save_onnx(pruned, output);
  if (status == HONE_OK && masked) status = hone_graph_save_onnx(masked, mask_path);
  return status == HONE_OK ? CLI_EXIT_OK : cli_fail(cli, status);
}

static int prune_with(cli_tool *cli, const hone_graph *graph, hone_prune_options *options, teller *t,
                      const char *output, hone_prune_summary *summary) {
  hone_graph *pruned, *masked = NULL;
  options->layer = tell;
  options->layer_user = t;
  const hone_status status = hone_graph_prune(cli->context, graph, &cli->device, cli->device ? 1 : 0, options, &pruned,
                                              cli_has(cli, "masked") ? &masked : NULL, summary);
  cli_progress_end(cli);
  const int code = status == HONE_OK ? write_models(cli, pruned, masked, output) : cli_fail(cli, status);
  hone_graph_destroy(pruned);
  hone_graph_destroy(masked);
  return code;
}

/* Text that is written when it is complete. */
typedef struct draft {
  FILE *file; /* NULL: none is wanted */
  char *text;
  size_t length;
} draft;

static int draft_end(draft *d, int code, FILE *to, const char *path) {
  if (!d->file) return code;
  if (fclose(d->file) != 0 && code == CLI_EXIT_OK) code = CLI_EXIT_NO_MEMORY;
  if (to && d->text) (void)fwrite(d->text, 1, d->length, to);
  if (to && to != stdout) {
    const int closed = cli_close_output(to, path);
    if (code == CLI_EXIT_OK) code = closed;
  }
  free(d->text);
  return code;
}

/* The reasons are listed also when nothing could be pruned: as text, since JSON would be half of itself. */
static int prune_and_list(cli_tool *cli, const hone_graph *graph, hone_prune_options *options, const char *output) {
  teller t = {.cli = cli, .table = cli_has(cli, "table"), .json = cli_has(cli, "json")};
  const char *path = cli_text(cli, "mask");
  hone_prune_summary summary = {.struct_size = sizeof summary};
  draft mask = {0}, list = {0};
  if (path) mask.file = open_memstream(&mask.text, &mask.length);
  list.file = open_memstream(&list.text, &list.length);
  if ((path && !mask.file) || !list.file) {
    cli_error("out of memory for the list of layers");
    (void)draft_end(&mask, CLI_EXIT_OK, NULL, NULL);
    return draft_end(&list, CLI_EXIT_NO_MEMORY, NULL, NULL);
  }
  t.mask = mask.file;
  t.list = list.file;
  if (t.mask) fprintf(t.mask, CLI_JSON_BEGIN "\"layers\": [");
  int code = prune_with(cli, graph, options, &t, output, &summary);
  if (t.mask) fprintf(t.mask, "\n  ]}\n");
  FILE *file = path && code == CLI_EXIT_OK ? cli_open_output(path) : NULL;
  if (path && code == CLI_EXIT_OK && !file) code = CLI_EXIT_IO;
  code = draft_end(&mask, code, file, path);
  code = draft_end(&list, code, code == CLI_EXIT_OK || !t.json ? stdout : NULL, NULL);
  if (code != CLI_EXIT_OK) return code;
  if (t.json)
    print_json(&t, output, &summary);
  else
    print_text(output, &summary);
  cli_next(cli, "hone build %s", output);
  return CLI_EXIT_OK;
}

static int prune(cli_tool *cli, const hone_graph *graph, hone_prune_options *options, const char *output) {
  static cli_calib calib; /* large for a stack, and so is the next */
  static cli_shrink_build build;
  int code = CLI_EXIT_OK;
  if (options->target_ms > 0) {
    code = cli_shrink_build_read(cli, graph, &build);
    options->build = &build.options;
  }
  if (code == CLI_EXIT_OK && (cli_has(cli, "calib") || options->target_ms > 0)) code = cli_open_device(cli);
  if (code == CLI_EXIT_OK && cli_has(cli, "calib")) {
    code = cli_calib_open(cli, graph, &calib);
    options->sample = cli_calib_sample;
    options->sample_user = &calib;
    options->sample_count = calib.count;
  }
  if (code == CLI_EXIT_OK) code = prune_and_list(cli, graph, options, output);
  if (calib.code != CLI_EXIT_OK) code = calib.code;
  cli_calib_close(&calib);
  return code;
}

static int read_options(cli_tool *cli, hone_prune_options *out, const char **kept) {
  *out = (hone_prune_options){.struct_size = sizeof *out,
                              .ratio = cli_real(cli, "ratio", 0),
                              .multiple = (int)cli_int(cli, "multiple", 8),
                              .global = cli_has(cli, "global"),
                              .score = cli_text(cli, "score"),
                              .keep = kept,
                              .keep_count = cli_list(cli, "keep", kept, CLI_MAX_GIVEN),
                              .target_ms = cli_real(cli, "target-ms", 0),
                              .progress = cli_progress_samples,
                              .progress_user = cli};
  const char *sparsity = cli_text(cli, "sparsity");
  const bool share = cli_has(cli, "ratio"), target = cli_has(cli, "target-ms");
  const int ways = share + target + (sparsity != NULL);
  if (ways != 1)
    return cli_usage_error(cli, ways > 1 ? "--ratio, --target-ms and --sparsity exclude each other"
                                         : "--ratio SHARE, --target-ms MS or --sparsity 2:4 must be given");
  if (sparsity && strcmp(sparsity, "2:4") != 0)
    return cli_usage_error(cli, "--sparsity is \"%s\"; allowed is 2:4", sparsity);
  if (sparsity && (cli_has(cli, "masked") || cli_has(cli, "mask")))
    return cli_usage_error(cli, "--mask and --masked are for removed channels: --sparsity removes none");
  if (share && !(out->ratio > 0 && out->ratio < 1))
    return cli_usage_error(cli, "--ratio is %g; allowed are numbers above 0 and below 1 (0.3 is 30 %%)", out->ratio);
  if (target && !(out->target_ms > 0))
    return cli_usage_error(cli, "--target-ms is %g; allowed are numbers above 0", out->target_ms);
  static const char *const timing[] = {"shapes", "level", "time-budget", "timing-cache", "bf16", "fp16"};
  for (size_t i = 0; i < CLI_COUNT(timing) && !target; ++i)
    if (cli_has(cli, timing[i])) return cli_usage_error(cli, "--%s is for --target-ms, which was not given", timing[i]);
  const bool error = out->score && strcmp(out->score, "error") == 0;
  if (error != cli_has(cli, "calib"))
    return cli_usage_error(cli, error ? "--score error needs --calib FOLDER: samples of what the model will see"
                                      : "--calib is for --score error, which was not given");
  return CLI_EXIT_OK;
}

int cli_command_prune(cli_tool *cli) {
  const char *path = cli_text(cli, "model"), *output = cli_text(cli, "output"), *kept[CLI_MAX_GIVEN];
  char made[4096];
  hone_prune_options options;
  if (!path) return cli_usage_error(cli, "a model must be named");
  if (!output) {
    cli_name_beside(path, cli_has(cli, "sparsity") ? "_sparse.onnx" : "_pruned.onnx", made, sizeof made);
    output = made;
  }
  int code = read_options(cli, &options, kept);
  if (code == CLI_EXIT_OK) code = cli_check_output("output", output, CLI_WRITES_FILE);
  if (code != CLI_EXIT_OK) return code;
  hone_graph *graph;
  const hone_status status = cli_load_graph(cli, path, &graph);
  if (status != HONE_OK)
    code = cli_fail(cli, status);
  else if (cli_has(cli, "sparsity"))
    code = cli_sparsify(cli, graph, output);
  else
    code = prune(cli, graph, &options, output);
  hone_graph_destroy(graph);
  return code;
}
