/* SPDX-License-Identifier: Apache-2.0 */
/* command_verify.c - hone verify: every step of an engine against the reference, measured again on this machine. */
#include "cli.h"

const cli_option cli_verify_options[] = {
    {"full", CLI_FLAG, .doc = "compare every element of every step, not 4,096 of each"},
    {"seed", CLI_INT, "N", .doc = "of the inputs; default 0"},
    {0},
};

int cli_command_verify(cli_tool *cli) {
  const char *path = cli_text(cli, "model");
  if (!path) return cli_usage_error(cli, "an engine must be named");
  const cli_file_kind kind = cli_file_kind_of(path);
  if (kind == CLI_FILE_UNREADABLE) return CLI_EXIT_IO;
  if (kind != CLI_FILE_ENGINE) return cli_usage_error(cli, "%s is no engine", path);
  const int code = cli_open_device(cli);
  if (code != CLI_EXIT_OK) return code;
  cli->subject = CLI_ENGINE;
  hone_engine *engine;
  hone_status status = hone_engine_load(cli->context, path, &cli->device, 1, &engine);
  bool within = false;
  const hone_verify_options options = {.struct_size = sizeof options,
                                       .full = cli_has(cli, "full"),
                                       .json = cli_has(cli, "json"),
                                       .seed = (uint64_t)cli_int(cli, "seed", 0)};
  if (status == HONE_OK)
    status = hone_verify(engine, &options, cli_write_file, stdout, &within, hone_context_diagnostics(cli->context));
  hone_engine_release(engine);
  if (status != HONE_OK) return cli_fail(cli, status);
  return within ? CLI_EXIT_OK : CLI_EXIT_CHECK_FAILED;
}
