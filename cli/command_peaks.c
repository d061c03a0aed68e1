/* SPDX-License-Identifier: Apache-2.0 */
/* command_peaks.c - hone peaks: what this machine reaches at most, and what chips do on paper. */
#include "cli.h"

enum { MOST_CHIPS = 64 };

const cli_option cli_peaks_options[] = {
    {"chip", CLI_LIST, "NAME", .doc = "this chip on paper, by its formulas, and not this machine; may be repeated"},
    {"list", CLI_FLAG, .doc = "the chips that there are, with their aliases"},
    {"chips", CLI_TEXT, "FILE",
     .doc = "more chips: lines of FIELD: VALUE with the fields chip (begins one), units, clock, memory, and aliases, "
            "vendor, plain, matrix, sparse, note; e.g. \"units: 108 SMs\", \"clock: 1.41\" (GHz), \"plain: f64 32, f32 "
            "64\" (FMA a clock of a unit), \"memory: 5120 x 2.43\" (bits x GT/s)"},
    {"measure", CLI_FLAG, .doc = "measure anew; default: what was measured before, where it is in the cache folder"},
    {0},
};

int cli_command_peaks(cli_tool *cli) {
  const char *chips[MOST_CHIPS + 1];
  char cache[4096];
  const int count = cli_list(cli, "chip", chips, MOST_CHIPS + 1);
  const bool of_chips = count > 0 || cli_has(cli, "list");
  if (count > MOST_CHIPS) return cli_usage_error(cli, "more than %d chips", MOST_CHIPS);
  if (count > 0 && cli_has(cli, "list")) return cli_usage_error(cli, "--list and --chip exclude each other");
  if (of_chips && cli_has(cli, "measure"))
    return cli_usage_error(cli, "--measure is about this machine; chips are not measured");
  const int code = of_chips ? CLI_EXIT_OK : cli_open_device(cli);
  if (code != CLI_EXIT_OK) return code;
  const hone_peaks_options options = {.struct_size = sizeof options,
                                      .json = cli_has(cli, "json"),
                                      .color = cli->color_out,
                                      .width = cli->width,
                                      .list = cli_has(cli, "list"),
                                      .chips = chips,
                                      .chip_count = count,
                                      .chip_file = cli_text(cli, "chips"),
                                      .cache_dir = cli_cache_dir(cache, sizeof cache),
                                      .measure = cli_has(cli, "measure")};
  const hone_status status =
      hone_report_peaks(cli->device, &options, cli_write_file, stdout, hone_context_diagnostics(cli->context));
  if (status != HONE_OK) return cli_fail(cli, status);
  cli_next(cli, of_chips ? "hone peaks" : "hone peaks --list", "");
  return CLI_EXIT_OK;
}
