/* SPDX-License-Identifier: Apache-2.0 */
/* export.h - graph -> ONNX model (opset 21, IR version 10). */
#ifndef HN_EXPORT_EXPORT_H
#define HN_EXPORT_EXPORT_H

#include "ir/graph.h"

/* Under a temporary name first, then renamed. UNSUPPORTED names each node that ONNX cannot say. */
hone_status hn_export_onnx(const hone_graph *graph, const char *path);

#endif
