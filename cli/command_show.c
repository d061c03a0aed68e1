/* SPDX-License-Identifier: Apache-2.0 */
/* command_show.c - hone show: a model's summary or graph text; an engine's steps, formats, errors and memory. */
#include "cli.h"

const cli_option cli_show_options[] = {
    {"graph", CLI_FLAG, .doc = "of a model: the whole graph as text, which hone reads back"},
    {"origins", CLI_FLAG, .doc = "with --graph: the ONNX nodes that each node came from"},
    {"constants", CLI_INT, "N", .doc = "with --graph: print constants of up to N elements in full; -1: all"},
    {"memory", CLI_FLAG, .doc = "of an engine: the memory plan: peak, and each tensor's place and life over the steps"},
    {0},
};

static void print_value(const char *what, const hone_value *value, const char *name) {
  hone_type type;
  hone_value_type(value, &type);
  printf("%-9s %s: %s", what, name, hone_dtype_name(type.dtype));
  cli_print_shape(stdout, &type.shape);
  printf("\n");
}

static int print_summary(const char *path, const hone_graph *graph) {
  printf("model     %s\nnodes     %d\n", path, hone_graph_node_count(graph));
  for (int i = 0; i < hone_graph_input_count(graph); ++i) {
    const hone_value *value = hone_graph_input(graph, i);
    print_value("input", value, hone_value_name(value));
  }
  for (int i = 0; i < hone_graph_output_count(graph); ++i)
    print_value("output", hone_graph_output(graph, i), hone_graph_output_name(graph, i));
  return CLI_EXIT_OK;
}

static int show_model(cli_tool *cli, const char *path) {
  hone_graph *graph;
  hone_status status = cli_load_graph(cli, path, &graph);
  if (status != HONE_OK) return cli_fail(cli, status);
  int code = CLI_EXIT_OK;
  if (cli_has(cli, "graph") || cli_has(cli, "json")) {
    const hone_print_options options = {.struct_size = sizeof options,
                                        .with_types = true,
                                        .with_origins = cli_has(cli, "origins") || cli_has(cli, "json"),
                                        .json = cli_has(cli, "json"),
                                        .constant_elements = cli_int(cli, "constants", 0)};
    status = hone_graph_print(graph, &options, cli_write_file, stdout);
    if (status != HONE_OK) code = cli_fail(cli, status);
  } else {
    code = print_summary(path, graph);
  }
  hone_graph_destroy(graph);
  return code;
}

/* Looking needs none of the devices that the engine runs on. */
static hone_status load_to_show(cli_tool *cli, const char *path, hone_status opened, hone_engine **out) {
  hone_status status = opened;
  *out = NULL;
  if (status == HONE_OK) status = hone_engine_load(cli->context, path, &cli->device, 1, out);
  if (status != HONE_DEVICE) return status;
  const int count = hone_context_message_count(cli->context);
  for (int i = 0; i < count; ++i) cli_note(cli, "%s", hone_context_message(cli->context, i, NULL));
  hone_context_clear_messages(cli->context);
  return hone_engine_load(cli->context, path, NULL, 0, out);
}

/* As a file of --recipe has it. */
static hone_status show_recipe(cli_tool *cli, const hone_engine *engine) {
  hone_recipe *recipe;
  hone_status status = hone_engine_recipe(cli->context, engine, &recipe);
  if (status != HONE_OK || !recipe) return status;
  printf("\nrecipe\n");
  status = hone_recipe_print(recipe, cli_write_file, stdout);
  hone_recipe_destroy(recipe);
  return status;
}

static int show_engine(cli_tool *cli, const char *path) {
  hone_engine *engine;
  hone_status status;
  const int code = cli_try_device(cli, &status);
  if (code != CLI_EXIT_OK) return code;
  cli->subject = CLI_ENGINE;
  status = load_to_show(cli, path, status, &engine);
  if (status != HONE_OK) return cli_fail(cli, status);
  hone_report_options options;
  cli_report_options(cli, &options);
  status = (cli_has(cli, "memory") ? hone_report_memory : hone_report_engine)(engine, &options, cli_write_file, stdout,
                                                                              hone_context_diagnostics(cli->context));
  if (status == HONE_OK && !cli_has(cli, "json") && !cli_has(cli, "memory")) status = show_recipe(cli, engine);
  hone_engine_release(engine);
  return status == HONE_OK ? CLI_EXIT_OK : cli_fail(cli, status);
}

int cli_command_show(cli_tool *cli) {
  const char *path = cli_text(cli, "model");
  if (!path) return cli_usage_error(cli, "a model or an engine must be named");
  const cli_file_kind kind = cli_file_kind_of(path);
  if (kind == CLI_FILE_UNREADABLE) return CLI_EXIT_IO;
  static const char *const only_engines[] = {"memory", "schedule"};
  for (size_t i = 0; kind != CLI_FILE_ENGINE && i < CLI_COUNT(only_engines); ++i)
    if (cli_has(cli, only_engines[i]))
      return cli_usage_error(cli, "--%s is of an engine: hone build makes one", only_engines[i]);
  if (kind == CLI_FILE_ENGINE)
    cli_next(cli, cli_has(cli, "memory") ? "hone profile %s" : "hone explain %s", path);
  else
    cli_next(cli, kind == CLI_FILE_MODEL ? "hone check %s" : "hone build %s", path);
  return kind == CLI_FILE_ENGINE ? show_engine(cli, path) : show_model(cli, path);
}
