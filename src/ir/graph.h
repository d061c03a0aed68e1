/* SPDX-License-Identifier: Apache-2.0 */
/* graph.h - the graph: blocks of nodes over values. Logical only: ONNX's NCHW, no device, no kernel.
 *
 * Everything lives in the graph's arena; nothing is freed piecemeal. A value has one definition (a node's output, a
 * block's parameter, a graph input or a constant) and a list of uses. Nodes of a block form a list that is kept in a
 * valid order: a node stands after the nodes that make its inputs. A block's inputs from outside are explicit: its
 * parameters are bound to the owning node's inputs as the op's row says (captures last). */
#ifndef HN_IR_GRAPH_H
#define HN_IR_GRAPH_H

#include "base/context.h"
#include "base/hash.h"
#include "ops/op.h"
#include "ops/registry.h"
#include <hone/graph.h>

typedef struct hn_value hn_value;
typedef struct hn_node hn_node;
typedef struct hn_block hn_block;

/* Names of ONNX nodes that a node came from: sorted, no duplicates, shared between nodes (immutable). */
typedef struct hn_origins {
  int count;
  const char *const *names;
} hn_origins;

typedef struct hn_use {
  hn_node *node;   /* NULL: a block result */
  hn_block *block; /* of a block result, else NULL */
  int index;       /* input number, or result number */
  struct hn_use *next;
} hn_use;

struct hn_value {
  int id;           /* unique in the graph, dense; index into graph->values */
  const char *name; /* unique in the graph; made when the model gives none */
  hone_fact fact;   /* type, small integer value; fact.constant for constants (borrowed or in the arena) */
  hn_node *node;    /* producer; NULL for parameters, graph inputs and constants */
  int out_index;
  hn_block *param_of; /* block (the main block for graph inputs) whose parameter it is; else NULL */
  hn_use *uses;
  uint64_t content_hash; /* of a constant's bytes and type, 0 when not computed yet */
};

struct hn_node {
  int id; /* unique in the graph */
  const hone_op *op;
  const char *name; /* unique among nodes; used in reports, locks and logs */
  hone_attrs attrs; /* complete: defaults filled in */
  int in_count, out_count;
  hn_value **in;  /* NULL for an absent optional input */
  hn_value **out; /* NULL for an optional output that nobody asked for */
  int block_count;
  hn_block **blocks;
  hn_origins origins;
  hn_block *parts; /* what a fused node was made of: parameters are its inputs, results its outputs; else NULL */
  hn_block *owner;
  hn_node *prev, *next; /* in the owner's list */
};

struct hn_block {
  hone_graph *graph;
  hn_node *parent; /* NULL for the main block and for parts */
  int param_count, result_count;
  hn_value **params, **results;
  hn_node *first, *last;
};

struct hone_graph {
  hone_context *context;
  hn_arena arena;
  hone_dims dims;
  const char *name;
  const char *source_path;   /* of the model file, for messages; NULL when built by hand */
  hn_block *main;            /* params: graph inputs; results: graph outputs */
  const char **output_names; /* results' public names (a value may be two outputs) */
  hn_value **values;
  int value_count, value_capacity, next_node_id;
  hn_table value_names; /* name -> hn_value */
  hn_table node_names;
  struct hn_blob *mappings; /* files that constants borrow from; closed with the graph */
  int mapping_count, mapping_capacity;
  uint64_t model_hash; /* of the bytes it was read from; 0 when built by hand */
  int opset;           /* of the ai.onnx domain, for messages and export */
};

/* ---- building; every function leaves messages in graph->context->diag ---- */
hone_status hn_graph_create(hone_context *context, const char *name, hone_graph **out);
void hn_graph_destroy(hone_graph *graph);
hone_status hn_graph_clone(
    const hone_graph *graph,
    hone_graph **out); /* constants are borrowed from the original's mappings, which it shares by reference counting */
hn_block *hn_block_create(hone_graph *graph, hn_node *parent);
/* NULL when out of memory. name NULL or taken: a unique one is made from it. */
hn_value *hn_value_create(hone_graph *graph, const char *name, const hone_type *type);
hn_value *hn_block_add_param(hn_block *block, const char *name, const hone_type *type);
hone_status hn_block_add_result(hn_block *block, hn_value *value, const char *public_name);
void hn_block_set_result(hn_block *block, int index, hn_value *value);
/* A constant over bytes that outlive the graph (borrow) or are copied into the arena. */
hn_value *hn_constant_create(hone_graph *graph, const char *name, const hone_tensor *tensor, bool borrow);
hn_value *hn_constant_int(hone_graph *graph, const char *name, int rank, int64_t count,
                          const int64_t *values); /* i64 */
hn_value *hn_constant_scalar(hone_graph *graph, hone_dtype dtype, double value);

typedef struct hn_node_spec {
  const hone_op *op;
  const char *name; /* NULL: made from the op's name */
  hone_attrs attrs; /* given ones; completed and copied */
  int in_count, out_count;
  hn_value *const *in;
  const char *const *out_names; /* NULL, or entries NULL: made; "" : not wanted */
  hn_origins origins;
  hn_node *before; /* insert in front of it; NULL: at the block's end */
  int block_count; /* blocks are filled by the caller afterwards */
} hn_node_spec;
/* Checks ports and attributes, makes the outputs and infers their facts (not for nodes with blocks: the caller runs
 * hn_infer_node when the blocks are filled). On failure the graph is as before. */
hone_status hn_node_create(hn_block *block, const hn_node_spec *spec, hn_node **out);
hone_status hn_infer_node(hone_graph *graph, hn_node *node); /* facts of its outputs (and blocks) again */
hone_status hn_infer_graph(hone_graph *graph);               /* everything in order; all errors at once */

/* ---- editing; uses are kept right ---- */
void hn_node_set_input(hn_node *node, int index, hn_value *value);
hone_status hn_node_add_input(hn_node *node, hn_value *value); /* appends */
void hn_value_replace(hn_value *old, hn_value *by);            /* every use, block results included */
void hn_node_remove(hn_node *node);                            /* its outputs have no uses */
void hn_node_move_before(hn_node *node, hn_node *before);
int hn_value_use_count(const hn_value *value);
bool hn_value_is_result(const hn_value *value); /* of any block */
hone_status hn_origins_union(hone_graph *graph, const hn_origins *a, const hn_origins *b, hn_origins *out);
hone_status hn_origins_one(hone_graph *graph, const char *name, hn_origins *out);

/* The graph reads as text and back: `hn_graph_parse(hn_graph_print(g))` gives the same graph (ir/print.c, ir/parse.c).
 * graph "name" {
 *   in %x: f32[N,3,224,224]
 *   const %w: f32[2,2] = [1, 2, 3, 4]            small ones; big ones: = #9f86d081884c7d65 (hash; data from a side
 * file) %y, %z = split(%x, %s) [axis=1] @"split_node" from("Split_3") %r = if(%c, %x) @"If_1" { (%a: f32[2]) { ...
 * yield %b } (%a2: f32[2]) { ... yield %b2 } } out %y as "probabilities"
 * }
 * Absent inputs print as `_`. Types are printed after results as comments only when with_types. */
typedef struct hn_print_options {
  bool with_types, with_origins;
  int64_t constant_elements; /* print constants up to this many elements in full; default 64 */
  hn_text *constant_bytes;   /* NULL, or where the bytes of the others go, for hn_graph_parse */
} hn_print_options;
hone_status hn_graph_print(const hone_graph *graph, const hn_print_options *options, hn_text *out);
hone_status hn_graph_parse(hone_context *context, const char *text, size_t length, const void *constant_bytes,
                           size_t constant_byte_count, hone_graph **out);

/* Every structural and typing rule; INTERNAL names each broken one (ir/verify.c). */
hone_status hn_graph_verify(const hone_graph *graph);
int hn_graph_node_count(const hone_graph *graph); /* blocks' nodes included, parts not */

/* Expression notation (ir/notation.c), used by op rows' `as` and by rewrites' find and put:
 *   expr   := name ":" expr                     binds the node (or value) to a name
 *           | op "[" attr=value,... "]"? "(" args ")"   an op, or a bound node's name: a copy with changed
 * attributes/inputs | name | name "." number            a bound value, n-th output of a bound node | number a scalar
 * constant | "any" "[" trait "]" "(" args ")" args   := expr ("," expr)* | "..."          "xs..." binds the rest of a
 * variadic list name ":const" binds a constant roots  := expr | "(" expr ("," expr)+ ")" Attribute values: number,
 * "text", [list], $attribute (of the composite), name.attr (of a bound node). */
typedef enum hn_term_kind {
  HN_TERM_OP,
  HN_TERM_NAME,
  HN_TERM_NUMBER,
  HN_TERM_REST,
  HN_TERM_ELLIPSIS,
  HN_TERM_ABSENT
} hn_term_kind;
typedef struct hn_term_attr {
  const char *name;
  hone_attr value;  /* kind NONE when it is a reference */
  const char *from; /* "$axis" -> from = NULL, attr = "axis"; "c.act" -> from = "c", attr = "act" */
  const char *attr;
} hn_term_attr;
typedef struct hn_term {
  hn_term_kind kind;
  const char *name; /* bound name or NULL; for NAME and REST the name referred to or bound */
  const char *op;   /* OP: the op's name, "any", or in put a bound node's name */
  bool is_const;    /* NAME in find: must be a constant */
  int output;       /* NAME "y.1": 1 */
  double number;
  int attr_count, arg_count;
  hn_term_attr *attrs;
  struct hn_term **args;
  uint32_t trait; /* any[...] */
} hn_term;
typedef struct hn_roots {
  int count;
  hn_term **terms;
} hn_roots;
hone_status hn_notation_parse(hn_arena *arena, hone_diagnostics *diag, const char *what, const char *text,
                              hn_roots *out);

/* Builds the nodes of parsed `as`/`put` text. lookup resolves names; attrs resolves $attributes. New nodes go before
 * `before` with the given origins. results[] receives one value a root. */
typedef struct hn_binding {
  const char *name;
  hn_value *value; /* for a bound value, or a bound node's first output */
  hn_node *node;   /* for a bound node */
  int rest_count;  /* for "xs..." */
  hn_value *const *rest;
} hn_binding;
typedef struct hn_build {
  hn_block *block;
  hn_node *before;
  const hn_binding *bindings;
  int binding_count;
  const hone_attrs *attrs;
  hn_origins origins;
  const char *name; /* base of new nodes' names */
} hn_build;
hone_status hn_notation_build(const hn_build *build, const hn_roots *roots, hn_value **results);

#endif
