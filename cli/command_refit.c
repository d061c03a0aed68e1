/* SPDX-License-Identifier: Apache-2.0 */
/* command_refit.c - hone refit: an engine with other weights, as it was tuned. */
#include "recipe.h"

const cli_option cli_refit_options[] = {
    {"engine", CLI_TEXT, "FILE", .doc = "an engine that was built with --refit, --stripWeights or --embed-model"},
    {"onnx", CLI_TEXT, "FILE", .same_as = "model"},
    {"output", CLI_TEXT, "FILE", .doc = "the new engine; default: the engine itself is replaced",
     .writes = CLI_WRITES_FILE},
    {"o", CLI_TEXT, "FILE", .same_as = "output"},
    {0},
};

static int refit(cli_tool *cli, const hone_engine *engine, const char *model, const char *out) {
  hone_graph *graph = NULL;
  hone_engine *made = NULL;
  const double begin_ms = cli_now_ms();
  cli->subject = CLI_MODEL;
  hone_status status = cli_load_graph(cli, model, &graph);
  if (status == HONE_OK) status = cli_recipe_attach_again(cli, engine, &graph);
  if (status == HONE_OK) status = hone_engine_refit(cli->context, engine, graph, &cli->device, 1, &made);
  hone_engine_summary before = HONE_SIZED(hone_engine_summary), summary = HONE_SIZED(hone_engine_summary);
  hone_engine_summarize(engine, &before);
  if (status == HONE_OK) status = cli_save_engine(cli, made, model, before.onnx_bytes > 0, out);
  if (status == HONE_OK) hone_engine_summarize(made, &summary);
  hone_engine_release(made);
  hone_graph_destroy(graph);
  if (status != HONE_OK) return cli_fail(cli, status);
  const double seconds = (cli_now_ms() - begin_ms) / 1e3;
  if (cli_has(cli, "json"))
    printf(CLI_JSON_BEGIN "\"seconds\": %.3f, \"steps\": %d, \"max_error\": %.3g}\n", seconds, summary.step_count,
           summary.max_error_rel_l2);
  else
    printf("%s: %d steps as they were, with the weights of %s, largest error of a step %.2g; %.2f s\n", out,
           summary.step_count, model, summary.max_error_rel_l2, seconds);
  cli_next(cli, "hone run %s", out);
  return CLI_EXIT_OK;
}

int cli_command_refit(cli_tool *cli) {
  const char *path = cli_text(cli, "engine"), *model = cli_text(cli, "model");
  if (!path || !model) return cli_usage_error(cli, "an engine and, with --model, a model must be named");
  const cli_file_kind kind = cli_file_kind_of(path);
  if (kind == CLI_FILE_UNREADABLE) return CLI_EXIT_IO;
  if (kind != CLI_FILE_ENGINE) return cli_usage_error(cli, "%s is not an engine", path);
  const int code = cli_open_device(cli);
  if (code != CLI_EXIT_OK) return code;
  hone_engine *engine = NULL;
  cli->subject = CLI_ENGINE;
  const hone_status status = hone_engine_load(cli->context, path, &cli->device, 1, &engine);
  if (status != HONE_OK) return cli_fail(cli, status);
  const int done = refit(cli, engine, model, cli_text(cli, "output") ? cli_text(cli, "output") : path);
  hone_engine_release(engine);
  return done;
}
