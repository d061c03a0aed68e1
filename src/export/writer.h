/* SPDX-License-Identifier: Apache-2.0 */
/* writer.h - what the files of the exporter share: the names that values have in the file, and the parts of a graph
 * message. */
#ifndef HN_EXPORT_WRITER_H
#define HN_EXPORT_WRITER_H

#include "export/wire.h"
#include "ir/graph.h"

typedef struct hn_exporter {
  hone_diagnostics *diag;
  hone_graph *graph;        /* our own copy, expanded */
  hn_arena arena;           /* for the time of the export */
  const char **names;       /* by value id; NULL: the value's own */
  hn_table taken;           /* names of outputs, and names made here */
  hn_table domains;         /* -> int64_t: the version to import */
  const char **domain_list; /* in the order met */
  int domain_count, domain_capacity;
  hone_status worst;
} hn_exporter;

const char *hn_export_name(const hn_exporter *exporter, const hn_value *value); /* "" for NULL */

/* A TensorProto without its raw bytes, which come last in it; strings are written in full. pad: bytes (0 or 2 to 129)
 * of an empty comment in front of the raw bytes, so that readers find them aligned. */
void hn_export_tensor_head(hn_text *out, const char *name, const hone_tensor *tensor, size_t pad);
size_t hn_export_raw_bytes(const hone_tensor *tensor);                            /* 0 for strings */
void hn_export_tensor(hn_text *out, const char *name, const hone_tensor *tensor); /* with its bytes */
void hn_export_value_info(const hn_exporter *exporter, hn_text *out, const char *name, const hone_type *type);

/* All nodes of a block as fields of a graph message, then name, the first param_count parameters as inputs, and
 * outputs. Nodes that ONNX cannot say are reported in exporter->worst. */
hone_status hn_export_block(hn_exporter *exporter, hn_text *out, const char *name, const hn_block *block,
                            int param_count);

/* ---- fused nodes taken apart, so that every node has an ONNX form (expand.c) ---- */
enum { HN_EXPORT_OPSET = 21, HN_EXPORT_IR_VERSION = 10 };

/* The row by which an op is written; NULL: none covers the opset as it is. */
const hone_onnx_row *hn_export_row(const hone_op *op);
/* Puts parts, or equal operators, in the place of nodes that ONNX cannot say. Nodes that stay without a row are the
 * writer's to report. */
hone_status hn_export_expand(hone_graph *graph);

#endif
