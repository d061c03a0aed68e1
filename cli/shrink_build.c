/* SPDX-License-Identifier: Apache-2.0 */
/* shrink_build.c - how layers and models are tuned while widths are looked for. */
#include "shrink.h"

/* Those of a build that mean something for layers alone. */
const cli_option cli_shrink_build_options[] = {
    {"shapes", CLI_LIST, "NAME:1x3x8x8", .doc = "shapes of inputs; separated by commas; free dims are 1 without"},
    {"level", CLI_INT, "1..5", .doc = "tuning effort; default 3 (docs/TUNING.md)", .low = 1, .high = 5},
    {"time-budget", CLI_REAL, "S", .doc = "no timing after S seconds; widths without a time are said", .low = 0.001,
     .high = 1e9},
    {"timing-cache", CLI_TEXT, "FILE", .doc = "measured times, read and updated; builds may share it",
     .writes = CLI_WRITES_FILE},
    {"bf16", CLI_FLAG, .doc = "allow layers to compute in bf16, where that is faster"},
    {"fp16", CLI_FLAG, .doc = "allow layers to compute in f16, where that is faster"},
    {0},
};

int cli_shrink_build_read(cli_tool *cli, const hone_graph *graph, cli_shrink_build *out) {
  int count = 0;
  const int port_count = cli_ports_of_graph(graph, out->ports, CLI_MAX_INPUTS);
  const int code = cli_read_shapes(cli, "shapes", out->ports, port_count, out->shapes, &count);
  if (code != CLI_EXIT_OK) return code;
  for (int i = 0; i < count; ++i) {
    const hone_shape *shape = &out->shapes[i].shape;
    out->profiles[i] = (hone_profile_shape){.input = out->shapes[i].input, .min = *shape, .opt = *shape, .max = *shape};
  }
  out->options = (hone_build_options){.struct_size = sizeof out->options,
                                      .shapes = out->profiles,
                                      .shape_count = count,
                                      .level = (int)cli_int(cli, "level", 3),
                                      .timing_cache_path = cli_text(cli, "timing-cache"),
                                      .time_budget_ms = (int64_t)(cli_real(cli, "time-budget", 0) * 1e3),
                                      .stop_timing = cli_has(cli, "time-budget") ? cli_interrupt_flag() : NULL,
                                      .precisions = (cli_has(cli, "bf16") ? HONE_BIT(HONE_BF16) : 0) |
                                                    (cli_has(cli, "fp16") ? HONE_BIT(HONE_F16) : 0),
                                      .progress = cli_progress,
                                      .progress_user = cli};
  return CLI_EXIT_OK;
}
