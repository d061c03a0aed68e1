/* SPDX-License-Identifier: Apache-2.0 */
/* command_bench.c - hone bench: runs for a while and reports as trtexec does.
 *
 * Latency is what one request takes from host memory to host memory. A CPU's memory is the host's, so that nothing is
 * queued or copied and these times are 0, unless --includeDataTransfers asks for the copies into a session's own
 * buffers and out of them; the block keeps trtexec's lines for people and scripts that know them. */
#include "bench.h"
#include "debug.h"
#include "sweep.h"

const cli_option cli_bench_options[] = {
    {"output", CLI_TEXT, "FILE", .doc = "write the engine that was built", .writes = CLI_WRITES_FILE},
    {"o", CLI_TEXT, "FILE", .same_as = "output"},
    {"streams", CLI_INT, "N",
     .doc = "sessions that run side by side, each in a thread of its own with --threads threads; default 1", .low = 1,
     .high = BENCH_MAX_STREAMS},
    {"infStreams", CLI_INT, "N", .same_as = "streams"},
    {"rate", CLI_REAL, "QPS",
     .doc = "requests come at this rate, whether or not those before are done; latency counts from when they came",
     .low = 1e-3, .high = 1e9},
    {"in-flight", CLI_INT, "N",
     .doc = "on a GPU: requests of each stream that are in the queue at a time, each with buffers of its own; default "
            "1, and 2 with --includeDataTransfers, where one's copies then lie beside another's computing",
     .low = 1, .high = BENCH_MOST_IN_FLIGHT},
    {0},
};

/* --dumpProfile, --exportProfile: runs of their own, so that measuring layers does not disturb the times above. */
static int profile(cli_tool *cli, hone_session *session) {
  const char *path = cli_text(cli, "exportProfile");
  if (!cli_has(cli, "dumpProfile") && !path) return CLI_EXIT_OK;
  hone_diagnostics *diag = hone_context_diagnostics(cli->context);
  hone_session_set_profile(session, true);
  int code = cli_run_for(cli, session, 500, 10, NULL);
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

/* --debug-tensor and its kin: a run of its own before the others, so that looking does not disturb the times. */
static int look(cli_tool *cli, const cli_model *model) {
  if (!cli_debugs(cli)) return CLI_EXIT_OK;
  static cli_debug debug; /* large for a stack */
  hone_session *session = NULL;
  int code = cli_debug_open(cli, model, &debug, &session);
  if (code == CLI_EXIT_OK) code = cli_fill_inputs(cli, model, session);
  if (cli_has(cli, "json")) debug.to = stderr;
  if (code == CLI_EXIT_OK) code = cli_debug_run(&debug, session);
  hone_session_destroy(session);
  return code;
}

static int run(cli_tool *cli, bench *b) {
  int code = look(cli, b->model);
  if (code == CLI_EXIT_OK) code = bench_open(b);
  if (code == CLI_EXIT_OK) code = bench_measure(b);
  if (code == CLI_EXIT_OK) code = cli_trace_write(&b->trace);
  if (code != CLI_EXIT_OK) return code;
  hone_session *first = b->streams[0].session;
  if (!cli_has(cli, "json")) bench_print_averages(cli, &b->all);
  code = bench_outputs(cli, b->model, first);
  if (code == CLI_EXIT_OK) code = profile(cli, first);
  if (code == CLI_EXIT_OK) code = bench_export_times(cli, &b->all);
  if (code == CLI_EXIT_OK) code = bench_dump_bindings(cli, b->model->engine, first);
  if (code != CLI_EXIT_OK) return code;
  for (int64_t i = 0; i < b->all.count; ++i)
    cli_load_add(&b->load, bench_latency_ms(&b->all.runs[i]) - b->all.runs[i].waited_ms);
  bench_print_block(b, &b->load);
  return cli_compare_outputs(cli, b->model->engine, first, cli_has(cli, "json") ? stderr : stdout, false);
}

static int save_engine(cli_tool *cli, const cli_model *model) {
  const char *path = cli_text(cli, "output");
  if (!path) return CLI_EXIT_OK;
  const hone_status status =
      cli_save_engine(cli, model->engine, model->graph ? cli_text(cli, "model") : NULL, false, path);
  return status == HONE_OK ? CLI_EXIT_OK : cli_fail(cli, status);
}

int cli_command_bench(cli_tool *cli) {
  static cli_model model;
  if (cli_has(cli, "getPlanVersionOnly")) return bench_print_version(cli);
  if (cli_has(cli, "timeDeserialize")) return bench_time_open(cli);
  if (cli_has(cli, "sweep")) return bench_sweep(cli);
  static bench b; /* large for a stack */
  b = (bench){.cli = cli, .model = &model};
  int code = cli_check_comparing(cli);
  if (code == CLI_EXIT_OK) code = cli_open_model(cli, &model);
  if (code == CLI_EXIT_OK) code = bench_refit(cli, &model);
  if (code == CLI_EXIT_OK) code = save_engine(cli, &model);
  if (code == CLI_EXIT_OK) code = cli_layer_info(cli, model.engine);
  if (code == CLI_EXIT_OK && !cli_has(cli, "skipInference")) code = run(cli, &b);
  bench_close(&b);
  if (cli_text(cli, "model")) cli_next(cli, model.graph ? "hone build %s" : "hone profile %s", cli_text(cli, "model"));
  if (model.graph && cli_text(cli, "output")) cli_next(cli, "hone profile %s", cli_text(cli, "output"));
  cli_close_model(cli, &model);
  return code;
}
