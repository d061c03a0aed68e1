/* SPDX-License-Identifier: Apache-2.0 */
/* command_roofline.c - hone roofline: layers under the roofs of this machine, or of a chip on paper; as text, JSON and
 * a plot. */
#include "cli.h"
#include <string.h>

enum { MOST_CHIPS = 64 };

const cli_option cli_roofline_options[] = {
    {"svg", CLI_TEXT, "FILE", .doc = "plot it, too: one file of SVG for any browser", .writes = CLI_WRITES_FILE},
    {"chip", CLI_LIST, "NAME",
     .doc = "on paper: each layer at the roof of this chip, and nothing runs; may be repeated (hone peaks --list)"},
    {"chips", CLI_TEXT, "FILE", .doc = "more chips, as hone peaks --chips reads them"},
    {"type", CLI_TEXT, "TYPE",
     .doc = "on paper and what if: f32, f16, bf16 or int8; default: the engine's own types (what if: f32)"},
    {"what-if", CLI_FLAG,
     .doc = "also what kernel, extents, channels, groups, batch and type do to a convolution, by formula; alone "
            "where no model is named"},
    {"runs", CLI_INT, "N", .doc = "minimum number of profiled runs; default 10", .low = 1, .high = 1e7},
    {"duration", CLI_REAL, "S", .doc = "minimum duration of profiling in seconds; default 1", .high = 1e6},
    {"warmUp", CLI_REAL, "MS", .doc = "warm-up time before measuring; default 200", .high = 1e6},
    {0},
};

static int read_type(const cli_tool *cli, hone_dtype *out) {
  static const struct {
    const char *name;
    hone_dtype type;
  } rows[] = {{"f32", HONE_F32}, {"f16", HONE_F16}, {"bf16", HONE_BF16}, {"int8", HONE_I8}};
  const char *given = cli_text(cli, "type");
  *out = HONE_NONE;
  for (size_t i = 0; given && i < CLI_COUNT(rows); ++i)
    if (strcmp(given, rows[i].name) == 0) {
      *out = rows[i].type;
      return CLI_EXIT_OK;
    }
  return given ? cli_usage_error(cli, "--type is %s; it may be f32, f16, bf16 or int8", given) : CLI_EXIT_OK;
}

/* Runs with profiling on under roofs that are measured now, as hone profile does. */
static int measure(cli_tool *cli, const cli_model *model, hone_session **out) {
  static cli_load load; /* large for a stack */
  const hone_status status = cli_open_session(cli, model->engine, out);
  if (status != HONE_OK) return cli_fail(cli, status);
  int code = cli_measure_device(cli);
  if (code == CLI_EXIT_OK) code = cli_fill_inputs(cli, model, *out);
  if (code == CLI_EXIT_OK) code = cli_run_for(cli, *out, cli_real(cli, "warmUp", 200), 1, NULL);
  if (code != CLI_EXIT_OK) return code;
  hone_session_set_profile(*out, true);
  cli_load_begin(&load);
  code = cli_run_for(cli, *out, 1e3 * cli_real(cli, "duration", 1), cli_int(cli, "runs", 10), &load);
  if (code == CLI_EXIT_OK) cli_load_end(cli, &load, 0);
  return code;
}

static int report(cli_tool *cli, const cli_model *model, const hone_session *session, hone_roofline_options *options) {
  options->one_schedule = cli_wants_schedule(cli, &options->schedule);
  const hone_status status = hone_report_roofline(model->engine, session, options, cli_write_file, stdout,
                                                  hone_context_diagnostics(cli->context));
  fflush(stdout);
  if (status != HONE_OK) return cli_fail(cli, status);
  if (options->svg_path) cli_note(cli, "wrote %s", options->svg_path);
  if (!model->engine)
    cli_next(cli, "hone roofline MODEL --svg FILE", "");
  else if (options->chip_count > 0)
    cli_next(cli, "hone roofline %s", cli_text(cli, "model"));
  else
    cli_next(cli, "hone profile %s", cli_text(cli, "model"));
  return CLI_EXIT_OK;
}

static int run(cli_tool *cli, cli_model *model, hone_session **session, hone_roofline_options *options) {
  const bool of_chips = options->chip_count > 0;
  int code = CLI_EXIT_OK;
  if (cli_text(cli, "model")) {
    code = cli_open_model(cli, model);
    if (code == CLI_EXIT_OK && !of_chips) code = measure(cli, model, session);
  } else if (!of_chips) {
    code = cli_open_device(cli);
    if (code == CLI_EXIT_OK) code = cli_measure_device(cli);
    options->device = cli->device;
  }
  return code == CLI_EXIT_OK ? report(cli, model, *session, options) : code;
}

int cli_command_roofline(cli_tool *cli) {
  static cli_model model;
  const char *chips[MOST_CHIPS + 1];
  hone_session *session = NULL;
  hone_roofline_options options = {.struct_size = sizeof options,
                                   .json = cli_has(cli, "json"),
                                   .color = cli->color_out,
                                   .width = cli->width,
                                   .chips = chips,
                                   .chip_count = cli_list(cli, "chip", chips, MOST_CHIPS + 1),
                                   .chip_file = cli_text(cli, "chips"),
                                   .svg_path = cli_text(cli, "svg"),
                                   .what_if = cli_has(cli, "what-if")};
  int code = read_type(cli, &options.type);
  if (code != CLI_EXIT_OK) return code;
  if (options.chip_count > MOST_CHIPS) return cli_usage_error(cli, "more than %d chips", MOST_CHIPS);
  if (options.svg_path && options.chip_count > 1) return cli_usage_error(cli, "--svg: a plot shows one chip");
  if (options.type != HONE_NONE && options.chip_count == 0 && !options.what_if)
    return cli_usage_error(cli, "--type is for what is on paper: --chip or --what-if");
  if (options.chip_file && options.chip_count == 0) return cli_usage_error(cli, "--chips: name the chip by --chip");
  if (!cli_text(cli, "model") && !options.what_if) return cli_usage_error(cli, "a model or an engine must be named");
  if (!cli_text(cli, "model") && options.svg_path) return cli_usage_error(cli, "--svg: a model must be named");
  code = run(cli, &model, &session, &options);
  hone_session_destroy(session);
  cli_close_model(cli, &model);
  return code;
}
