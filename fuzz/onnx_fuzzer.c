/* SPDX-License-Identifier: Apache-2.0 */
/* onnx_fuzzer.c - any bytes given as an ONNX model are a graph or an error in words. */
#include <hone/graph.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count) {
  const hone_context_options options = {
      .struct_size = sizeof options, .max_nodes = 4096, .max_tensors = 4096, .max_fold_bytes = 1 << 20};
  hone_context *context;
  if (hone_context_create(&options, &context) != HONE_OK) return 0;
  hone_graph *graph;
  const hone_status status = hone_graph_load_onnx_memory(context, bytes, count, NULL, &graph);
  if ((status == HONE_OK) != (graph != NULL)) abort();
  if (status != HONE_OK && hone_context_message_count(context) == 0) abort();
  if (status == HONE_INTERNAL) abort();
  hone_graph_destroy(graph);
  hone_context_destroy(context);
  return 0;
}
