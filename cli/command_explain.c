/* SPDX-License-Identifier: Apache-2.0 */
/* command_explain.c - hone explain: the decision ledger, of an engine's file or of a model that is built for it. */
#include "cli.h"

const cli_option cli_explain_options[] = {
    {"node", CLI_TEXT, "NODE",
     .doc = "only this node, in full, by its own name or an ONNX node's; default: a line a layer"},
    {"all", CLI_FLAG, .doc = "every node in full: each tactic with its time or the reason against it"},
    {"ledger", CLI_TEXT, "FILE", .doc = "read this ledger; default: ENGINE.ledger beside an engine"},
    {0},
};

/* From all layers to one, from one to the whole. */
static void name_next(cli_tool *cli, const char *path, bool is_engine) {
  const bool one = cli_text(cli, "node") != NULL;
  if (is_engine)
    cli_next(cli, one ? "hone profile %s" : "hone explain %s --node LAYER", path);
  else
    cli_next(cli, one ? "hone build %s" : "hone explain %s --node LAYER", path);
}

/* engine NULL: whichever the ledger tells of. */
static hone_status explain_file(cli_tool *cli, const hone_engine *engine, const char *path) {
  hone_report_options options;
  cli_report_options(cli, &options);
  options.node = cli_text(cli, "node");
  options.all = cli_has(cli, "all");
  return hone_report_explain(engine, path, &options, cli_write_file, stdout, hone_context_diagnostics(cli->context));
}

int cli_command_explain(cli_tool *cli) {
  if (cli_text(cli, "ledger")) {
    const hone_status status = explain_file(cli, NULL, cli_text(cli, "ledger"));
    return status == HONE_OK ? CLI_EXIT_OK : cli_fail(cli, status);
  }
  const char *path = cli_text(cli, "model");
  if (!path) return cli_usage_error(cli, "a model, an engine or --ledger FILE must be named");
  const cli_file_kind kind = cli_file_kind_of(path);
  if (kind == CLI_FILE_UNREADABLE) return CLI_EXIT_IO;
  if (kind == CLI_FILE_ENGINE) {
    char ledger[4096];
    if ((size_t)snprintf(ledger, sizeof ledger, "%s.ledger", path) >= sizeof ledger) return CLI_EXIT_IO;
    hone_engine *engine;
    cli->subject = CLI_ENGINE;
    hone_status status = hone_engine_load(cli->context, path, NULL, 0, &engine);
    if (status == HONE_OK) status = explain_file(cli, engine, ledger);
    hone_engine_release(engine);
    name_next(cli, path, true);
    return status == HONE_OK ? CLI_EXIT_OK : cli_fail(cli, status);
  }
  static cli_model model;
  int code = cli_open_model(cli, &model);
  name_next(cli, path, false);
  if (code == CLI_EXIT_OK) {
    hone_report_options options;
    cli_report_options(cli, &options);
    options.node = cli_text(cli, "node");
    options.all = cli_has(cli, "all");
    const hone_status status = hone_report_explain(model.engine, NULL, &options, cli_write_file, stdout,
                                                   hone_context_diagnostics(cli->context));
    if (status != HONE_OK) code = cli_fail(cli, status);
  }
  cli_close_model(cli, &model);
  return code;
}
