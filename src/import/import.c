/* SPDX-License-Identifier: Apache-2.0 */
/* import.c - a whole model: file, messages, graph. */
#include "import/import.h"
#include "base/file.h"
#include "base/looks.h"
#include "import/importer.h"
#include <inttypes.h>

static hone_status check_model(hn_importer *importer) {
  const hn_onnx_model *model = importer->model;
  if (!model->graph) return HN_FAIL(importer->diag, HONE_MALFORMED, "the file is not an ONNX model: it has no graph");
  if (model->ir_version >= 3 && model->opsets.count == 0)
    return HN_FAIL(importer->diag, HONE_MALFORMED, "the model does not say which opsets it uses");
  return HONE_OK;
}

/* A problem of an input is that of the first node that reads it. */
static hone_status report_input(hn_importer *importer, const hn_onnx_graph *graph, const char *input,
                                hone_status status, int from) {
  const hn_onnx_node *nodes = graph->nodes.items;
  for (int64_t n = 0; status != HONE_OK && n < graph->nodes.count; ++n) {
    const char *const *names = nodes[n].inputs.items;
    for (int64_t k = 0; k < nodes[n].inputs.count; ++k) {
      if (!hn_name_equal(names[k], input)) continue;
      const char *domain = hn_onnx_domain(nodes[n].domain);
      return hn_import_problem(importer, status, from, "input \"%s\" of node \"%s\" (%s, opset %" PRId64 "): ", input,
                               nodes[n].name, nodes[n].op_type, hn_onnx_opset_of(&importer->model->opsets, domain));
    }
  }
  return hn_import_problem(importer, status, from, "input \"%s\": ", input);
}

/* Inputs that are initializers too are constants: old files listed them all. */
static hone_status import_inputs(hn_importer *importer, hn_scope *scope, const hn_onnx_graph *graph) {
  const hn_onnx_tensor *tensors = graph->initializers.items;
  hn_table initial;
  hn_table_init(&initial, &importer->arena);
  for (int64_t i = 0; i < graph->initializers.count; ++i) {
    if (!hn_table_put(&initial, tensors[i].name, importer)) return HN_FAIL_MEMORY(importer->diag);
  }
  const hn_onnx_value_info *inputs = graph->inputs.items;
  for (int64_t i = 0; i < graph->inputs.count; ++i) {
    if (hn_table_get(&initial, inputs[i].name)) continue;
    const int from = hn_import_mark(importer);
    hone_type type;
    hone_status status = hn_import_type(importer, inputs[i].type, false, &type);
    if (status == HONE_OK && type.dtype == HONE_NONE)
      status = HN_FAIL(importer->diag, HONE_MALFORMED, "it has no element type");
    hn_value *value = &importer->bad;
    if (status == HONE_OK) {
      value = hn_block_add_param(scope->block, inputs[i].name, &type);
      if (!value) return HONE_NO_MEMORY;
      status = hn_scope_bind(importer, scope, inputs[i].name, value);
    } else {
      (void)hn_scope_bind(importer, scope, inputs[i].name, value);
    }
    HN_TRY(report_input(importer, graph, inputs[i].name, status, from));
  }
  return HONE_OK;
}

static hone_status import_main(hn_importer *importer) {
  const hn_onnx_model *model = importer->model;
  hn_scope scope;
  HN_TRY(hn_scope_init(importer, &scope, NULL, importer->graph->main));
  scope.opsets = &model->opsets;
  HN_TRY(import_inputs(importer, &scope, model->graph));
  HN_TRY(hn_import_initializers(importer, &scope, model->graph));
  HN_TRY(hn_import_nodes(importer, &scope, &model->graph->nodes));
  HN_TRY(hn_import_results(importer, &scope, model->graph));
  if (model->graph->outputs.count == 0)
    HN_TRY(hn_import_problem(importer, HN_FAIL(importer->diag, HONE_MALFORMED, "the graph has no outputs"),
                             importer->diag->count, "%s", ""));
  return importer->worst;
}

static bool is_initializer(const hn_onnx_graph *graph, const char *name) {
  const hn_onnx_tensor *tensors = graph->initializers.items;
  for (int64_t i = 0; i < graph->initializers.count; ++i)
    if (hn_name_equal(tensors[i].name, name)) return true;
  return false;
}

/* The source's tensors by their names. A name that no initializer has is the caller's mistake. */
static hone_status take_given(hn_importer *importer) {
  const hone_onnx_source *source = importer->source;
  int found = 0;
  for (int i = 0; i < source->tensor_count; ++i)
    if (!hn_table_put(&importer->given, source->tensors[i].name, (void *)&source->tensors[i]))
      return HN_FAIL_MEMORY(importer->diag);
  const hn_onnx_tensor *tensors = importer->model->graph->initializers.items;
  for (int64_t i = 0; i < importer->model->graph->initializers.count; ++i) {
    const hone_named_tensor *given = hn_table_get(&importer->given, tensors[i].name);
    if (given) HN_TRY(hn_import_check_given(importer, &tensors[i], &given->tensor));
    found += given != NULL;
  }
  if (found >= source->tensor_count) return HONE_OK;
  for (int i = 0; i < source->tensor_count; ++i)
    if (!is_initializer(importer->model->graph, source->tensors[i].name))
      return HN_FAIL(importer->diag, HONE_INVALID, "tensor \"%s\" was given, but no initializer has that name",
                     source->tensors[i].name);
  return HN_FAIL(importer->diag, HONE_INVALID, "a tensor was given twice");
}

static hone_status import_bytes(hn_importer *importer, hone_graph **out) {
  const void *bytes = importer->source->bytes;
  const size_t count = importer->source->count;
  hn_onnx_model *model;
  const int from = importer->diag->count;
  hone_status status = hn_onnx_decode(importer->context, &importer->arena, bytes, count, &model);
  if (status == HONE_OK) {
    importer->model = model;
    status = check_model(importer);
  }
  importer->foreign = status == HONE_MALFORMED &&
                      hn_say_looks(importer->diag, from, status, HN_WANTED_MODEL, importer->path, bytes, count);
  HN_TRY(status);
  HN_TRY(take_given(importer));
  HN_TRY(hn_graph_create(importer->context, model->graph->name, &importer->graph));
  hone_graph *graph = importer->graph;
  graph->model_hash = hn_hash(bytes, count);
  const int64_t opset = hn_onnx_opset_of(&model->opsets, "");
  graph->opset = opset > 0 && opset <= INT32_MAX ? (int)opset : HN_ONNX_FIRST_OPSET;
  if (importer->path) {
    graph->source_path = hn_arena_text(&graph->arena, importer->path);
    if (!graph->source_path) return HN_FAIL_MEMORY(importer->diag);
  }
  HN_TRY(import_main(importer));
  *out = graph;
  return HONE_OK;
}

hone_status hn_import_onnx_source(hone_context *context, const hone_onnx_source *source, hone_graph **out) {
  const char *path = source->path;
  *out = NULL;
  hn_importer importer = {.context = context, .diag = &context->diag, .path = path, .source = source};
  hn_arena_init(&importer.arena, context->allocator);
  hn_table_init(&importer.params, &importer.arena);
  hn_table_init(&importer.given, &importer.arena);
  hone_status status = import_bytes(&importer, out);
  if (status != HONE_OK) hn_graph_destroy(importer.graph);
  if (status != HONE_OK && path && !importer.foreign) status = hone_note(&context->diag, status, "in %s", path);
  hn_arena_deinit(&importer.arena);
  return status;
}

hone_status hn_import_onnx_memory(hone_context *context, const void *bytes, size_t count, const char *path,
                                  hone_graph **out) {
  return hn_import_onnx_source(context, &(hone_onnx_source){.bytes = bytes, .count = count, .path = path}, out);
}

hone_status hn_import_onnx(hone_context *context, const char *path, hone_graph **out) {
  *out = NULL;
  hn_blob blob;
  HN_TRY(hn_file_map(&context->diag, path, &blob));
  hone_graph *graph;
  const hone_status status = hn_import_onnx_memory(context, blob.data, blob.bytes, path, &graph);
  if (status != HONE_OK) {
    hn_blob_close(&blob);
    return status;
  }
  const hone_status kept = hn_graph_add_mapping(graph, &blob);
  if (kept != HONE_OK) {
    hn_graph_destroy(graph);
    return kept;
  }
  *out = graph;
  return HONE_OK;
}
