/* SPDX-License-Identifier: Apache-2.0 */
/* graph.h - the graph: blocks of nodes over values. Logical only: ONNX's NCHW, no device, no kernel.
 *
 * Everything lives in the graph's arena; nothing is freed piecemeal. A value has one definition (a node's output, a
 * block's parameter, a graph input or a constant) and a list of uses. Nodes of a block form a list that is kept in a
 * valid order: a node stands after the nodes that make its inputs. A block's inputs from outside are explicit: its
 * parameters are bound to the owning node's inputs as the op's row says (captures last). Constants belong to no block:
 * nodes of every block may use them. */
#ifndef HN_IR_GRAPH_H
#define HN_IR_GRAPH_H

#include "base/context.h"
#include "base/hash.h"
#include "ops/op.h"
#include "ops/registry.h"
#include <hone/graph.h>

typedef struct hone_value hn_value;
typedef struct hn_node hn_node;
typedef struct hn_block hn_block;
typedef struct hn_mapping hn_mapping; /* bytes that constants borrow, counted by the graphs that use them */
struct hn_blob;                       /* base/file.h */

/* Names of ONNX nodes that a node came from: sorted, no duplicates, shared between nodes (immutable). */
typedef struct hn_origins {
  int count;
  const char *const *names;
} hn_origins;

typedef struct hn_use {
  hn_node *node;              /* NULL: a block result */
  hn_block *block;            /* of a block result, else NULL */
  int index;                  /* input number, or result number */
  struct hn_use *prev, *next; /* in the value's list, oldest first */
} hn_use;

struct hone_value {
  int id;           /* unique in the graph, dense; index into graph->values */
  const char *name; /* unique in the graph; made when the model gives none */
  hone_fact fact;   /* type, small integer value; fact.constant for constants (borrowed or in the arena) */
  hn_node *node;    /* producer; NULL for parameters, graph inputs and constants */
  int out_index;
  hn_block *param_of; /* block (the main block for graph inputs) whose parameter it is; else NULL */
  hn_use *uses, *last_use;
  int use_count;
  bool refined;  /* the model or the text says more of its type than inference does: it stays when inferred again */
  bool in_arena; /* a constant whose bytes lie in the graph's arena (small ones, strings): clones copy them */
  uint64_t content_hash; /* hn_constant_hash() keeps it here; 0 when not computed yet */
};

struct hn_node {
  int id; /* unique in the graph */
  const hone_op *op;
  const char *name; /* unique among nodes; used in reports, locks and logs */
  hone_attrs attrs; /* complete: defaults filled in */
  int in_count, in_capacity, out_count;
  hn_value **in;   /* NULL for an absent optional input */
  hn_use **in_use; /* in_use[i] is this node's use of in[i]: made with the node, so that editing never allocates */
  hn_value **out;  /* NULL for an optional output that nobody asked for */
  int block_count;
  hn_block **blocks;
  hn_origins origins;
  hn_block *parts; /* what a fused node was made of: parameters are its inputs, results its outputs; else NULL */
  hn_block *owner;
  hn_node *prev, *next; /* in the owner's list */
};

/* In parts, an absent input's param has kind ABSENT, and the result of an output that nobody asked for is NULL. */
struct hn_block {
  hone_graph *graph;
  hn_node *parent; /* NULL for the main block and for parts */
  int param_count, param_capacity, result_count, result_capacity;
  hn_value **params, **results;
  hn_use **result_use;
  hn_node *first, *last;
};

struct hone_graph {
  hone_context *context;
  hn_arena arena;
  hone_dims dims;
  const char *name;
  const char *source_path;   /* of the model file, for messages; NULL when built by hand */
  hn_block *main;            /* params: graph inputs; results: graph outputs */
  const char **output_names; /* results' public names, unique (a value may be two outputs) */
  int output_name_capacity;
  hn_value **values;
  int value_count, value_capacity, next_node_id;
  hn_table value_names;                   /* name -> hn_value; NULL for a name that is free again */
  hn_table node_names;                    /* name -> hn_node; likewise */
  hn_table value_counters, node_counters; /* name -> int64_t: the last number given to a name made from it */
  hn_mapping **mappings;
  int mapping_count, mapping_capacity;
  int refusals;        /* what rows said against their inputs: a block may have to live with it */
  uint64_t model_hash; /* of the bytes it was read from; 0 when built by hand */
  const char *notes;   /* what quantising decided, JSON for the ledger, in the arena; NULL: nothing */
  const char *recipe;  /* that was attached, as text in the arena; NULL: none */
  int opset;           /* of the ai.onnx domain, for messages and export */
};

/* ---- building; every function leaves messages in graph->context->diag ---- */
hone_status hn_graph_create(hone_context *context, const char *name, hone_graph **out);
void hn_graph_destroy(hone_graph *graph);
/* Same names, ids and dim codes. Large constants are shared with the original by reference counting, not copied. */
hone_status hn_graph_clone(const hone_graph *graph, hone_graph **out);
/* The graph takes the blob (also when it fails) and closes it with the last clone that shares it. */
hone_status hn_graph_add_mapping(hone_graph *graph, struct hn_blob *blob);

/* The functions that return a pointer return NULL after NO_MEMORY was reported. Name NULL or taken: a unique one is
 * made from it ("conv", "conv_1", "conv_2", ...). */
/* For parts, with parent NULL: nodes make their own blocks. */
hn_block *hn_block_create(hone_graph *graph, hn_node *parent);
hn_value *hn_block_add_param(hn_block *block, const char *name, const hone_type *type);
/* public_name NULL: the value's name. It counts for the main block only; INVALID when it is taken. */
hone_status hn_block_add_result(hn_block *block, hn_value *value, const char *public_name);
void hn_block_set_result(hn_block *block, int index, hn_value *value);

/* A constant over bytes that outlive the graph and its clones (borrow: the caller's or a mapping's), or a copy. */
hn_value *hn_constant_create(hone_graph *graph, const char *name, const hone_tensor *tensor, bool borrow);
/* i64, rank 0 or 1 */
hn_value *hn_constant_int(hone_graph *graph, const char *name, int rank, int64_t count, const int64_t *values);
hn_value *hn_constant_scalar(hone_graph *graph, hone_dtype dtype, double value);
hone_status hn_graph_flush_subnormals(hone_graph *graph); /* f32 constants get zeros for them, of the same sign */
uint64_t hn_constant_hash(hn_value *value);               /* of type and bytes; computed on first use, never 0 */
static inline bool hn_value_is_constant(const hn_value *value) {
  return !value->node && !value->param_of && value->fact.constant;
}
/* Its node was removed: it stays in graph->values, without a name or uses. */
static inline bool hn_value_is_dead(const hn_value *value) {
  return !value->node && !value->param_of && !value->fact.constant;
}

typedef struct hn_node_spec {
  const hone_op *op;
  const char *name; /* NULL: made from the op's name */
  hone_attrs attrs; /* given ones; completed and copied */
  int in_count, out_count;
  hn_value *const *in;
  const char *const *out_names; /* NULL, or entries NULL: made; "" : not wanted */
  hn_origins origins;
  hn_node *before; /* insert in front of it; NULL: at the block's end */
  int block_count; /* empty blocks are made; the caller fills them */
} hn_node_spec;
/* Checks ports, attributes and that the inputs are visible in the block, drops absent inputs at the end, makes the
 * outputs and infers their facts. A node with blocks is inferred later: the caller adds each block's params, runs
 * hn_infer_params, adds its nodes and results, and last runs hn_infer_node. On failure the graph is as before.
 * Errors: INVALID (ports, attributes), UNSUPPORTED (a dtype the row does not take), MALFORMED (types do not fit). */
hone_status hn_node_create(hn_block *block, const hn_node_spec *spec, hn_node **out);
/* Facts of a block's params, as the op's row says. */
hone_status hn_infer_params(hone_graph *graph, hn_node *node, int block);
hone_status hn_infer_node(hone_graph *graph, hn_node *node); /* facts of its outputs (and of its blocks) again */
hone_status hn_infer_graph(hone_graph *graph);               /* everything in order; all errors at once */
/* What a model states of a node's output: an unknown rank and extents that inference knows only after running are
 * taken from said (numbers and symbols); what is known stays. MALFORMED when both know and differ; then it is as
 * before. */
hone_status hn_value_refine(hone_graph *graph, hn_value *value, const hone_type *said);

/* ---- editing; uses are kept right, nothing allocates but add_input ---- */
void hn_node_set_input(hn_node *node, int index, hn_value *value);
hone_status hn_node_add_input(hn_node *node, hn_value *value); /* appends */
void hn_value_replace(hn_value *old, hn_value *by);            /* every use, block results included */
bool hn_node_is_unused(const hn_node *node);                   /* none of its outputs has a use */
void hn_node_remove(hn_node *node); /* with blocks and parts; its outputs have no uses, their names become free */
void hn_node_move_before(hn_node *node, hn_node *before); /* within its block; before NULL: to the end */
/* A fused node gives way to its parts, which get their names back; parts of parts stay fused (ir/split.c). The node
 * must be one that can_split: with parts, all without blocks, each output made by one of them. Afterwards it is gone;
 * on failure the graph is as before. */
bool hn_node_can_split(const hn_node *node);
hone_status hn_node_split(hone_graph *graph, hn_node *node);
void hn_block_move_nodes(hn_block *from, hn_node *before); /* all of a block's nodes, in front of another's node */
/* A replacement takes the name of what it replaces. */
void hn_value_swap_names(hone_graph *graph, hn_value *a, hn_value *b);
void hn_node_swap_names(hone_graph *graph, hn_node *a, hn_node *b);
int hn_value_use_count(const hn_value *value);
bool hn_value_is_result(const hn_value *value); /* of any block */
hone_status hn_origins_union(hone_graph *graph, const hn_origins *a, const hn_origins *b, hn_origins *out);
hone_status hn_origins_one(hone_graph *graph, const char *name, hn_origins *out);

/* Every structural and typing rule; INTERNAL names each broken one (ir/verify.c). NO_MEMORY. */
hone_status hn_graph_verify(const hone_graph *graph);
int hn_graph_node_count(const hone_graph *graph); /* blocks' nodes included, parts' not */

#endif
