/* SPDX-License-Identifier: Apache-2.0 */
/* trt_refit.c - trtexec's --refitFromOnnx, --timeRefit and --dumpRefit: other weights before the measurement. */
#include "bench.h"

/* What hone refit would fill, constant by constant. */
static int dump_weights(const cli_model *model) {
  hone_engine_summary summary = HONE_SIZED(hone_engine_summary);
  hone_engine_summarize(model->engine, &summary);
  if (!summary.refittable) {
    cli_error("--dumpRefit: the engine cannot be given other weights: build it with --refit");
    return CLI_EXIT_USAGE;
  }
  const int count = hone_engine_weight_count(model->engine);
  printf("Refittable weights: %d, %.3f MB\n", count, (double)summary.weights_bytes * 1e-6);
  for (int i = 0; i < count; ++i) {
    hone_weight_info weight = HONE_SIZED(hone_weight_info);
    if (hone_engine_weight(model->engine, i, &weight) != HONE_OK) return CLI_EXIT_INTERNAL;
    printf("  %10llu bytes  %s ", (unsigned long long)weight.bytes, weight.how);
    for (int k = 0; k < weight.from_count; ++k) printf("%s%s", k ? ", " : "", weight.from[k]);
    printf("\n");
  }
  return CLI_EXIT_OK;
}

/* Of the named model, or of the one that was built. */
static hone_status refit(cli_tool *cli, cli_model *model, const char *path) {
  hone_graph *graph = NULL;
  hone_engine *made = NULL;
  hone_status status = path ? cli_load_graph(cli, path, &graph) : HONE_OK;
  if (status == HONE_OK)
    status = hone_engine_refit(cli->context, model->engine, path ? graph : model->graph, &cli->device, 1, &made);
  hone_graph_destroy(graph);
  if (status != HONE_OK) return status;
  hone_engine_release(model->engine);
  model->engine = made;
  return HONE_OK;
}

int bench_refit(cli_tool *cli, cli_model *model) {
  const char *path = cli_text(cli, "refitFromOnnx");
  const bool timed = cli_has(cli, "timeRefit");
  if (timed && !path && !model->graph)
    return cli_usage_error(cli, "--timeRefit: an engine takes weights from the model of --refitFromOnnx, which is not "
                                "named");
  if (path || timed) {
    const double begin_ms = cli_now_ms();
    const hone_status status = refit(cli, model, path);
    if (status != HONE_OK) return cli_fail(cli, status);
    if (timed)
      fprintf(cli_has(cli, "json") ? stderr : stdout, "Engine refitted in %.4f s.\n", (cli_now_ms() - begin_ms) * 1e-3);
  }
  return cli_has(cli, "dumpRefit") ? dump_weights(model) : CLI_EXIT_OK;
}
