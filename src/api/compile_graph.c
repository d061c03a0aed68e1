/* SPDX-License-Identifier: Apache-2.0 */
/* compile_graph.c - reading and writing ONNX models, for users. */
#include "base/arguments.h"
#include "base/context.h"
#include "export/export.h"
#include "import/import.h"

/* Messages are those of the last failing calls: a call that works leaves them. */
hone_status hone_graph_load_onnx(hone_context *context, const char *path, hone_graph **out_graph) {
  if (out_graph) *out_graph = NULL;
  HN_GIVEN(NULL, context);
  HN_GIVEN(&context->diag, path);
  HN_GIVEN(&context->diag, out_graph);
  hn_call_begin(context);
  return hn_import_onnx(context, path, out_graph);
}

hone_status hone_graph_load_onnx_memory(hone_context *context, const void *bytes, size_t count, const char *path,
                                        hone_graph **out_graph) {
  if (out_graph) *out_graph = NULL;
  HN_GIVEN(NULL, context);
  HN_GIVEN(&context->diag, bytes);
  HN_GIVEN(&context->diag, out_graph);
  hn_call_begin(context);
  return hn_import_onnx_memory(context, bytes, count, path, out_graph);
}

hone_status hone_graph_save_onnx(const hone_graph *graph, const char *path) {
  HN_GIVEN(NULL, graph);
  HN_GIVEN(&graph->context->diag, path);
  hn_call_begin(graph->context);
  return hn_export_onnx(graph, path);
}
