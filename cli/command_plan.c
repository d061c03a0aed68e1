/* SPDX-License-Identifier: Apache-2.0 */
/* command_plan.c - hone plan: each layer's type by measured time and measured error; a table of what was built and
 * measured, and the engine that was chosen. */
#include "plan.h"
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_SAMPLES = 192 };

const cli_option cli_plan_options[] = {
    {"output", CLI_TEXT, "FILE",
     .doc = "the engine; default: none is written without a constraint, else the model's "
            "name with .hone",
     .writes = CLI_WRITES_FILE},
    {"o", CLI_TEXT, "FILE", .same_as = "output"},
    {"max-drop", CLI_TEXT, "P%",
     .doc = "the fastest engine that loses at most so much of the right answers (--labels), "
            "or changes so many of the first classes"},
    {"max-error", CLI_REAL, "E", .doc = "the fastest whose outputs are within this relative L2 of f32's", .low = 1e-9,
     .high = 1e6},
    {"target-ms", CLI_REAL, "T", .doc = "the nearest to f32 that takes at most so long", .low = 1e-6, .high = 1e9},
    {"eval", CLI_TEXT, "FOLDER|FILE",
     .doc = "samples that judge; default: the last third of --calib's, which ranges then are not picked from"},
    {"eval-count", CLI_INT, "N", .doc = "of --eval, the first by name; default: all", .low = 1, .high = 1e6},
    {"labels", CLI_TEXT, "FILE", .doc = "right classes of judging samples: lines of a file's name, a tab and a number"},
    {"types", CLI_TEXT, "LIST", .doc = "what layers may be beside f32; default bf16,f16,int8"},
    {"points", CLI_INT, "N", .doc = "engines built and measured at most; default 12", .low = 3, .high = 64},
    {"time-budget", CLI_REAL, "S", .doc = "seconds after which no further engine is built; an interrupt does the same",
     .low = 0.001, .high = 1e9},
    {"csv", CLI_FLAG, .doc = "the points as comma-separated values"},
    {"layers", CLI_FLAG,
     .doc = "list each layer of the chosen plan: its times and noises, and why it is not in 8 bits"},
    {"method", CLI_TEXT, "NAME", .doc = "how ranges are picked, as in hone quantize"},
    {"activations", CLI_TEXT, "u8|s8", .doc = "as in hone quantize"},
    {"per-tensor", CLI_FLAG, .doc = "one scale for a layer's weights"},
    {"no-correction", CLI_FLAG, .doc = "leave biases as they are"},
    {"keep", CLI_LIST, "NODE", .doc = "layers that never are in 8 bits"},
    {"ranges", CLI_TEXT, "FILE", .doc = "ranges as text, read or written", .writes = CLI_WRITES_WHEN_ABSENT},
    {"level", CLI_INT, "0..5", .doc = "tuning effort of each engine; default 3 (docs/TUNING.md)", .high = 5},
    {"timing-cache", CLI_TEXT, "FILE", .doc = "measured times, read and updated", .writes = CLI_WRITES_FILE},
    {"seed", CLI_INT, "N", .doc = "seed of tuning data; default 0"},
    {0},
};

/* ---- options ---- */

static int read_drop(cli_tool *cli, double *out) {
  const char *text = cli_text(cli, "max-drop");
  if (!text) return CLI_EXIT_OK;
  char *end;
  *out = strtod(text, &end);
  if (*end == '%') *out /= 100, ++end;
  if (end == text || *end || !(*out > 0 && *out < 1))
    return cli_usage_error(cli, "--max-drop is a share as 0.5%% or 0.005, not \"%s\"", text);
  return CLI_EXIT_OK;
}

static int read_types(cli_tool *cli, uint32_t *precisions, bool *bytes) {
  const char *text = cli_text(cli, "types");
  *precisions = HONE_BIT(HONE_BF16) | HONE_BIT(HONE_F16);
  *bytes = true;
  if (!text) return CLI_EXIT_OK;
  *precisions = 0;
  *bytes = false;
  for (const char *at = text; *at;) {
    const size_t length = strcspn(at, ",");
    if (length == 4 && strncmp(at, "bf16", 4) == 0)
      *precisions |= HONE_BIT(HONE_BF16);
    else if (length == 3 && strncmp(at, "f16", 3) == 0)
      *precisions |= HONE_BIT(HONE_F16);
    else if (length == 4 && strncmp(at, "int8", 4) == 0)
      *bytes = true;
    else if (!(length == 3 && strncmp(at, "f32", 3) == 0))
      return cli_usage_error(cli, "--types lists f32, bf16, f16 and int8, not \"%.*s\"", (int)length, at);
    at += length + (at[length] == ',');
  }
  if (!*bytes)
    return cli_usage_error(cli, "--types must have int8: hone build --bf16 --max-error chooses between floats");
  return CLI_EXIT_OK;
}

/* ---- labels ---- */

static int read_labels(cli_tool *cli, cli_plan *plan, const cli_calib *judging) {
  const char *path = cli_text(cli, "labels"), *why;
  if (!path) return CLI_EXIT_OK;
  if (!judging->is_folder) return cli_usage_error(cli, "--labels name files: --%s must be a folder", judging->option);
  FILE *file = cli_open_input(path, &why);
  if (!file) {
    cli_error("%s: %s", path, why);
    return CLI_EXIT_IO;
  }
  char line[4096];
  plan->labels = malloc((size_t)(judging->count + 1) * sizeof *plan->labels);
  for (int64_t i = 0; plan->labels && i < judging->count; ++i) plan->labels[i] = -1;
  int64_t found = 0;
  while (plan->labels && fgets(line, sizeof line, file)) {
    char *tab = strchr(line, '\t'), *end = NULL;
    if (!tab) continue;
    *tab = 0;
    const long class = strtol(tab + 1, &end, 10);
    if (end == tab + 1 || class < 0) continue; /* a headline */
    for (int64_t i = 0; i < judging->count; ++i)
      if (strcmp(judging->names[i], line) == 0) {
        found += plan->labels[i] < 0;
        plan->labels[i] = class;
      }
  }
  fclose(file);
  plan->label_count = judging->count;
  if (!plan->labels) {
    cli_error("out of memory for the labels");
    return CLI_EXIT_NO_MEMORY;
  }
  if (found == 0) return cli_usage_error(cli, "--labels %s: no line names a file of %s", path, judging->path);
  return CLI_EXIT_OK;
}

static int64_t label_of(void *user, int64_t index) {
  const cli_plan *plan = user;
  return index < plan->label_count ? plan->labels[index] : -1;
}

/* ---- in order ---- */

static hone_status use(cli_tool *cli, const hone_graph *graph, const hone_quantize_options *quantize, void *user) {
  cli_plan *plan = user;
  hone_planner_options *options = &plan->options;
  options->quantize = quantize;
  if (quantize->sample != cli_calib_sample) {
    plan->code = cli_usage_error(cli, "--calib holds ranges: samples are needed to measure errors (--ranges FILE)");
    return HONE_INVALID;
  }
  if (cli_has(cli, "labels")) {
    plan->code = read_labels(cli, plan, options->judge ? &plan->eval : quantize->sample_user);
    if (plan->code != CLI_EXIT_OK) return HONE_INVALID;
    options->label = label_of;
    options->label_user = plan;
  }
  return hone_graph_plan(cli->context, graph, &cli->device, 1, options, &plan->engine);
}

static void default_output(const char *model, char *out, size_t room) {
  const char *slash = strrchr(model, '/'), *dot = strrchr(model, '.');
  const size_t length = dot && (!slash || dot > slash) ? (size_t)(dot - model) : strlen(model);
  (void)snprintf(out, room, "%.*s.hone", (int)length, model);
}

static int save(cli_tool *cli, const cli_plan *plan) {
  if (!plan->output) return CLI_EXIT_OK;
  const hone_status status = hone_engine_save(plan->engine, plan->output, hone_context_diagnostics(cli->context));
  if (status != HONE_OK) return cli_fail(cli, status);
  cli_next(cli, "hone explain %s", plan->output);
  return CLI_EXIT_OK;
}

static int make(cli_tool *cli, const hone_graph *graph, cli_plan *plan) {
  const char *kept[CLI_MAX_GIVEN];
  hone_quantize_options quantize;
  bool bytes;
  uint32_t precisions;
  int code = cli_quantize_options_read(cli, &quantize, kept);
  if (code == CLI_EXIT_OK) code = read_types(cli, &precisions, &bytes);
  if (code == CLI_EXIT_OK) code = read_drop(cli, &plan->options.max_drop);
  if (code != CLI_EXIT_OK) return code;
  const int level = (int)cli_int(cli, "level", 3);
  const hone_build_options build = {.struct_size = sizeof build,
                                    .precisions = precisions,
                                    .level = level == 0 ? -1 : level,
                                    .timing_cache_path = cli_text(cli, "timing-cache"),
                                    .seed = (uint64_t)cli_int(cli, "seed", 0)};
  hone_planner_options *o = &plan->options;
  o->build = &build;
  quantize.sample_count = DEFAULT_SAMPLES;
  if (cli_has(cli, "eval")) {
    quantize.sample_count = 0;
    code = cli_calib_open_option(cli, graph, "eval", cli_int(cli, "eval-count", INT64_MAX), &plan->eval);
    if (code != CLI_EXIT_OK) return code;
    o->judge = cli_calib_sample;
    o->judge_user = &plan->eval;
    o->judge_count = plan->eval.count;
  }
  code = cli_with_samples(cli, graph, &quantize, use, plan);
  return code;
}

int cli_command_plan(cli_tool *cli) {
  static cli_plan plan; /* large for a stack */
  const char *path = cli_text(cli, "model");
  char made[4096];
  if (!path) return cli_usage_error(cli, "a model must be named");
  if (!cli_has(cli, "calib"))
    return cli_usage_error(cli, "--calib FOLDER must be given: samples of what the model will see");
  const int constraints = cli_has(cli, "max-drop") + cli_has(cli, "max-error") + cli_has(cli, "target-ms");
  if (constraints > 1) return cli_usage_error(cli, "--max-drop, --max-error and --target-ms: one of them at most");
  plan = (cli_plan){.cli = cli, .output = cli_text(cli, "output")};
  if (!plan.output && constraints) {
    default_output(path, made, sizeof made);
    plan.output = made;
  }
  int code = plan.output ? cli_check_output("output", plan.output, CLI_WRITES_FILE) : CLI_EXIT_OK;
  if (code != CLI_EXIT_OK) return code;
  plan.options = (hone_planner_options){.struct_size = sizeof plan.options,
                                        .max_error = cli_real(cli, "max-error", 0),
                                        .target_ms = cli_real(cli, "target-ms", 0),
                                        .points = (int)cli_int(cli, "points", 0),
                                        .time_budget_ms = (int64_t)(cli_real(cli, "time-budget", 0) * 1e3),
                                        .stop = cli_interrupt_flag(),
                                        .progress = cli_progress_samples,
                                        .progress_user = cli,
                                        .point = cli_plan_take_point,
                                        .layer = cli_plan_take_layer,
                                        .user = &plan};
  hone_graph *graph;
  const hone_status status = cli_load_graph(cli, path, &graph);
  code = status == HONE_OK ? make(cli, graph, &plan) : cli_fail(cli, status);
  hone_graph_destroy(graph);
  cli_plan_print(&plan);
  if (code == CLI_EXIT_OK) code = save(cli, &plan);
  hone_engine_release(plan.engine);
  cli_calib_close(&plan.eval);
  free(plan.labels);
  cli_plan_forget(&plan);
  return code;
}
