/* SPDX-License-Identifier: Apache-2.0 */
/* command_passes.c - hone passes: the graph after the passes, as text or as a model; or the list of passes and rules.
 */
#include "passes.h"

const cli_option cli_passes_options[] = {
    {"list", CLI_FLAG, .doc = "list passes and their rules"},
    {"after", CLI_TEXT, "PASS", .doc = "stop after this pass"},
    {"disable", CLI_LIST, "NAME", .doc = "leave out a pass or a rule"},
    {"stats", CLI_FLAG, .doc = "how often each rule fired or nearly did, and operators before and after"},
    {"ideal", CLI_FLAG, .doc = "fuse wherever a rule holds, also what no kernel of the device runs"},
    {"emit", CLI_TEXT, "FILE", .doc = "write the result there as an ONNX model, instead of printing it",
     .writes = CLI_WRITES_FILE},
    {"output", CLI_TEXT, "FILE", .same_as = "emit"},
    {"o", CLI_TEXT, "FILE", .same_as = "emit"},
    {"constants", CLI_INT, "N", .doc = "print constants of up to N elements in full; -1: all"},
    {0},
};

/* Lines of NAME<TAB>WHY, given out in any pieces. */
typedef struct list_state {
  bool json, first, in_why;
  int width;
} list_state;

static bool write_json_list(void *user, const char *text, size_t length) {
  list_state *state = user;
  for (size_t i = 0; i < length; ++i) {
    if (state->first) printf("\n  {\"name\": \"");
    state->first = false;
    if (text[i] == '\t')
      printf("\", \"why\": \"");
    else if (text[i] == '\n') {
      printf("\"}%s", i + 1 < length ? "," : "");
      state->first = true;
    } else {
      if (text[i] == '"' || text[i] == '\\') putchar('\\');
      putchar(text[i]);
    }
  }
  return !ferror(stdout) || cli_reader_left();
}

/* Rules are written PASS/RULE: they stand indented below their pass. */
static bool write_text_list(void *user, const char *text, size_t length) {
  const list_state *state = user;
  for (size_t at = 0; at < length;) {
    size_t end = at, tab = 0, slash = 0;
    for (; end < length && text[end] != '\n'; ++end) {
      if (text[end] == '\t' && !tab) tab = end;
      if (text[end] == '/' && !tab) slash = end;
    }
    if (!tab) tab = end;
    const size_t why = tab < end ? tab + 1 : end;
    char doc[512];
    const int column = slash ? printf("    %-28.*s ", (int)(tab - slash - 1), text + slash + 1)
                             : printf("%-32.*s ", (int)(tab - at), text + at);
    (void)snprintf(doc, sizeof doc, "%.*s", (int)(end - why), text + why);
    cli_wrap(doc, column, 33, state->width, stdout);
    at = end + 1;
  }
  return !ferror(stdout) || cli_reader_left();
}

static int list(cli_tool *cli) {
  list_state state = {.first = true, .width = cli->width};
  if (cli_has(cli, "json")) printf("[");
  cli_next(cli, "hone passes MODEL.onnx --stats", "");
  const hone_status status = hone_pass_list(cli_has(cli, "json") ? write_json_list : write_text_list, &state);
  if (cli_has(cli, "json")) printf("\n]\n");
  return status == HONE_OK ? CLI_EXIT_OK : cli_fail(cli, status);
}

/* Prints the graph, writes the model, or tells the statistics. */
static hone_status put_out(cli_tool *cli, hone_graph *graph, const cli_pass_stats *stats) {
  const char *path = cli_text(cli, "emit");
  const hone_status status = path ? hone_graph_save_onnx(graph, path) : HONE_OK;
  if (status != HONE_OK) return status;
  if (stats) cli_pass_stats_print(stats, cli_has(cli, "json"));
  if (path || stats) return HONE_OK;
  const hone_print_options print = {.struct_size = sizeof print,
                                    .with_types = true,
                                    .with_origins = true,
                                    .json = cli_has(cli, "json"),
                                    .constant_elements = cli_int(cli, "constants", 0)};
  return hone_graph_print(graph, &print, cli_write_file, stdout);
}

static int optimise(cli_tool *cli, hone_graph *graph) {
  enum { MAX_NAMES = 128 };
  const char *disabled[MAX_NAMES];
  hone_pass_options passes = {.struct_size = sizeof passes, .disable = disabled, .after = cli_text(cli, "after")};
  passes.disable_count = cli_list(cli, "disable", disabled, MAX_NAMES);
  if (!cli_has(cli, "ideal")) {
    const int code = cli_open_device(cli);
    if (code != CLI_EXIT_OK) return code;
    passes.devices = &cli->device;
    passes.device_count = 1;
  }
  cli_pass_stats *stats = cli_has(cli, "stats") ? cli_pass_stats_begin(graph, &passes) : NULL;
  hone_status status = cli_has(cli, "stats") && !stats ? HONE_NO_MEMORY : hone_graph_optimize(graph, &passes);
  if (status == HONE_OK && stats) status = cli_pass_stats_end(stats, graph);
  if (status == HONE_NO_MEMORY) cli_error("out of memory");
  if (status == HONE_OK) status = put_out(cli, graph, stats);
  cli_pass_stats_drop(stats);
  return status == HONE_OK ? CLI_EXIT_OK : cli_fail(cli, status);
}

int cli_command_passes(cli_tool *cli) {
  if (cli_has(cli, "list")) return list(cli);
  const char *path = cli_text(cli, "model");
  if (!path) return cli_usage_error(cli, "a model must be named, or --list");
  hone_graph *graph;
  cli_next(cli, cli_has(cli, "stats") ? "hone build %s" : "hone passes %s --stats", path);
  if (cli_text(cli, "emit")) cli_next(cli, "hone build %s", cli_text(cli, "emit"));
  const hone_status status = cli_load_graph(cli, path, &graph);
  const int code = status == HONE_OK ? optimise(cli, graph) : cli_fail(cli, status);
  hone_graph_destroy(graph);
  return code;
}
