/* SPDX-License-Identifier: Apache-2.0 */
/* command_bench.c - hone bench: runs for a while and reports as trtexec does.
 *
 * Latency is what one request takes from host memory to host memory. A CPU's memory is the host's, so that nothing is
 * queued or copied and these times are 0; the block keeps trtexec's lines for people and scripts that know them. */
#include "bench.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

const cli_option cli_bench_options[] = {
    {"output", CLI_TEXT, "FILE", .doc = "write the engine that was built"},
    {"o", CLI_TEXT, "FILE", .same_as = "output"},
    {0},
};

static bool grow(bench_times *times) {
  if (times->count < times->capacity) return true;
  const int64_t capacity = times->capacity ? times->capacity * 2 : 1024;
  double *compute = realloc(times->compute_ms, (size_t)capacity * sizeof *compute);
  if (compute) times->compute_ms = compute;
  double *start = realloc(times->start_ms, (size_t)capacity * sizeof *start);
  if (start) times->start_ms = start;
  if (compute && start) times->capacity = capacity;
  return compute && start;
}

/* Measures until both the iterations and the duration are reached. */
static int measure(cli_tool *cli, hone_session *session, bench_times *times) {
  const int64_t least = cli_int(cli, "iterations", 10);
  const double duration_ms = 1e3 * cli_real(cli, "duration", 3);
  const double begin_ms = cli_now_ms();
  double now_ms = begin_ms;
  while (times->count < least || now_ms - begin_ms < duration_ms) {
    if (!grow(times)) {
      cli_error("out of memory for %lld runs", (long long)times->count);
      return CLI_EXIT_NO_MEMORY;
    }
    const double start_ms = now_ms;
    const hone_status status = hone_session_run(session);
    if (status != HONE_OK) return cli_fail_session(cli, session, status);
    if (cli_is_interrupted()) return CLI_EXIT_INTERRUPTED;
    now_ms = cli_now_ms();
    times->start_ms[times->count] = start_ms - begin_ms;
    times->compute_ms[times->count++] = now_ms - start_ms;
  }
  times->wall_ms = now_ms - begin_ms;
  return CLI_EXIT_OK;
}

/* --dumpProfile, --exportProfile: runs of their own, so that measuring layers does not disturb the times above. */
static int profile(cli_tool *cli, hone_session *session) {
  const char *path = cli_text(cli, "exportProfile");
  if (!cli_has(cli, "dumpProfile") && !path) return CLI_EXIT_OK;
  hone_diagnostics *diag = hone_context_diagnostics(cli->context);
  hone_session_set_profile(session, true);
  int code = cli_run_for(cli, session, 500, 10);
  hone_report_options options;
  cli_report_options(cli, &options);
  options.json = false;
  hone_status status = HONE_OK;
  FILE *dump_to = cli_has(cli, "json") ? stderr : stdout;
  if (code == CLI_EXIT_OK && cli_has(cli, "dumpProfile"))
    status = hone_report_profile(session, &options, cli_write_file, dump_to, diag);
  if (code == CLI_EXIT_OK && status == HONE_OK && path) {
    FILE *file = cli_open_output(path);
    if (!file) return CLI_EXIT_IO;
    options.json = true;
    options.color = false;
    status = hone_report_profile(session, &options, cli_write_file, file, diag);
    code = cli_close_output(file, path);
  }
  return status == HONE_OK ? code : cli_fail(cli, status);
}

static int bench(cli_tool *cli, const cli_model *model, hone_session **session, bench_times *times) {
  int code = bench_read_percentiles(cli, times);
  if (code != CLI_EXIT_OK) return code;
  hone_status status = cli_open_session(cli, model->engine, session);
  if (status != HONE_OK) return cli_fail(cli, status);
  code = cli_fill_inputs(cli, model, *session);
  if (code == CLI_EXIT_OK) code = cli_run_for(cli, *session, cli_real(cli, "warmUp", 200), 1);
  if (code == CLI_EXIT_OK) code = measure(cli, *session, times);
  if (code == CLI_EXIT_OK && !cli_has(cli, "json")) bench_print_averages(cli, times);
  if (code == CLI_EXIT_OK) code = bench_outputs(cli, model, *session);
  if (code == CLI_EXIT_OK) code = profile(cli, *session);
  if (code == CLI_EXIT_OK) code = bench_export_times(cli, times);
  if (code == CLI_EXIT_OK) bench_print_block(cli, times);
  return code;
}

static int save_engine(cli_tool *cli, const cli_model *model) {
  const char *path = cli_text(cli, "output");
  if (!path) return CLI_EXIT_OK;
  const hone_status status = hone_engine_save(model->engine, path, hone_context_diagnostics(cli->context));
  return status == HONE_OK ? CLI_EXIT_OK : cli_fail(cli, status);
}

int cli_command_bench(cli_tool *cli) {
  static cli_model model;
  bench_times times = {0};
  hone_session *session = NULL;
  int code = cli_open_model(cli, &model);
  if (code == CLI_EXIT_OK) code = save_engine(cli, &model);
  if (code == CLI_EXIT_OK) code = cli_layer_info(cli, model.engine);
  if (code == CLI_EXIT_OK && !cli_has(cli, "skipInference")) code = bench(cli, &model, &session, &times);
  hone_session_destroy(session);
  cli_close_model(cli, &model);
  free(times.compute_ms);
  free(times.start_ms);
  return code;
}
