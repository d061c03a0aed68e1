/* SPDX-License-Identifier: Apache-2.0 */
/* command_quantize.c - hone quantize: a model in f32 becomes one in 8 bits, by the ranges of what it computes on
 * samples; or its weights alone.
 */
#include "calib.h"
#include <stdlib.h>
#include <string.h>

const cli_option cli_quantize_options[] = {
    {"output", CLI_TEXT, "FILE",
     .doc = "the quantised model; default: the model's name with _int8.onnx, or --weights' type",
     .writes = CLI_WRITES_FILE},
    {"o", CLI_TEXT, "FILE", .same_as = "output"},
    {"method", CLI_TEXT, "NAME", .doc = "how ranges are picked: mse (default), minmax, percentile[:P], entropy"},
    {"activations", CLI_TEXT, "u8|s8", .doc = "u8 with zero points (default), or s8 without, as TensorRT takes them"},
    {"fp8", CLI_FLAG,
     .doc = "8-bit floats (e4m3) for activations and weights of layers; biases and what layers write stay in f32"},
    {"per-tensor", CLI_FLAG, .doc = "one scale for a layer's weights, instead of one for each output channel"},
    {"correct", CLI_TEXT, "NAME,...",
     .doc = "what is corrected without training, where outputs come nearer: align, bias (usual), equalise, smooth, "
            "round; or all"},
    {"no-correction", CLI_FLAG, .doc = "correct nothing"},
    {"keep", CLI_LIST, "NODE", .doc = "leave these in f32: a node's name, an operator (conv, gemm, matmul), globs"},
    {"ranges", CLI_TEXT, "FILE",
     .doc = "ranges as text: read when the file is there (hone's, or trtexec's calibration cache), else written",
     .writes = CLI_WRITES_WHEN_ABSENT},
    {"weights", CLI_TEXT, "TYPE[:BLOCK]",
     .doc = "weights alone: int8, int4 (symmetric), uint8, uint4 (with zero points), one scale for each BLOCK of a "
            "product's weights (16 to 256, default 32); no calibration data is needed"},
    {"report", CLI_FLAG,
     .doc =
         "of a model that is quantised already (QAT): which nodes compute in bytes, and where a rounding is missing"},
    {"table", CLI_FLAG, .doc = "list every tensor's range and scale"},
    {0},
};

typedef struct tally {
  const cli_tool *cli;
  bool table, json;
  int64_t tensors, layers, floats;
  int listed;
} tally;

static void tell_tensor(tally *t, const hone_quantize_event *event) {
  ++t->tensors;
  if (!t->table) return;
  if (t->json) {
    printf("%s\n    {\"tensor\": ", t->listed++ ? "," : CLI_JSON_BEGIN "\"tensors\": [");
    cli_json_text(stdout, event->tensor);
    printf(", \"low\": %.9g, \"high\": %.9g, \"from\": %.9g, \"to\": %.9g, \"scale\": %.9g, \"zero_point\": %d, "
           "\"clipped\": %.4g}",
           event->low, event->high, event->from, event->to, (double)event->scale, event->zero_point, event->clipped);
    return;
  }
  if (t->listed++ == 0)
    printf("%-40s %12s %12s %12s %12s %5s %9s\n", "tensor", "seen from", "to", "kept from", "to", "zero", "cut");
  printf("%-40s %12.5g %12.5g %12.5g %12.5g %5d %8.4f%%\n", event->tensor, event->low, event->high, event->from,
         event->to, event->zero_point, 100 * event->clipped);
}

static void tell(void *user, const hone_quantize_event *event) {
  tally *t = user;
  if (event->correction) {
    cli_note(t->cli, "%s: outputs are %.4f from those of f32 without it, %.4f with it: %s", event->correction,
             event->apart_before, event->apart_after, event->kept ? "kept" : "left out");
  } else if (event->tensor) {
    tell_tensor(t, event);
  } else if (!event->why) {
    ++t->layers;
  } else {
    ++t->floats;
    cli_note(t->cli, "%s (%s) stays in f32: %s", event->layer, event->op, event->why);
  }
}

static void default_output(const char *model, const char *type, char *out, size_t room) {
  const char *slash = strrchr(model, '/'), *dot = strrchr(model, '.');
  const size_t length = dot && (!slash || dot > slash) ? (size_t)(dot - model) : strlen(model);
  (void)snprintf(out, room, "%.*s_%s.onnx", (int)length, model, type);
}

int cli_quantize_options_read(cli_tool *cli, hone_quantize_options *out, const char **kept) {
  const char *activations = cli_text(cli, "activations");
  *out =
      (hone_quantize_options){.struct_size = sizeof *out,
                              .method = cli_text(cli, "method"),
                              .per_tensor = cli_has(cli, "per-tensor"),
                              .uncorrected = cli_takes(cli->command, "no-correction") && cli_has(cli, "no-correction"),
                              .corrections = cli_takes(cli->command, "correct") ? cli_text(cli, "correct") : NULL,
                              .keep = kept,
                              .keep_count = cli_list(cli, "keep", kept, CLI_MAX_GIVEN),
                              .cache_path = cli_text(cli, "ranges"),
                              .progress = cli_progress_samples,
                              .progress_user = cli};
  if (activations && strcmp(activations, "u8") != 0 && strcmp(activations, "s8") != 0)
    return cli_usage_error(cli, "--activations is u8 or s8, not \"%s\"", activations);
  if (activations) out->activations = strcmp(activations, "s8") == 0 ? HONE_I8 : HONE_U8;
  const bool of_floats = cli_takes(cli->command, "fp8") && cli_has(cli, "fp8");
  if (activations && of_floats) return cli_usage_error(cli, "--fp8 has floats in the place of --activations' bytes");
  if (of_floats) out->activations = HONE_F8E4M3FN;
  return CLI_EXIT_OK;
}

/* ---- weights alone ---- */

static const struct {
  const char *name;
  hone_dtype dtype;
} weight_types[] = {{"int8", HONE_I8}, {"int4", HONE_I4}, {"uint8", HONE_U8}, {"uint4", HONE_U4}};

static const char *type_name(const hone_quantize_options *options) {
  for (size_t i = 0; i < CLI_COUNT(weight_types); ++i)
    if (weight_types[i].dtype == options->weights) return weight_types[i].name;
  return options->activations == HONE_F8E4M3FN ? "fp8" : "int8"; /* activations, too */
}

/* --weights TYPE[:BLOCK]; without it nothing changes. Exit code. */
static int read_weights(cli_tool *cli, hone_quantize_options *out) {
  static const char *const others[] = {"calib", "calib-count", "ranges",        "method",  "activations",
                                       "fp8",   "per-tensor",  "no-correction", "correct", "table"};
  const char *given = cli_text(cli, "weights"), *colon = given ? strchr(given, ':') : NULL;
  if (!given) return CLI_EXIT_OK;
  for (size_t i = 0; i < CLI_COUNT(others); ++i)
    if (cli_has(cli, others[i]))
      return cli_usage_error(cli, "--weights rounds weights alone, from which --%s says nothing: give one of them",
                             others[i]);
  const size_t length = colon ? (size_t)(colon - given) : strlen(given);
  for (size_t i = 0; i < CLI_COUNT(weight_types); ++i)
    if (strlen(weight_types[i].name) == length && strncmp(weight_types[i].name, given, length) == 0)
      out->weights = weight_types[i].dtype;
  if (out->weights == HONE_NONE)
    return cli_usage_error(cli, "--weights %s: the types are int8, int4, uint8 and uint4", given);
  if (!colon) return CLI_EXIT_OK;
  char *end;
  out->block = strtol(colon + 1, &end, 10);
  const bool right = end != colon + 1 && !*end && out->block >= 16 && out->block <= 256;
  return right && !(out->block & (out->block - 1))
             ? CLI_EXIT_OK
             : cli_usage_error(cli, "--weights %s: a block is 16, 32, 64, 128 or 256 weights", given);
}

/* ---- the work ---- */

static int quantize(cli_tool *cli, const hone_graph *graph, hone_quantize_options *options, const char *output) {
  tally t = {.cli = cli, .table = cli_has(cli, "table"), .json = cli_has(cli, "json")};
  options->event = tell;
  options->event_user = &t;
  hone_graph *made;
  const double begin_ms = cli_now_ms();
  int code = cli_quantize(cli, graph, options, &made);
  const double seconds = (cli_now_ms() - begin_ms) * 1e-3;
  if (code == CLI_EXIT_OK) {
    const hone_status status = hone_graph_save_onnx(made, output);
    if (status != HONE_OK) code = cli_fail(cli, status);
  }
  hone_graph_destroy(made);
  if (code != CLI_EXIT_OK) return code;
  if (t.json) {
    printf("%s\"file\": ", t.table ? "\n  ], " : CLI_JSON_BEGIN);
    cli_json_text(stdout, output);
    printf(", \"layers\": %lld, \"layers_in_f32\": %lld, \"tensors_quantised\": %lld, \"samples\": %lld, \"seconds\": "
           "%.3f}\n",
           (long long)t.layers, (long long)t.floats, (long long)t.tensors, (long long)options->sample_count, seconds);
  } else {
    const long long layers = t.layers, all = t.layers + t.floats;
    if (options->weights != HONE_NONE)
      printf("%s: %lld of %lld layers with weights of %s; %.1f s\n", output, layers, all, type_name(options), seconds);
    else
      printf("%s: %lld of %lld layers in %s, %lld activations; %.1f s\n", output, layers, all,
             options->activations == HONE_F8E4M3FN ? "8-bit floats" : "8 bits", (long long)t.tensors, seconds);
  }
  cli_next(cli, "hone build %s", output);
  return CLI_EXIT_OK;
}

/* ---- of a model that is quantised already ---- */

static void tell_quantised(void *user, const hone_quantised_node *row) {
  tally *t = user;
  ++*(row->bytes ? &t->layers : &t->floats);
  if (t->json) {
    printf("%s\n    {\"node\": ", t->listed++ ? "," : CLI_JSON_BEGIN "\"nodes\": [");
    cli_json_text(stdout, row->node);
    printf(", \"op\": \"%s\", \"bytes\": %s, \"why\": ", row->op, row->bytes ? "true" : "false");
    if (row->why)
      cli_json_text(stdout, row->why);
    else
      printf("null");
    printf("}");
    return;
  }
  if (t->listed++ == 0) printf("%-40s %-20s %-8s %s\n", "node", "op", "runs in", "what keeps it in floats");
  printf("%-40s %-20s %-8s %s\n", row->node, row->op, row->bytes ? "bytes" : "floats", row->why ? row->why : "");
}

static int report_quantised(cli_tool *cli, const char *path) {
  hone_graph *graph;
  tally t = {.cli = cli, .json = cli_has(cli, "json")};
  hone_status status = cli_load_graph(cli, path, &graph);
  if (status == HONE_OK) status = hone_graph_quantised(cli->context, graph, tell_quantised, &t);
  hone_graph_destroy(graph);
  if (status != HONE_OK) return cli_fail(cli, status);
  if (t.json)
    printf("%s\"in_bytes\": %lld, \"in_floats\": %lld}\n", t.listed ? "\n  ], " : CLI_JSON_BEGIN, (long long)t.layers,
           (long long)t.floats);
  else
    printf("%s: %lld of %lld nodes with roundings, or that might have some, compute in bytes\n", path,
           (long long)t.layers, (long long)(t.layers + t.floats));
  cli_next(cli, "hone build %s", path);
  return CLI_EXIT_OK;
}

int cli_command_quantize(cli_tool *cli) {
  const char *path = cli_text(cli, "model"), *output = cli_text(cli, "output"), *kept[CLI_MAX_GIVEN];
  char made[4096];
  hone_quantize_options options;
  if (!path) return cli_usage_error(cli, "a model must be named");
  if (cli_has(cli, "report")) return report_quantised(cli, path);
  int code = cli_quantize_options_read(cli, &options, kept);
  if (code == CLI_EXIT_OK) code = read_weights(cli, &options);
  if (code != CLI_EXIT_OK) return code;
  if (options.weights == HONE_NONE && !cli_has(cli, "calib") && !cli_has(cli, "ranges"))
    return cli_usage_error(cli, "--calib FOLDER must be given: samples of what the model will see");
  if (!output) {
    default_output(path, type_name(&options), made, sizeof made);
    output = made;
  }
  code = cli_check_output("output", output, CLI_WRITES_FILE);
  if (code != CLI_EXIT_OK) return code;
  hone_graph *graph;
  const hone_status status = cli_load_graph(cli, path, &graph);
  code = status == HONE_OK ? quantize(cli, graph, &options, output) : cli_fail(cli, status);
  hone_graph_destroy(graph);
  return code;
}
