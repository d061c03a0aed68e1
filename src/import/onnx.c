/* SPDX-License-Identifier: Apache-2.0 */
/* onnx.c - the tables of ONNX's messages: field numbers and kinds, as onnx.proto (ONNX 1.22) has them. Fields that do
 * not matter here (documentation, metadata, training, device hints) are not listed and thus skipped. */
#include "import/onnx.h"
#include "base/text.h"

static const hn_proto_message graph_message, type_message;

#define NAMED(of, at, how, text, member) .number = (at), .kind = (how), .name = (text), .offset = offsetof(of, member)
#define FIELD(of, at, how, member) NAMED(of, at, how, #member, member)
enum { LIMIT_NODES = 1, LIMIT_TENSORS = 2, LIMIT_PARTS = 3 }; /* 1 + index into the limits of hn_onnx_decode */

#define SPARSE(at, how, member) FIELD(hn_onnx_sparse, at, how, member)
static const hn_proto_field sparse_fields[] = {
    {SPARSE(1, HN_PROTO_MESSAGE, values), .message = &hn_onnx_tensor_message},
    {SPARSE(2, HN_PROTO_MESSAGE, indices), .message = &hn_onnx_tensor_message},
    {SPARSE(3, HN_PROTO_INTS, dims)},
};
static const hn_proto_message sparse_message = {.name = "sparse",
                                                .bytes = sizeof(hn_onnx_sparse),
                                                .limit = (LIMIT_TENSORS),
                                                .field_count = HN_COUNT(sparse_fields),
                                                .fields = sparse_fields};

#define ATTR(at, how, member) FIELD(hn_onnx_attribute, at, how, member)
static const hn_proto_field attribute_fields[] = {
    {ATTR(1, HN_PROTO_TEXT, name)},
    {ATTR(2, HN_PROTO_FLOAT, f), .given_offset = offsetof(hn_onnx_attribute, has_f)},
    {ATTR(3, HN_PROTO_INT, i), .given_offset = offsetof(hn_onnx_attribute, has_i)},
    {ATTR(4, HN_PROTO_BYTES, s), .given_offset = offsetof(hn_onnx_attribute, has_s)},
    {ATTR(5, HN_PROTO_MESSAGE, t), .message = &hn_onnx_tensor_message},
    {ATTR(6, HN_PROTO_MESSAGE, g), .message = &graph_message},
    {ATTR(7, HN_PROTO_FLOATS, floats)},
    {ATTR(8, HN_PROTO_INTS, ints)},
    {ATTR(9, HN_PROTO_BYTES_LIST, strings)},
    {ATTR(14, HN_PROTO_MESSAGE, tp), .message = &type_message},
    {ATTR(20, HN_PROTO_INT, type)},
    {ATTR(21, HN_PROTO_TEXT, ref_name)},
    {ATTR(22, HN_PROTO_MESSAGE, sparse), .message = &sparse_message},
};
static const hn_proto_message attribute_message = {.name = "attribute",
                                                   .bytes = sizeof(hn_onnx_attribute),
                                                   .limit = (LIMIT_PARTS),
                                                   .field_count = HN_COUNT(attribute_fields),
                                                   .fields = attribute_fields};

#define NODE(at, how, text, member) NAMED(hn_onnx_node, at, how, text, member)
static const hn_proto_field node_fields[] = {
    {NODE(1, HN_PROTO_TEXTS, "input", inputs)},
    {NODE(2, HN_PROTO_TEXTS, "output", outputs)},
    {NODE(3, HN_PROTO_TEXT, "name", name)},
    {NODE(4, HN_PROTO_TEXT, "op_type", op_type)},
    {NODE(5, HN_PROTO_MESSAGES, "attribute", attributes), .message = &attribute_message},
    {NODE(7, HN_PROTO_TEXT, "domain", domain)},
    {NODE(8, HN_PROTO_TEXT, "overload", overload)},
};
static const hn_proto_message node_message = {.name = "node",
                                              .bytes = sizeof(hn_onnx_node),
                                              .limit = (LIMIT_NODES),
                                              .field_count = HN_COUNT(node_fields),
                                              .fields = node_fields};

#define DIM(at, how, member) FIELD(hn_onnx_dim, at, how, member)
static const hn_proto_field dim_fields[] = {
    {DIM(1, HN_PROTO_INT, value), .given_offset = offsetof(hn_onnx_dim, has_value)},
    {DIM(2, HN_PROTO_TEXT, param)},
};
static const hn_proto_message dim_message = {.name = "dim",
                                             .bytes = sizeof(hn_onnx_dim),
                                             .limit = (LIMIT_PARTS),
                                             .field_count = HN_COUNT(dim_fields),
                                             .fields = dim_fields};

static const hn_proto_field shape_fields[] = {
    {NAMED(hn_onnx_shape, 1, HN_PROTO_MESSAGES, "dim", dims), .message = &dim_message},
};
static const hn_proto_message shape_message = {.name = "shape",
                                               .bytes = sizeof(hn_onnx_shape),
                                               .limit = (LIMIT_PARTS),
                                               .field_count = HN_COUNT(shape_fields),
                                               .fields = shape_fields};

#define TENSOR_TYPE(at, how, member) FIELD(hn_onnx_tensor_type_of, at, how, member)
static const hn_proto_field tensor_type_fields[] = {
    {TENSOR_TYPE(1, HN_PROTO_INT, elem_type)},
    {TENSOR_TYPE(2, HN_PROTO_MESSAGE, shape), .message = &shape_message},
};
static const hn_proto_message tensor_type_message = {.name = "tensor_type",
                                                     .bytes = sizeof(hn_onnx_tensor_type_of),
                                                     .limit = (LIMIT_PARTS),
                                                     .field_count = HN_COUNT(tensor_type_fields),
                                                     .fields = tensor_type_fields};

static const hn_proto_field element_of_fields[] = {
    {NAMED(hn_onnx_element_of, 1, HN_PROTO_MESSAGE, "elem_type", element), .message = &type_message},
};
static const hn_proto_message element_of_message = {.name = "element_of",
                                                    .bytes = sizeof(hn_onnx_element_of),
                                                    .limit = (LIMIT_PARTS),
                                                    .field_count = HN_COUNT(element_of_fields),
                                                    .fields = element_of_fields};

#define TYPE(at, how, text, member) NAMED(hn_onnx_type, at, how, text, member)
static const hn_proto_field type_fields[] = {
    {TYPE(1, HN_PROTO_MESSAGE, "tensor_type", tensor), .message = &tensor_type_message},
    {TYPE(4, HN_PROTO_MESSAGE, "sequence_type", sequence), .message = &element_of_message},
    {TYPE(5, HN_PROTO_BYTES, "map_type", map), .given_offset = offsetof(hn_onnx_type, has_map)},
    {TYPE(8, HN_PROTO_MESSAGE, "sparse_tensor_type", sparse), .message = &tensor_type_message},
    {TYPE(9, HN_PROTO_MESSAGE, "optional_type", optional), .message = &element_of_message},
};
static const hn_proto_message type_message = {.name = "type",
                                              .bytes = sizeof(hn_onnx_type),
                                              .limit = (LIMIT_PARTS),
                                              .field_count = HN_COUNT(type_fields),
                                              .fields = type_fields};

#define VALUE(at, how, member) FIELD(hn_onnx_value_info, at, how, member)
static const hn_proto_field value_info_fields[] = {
    {VALUE(1, HN_PROTO_TEXT, name)},
    {VALUE(2, HN_PROTO_MESSAGE, type), .message = &type_message},
};
static const hn_proto_message value_info_message = {.name = "value_info",
                                                    .bytes = sizeof(hn_onnx_value_info),
                                                    .limit = (LIMIT_PARTS),
                                                    .field_count = HN_COUNT(value_info_fields),
                                                    .fields = value_info_fields};

#define GRAPH(at, how, text, member) NAMED(hn_onnx_graph, at, how, text, member)
static const hn_proto_field graph_fields[] = {
    {GRAPH(1, HN_PROTO_MESSAGES, "node", nodes), .message = &node_message},
    {GRAPH(2, HN_PROTO_TEXT, "name", name)},
    {GRAPH(5, HN_PROTO_MESSAGES, "initializer", initializers), .message = &hn_onnx_tensor_message},
    {GRAPH(11, HN_PROTO_MESSAGES, "input", inputs), .message = &value_info_message},
    {GRAPH(12, HN_PROTO_MESSAGES, "output", outputs), .message = &value_info_message},
    {GRAPH(15, HN_PROTO_MESSAGES, "sparse_initializer", sparse_initializers), .message = &sparse_message},
};
static const hn_proto_message graph_message = {.name = "graph",
                                               .bytes = sizeof(hn_onnx_graph),
                                               .limit = (LIMIT_PARTS),
                                               .field_count = HN_COUNT(graph_fields),
                                               .fields = graph_fields};

#define OPSET(at, how, member) FIELD(hn_onnx_opset, at, how, member)
static const hn_proto_field opset_fields[] = {
    {OPSET(1, HN_PROTO_TEXT, domain)},
    {OPSET(2, HN_PROTO_INT, version)},
};
static const hn_proto_message opset_message = {.name = "opset",
                                               .bytes = sizeof(hn_onnx_opset),
                                               .limit = (LIMIT_PARTS),
                                               .field_count = HN_COUNT(opset_fields),
                                               .fields = opset_fields};

#define FUNCTION(at, how, text, member) NAMED(hn_onnx_function, at, how, text, member)
static const hn_proto_field function_fields[] = {
    {FUNCTION(1, HN_PROTO_TEXT, "name", name)},
    {FUNCTION(4, HN_PROTO_TEXTS, "input", inputs)},
    {FUNCTION(5, HN_PROTO_TEXTS, "output", outputs)},
    {FUNCTION(6, HN_PROTO_TEXTS, "attribute", attributes)},
    {FUNCTION(7, HN_PROTO_MESSAGES, "node", nodes), .message = &node_message},
    {FUNCTION(9, HN_PROTO_MESSAGES, "opset_import", opsets), .message = &opset_message},
    {FUNCTION(10, HN_PROTO_TEXT, "domain", domain)},
    {FUNCTION(11, HN_PROTO_MESSAGES, "attribute_proto", defaults), .message = &attribute_message},
    {FUNCTION(13, HN_PROTO_TEXT, "overload", overload)},
};
static const hn_proto_message function_message = {.name = "function",
                                                  .bytes = sizeof(hn_onnx_function),
                                                  .limit = (LIMIT_PARTS),
                                                  .field_count = HN_COUNT(function_fields),
                                                  .fields = function_fields};

#define MODEL(at, how, text, member) NAMED(hn_onnx_model, at, how, text, member)
static const hn_proto_field model_fields[] = {
    {MODEL(1, HN_PROTO_INT, "ir_version", ir_version)},
    {MODEL(2, HN_PROTO_TEXT, "producer_name", producer_name)},
    {MODEL(3, HN_PROTO_TEXT, "producer_version", producer_version)},
    {MODEL(7, HN_PROTO_MESSAGE, "graph", graph), .message = &graph_message},
    {MODEL(8, HN_PROTO_MESSAGES, "opset_import", opsets), .message = &opset_message},
    {MODEL(25, HN_PROTO_MESSAGES, "functions", functions), .message = &function_message},
};
static const hn_proto_message model_message = {.name = "model",
                                               .bytes = sizeof(hn_onnx_model),
                                               .limit = (0),
                                               .field_count = HN_COUNT(model_fields),
                                               .fields = model_fields};

const char *hn_onnx_domain(const char *domain) { return hn_name_equal(domain, "ai.onnx") ? "" : domain; }

int64_t hn_onnx_opset_of(const hn_proto_list *opsets, const char *domain) {
  const hn_onnx_opset *items = opsets->items;
  for (int64_t i = 0; i < opsets->count; ++i) {
    if (hn_name_equal(hn_onnx_domain(items[i].domain), domain)) return items[i].version;
  }
  return 0;
}

const hn_onnx_attribute *hn_onnx_find_attribute(const hn_proto_list *attributes, const char *name) {
  const hn_onnx_attribute *items = attributes->items;
  for (int64_t i = 0; i < attributes->count; ++i) {
    if (hn_name_equal(items[i].name, name)) return &items[i];
  }
  return NULL;
}

const hn_onnx_function *hn_onnx_find_function(const hn_onnx_model *model, const hn_onnx_node *node) {
  const hn_onnx_function *items = model->functions.items;
  for (int64_t i = 0; i < model->functions.count; ++i) {
    if (hn_name_equal(items[i].name, node->op_type) && hn_name_equal(items[i].overload, node->overload) &&
        hn_name_equal(hn_onnx_domain(items[i].domain), hn_onnx_domain(node->domain)))
      return &items[i];
  }
  return NULL;
}

hone_status hn_onnx_decode(hone_context *context, hn_arena *arena, const void *bytes, size_t count,
                           hn_onnx_model **out) {
  *out = NULL;
  const int64_t nodes = context->limits.max_nodes, tensors = context->limits.max_tensors;
  const int64_t parts = nodes > INT64_MAX / 16 ? INT64_MAX : nodes * 16; /* attributes, dims, types */
  const hn_proto_limits limits = {.text_bytes = context->limits.max_string_bytes,
                                  .counts = {{"nodes", nodes}, {"tensors", tensors}, {"parts of nodes", parts}}};
  void *model;
  HN_TRY(hn_proto_decode(&context->diag, arena, &limits, &model_message, bytes, count, &model));
  *out = model;
  return HONE_OK;
}
