/* SPDX-License-Identifier: Apache-2.0 */
/* import.h - ONNX model -> graph.
 * All problems of a model are reported, each as `node "NAME" (OpType, opset N): reason`; what follows only from an
 * earlier problem is not. The code returned is that of the gravest one: MALFORMED before UNSUPPORTED. */
#ifndef HN_IMPORT_IMPORT_H
#define HN_IMPORT_IMPORT_H

#include "ir/graph.h"

/* Maps the file; constants borrow from the mapping, which the graph keeps. */
hone_status hn_import_onnx(hone_context *context, const char *path, hone_graph **out);
/* bytes must outlive the graph; path (NULL: none) is where external data is looked for. */
hone_status hn_import_onnx_memory(hone_context *context, const void *bytes, size_t count, const char *path,
                                  hone_graph **out);
/* The same, with the tensors that the source names. */
hone_status hn_import_onnx_source(hone_context *context, const hone_onnx_source *source, hone_graph **out);

#endif
