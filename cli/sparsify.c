/* SPDX-License-Identifier: Apache-2.0 */
/* sparsify.c - hone prune --sparsity 2:4: two of four weights become zero. */
#include "shrink.h"

typedef struct tally {
  const cli_tool *cli;
  bool table, json;
  int listed, sparse, layers;
  double plain, kept;
} tally;

static void json_layer(tally *t, const hone_sparse_layer *layer) {
  printf("%s\n    {\"layer\": ", t->listed++ ? "," : CLI_JSON_BEGIN "\"layers\": [");
  cli_json_text(stdout, layer->name);
  printf(", \"op\": \"%s\"", layer->op);
  if (layer->why) {
    printf(", \"why\": ");
    cli_json_text(stdout, layer->why);
  } else {
    printf(", \"kept_in_order\": %.6g, \"kept\": %.6g, \"permuted\": %s", layer->plain, layer->kept,
           layer->permuted ? "true" : "false");
  }
  printf("}");
}

static void tell(void *user, const hone_sparse_layer *layer) {
  tally *t = user;
  ++t->layers;
  if (!layer->why) {
    ++t->sparse;
    t->plain += layer->plain;
    t->kept += layer->kept;
  }
  if (t->table && t->json) {
    json_layer(t, layer);
  } else if (t->table) {
    if (t->listed++ == 0) printf("%-40s %-14s %14s %9s\n", "layer", "operator", "kept in order", "kept");
    printf("%-40s %-14s ", layer->name, layer->op);
    if (layer->why)
      printf("%s\n", layer->why);
    else
      printf("%12.2f %% %7.2f %%\n", 100 * layer->plain, 100 * layer->kept);
  } else if (layer->why) {
    cli_note(t->cli, "%s (%s) stays dense: %s", layer->name, layer->op, layer->why);
  }
}

int cli_sparsify(cli_tool *cli, const hone_graph *graph, const char *output) {
  const char *kept[CLI_MAX_GIVEN];
  tally t = {.cli = cli, .table = cli_has(cli, "table"), .json = cli_has(cli, "json")};
  const hone_sparse_options options = {.struct_size = sizeof options,
                                       .keep = kept,
                                       .keep_count = cli_list(cli, "keep", kept, CLI_MAX_GIVEN),
                                       .in_order = cli_has(cli, "in-order"),
                                       .progress = cli_progress_samples,
                                       .progress_user = cli,
                                       .layer = tell,
                                       .layer_user = &t};
  hone_graph *made;
  hone_status status = hone_graph_sparsify(cli->context, graph, &options, &made);
  cli_progress_end(cli);
  if (status == HONE_OK) status = hone_graph_save_onnx(made, output);
  hone_graph_destroy(made);
  if (status != HONE_OK) return cli_fail(cli, status);
  if (t.json) {
    printf("%s\"file\": ", t.table ? "\n  ], " : CLI_JSON_BEGIN);
    cli_json_text(stdout, output);
    printf(", \"layers_sparse\": %d, \"layers_dense\": %d, \"kept_in_order\": %.6g, \"kept\": %.6g}\n", t.sparse,
           t.layers - t.sparse, t.plain / t.sparse, t.kept / t.sparse);
  } else {
    printf("%s: %d of %d layers have two zeros in four weights; magnitude kept %.2f %% (in their own order %.2f %%)\n",
           output, t.sparse, t.layers, 100 * t.kept / t.sparse, 100 * t.plain / t.sparse);
    cli_note(cli, "1x1 convolutions in f32 have a kernel for such weights on AVX-512; other layers run as dense ones");
  }
  cli_next(cli, "hone build %s", output);
  return CLI_EXIT_OK;
}
