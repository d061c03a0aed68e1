/* SPDX-License-Identifier: Apache-2.0 */
/* onnx.h - an ONNX model as structs, as far as hone reads it. Source: onnx.proto (ONNX 1.22, IR version 13).
 * Everything lives in the arena that hn_onnx_decode was given; tensor bytes and string attributes are views of the
 * file. */
#ifndef HN_IMPORT_ONNX_H
#define HN_IMPORT_ONNX_H

#include "base/context.h"
#include "ops/onnx_tensor.h"

struct hn_onnx_graph;

typedef struct hn_onnx_sparse { /* SparseTensorProto */
  hn_onnx_tensor *values, *indices;
  hn_proto_list dims;
} hn_onnx_sparse;

enum { /* AttributeProto.AttributeType */
       HN_ONNX_ATTR_FLOAT = 1,
       HN_ONNX_ATTR_INT = 2,
       HN_ONNX_ATTR_STRING = 3,
       HN_ONNX_ATTR_TENSOR = 4,
       HN_ONNX_ATTR_GRAPH = 5,
       HN_ONNX_ATTR_FLOATS = 6,
       HN_ONNX_ATTR_INTS = 7,
       HN_ONNX_ATTR_STRINGS = 8,
       HN_ONNX_ATTR_SPARSE = 11,
       HN_ONNX_ATTR_TYPE = 13
};

typedef struct hn_onnx_attribute {
  const char *name, *ref_name;
  int64_t type; /* 0 in files before IR version 2: deduced when decoding is done */
  int64_t i;
  float f;
  bool has_i, has_f, has_s;
  hn_proto_bytes s;
  hn_onnx_tensor *t;
  struct hn_onnx_graph *g;
  hn_onnx_sparse *sparse;
  struct hn_onnx_type *tp;
  hn_proto_list floats, ints, strings; /* float, int64_t, hn_proto_bytes */
} hn_onnx_attribute;

typedef struct hn_onnx_node {
  hn_proto_list inputs, outputs; /* const char * */
  const char *name, *op_type, *domain, *overload;
  hn_proto_list attributes;
} hn_onnx_node;

typedef struct hn_onnx_dim {
  int64_t value;
  bool has_value;
  const char *param;
} hn_onnx_dim;

typedef struct hn_onnx_shape {
  hn_proto_list dims;
} hn_onnx_shape;

typedef struct hn_onnx_tensor_type_of { /* TypeProto.Tensor and TypeProto.SparseTensor */
  int64_t elem_type;
  hn_onnx_shape *shape; /* NULL: unknown rank */
} hn_onnx_tensor_type_of;

typedef struct hn_onnx_element_of { /* TypeProto.Sequence and TypeProto.Optional */
  struct hn_onnx_type *element;
} hn_onnx_element_of;

typedef struct hn_onnx_type { /* TypeProto */
  hn_onnx_tensor_type_of *tensor, *sparse;
  hn_onnx_element_of *sequence, *optional;
  hn_proto_bytes map;
  bool has_map;
} hn_onnx_type;

typedef struct hn_onnx_value_info {
  const char *name;
  hn_onnx_type *type;
} hn_onnx_value_info;

typedef struct hn_onnx_graph {
  const char *name;
  hn_proto_list nodes, initializers, sparse_initializers, inputs, outputs;
} hn_onnx_graph;

typedef struct hn_onnx_opset {
  const char *domain;
  int64_t version;
} hn_onnx_opset;

typedef struct hn_onnx_function {
  const char *name, *domain, *overload;
  hn_proto_list inputs, outputs, attributes; /* const char * */
  hn_proto_list defaults;                    /* hn_onnx_attribute */
  hn_proto_list nodes, opsets;
} hn_onnx_function;

typedef struct hn_onnx_model {
  int64_t ir_version;
  const char *producer_name, *producer_version;
  hn_onnx_graph *graph;
  hn_proto_list opsets, functions;
} hn_onnx_model;

enum { HN_ONNX_FIRST_OPSET = 1, HN_ONNX_LAST_OPSET = 27 };

/* Errors: MALFORMED, LIMIT, NO_MEMORY. */
hone_status hn_onnx_decode(hone_context *context, hn_arena *arena, const void *bytes, size_t count,
                           hn_onnx_model **out);
/* "" and "ai.onnx" are the same domain: both give "". */
const char *hn_onnx_domain(const char *domain);
/* The version of a domain among the imports: 0 when it is not among them. */
int64_t hn_onnx_opset_of(const hn_proto_list *opsets, const char *domain);
const hn_onnx_attribute *hn_onnx_find_attribute(const hn_proto_list *attributes, const char *name);
const hn_onnx_function *hn_onnx_find_function(const hn_onnx_model *model, const hn_onnx_node *node);

#endif
