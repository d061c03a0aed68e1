/* SPDX-License-Identifier: Apache-2.0 */
/* expand.h - takes fused nodes apart, so that every node has an ONNX form. */
#ifndef HN_EXPORT_EXPAND_H
#define HN_EXPORT_EXPAND_H

#include "ir/graph.h"

enum { HN_EXPORT_OPSET = 21, HN_EXPORT_IR_VERSION = 10 };

/* The row by which an op is written; NULL: none covers the opset as it is. */
const hone_onnx_row *hn_export_row(const hone_op *op);
/* Puts parts, or equal operators, in the place of nodes that ONNX cannot say. Nodes that stay without a row are the
 * writer's to report. */
hone_status hn_export_expand(hone_graph *graph);

#endif
