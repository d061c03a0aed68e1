/* SPDX-License-Identifier: Apache-2.0 */
/* command_profile.c - hone profile: where the time of a run goes, layer by layer. */
#include "cli.h"

const cli_option cli_profile_options[] = {
    {"runs", CLI_INT, "N", .doc = "profiled runs at least; default 10", .low = 1, .high = 1e7},
    {"duration", CLI_REAL, "S", .doc = "profile at least so many seconds; default 1", .high = 1e6},
    {"warmUp", CLI_REAL, "MS", .doc = "run before measuring; default 200", .high = 1e6},
    {"top", CLI_INT, "K", .doc = "rows of the list of candidates; default 5", .low = 1, .high = 1000},
    {0},
};

/* Runs for at least so many milliseconds and so many times. */
int cli_run_for(cli_tool *cli, hone_session *session, double least_ms, int64_t least_runs) {
  const double begin_ms = cli_now_ms();
  for (int64_t runs = 0; runs < least_runs || cli_now_ms() - begin_ms < least_ms; ++runs) {
    const hone_status status = hone_session_run(session);
    if (status != HONE_OK) return cli_fail_session(cli, session, status);
    if (cli_is_interrupted()) return CLI_EXIT_INTERRUPTED;
  }
  return CLI_EXIT_OK;
}

static int profile(cli_tool *cli, const cli_model *model, hone_session **session) {
  hone_diagnostics *diag = hone_context_diagnostics(cli->context);
  hone_status status = cli_open_session(cli, model->engine, session);
  if (status != HONE_OK) return cli_fail(cli, status);
  int code = cli_measure_device(cli); /* the roofs that layers are held against */
  if (code != CLI_EXIT_OK) return code;
  code = cli_fill_inputs(cli, model, *session);
  if (code == CLI_EXIT_OK) code = cli_run_for(cli, *session, cli_real(cli, "warmUp", 200), 1);
  if (code != CLI_EXIT_OK) return code;
  hone_session_set_profile(*session, true);
  code = cli_run_for(cli, *session, 1e3 * cli_real(cli, "duration", 1), cli_int(cli, "runs", 10));
  if (code != CLI_EXIT_OK) return code;
  hone_report_options options;
  cli_report_options(cli, &options);
  options.top = (int)cli_int(cli, "top", 5);
  status = hone_report_profile(*session, &options, cli_write_file, stdout, diag);
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
