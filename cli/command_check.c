/* SPDX-License-Identifier: Apache-2.0 */
/* command_check.c - hone check: which of a model's operators are supported, before anything is built. */
#include "cli.h"

const cli_option cli_check_options[] = {
    {"operators", CLI_FLAG, .doc = "list the operators that hone knows"},
    {"onnx", CLI_TEXT, "FILE", .same_as = "model"},
    {0},
};

int cli_command_check(cli_tool *cli) {
  hone_report_options options;
  cli_report_options(cli, &options);
  const char *path = cli_text(cli, "model");
  if (!path && !cli_has(cli, "operators")) return cli_usage_error(cli, "a model must be named");
  const hone_status status = cli_has(cli, "operators")
                                 ? hone_report_operators(cli->context, &options, cli_write_file, stdout)
                                 : hone_report_check(cli->context, path, &options, cli_write_file, stdout);
  return status == HONE_OK ? CLI_EXIT_OK : cli_fail(cli, status);
}
