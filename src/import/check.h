/* SPDX-License-Identifier: Apache-2.0 */
/* check.h - what of an ONNX model is supported, without building its graph: one row for each operator as the model
 * uses it. Functions of the model are looked into; nodes of graphs inside nodes count too. */
#ifndef HN_IMPORT_CHECK_H
#define HN_IMPORT_CHECK_H

#include "base/context.h"

typedef struct hn_check_row {
  const char *op, *domain; /* "ai.onnx" for the standard domain */
  int64_t opset;           /* the version that the model imports; 0: none */
  int64_t count;           /* nodes */
  bool supported;          /* operator and attributes; types and shapes are checked by importing */
  const char *reason;      /* "" when supported */
  const char *example;     /* the first such node's name, or "Op_index" */
} hn_check_row;

typedef struct hn_check {
  hn_arena arena; /* holds all that follows */
  int64_t ir_version, opset;
  const char *producer; /* name and version; "" when not given */
  const char *graph_name;
  int64_t node_count, unsupported_nodes, initializer_count, input_count, output_count, function_count;
  int row_count, row_capacity;
  hn_check_row *rows; /* sorted: unsupported ones first, then by domain and name */
} hn_check;

/* OK also when something is unsupported. Errors: IO, MALFORMED, LIMIT, NO_MEMORY; then *out is empty. */
hone_status hn_check_onnx(hone_context *context, const char *path, hn_check *out);
void hn_check_deinit(hn_check *check); /* an empty one is fine */

#endif
