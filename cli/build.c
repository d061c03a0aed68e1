/* SPDX-License-Identifier: Apache-2.0 */
/* build.c - a graph built into an engine with the options of the command line. */
#include "calib.h"
#include "trace.h"
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { MAX_NAMES = 128 };

/* The options and everything that they point to. */
typedef struct build {
  hone_build_options options;
  hone_pass_options passes;
  const char *disabled[MAX_NAMES], *tactics[MAX_NAMES], *sources[MAX_NAMES];
  char source_texts[4096]; /* what sources point to */
  cli_shape min[CLI_MAX_SHAPES], opt[CLI_MAX_SHAPES], max[CLI_MAX_SHAPES];
  int min_count, opt_count, max_count;
  int profile_count; /* by --profile; 1 without it */
  cli_layer_types layer_types;
  cli_port_formats port_formats;
  hone_named_tensor inputs[CLI_MAX_INPUTS]; /* that the error of outputs is measured on */
  cli_load load;
  hone_profile_shape profiles[HONE_MAX_SCHEDULES * CLI_MAX_INPUTS];
} build;

static const hone_shape *find_shape(const cli_shape *shapes, int count, const char *input, int profile) {
  for (int i = count - 1; i >= 0; --i)
    if (shapes[i].profile == profile && strcmp(shapes[i].input, input) == 0) return &shapes[i].shape;
  return NULL;
}

static const hone_shape *find_input_shape(const cli_model *model, const char *input) {
  for (int i = 0; i < model->input_count; ++i)
    if (strcmp(model->inputs[i].name, input) == 0) return &model->inputs[i].tensor.type.shape;
  return NULL;
}

/* One input's profile: the ends that were given stand for those that were not (opt for max for min). */
static bool profile_of(const build *b, const cli_model *model, const char *input, int profile,
                       hone_profile_shape *out) {
  const hone_shape *fixed = find_shape(model->shapes, model->shape_count, input, profile);
  const hone_shape *opt = find_shape(b->opt, b->opt_count, input, profile),
                   *min = find_shape(b->min, b->min_count, input, profile),
                   *max = find_shape(b->max, b->max_count, input, profile);
  if (!fixed && !opt && !min && !max && b->profile_count == 1) fixed = find_input_shape(model, input);
  if (!opt) opt = fixed ? fixed : max ? max : min;
  if (!opt) return false;
  *out = (hone_profile_shape){
      .input = input, .min = min ? *min : *opt, .opt = *opt, .max = max ? *max : *opt, .profile = profile};
  return true;
}

/* The largest number that --profile was given. */
static int last_profile(const cli_tool *cli) {
  int last = 0;
  for (int i = 0; i < cli->given_count; ++i)
    if (strcmp(cli->given[i].option->name, "profile") == 0) {
      const int number = (int)strtol(cli->given[i].text, NULL, 10);
      if (number > last) last = number;
    }
  return last;
}

static int read_profiles(cli_tool *cli, const cli_model *model, build *b) {
  hone_port_info ports[CLI_MAX_INPUTS];
  const int count = cli_ports_of_graph(model->graph, ports, CLI_MAX_INPUTS);
  int code = cli_read_shapes(cli, "minShapes", ports, count, b->min, &b->min_count);
  if (code == CLI_EXIT_OK) code = cli_read_shapes(cli, "optShapes", ports, count, b->opt, &b->opt_count);
  if (code == CLI_EXIT_OK) code = cli_read_shapes(cli, "maxShapes", ports, count, b->max, &b->max_count);
  if (code != CLI_EXIT_OK) return code;
  b->profile_count = 1 + last_profile(cli);
  b->options.shapes = b->profiles;
  for (int profile = 0; profile < b->profile_count; ++profile) {
    const int before = b->options.shape_count;
    for (int i = 0; i < count; ++i)
      if (profile_of(b, model, ports[i].name, profile, &b->profiles[b->options.shape_count])) ++b->options.shape_count;
    if (b->options.shape_count == before && b->profile_count > 1)
      return cli_usage_error(cli,
                             "profile %d of 0 to %d has no shapes: --profile %d stands before its --minShapes, "
                             "--optShapes and --maxShapes",
                             profile, b->profile_count - 1, profile);
  }
  return CLI_EXIT_OK;
}

/* workspace:SIZE with SIZE in MiB or with a suffix; other pools do not exist here. */
static int read_pool_size(cli_tool *cli, int64_t *out_bytes) {
  const char *text = cli_text(cli, "memPoolSize");
  if (!text) return CLI_EXIT_OK;
  uint64_t bytes;
  if (strncmp(text, "workspace:", 10) == 0 && cli_read_size(text + 10, &bytes)) {
    *out_bytes = (int64_t)bytes;
    return CLI_EXIT_OK;
  }
  return cli_usage_error(cli, "--memPoolSize expects workspace:SIZE, not \"%s\"", text);
}

/* "+A,-B" of every --tactic-sources, in order. */
static int read_sources(cli_tool *cli, build *b) {
  const char *texts[MAX_NAMES];
  const int given = cli_list(cli, "tactic-sources", texts, MAX_NAMES);
  size_t used = 0;
  for (int i = 0; i < given; ++i)
    for (const char *at = texts[i]; at;) {
      const size_t length = strcspn(at, ",");
      if (b->options.tactic_source_count == MAX_NAMES || used + length + 1 > sizeof b->source_texts)
        return cli_usage_error(cli, "--tactic-sources: too many names");
      b->sources[b->options.tactic_source_count++] = memcpy(b->source_texts + used, at, length);
      used += length + 1; /* the block was zeroed */
      at = at[length] ? at + length + 1 : NULL;
    }
  b->options.tactic_sources = b->sources;
  return CLI_EXIT_OK;
}

static int read_limits(cli_tool *cli, build *b) {
  const int64_t most = cli_int(cli, "max-tactics", -1);
  if (most == 0) return cli_usage_error(cli, "--max-tactics is 0; allowed: 1 and more, or -1 for the level's choice");
  b->options.max_tactics = most > 0 ? (int)most : 0;
  const int code = read_pool_size(cli, &b->options.scratch_limit_bytes);
  return code == CLI_EXIT_OK ? read_sources(cli, b) : code;
}

/* --stronglyTyped: no option beside it may allow a type that the model does not have. */
static int check_strong_types(cli_tool *cli) {
  static const char *const others[] = {
      "best", "bf16", "fp16", "tf32", "int8", "int4", "layerPrecisions", "layerOutputTypes"};
  if (!cli_takes(cli->command, "stronglyTyped") || !cli_has(cli, "stronglyTyped")) return CLI_EXIT_OK;
  for (size_t i = 0; i < CLI_COUNT(others); ++i)
    if (cli_takes(cli->command, others[i]) && cli_has(cli, others[i]))
      return cli_usage_error(cli, "--stronglyTyped keeps the model's types, and --%s allows others", others[i]);
  return CLI_EXIT_OK;
}

/* --monitorMemory: what the process has had at most, when an engine was built. */
static void tell_memory(const cli_tool *cli) {
  struct rusage usage;
  if (cli_takes(cli->command, "monitorMemory") && cli_has(cli, "monitorMemory") && getrusage(RUSAGE_SELF, &usage) == 0)
    cli_note(cli, "peak memory of the build: %.1f MiB", (double)usage.ru_maxrss / 1024);
}

static uint32_t allowed_types(const cli_tool *cli) {
  const bool all = cli_has(cli, "best"), no_tf32 = cli_takes(cli->command, "noTF32") && cli_has(cli, "noTF32");
  return (all || cli_has(cli, "bf16") ? HONE_BIT(HONE_BF16) : 0) |
         (all || cli_has(cli, "fp16") ? HONE_BIT(HONE_F16) : 0) |
         ((all && !no_tf32) || cli_has(cli, "tf32") ? HONE_BIT(HONE_TF32) : 0);
}

static int read_options(cli_tool *cli, const cli_model *model, build *b) {
  hone_build_options *options = &b->options;
  *options = (hone_build_options){.struct_size = sizeof *options,
                                  .passes = &b->passes,
                                  .reference_only = cli_has(cli, "reference"),
                                  .timing_runs = (int)cli_int(cli, "timing-runs", 0),
                                  .timing_cache_path = cli_text(cli, "timing-cache"),
                                  .lock_path = cli_text(cli, "lock"),
                                  .seed = (uint64_t)cli_int(cli, "seed", 0),
                                  .scratch_limit_bytes = cli_int(cli, "scratch-limit", 0) * (1 << 20),
                                  .tactics = b->tactics,
                                  .time_budget_ms = (int64_t)(cli_real(cli, "time-budget", 0) * 1e3),
                                  .timing_cache_only = cli_has(cli, "timing-cache-only"),
                                  .keep_subnormals = cli_has(cli, "keep-subnormals"),
                                  .precisions = allowed_types(cli),
                                  .max_error = cli_real(cli, "max-error", 0),
                                  .refittable = cli_keeps_refit(cli),
                                  .max_aux_streams = (int)cli_int(cli, "maxAuxStreams", 0),
                                  .strict_device = cli_has(cli, "strict-device"),
                                  .progress = cli_progress,
                                  .progress_user = cli};
  if (cli_has(cli, "maxAuxStreams") && options->max_aux_streams == 0) options->max_aux_streams = -1;
  if (model->trace) {
    options->on_span = cli_trace_span;
    options->on_span_user = model->trace;
  }
  if (options->time_budget_ms > 0) options->stop_timing = cli_interrupt_flag();
  if (options->timing_cache_only && !options->timing_cache_path)
    return cli_usage_error(cli, "--timing-cache-only requires --timing-cache FILE");
  if (model->plain) { /* nothing is tuned or kept, whatever else was asked for */
    b->passes = (hone_pass_options){.struct_size = sizeof b->passes, .after = "fold_branches"};
    options->reference_only = true;
    options->level = -1;
    options->timing_cache_path = options->lock_path = NULL;
    options->timing_cache_only = false;
    return read_profiles(cli, model, b);
  }
  const int64_t level = cli_int(cli, "level", 3);
  options->level = level == 0 ? -1 : (int)level;
  options->tactic_count = cli_list(cli, "tactic", b->tactics, MAX_NAMES);
  b->passes = (hone_pass_options){.struct_size = sizeof b->passes, .disable = b->disabled};
  b->passes.disable_count = cli_list(cli, "disable", b->disabled, MAX_NAMES);
  for (int i = 0; i < options->tactic_count; ++i)
    if (!strchr(b->tactics[i], '=')) return cli_usage_error(cli, "--tactic expects NODE=TACTIC, not %s", b->tactics[i]);
  for (int i = 0; i < model->input_count; ++i)
    b->inputs[i] = (hone_named_tensor){.name = model->inputs[i].name, .tensor = model->inputs[i].tensor};
  options->inputs = b->inputs;
  options->input_count = model->input_count;
  int code = cli_read_layer_types(cli, &b->layer_types);
  options->layer_types = b->layer_types.items;
  options->layer_type_count = b->layer_types.count;
  if (code == CLI_EXIT_OK) code = cli_read_port_formats(cli, model, &b->port_formats);
  options->port_formats = b->port_formats.items;
  options->port_format_count = b->port_formats.count;
  /* To verify it is a bound of its own, and advice allows types itself. */
  if (options->max_error > 0 && !options->precisions && !options->layer_type_count &&
      strcmp(cli->command->name, "verify") != 0 && strcmp(cli->command->name, "advise") != 0)
    cli_note(cli,
             "warning: --max-error bounds what narrower types do to the outputs, and none is allowed (--bf16, --fp16, "
             "--tf32, --best, --layerPrecisions)");
  if (code == CLI_EXIT_OK) code = read_limits(cli, b);
  return code == CLI_EXIT_OK ? read_profiles(cli, model, b) : code;
}

int cli_try_build(cli_tool *cli, cli_model *model, hone_status *out_status) {
  *out_status = HONE_OK;
  build *b = calloc(1, sizeof *b);
  if (!b) {
    cli_error("out of memory");
    return CLI_EXIT_NO_MEMORY;
  }
  int code = check_strong_types(cli);
  if (code == CLI_EXIT_OK) code = cli_check_saving(cli);
  if (code == CLI_EXIT_OK) code = cli_quantize_model(cli, model);
  if (code == CLI_EXIT_OK) code = read_options(cli, model, b);
  if (code == CLI_EXIT_OK) {
    const double begin_ms = cli_now_ms();
    cli_load_begin(&b->load);
    if (model->adjust) model->adjust(model->adjust_user, &b->options);
    if (model->from)
      *out_status = hone_engine_rebuild(cli->context, model->from, &cli->device, 1, &b->options, &model->engine);
    else
      *out_status = hone_engine_build(cli->context, model->graph, &cli->device, 1, &b->options, &model->engine);
    cli_progress_end(cli);
    model->build_ms = cli_now_ms() - begin_ms;
    hone_engine_summary summary = HONE_SIZED(hone_engine_summary);
    if (*out_status == HONE_OK) hone_engine_summarize(model->engine, &summary);
    tell_memory(cli);
    if (summary.time_spread > 0) cli_load_end(cli, &b->load, summary.time_spread);
  }
  free(b);
  return code;
}

int cli_expect_engine(cli_tool *cli, cli_model *model, hone_device *device, const hone_engine *like, int64_t most_ms,
                      hone_expectation *out, hone_status *out_status) {
  *out_status = HONE_OK;
  build *b = calloc(1, sizeof *b);
  if (!b) {
    cli_error("out of memory");
    return CLI_EXIT_NO_MEMORY;
  }
  const int code = read_options(cli, model, b);
  if (b->options.time_budget_ms == 0 || b->options.time_budget_ms > most_ms) b->options.time_budget_ms = most_ms;
  if (code == CLI_EXIT_OK)
    *out_status = hone_engine_expect(cli->context, model->graph, &device, 1, &b->options, like, out);
  free(b);
  return code;
}

int cli_build_engine(cli_tool *cli, cli_model *model) {
  hone_status status;
  const int code = cli_try_build(cli, model, &status);
  return status == HONE_OK ? code : cli_fail(cli, status);
}
