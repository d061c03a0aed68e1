/* SPDX-License-Identifier: Apache-2.0 */
/* compile_graph.c - reading and writing ONNX models, for users. */
#include "base/context.h"
#include "export/export.h"
#include "import/import.h"

/* Messages are those of the last failing calls: a call that works leaves them. */
hone_status hone_graph_load_onnx(hone_context *context, const char *path, hone_graph **out_graph) {
  if (out_graph) *out_graph = NULL;
  if (!context) return HONE_INVALID;
  if (!path || !out_graph) return HN_FAIL(&context->diag, HONE_INVALID, "path and out_graph must be given");
  return hn_import_onnx(context, path, out_graph);
}

hone_status hone_graph_load_onnx_memory(hone_context *context, const void *bytes, size_t count, const char *path,
                                        hone_graph **out_graph) {
  if (out_graph) *out_graph = NULL;
  if (!context) return HONE_INVALID;
  if ((!bytes && count > 0) || !out_graph)
    return HN_FAIL(&context->diag, HONE_INVALID, "bytes and out_graph must be given");
  return hn_import_onnx_memory(context, bytes, count, path, out_graph);
}

hone_status hone_graph_save_onnx(const hone_graph *graph, const char *path) {
  if (!graph) return HONE_INVALID;
  if (!path) return HN_FAIL(&graph->context->diag, HONE_INVALID, "path must be given");
  return hn_export_onnx(graph, path);
}
