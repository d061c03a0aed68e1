/* SPDX-License-Identifier: Apache-2.0 */
/* command_check.c - hone check: which of a model's operators are supported, before anything is built. */
#include "cli.h"

const cli_option cli_check_options[] = {
    {"operators", CLI_FLAG, .doc = "list the operators that hone knows"},
    {"onnx", CLI_TEXT, "FILE", .same_as = "model"},
    {"shapes", CLI_LIST, "NAME:1x3x8x8",
     .doc = "shapes of inputs with free dims, to estimate for; separated by commas"},
    {0},
};

static int read_shapes(cli_tool *cli, const char *path, hone_profile_shape *out, int *out_count) {
  static cli_shape shapes[CLI_MAX_SHAPES];
  hone_port_info ports[CLI_MAX_INPUTS];
  hone_graph *graph;
  const hone_status status = cli_load_graph(cli, path, &graph);
  if (status != HONE_OK) return cli_fail(cli, status);
  const int code =
      cli_read_shapes(cli, "shapes", ports, cli_ports_of_graph(graph, ports, CLI_MAX_INPUTS), shapes, out_count);
  hone_graph_destroy(graph);
  for (int i = 0; code == CLI_EXIT_OK && i < *out_count; ++i)
    out[i] = (hone_profile_shape){
        .input = shapes[i].input, .min = shapes[i].shape, .opt = shapes[i].shape, .max = shapes[i].shape};
  return code;
}

int cli_command_check(cli_tool *cli) {
  hone_report_options options;
  static hone_profile_shape profiles[CLI_MAX_SHAPES];
  cli_report_options(cli, &options);
  const char *path = cli_text(cli, "model");
  if (!path && !cli_has(cli, "operators")) return cli_usage_error(cli, "a model must be named");
  if (path && cli_has(cli, "shapes")) {
    const int code = read_shapes(cli, path, profiles, &options.shape_count);
    if (code != CLI_EXIT_OK) return code;
    options.shapes = profiles;
  }
  const hone_status status = cli_has(cli, "operators")
                                 ? hone_report_operators(cli->context, &options, cli_write_file, stdout)
                                 : hone_report_check(cli->context, path, &options, cli_write_file, stdout);
  if (path && !cli_has(cli, "operators")) cli_next(cli, "hone build %s", path);
  return status == HONE_OK ? CLI_EXIT_OK : cli_fail(cli, status);
}
