/* SPDX-License-Identifier: Apache-2.0 */
/* compile_graph.c - reading and writing ONNX models, for users. */
#include "api/compile.h"
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

hone_status hn_onnx_source_take(hone_context *context, const hone_onnx_source *given, hone_onnx_source *out) {
  hone_diagnostics *diag = &context->diag;
  HN_GIVEN(diag, given);
  HN_OPTIONS(diag, "source", given, hone_onnx_source, tensor_count, out);
  HN_GIVEN(diag, out->bytes);
  HN_TRY(hn_argument_list(diag, "source tensors", out->tensors, out->tensor_count, INT32_MAX));
  for (int i = 0; i < out->tensor_count; ++i) {
    const hone_named_tensor *named = &out->tensors[i];
    if (!named->name) return HN_FAIL(diag, HONE_INVALID, "source tensor %d has no name", i);
    if (named->tensor.type.dtype == HONE_STRING)
      return HN_FAIL(diag, HONE_INVALID, "source tensor \"%s\" is of strings", named->name);
    HN_TRY(hn_tensor_check(diag, named->name, &named->tensor));
  }
  return HONE_OK;
}

hone_status hone_graph_load_onnx_source(hone_context *context, const hone_onnx_source *source, hone_graph **out_graph) {
  if (out_graph) *out_graph = NULL;
  HN_GIVEN(NULL, context);
  HN_GIVEN(&context->diag, out_graph);
  hn_call_begin(context);
  hone_onnx_source taken;
  HN_TRY(hn_onnx_source_take(context, source, &taken));
  return hn_import_onnx_source(context, &taken, out_graph);
}

hone_status hone_graph_save_onnx(const hone_graph *graph, const char *path) {
  HN_GIVEN(NULL, graph);
  HN_GIVEN(&graph->context->diag, path);
  hn_call_begin(graph->context);
  return hn_export_onnx(graph, path);
}
