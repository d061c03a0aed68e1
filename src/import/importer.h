/* SPDX-License-Identifier: Apache-2.0 */
/* importer.h - what the files of the importer share: its state, scopes of names, and one node on its way. */
#ifndef HN_IMPORT_IMPORTER_H
#define HN_IMPORT_IMPORTER_H

#include "import/onnx.h"
#include "ir/graph.h"

enum { HN_IMPORT_MAX_CALLS = 64 /* functions calling functions */, HN_IMPORT_MAX_BODIES = 4 };

/* A file with tensor data; several tensors share one mapping. */
typedef struct hn_external {
  const char *name;
  const uint8_t *data; /* NULL: it could not be opened, which was said once */
  size_t bytes;
} hn_external;

typedef struct hn_importer {
  hone_context *context;
  hone_diagnostics *diag;
  hone_graph *graph;
  hn_arena arena; /* for the time of the import */
  const hn_onnx_model *model;
  const char *path; /* NULL: external data cannot be found */
  const hone_onnx_source *source;
  hn_table given; /* name -> hone_named_tensor of the source */
  hn_external *externals;
  int external_count, external_capacity;
  hn_table params;   /* dim_param -> int64_t, those that are not plain names */
  hone_status worst; /* of the problems so far */
  int64_t work;      /* nodes and calls, against the context's limit on nodes */
  int problems;      /* so far */
  int refused;       /* of them, those where a row refused the shapes: a branch may hold them */
  bool foreign;      /* the file is no model at all, which was said with its name */
  bool stopped;      /* by a limit, the deadline or the caller: no search for more problems */
  hn_value bad;      /* stands for values that a reported problem keeps from being made */
  hn_value absent;   /* stands for a function's input that the call does not give */
} hn_importer;

/* A call of a model-local function; its body is imported in place. */
typedef struct hn_import_frame {
  const struct hn_import_frame *outer; /* of the call itself; NULL in the main graph */
  const hn_onnx_function *function;
  const hn_onnx_node *node;
  const char *name;
  int depth;
} hn_import_frame;

/* The names of one graph or function body. A body's captured values are its block's parameters, found here under the
 * names they have outside. */
typedef struct hn_scope {
  const struct hn_scope *outer; /* NULL: the main graph and function bodies */
  hn_block *block;
  hn_table names; /* -> hn_value, or the importer's bad or absent */
  const hn_proto_list *opsets;
  const hn_proto_list *nodes; /* for messages */
  const hn_import_frame *frame;
} hn_scope;

/* One ONNX node on its way into the graph. Adapters change it, or make nodes of their own and fill out. */
typedef struct hn_import_call {
  hn_importer *importer;
  hn_scope *scope;
  const hn_onnx_node *node;
  const char *name, *domain;
  int64_t opset;
  const hone_op *op;
  const hone_onnx_row *row;
  int attr_count, attr_capacity, in_count, in_capacity, out_count;
  hone_attr *attrs;
  hn_value **in;
  const char **out_names; /* "": not wanted */
  hn_value **out;
  hn_origins origins;
  int body_count;
  const hn_onnx_graph *bodies[HN_IMPORT_MAX_BODIES];
  bool done; /* out is filled */
} hn_import_call;

/* ---- problems (problem.c) ---- */
/* Remembers a problem whose messages are the diagnostics from number `from` on, and puts `where` in front of the
 * first. OK when the import may go on to find more; what the caller's file is not to blame for comes back. */
hone_status hn_import_problem(hn_importer *importer, hone_status status, int from, const char *where, ...)
    HONE_PRINTF(4, 5);
int hn_import_mark(const hn_importer *importer); /* the number for `from`: messages so far */
hone_status hn_import_count_work(hn_importer *importer);

/* ---- names (scope.c) ---- */
hone_status hn_scope_init(hn_importer *importer, hn_scope *scope, const hn_scope *outer, hn_block *block);
hn_value *hn_scope_find(const hn_scope *scope, const char *name); /* NULL: no such name */
/* MALFORMED when the scope has the name already. */
hone_status hn_scope_bind(hn_importer *importer, hn_scope *scope, const char *name, hn_value *value);
/* The values that graphs inside a node take from around them, constants left out. */
typedef struct hn_captures {
  int count, capacity;
  const char **names;
  hn_value **values;
  hn_table seen;
} hn_captures;
hone_status hn_import_captures(hn_importer *importer, const hn_scope *scope, const hn_onnx_graph *graph,
                               hn_captures *captures);

/* ---- types and tensors (value.c, constant.c) ---- */
/* An undeclared type gives dtype NONE and rank -1. Free dims are symbols: of a run's input, or after_run. */
hone_status hn_import_type(hn_importer *importer, const hn_onnx_type *type, bool after_run, hone_type *out);
hone_status hn_import_constant(hn_importer *importer, const char *name, const hn_onnx_tensor *tensor, hn_value **out);
/* INVALID: what the source gives for an initializer has another type. */
hone_status hn_import_check_given(hn_importer *importer, const hn_onnx_tensor *tensor, const hone_tensor *given);
/* An initializer: from the source's tensors if it is among them, else as above. */
hone_status hn_import_initializer(hn_importer *importer, const hn_onnx_tensor *tensor, hn_value **out);
hone_status hn_import_sparse(hn_importer *importer, const char *name, const hn_onnx_sparse *sparse, hn_value **out);
/* In the importer's arena or the file. */
hone_status hn_import_tensor(hn_importer *importer, const hn_onnx_tensor *tensor, hone_tensor *out);

/* ---- attributes (attribute.c) ---- */
/* What a reference inside a function stands for; NULL: the call leaves it out. */
const hn_onnx_attribute *hn_import_resolve(const hn_import_frame *frame, const hn_onnx_attribute *attribute);
int64_t hn_onnx_attribute_type(const hn_onnx_attribute *attribute);
hone_status hn_import_attributes(hn_import_call *call); /* fills attrs, bodies and the inputs of to_input */
hone_attr *hn_import_find_attr(hn_import_call *call, const char *name);
bool hn_import_take_attr(hn_import_call *call, const char *name, hone_attr *out); /* removes it; false: not there */
hone_status hn_import_add_attr(hn_import_call *call, const hone_attr *attr);
hone_status hn_import_set_input(hn_import_call *call, int index, hn_value *value);
bool hn_import_knows_attribute(const hone_op *op, const hone_onnx_row *row, const char *name);

/* What is told of an operator that is known to come from elsewhere and is not supported (foreign.c); NULL: nothing. */
const char *hn_import_foreign(const char *domain, const char *op);

/* ---- nodes (node.c, body.c, function.c) ---- */
hone_status hn_import_node(hn_importer *importer, hn_scope *scope, const hn_onnx_node *node, int64_t index);
hone_status hn_import_nodes(hn_importer *importer, hn_scope *scope, const hn_proto_list *nodes);
hone_status hn_import_initializers(hn_importer *importer, hn_scope *scope, const hn_onnx_graph *graph);
hone_status hn_import_results(hn_importer *importer, hn_scope *scope, const hn_onnx_graph *graph);
hone_status hn_import_create(hn_import_call *call); /* the node of op, attrs and in, with its blocks; fills out */
hone_status hn_import_function(hn_import_call *call, const hn_onnx_function *function);
/* A further node for the same ONNX node, with one output. */
hone_status hn_import_make(hn_import_call *call, const char *op, int in_count, hn_value *const *in, int attr_count,
                           const hone_attr *attrs, hn_value **out);

/* What an adapter made stands for the node's first output. */
static inline hone_status hn_import_finish(hn_import_call *call, hn_value *value) {
  call->out[0] = value;
  call->done = true;
  return HONE_OK;
}

/* ---- adapters (adapt.c) ---- */
typedef struct hn_adapter {
  const char *name;
  const char *attributes; /* that it takes besides those of the row */
  hone_status (*run)(hn_import_call *call);
} hn_adapter;
hn_value *hn_contrib_input(const hn_import_call *call, int index);                      /* contrib.c; NULL: not given */
int64_t hn_contrib_take_int(hn_import_call *call, const char *name, int64_t otherwise); /* the attribute goes */
hone_status hn_contrib_refuse(hn_import_call *call, const char *what);                  /* UNSUPPORTED */
hone_status hn_contrib_want(hn_import_call *call, int count); /* MALFORMED names the first missing input */
hone_status hn_contrib_move_channels(hn_import_call *call, bool to_front, hn_value **x); /* of 4, from or to the end */
hone_status hn_import_matmul_nbits(hn_import_call *call);                                /* contrib_nbits.c */
hone_status hn_contrib_embed_layer_norm(hn_import_call *call);                           /* contrib_layers.c */
extern const hn_adapter hn_contrib_adapters[]; /* contrib.c; ends with name NULL */
extern const hn_adapter hn_contrib_attention_adapters[], hn_contrib_layer_adapters[], hn_contrib_part_adapters[],
    hn_contrib_table_adapters[];                     /* contrib_*.c */
extern const hn_adapter hn_list_adapters[];          /* lists.c */
const hn_adapter *hn_adapter_find(const char *name); /* NULL: none of that name */

#endif
