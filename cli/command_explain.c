/* SPDX-License-Identifier: Apache-2.0 */
/* command_explain.c - hone explain: the decision ledger, of an engine's file or of a model that is built for it. */
#include "cli.h"

const cli_option cli_explain_options[] = {
    {"node", CLI_TEXT, "NODE", .doc = "only this node, by its own name or an ONNX node's; default: all"},
    {"ledger", CLI_TEXT, "FILE", .doc = "read this ledger; default: ENGINE.ledger beside an engine"},
    {0},
};

static hone_status explain_file(cli_tool *cli, const char *path) {
  hone_report_options options;
  cli_report_options(cli, &options);
  options.node = cli_text(cli, "node");
  return hone_report_explain(NULL, path, &options, cli_write_file, stdout, hone_context_diagnostics(cli->context));
}

int cli_command_explain(cli_tool *cli) {
  if (cli_text(cli, "ledger")) {
    const hone_status status = explain_file(cli, cli_text(cli, "ledger"));
    return status == HONE_OK ? CLI_EXIT_OK : cli_fail(cli, status);
  }
  const char *path = cli_text(cli, "model");
  if (!path) return cli_usage_error(cli, "a model, an engine or --ledger FILE must be named");
  const cli_file_kind kind = cli_file_kind_of(path);
  if (kind == CLI_FILE_UNREADABLE) return CLI_EXIT_IO;
  if (kind == CLI_FILE_ENGINE) {
    char ledger[4096];
    if ((size_t)snprintf(ledger, sizeof ledger, "%s.ledger", path) >= sizeof ledger) return CLI_EXIT_IO;
    const hone_status status = explain_file(cli, ledger);
    return status == HONE_OK ? CLI_EXIT_OK : cli_fail(cli, status);
  }
  static cli_model model;
  int code = cli_open_model(cli, &model);
  if (code == CLI_EXIT_OK) {
    hone_report_options options;
    cli_report_options(cli, &options);
    options.node = cli_text(cli, "node");
    const hone_status status = hone_report_explain(model.engine, NULL, &options, cli_write_file, stdout,
                                                   hone_context_diagnostics(cli->context));
    if (status != HONE_OK) code = cli_fail(cli, status);
  }
  cli_close_model(cli, &model);
  return code;
}
