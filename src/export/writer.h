/* SPDX-License-Identifier: Apache-2.0 */
/* writer.h - what the files of the exporter share: the names that values have in the file, and the parts of a graph
 * message. */
#ifndef HN_EXPORT_WRITER_H
#define HN_EXPORT_WRITER_H

#include "export/expand.h"
#include "export/wire.h"

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
int64_t hn_onnx_of_dtype(hone_dtype dtype);                                     /* TensorProto.DataType */

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

#endif
