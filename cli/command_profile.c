/* SPDX-License-Identifier: Apache-2.0 */
/* command_profile.c - hone profile: where the time of a run goes, layer by layer. */
#include "cli.h"
#include <string.h>

const cli_option cli_profile_options[] = {
    {"runs", CLI_INT, "N", .doc = "minimum number of profiled runs; default 10", .low = 1, .high = 1e7},
    {"duration", CLI_REAL, "S", .doc = "minimum duration of profiling in seconds; default 1", .high = 1e6},
    {"warmUp", CLI_REAL, "MS", .doc = "warm-up time before measuring; default 200", .high = 1e6},
    {"top", CLI_INT, "K", .doc = "rows of the list of candidates; default 5", .low = 1, .high = 1000},
    {0},
};

/* Runs for at least so many milliseconds and so many times. */
int cli_run_for(cli_tool *cli, hone_session *session, double least_ms, int64_t least_runs, cli_load *load) {
  const double begin_ms = cli_now_ms();
  double now_ms = begin_ms;
  for (int64_t runs = 0; runs < least_runs || now_ms - begin_ms < least_ms; ++runs) {
    const double start_ms = now_ms;
    const hone_status status = hone_session_run(session);
    if (status != HONE_OK) return cli_fail_session(cli, session, status);
    now_ms = cli_now_ms();
    if (load) cli_load_add(load, now_ms - start_ms);
    if (cli_stop_code() != CLI_EXIT_OK) return cli_stopped();
  }
  return CLI_EXIT_OK;
}

/* The slowest layer is the one to ask about; a convert's story is that of the layer that wanted it. */
static void name_next(cli_tool *cli, const cli_model *model, const hone_session *session) {
  char command[512], name[256] = "";
  double most_ns = -1;
  hone_step_profile step;
  for (int i = 0; hone_session_step(session, i, &step) == HONE_OK; ++i) {
    if (step.mean_ns <= most_ns) continue;
    most_ns = step.mean_ns;
    (void)snprintf(name, sizeof name, "%s", step.name);
  }
  if (strstr(name, "/convert_")) *strstr(name, "/convert_") = 0;
  if (model->graph || !*name || strpbrk(name, " '\"$`\\%"))
    cli_next(cli, model->graph ? "hone build %s" : "hone explain %s", cli_text(cli, "model"));
  else {
    (void)snprintf(command, sizeof command, "hone explain %%s --node %s", name);
    cli_next(cli, command, cli_text(cli, "model"));
  }
}

static int profile(cli_tool *cli, const cli_model *model, hone_session **session) {
  hone_diagnostics *diag = hone_context_diagnostics(cli->context);
  hone_status status = cli_open_session(cli, model->engine, session);
  if (status != HONE_OK) return cli_fail(cli, status);
  int code = cli_measure_device(cli); /* the roofs that layers are held against */
  if (code != CLI_EXIT_OK) return code;
  code = cli_fill_inputs(cli, model, *session);
  if (code == CLI_EXIT_OK) code = cli_run_for(cli, *session, cli_real(cli, "warmUp", 200), 1, NULL);
  if (code != CLI_EXIT_OK) return code;
  hone_session_set_profile(*session, true);
  static cli_load load; /* large for a stack */
  cli_load_begin(&load);
  code = cli_run_for(cli, *session, 1e3 * cli_real(cli, "duration", 1), cli_int(cli, "runs", 10), &load);
  if (code != CLI_EXIT_OK) return code;
  hone_report_options options;
  cli_report_options(cli, &options);
  options.top = (int)cli_int(cli, "top", 5);
  status = hone_report_profile(*session, &options, cli_write_file, stdout, diag);
  fflush(stdout);
  cli_load_end(cli, &load, 0);
  name_next(cli, model, *session);
  return status == HONE_OK ? CLI_EXIT_OK : cli_fail(cli, status);
}

int cli_command_profile(cli_tool *cli) {
  static cli_model model;
  hone_session *session = NULL;
  int code = cli_open_model(cli, &model);
  if (code == CLI_EXIT_OK) code = profile(cli, &model, &session);
  hone_session_destroy(session);
  cli_close_model(cli, &model);
  return code;
}
