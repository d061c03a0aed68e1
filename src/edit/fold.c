/* SPDX-License-Identifier: Apache-2.0 */
/* fold.c - nodes that only constants reach are computed, by the passes that a build folds with, and their results
 * become initializers. Nodes of another domain, of bodies, or that draw random numbers, stay. */
#include "edit/model.h"
#include "import/import.h"
#include "pass/pipeline.h"
#include <string.h>

typedef struct folding {
  hone_model *model;
  const hn_edit_graph *graph;
  bool *constant; /* a flag a node */
  hn_table known; /* values that are constants */
  bool all;
} folding;

static void see(void *user, const char *value) {
  folding *f = user;
  f->all = f->all && (hn_table_get(&f->known, value) ||
                      (hn_edit_find_tensor(f->graph, value) && !hn_edit_find_value(&f->graph->inputs, value)));
}

static bool is_random(const hn_edit_node *node) {
  return strncmp(node->op, "Random", 6) == 0 || strcmp(node->op, "Bernoulli") == 0 ||
         strcmp(node->op, "Multinomial") == 0;
}

/* Nodes stand in an order in which each follows what it reads. false: no memory. */
static bool find_constants(folding *f) {
  for (int i = 0; i < f->graph->node_count; ++i) {
    const hn_edit_node *node = f->graph->nodes[i];
    f->all = !*node->domain && !is_random(node);
    hn_edit_each_read(node, see, f);
    for (int k = 0; k < node->attr_count; ++k) f->all = f->all && !node->attrs[k].body;
    f->constant[i] = f->all;
    for (int k = 0; f->all && k < node->out_count; ++k)
      if (!hn_table_put(&f->known, node->out[k], f)) return false;
  }
  return true;
}

/* Which of the constants do other nodes, or nobody inside, read? Those are the part's outputs. */
static void see_reader(void *user, const char *value) {
  folding *f = user;
  if (hn_table_get(&f->known, value)) (void)hn_table_put(&f->known, value, f->model); /* of a key that is there */
}

static hone_status put_result(folding *f, const char *name, const hn_value *value) {
  hone_model *model = f->model;
  if (!hn_value_is_constant(value)) return HONE_OK; /* it stays as nodes */
  hn_edit_node *node = hn_edit_producer(&model->graph, name);
  if (!node || hn_edit_find_value(&model->graph.outputs, name)) return HONE_OK;
  for (int k = 0; k < node->out_count; ++k)
    if (strcmp(node->out[k], name) == 0) node->out[k] = "";
  return hn_edit_add_tensor(model, name, value->fact.constant);
}

static hone_status compute(folding *f, const char *const *outputs, int count) {
  hone_model *model = f->model;
  hone_context *context = model->context;
  hn_edit_graph graph = model->graph;
  const hn_edit_part part = {.keep = f->constant, .outputs = outputs, .output_count = count};
  HN_TRY(hn_edit_take_part(model, &part, &graph));
  hn_text bytes;
  hn_text_init(&bytes, context->allocator);
  hone_graph *imported = NULL;
  hone_status status = hn_edit_write(model, &graph, true, &bytes);
  if (status == HONE_OK)
    status = hn_import_onnx_memory(context, hn_text_string(&bytes), bytes.length, model->path, &imported);
  hn_pass_run run = {.context = context, .graph = imported};
  if (status == HONE_OK) status = hn_pipeline_run(&run, "fold_branches");
  for (int i = 0; i < count && status == HONE_OK; ++i) status = put_result(f, outputs[i], imported->main->results[i]);
  hn_graph_destroy(imported);
  hn_text_deinit(&bytes);
  return status;
}

hone_status hn_edit_fold(hone_model *model) {
  folding f = {.model = model, .graph = &model->graph};
  hn_table_init(&f.known, &model->arena);
  f.constant = HN_NEW(&model->arena, bool, model->graph.node_count + 1);
  if (!f.constant || !find_constants(&f)) return HN_FAIL_MEMORY(&model->context->diag);
  int room = 1, count = 0;
  for (int i = 0; i < model->graph.node_count; ++i) {
    room += model->graph.nodes[i]->out_count;
    if (!f.constant[i]) hn_edit_each_read(model->graph.nodes[i], see_reader, &f);
  }
  const char **outputs = HN_NEW(&model->arena, const char *, room);
  if (!outputs) return HN_FAIL_MEMORY(&model->context->diag);
  for (int i = 0; i < model->graph.node_count; ++i)
    for (int k = 0; f.constant[i] && k < model->graph.nodes[i]->out_count; ++k)
      if (hn_table_get(&f.known, model->graph.nodes[i]->out[k]) == model)
        outputs[count++] = model->graph.nodes[i]->out[k];
  if (count > 0) HN_TRY(compute(&f, outputs, count));
  hn_edit_drop_unread(model);
  return HONE_OK;
}
