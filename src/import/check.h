/* SPDX-License-Identifier: Apache-2.0 */
/* check.h - what of an ONNX model is supported: one row for each operator as the model uses it. Functions of the model
 * are looked into; nodes of graphs inside nodes count too. The model is imported as for a build, so that the answer is
 * the build's. */
#ifndef HN_IMPORT_CHECK_H
#define HN_IMPORT_CHECK_H

#include "base/file.h"
#include "base/hash.h"
#include "ir/graph.h"

typedef struct hn_check_row {
  const char *op, *domain; /* "ai.onnx" for the standard domain */
  int64_t opset;           /* the version that the model imports; 0: none */
  int64_t count;           /* nodes */
  int64_t slow_count;      /* nodes of it that have no kernel but the reference; hn_check_slow() counts them */
  double slow_ns;          /* what they take there, an estimate */
  bool supported;          /* as far as is known: the operator, its attributes, and what importing said of them */
  const char *reason;      /* "" when supported */
  const char *example;     /* the first such node's name, or "Op_index" */
} hn_check_row;

typedef struct hn_check {
  hn_arena arena; /* holds all that follows */
  int64_t ir_version, opset;
  const char *producer; /* name and version; "" when not given */
  const char *graph_name;
  int64_t node_count, unsupported_nodes, initializer_count, input_count, output_count, function_count;
  hone_status status; /* of importing; its messages are in the context, unless rows tell the same */
  hone_graph *graph;  /* NULL: it could not be imported */
  hn_blob file;       /* which the graph borrows from */
  hn_table places;    /* node's name -> int: its row */
  int row_count, row_capacity;
  hn_check_row *rows; /* after hn_check_sort(): unsupported ones first, then by domain and name */
} hn_check;

/* OK also when something is unsupported, or importing failed. Errors: IO, MALFORMED, LIMIT, NO_MEMORY; then *out is
 * empty. */
hone_status hn_check_onnx(hone_context *context, const char *path, hn_check *out);
/* Makes rows of the messages from number `from` on, which name nodes as the importer and the tuner do; what no row can
 * tell stays a message. */
/* The node that a message of the importer or of a build begins with: its name, in out, and what is said of it after
 * that, up to the first line's end (*out_length). NULL: it names none. */
const char *hn_check_node_of(const char *text, char *out, size_t room, int *out_length);
void hn_check_blame(hn_check *check, hone_context *context, int from);
/* The rows in the order to be read, when all is known: then no more is asked of nodes' names. */
void hn_check_sort(hn_check *check);
void hn_check_slow(hn_check *check, const char *node, double ns); /* the reference alone runs it; ns: an estimate */
void hn_check_deinit(hn_check *check);                            /* an empty one is fine */

#endif
