/* SPDX-License-Identifier: Apache-2.0 */
/* model.h - an ONNX model as it is written, to be edited: nothing is interpreted beyond names, edges and types, so that
 * operators, attributes and metadata that hone does not know stay as they are. Each message keeps its own bytes, which
 * are views of the file; writing copies them without the fields that have a place of their own here.
 * Source: onnx.proto (ONNX 1.22). Everything lives in the model's arena or in the mapped file. */
#ifndef HN_EDIT_MODEL_H
#define HN_EDIT_MODEL_H

#include "base/context.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/proto.h"
#include "base/text.h"
#include <hone/edit.h>

/* Field numbers of onnx.proto that are read or written here. */
enum { HN_MODEL_GRAPH = 7, HN_MODEL_OPSET = 8 };
enum { HN_GRAPH_NODE = 1, HN_GRAPH_TENSOR = 5, HN_GRAPH_INPUT = 11, HN_GRAPH_OUTPUT = 12, HN_GRAPH_INFO = 13 };
enum { HN_NODE_INPUT = 1, HN_NODE_OUTPUT = 2, HN_NODE_NAME = 3, HN_NODE_OP = 4, HN_NODE_ATTR = 5, HN_NODE_DOMAIN = 7 };
enum { HN_ATTR_GRAPH = 6 };
enum { HN_VALUE_NAME = 1, HN_VALUE_TYPE = 2 };
enum { HN_TENSOR_NAME = 8, HN_TENSOR_RAW = 9, HN_TENSOR_EXTERNAL = 13, HN_TENSOR_LOCATION = 14 };

struct hn_edit_graph;
typedef struct hn_edit_attr {
  const char *name;
  hn_proto_bytes raw;
  struct hn_edit_graph *body; /* NULL: not a graph */
} hn_edit_attr;

typedef struct hn_edit_node {
  const char *name, *op, *domain;
  hn_proto_bytes raw; /* empty for nodes that were inserted */
  int in_count, out_count, attr_count;
  const char **in, **out; /* "": absent */
  hn_edit_attr *attrs;
} hn_edit_node;

/* An initializer. */
typedef struct hn_edit_tensor {
  const char *name;
  hn_proto_bytes raw;
} hn_edit_tensor;

/* An input, an output, or what the model says of a value inside. */
typedef struct hn_edit_value {
  const char *name;
  hn_proto_bytes raw, type; /* type: a TypeProto; empty: not said */
} hn_edit_value;

typedef struct hn_edit_values {
  int count, capacity;
  hn_edit_value *items;
} hn_edit_values;

typedef struct hn_edit_graph {
  hn_proto_bytes raw;
  int node_count, node_capacity, tensor_count, tensor_capacity;
  hn_edit_node **nodes;
  hn_edit_tensor *tensors;
  hn_edit_values inputs, outputs, infos;
} hn_edit_graph;

struct hone_model {
  hone_context *context;
  hn_arena arena;
  hn_blob file;
  const char *path;
  hn_proto_bytes raw;
  hn_edit_graph graph;
  hn_text opsets;   /* imports that edits made necessary, as fields of the model */
  bool types_known; /* types was filled since the last edit */
  hn_table types;   /* name -> hn_proto_bytes: TypeProtos of values that the model does not state */
};

/* ---- reading and writing (read.c, write.c) ---- */
hone_status hn_edit_read(hone_model *model);
/* The fields of one message: false at its end, or where it is damaged (which decoding has ruled out). */
typedef struct hn_edit_field {
  uint32_t number;
  const uint8_t *begin, *end; /* with its tag */
  hn_proto_bytes payload;     /* of fields with a length */
} hn_edit_field;
bool hn_edit_next(hn_proto_bytes message, const uint8_t **at, hn_edit_field *out);
/* The whole model; graph: another one in place of the model's. leave_external: data beside the model stays there,
 * else it becomes part of the model. LIMIT: 2 GiB, which protobuf's readers do not exceed. */
hone_status hn_edit_write(hone_model *model, const hn_edit_graph *graph, bool leave_external, hn_text *out);
void hn_edit_add_node(hn_text *out, const hn_edit_node *node); /* its fields */

/* ---- looking (find.c) ---- */
hn_edit_node *hn_edit_find_node(const hn_edit_graph *graph, const char *name);
hn_edit_node *hn_edit_producer(const hn_edit_graph *graph, const char *value);
hn_edit_value *hn_edit_find_value(const hn_edit_values *values, const char *name);
hn_edit_tensor *hn_edit_find_tensor(const hn_edit_graph *graph, const char *name);
bool hn_edit_is_value(const hn_edit_graph *graph, const char *name);
/* INVALID with the nearest name unless there is a value (or node) of that name. */
hone_status hn_edit_want_value(hone_model *model, const char *name);
hone_status hn_edit_want_node(hone_model *model, const char *name, hn_edit_node **out);
/* Calls see() for what a node reads: its inputs, then what its bodies read from outside. Absent ones are left out. */
typedef void hn_edit_see_fn(void *user, const char *value);
void hn_edit_each_read(const hn_edit_node *node, hn_edit_see_fn *see, void *user);
/* How many nodes and outputs read the value. */
int hn_edit_use_count(const hn_edit_graph *graph, const char *value);
/* Every reader of a value reads another one: inputs of nodes and of their bodies; not outputs of the graph. */
void hn_edit_redirect(hn_edit_graph *graph, const char *from, const char *to, const hn_edit_node *except);
bool hn_edit_is_constant_node(const hn_edit_node *node); /* ONNX's Constant */

/* ---- types (types.c) ---- */
hone_status hn_edit_infer_types(hone_model *model); /* once, until an edit. Errors: NO_MEMORY */
/* The TypeProto of a value, as the model says it or as hone infers it; empty: not known. Errors: NO_MEMORY. */
hone_status hn_edit_type_of(hone_model *model, const char *value, hn_proto_bytes *out);
/* "f32[1,3,N,?]" or "f32" (unknown rank); INVALID says what is expected. */
hone_status hn_edit_parse_type(hone_model *model, const char *text, hn_proto_bytes *out);

/* ---- changing (part.c, change.c, pattern.c, fold.c): INVALID names the node or value ---- */
/* Which nodes stay, and what the graph's ends are then. */
typedef struct hn_edit_part {
  const bool *keep;           /* a flag a node; Constant nodes that are read stay by themselves */
  const char *const *outputs; /* NULL: outputs that are still there, and what nobody reads any more */
  int output_count;
  const hn_edit_tensor *constants; /* values that become constants where their nodes are gone */
  int constant_count;
} hn_edit_part;
hone_status hn_edit_take_part(hone_model *model, const hn_edit_part *part, hn_edit_graph *graph);
hone_status hn_edit_extract(hone_model *model, const char *const *inputs, int input_count, const char *const *outputs,
                            int output_count);
/* The graph in front of values (behind false), or behind them: INVALID names a value that crosses the cut, too. */
hone_status hn_edit_split(hone_model *model, const char *const *values, int count, bool behind);
hone_status hn_edit_remove_node(hone_model *model, const char *name);
hone_status hn_edit_rename(hone_model *model, const char *from, const char *to);
hone_status hn_edit_set_type(hone_model *model, const char *value, const char *type);
hone_status hn_edit_add_output(hone_model *model, const char *value);
hone_status hn_edit_add_all_outputs(hone_model *model); /* whatever a node of the main graph writes */
hone_status hn_edit_drop_output(hone_model *model, const char *value);
hone_status hn_edit_add_tensor(hone_model *model, const char *name, const hone_tensor *tensor);
hone_status hn_edit_add_domain(hone_model *model, const char *domain);
hone_status hn_edit_insert(hone_model *model, hn_edit_node *node, const char *instead_of);
void hn_edit_drop_unread(hone_model *model); /* nodes that no output needs, and initializers that nobody reads */
hone_status hn_edit_fold(hone_model *model);
hone_status hn_edit_encode_tensor(hone_model *model, const char *name, const hone_tensor *tensor, hn_proto_bytes *out);
/* A name that nothing has yet: the stem, or the stem with a number. NULL: no memory. */
const char *hn_edit_new_name(hone_model *model, const char *stem);
bool hn_edit_push_node(hone_model *model, hn_edit_graph *graph, int at, hn_edit_node *node);
bool hn_edit_push_value(hone_model *model, hn_edit_values *values, const hn_edit_value *value);

/* ---- scripts (script.c, script_words.c) ---- */
/* An expression of operators, as `replace` and `insert` have it: Add(Mul(x, w), b, axis=1). */
typedef struct hn_edit_term {
  const char *op, *domain; /* NULL: a value, or in a pattern a variable */
  const char *name;        /* of the value */
  int in_count, attr_count;
  struct hn_edit_term **in;
  hn_edit_attr *attrs;
} hn_edit_term;
enum { HN_EDIT_MAX_TERMS = 64, HN_EDIT_MAX_IN = 16 };
hone_status hn_edit_replace(hone_model *model, const hn_edit_term *find, const hn_edit_term *put, int *out_count);
hone_status hn_edit_run(hone_model *model, const char *script);

#endif
