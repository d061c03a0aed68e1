/* SPDX-License-Identifier: Apache-2.0 */
/* command_zoo.c - hone zoo: standard networks with seeded weights, written as ONNX. */
#include "cli.h"
#include "zoo/zoo.h"
#include <string.h>

const cli_option cli_zoo_options[] = {
    {"name", CLI_TEXT, "NAME", .doc = "name of the network; without it they are listed"},
    {"output", CLI_TEXT, "FILE", .doc = "default: NAME.onnx", .writes = CLI_WRITES_FILE},
    {"o", CLI_TEXT, "FILE", .same_as = "output"},
    {"batch", CLI_INT, "N", .doc = "default 1", .low = 1, .high = 65536},
    {"dynamic", CLI_FLAG, .doc = "leave the batch size free, as the symbol N"},
    {"seed", CLI_INT, "N", .doc = "seed of the weights; default 0"},
    {"layers", CLI_INT, "N", .doc = "of the decoder; default 6", .low = 1, .high = 256},
    {"width", CLI_INT, "N", .doc = "of the decoder; default 384", .low = 8, .high = 16384},
    {"heads", CLI_INT, "N", .doc = "query heads of the decoder; default 6", .low = 1, .high = 256},
    {"kv-heads", CLI_INT, "N", .doc = "key heads of the decoder, which share its query heads; default 2", .low = 1,
     .high = 256},
    {"hidden", CLI_INT, "N", .doc = "width of the decoder's MLP; default 1024", .low = 8, .high = 65536},
    {"vocabulary", CLI_INT, "N", .doc = "tokens that the decoder knows; default 4096", .low = 2, .high = 1 << 20},
    {"positions", CLI_INT, "N", .doc = "the longest sequence of the decoder; default 2048", .low = 1, .high = 1 << 20},
    {"tied", CLI_FLAG, .doc = "the decoder's logits by the table of its embedding"},
    {0},
};

static int list(cli_tool *cli) {
  const bool json = cli_has(cli, "json");
  printf(json ? "[" : "%-18s %12s %8s  %s\n", "network", "parameters", "GFLOP", "");
  for (const zoo_row *row = cli_zoo_rows; row->name; ++row) {
    if (json) {
      printf("%s\n  {\"name\": ", row == cli_zoo_rows ? "" : ",");
      cli_json_text(stdout, row->name);
      printf(", \"parameters\": %.0f, \"gflop\": %.4g, \"inputs\": ", row->parameters, row->flops * 1e-9);
      cli_json_text(stdout, row->inputs);
      printf(", \"doc\": ");
      cli_json_text(stdout, row->doc);
      printf("}");
    } else {
      char text[512];
      printf("%-18s %12.0f %8.4g  ", row->name, row->parameters, row->flops * 1e-9);
      (void)snprintf(text, sizeof text, "%s; %s", row->doc, row->inputs);
      cli_wrap(text, 42, 42, cli->width, stdout);
    }
  }
  if (json) printf("\n]\n");
  cli_next(cli, "hone zoo mobilenet_v2 -o mobilenet_v2.onnx", "");
  return CLI_EXIT_OK;
}

static const zoo_row *find_row(const cli_tool *cli, const char *name) {
  const char *near = NULL;
  for (const zoo_row *row = cli_zoo_rows; row->name; ++row) {
    if (strcmp(row->name, name) == 0) return row;
    near = hone_nearest_name(name, near, row->name);
  }
  (void)cli_usage_error(cli, "the zoo has no %s%s%s", name, near ? "; did you mean " : "", near ? near : "");
  return NULL;
}

/* The decoder's extents; an option of its for another network is an error. */
static int read_decoder(const cli_tool *cli, const zoo_row *row, zoo_decoder *out) {
  static const char *const names[] = {"layers", "width", "heads", "kv-heads", "hidden", "vocabulary", "positions"};
  *out = cli_zoo_decoder;
  int64_t *const extents[] = {&out->layers, &out->width,      &out->heads,    &out->kv_heads,
                              &out->hidden, &out->vocabulary, &out->positions};
  out->tied = cli_has(cli, "tied");
  bool asked = out->tied;
  for (size_t i = 0; i < CLI_COUNT(names); ++i) {
    asked = asked || cli_has(cli, names[i]);
    *extents[i] = cli_int(cli, names[i], *extents[i]);
  }
  if (asked && strcmp(row->name, "decoder") != 0)
    return cli_usage_error(cli, "%s has extents of its own; --layers and its kin are the decoder's", row->name);
  if (out->heads % out->kv_heads)
    return cli_usage_error(cli, "--heads %lld are no multiple of --kv-heads %lld", (long long)out->heads,
                           (long long)out->kv_heads);
  return out->width % (2 * out->heads) ? cli_usage_error(cli, "--width %lld does not make %lld heads of an even size",
                                                         (long long)out->width, (long long)out->heads)
                                       : CLI_EXIT_OK;
}

int cli_command_zoo(cli_tool *cli) {
  const char *name = cli_text(cli, "name");
  if (!name) return list(cli);
  const zoo_row *row = find_row(cli, name);
  if (!row) return CLI_EXIT_USAGE;
  char made[128];
  const char *path = cli_text(cli, "output");
  if (!path) {
    (void)snprintf(made, sizeof made, "%s.onnx", name);
    path = made;
  }
  zoo_options options = {
      .batch = cli_int(cli, "batch", 1), .dynamic = cli_has(cli, "dynamic"), .seed = (uint64_t)cli_int(cli, "seed", 0)};
  int code = read_decoder(cli, row, &options.decoder);
  if (code == CLI_EXIT_OK) code = cli_check_output("output", path, CLI_WRITES_FILE);
  if (code != CLI_EXIT_OK) return code;
  hone_graph *graph;
  hone_status status = cli_zoo_build(cli->context, row, &options, &graph);
  if (status == HONE_OK) status = hone_graph_save_onnx(graph, path);
  const int nodes = status == HONE_OK ? hone_graph_node_count(graph) : 0;
  hone_graph_destroy(graph);
  if (status != HONE_OK) return cli_fail(cli, status);
  cli_next(cli, "hone build %s", path);
  if (cli_has(cli, "json")) {
    printf(CLI_JSON_BEGIN "\"name\": \"%s\", \"nodes\": %d, \"file\": ", name, nodes);
    cli_json_text(stdout, path);
    printf("}\n");
  } else {
    printf("%s: %s, %d nodes, %.4g M parameters\n", path, row->doc, nodes, row->parameters * 1e-6);
  }
  return CLI_EXIT_OK;
}
