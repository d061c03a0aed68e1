/* SPDX-License-Identifier: Apache-2.0 */
/* read.c - the bytes of an ONNX model as lists of nodes, tensors and values that keep their own bytes. */
#include "edit/model.h"
#include <string.h>

/* ---- one message's fields, as they stand ---- */

enum { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

static bool varint(const uint8_t **at, const uint8_t *end, uint64_t *out) {
  *out = 0;
  for (unsigned shift = 0; shift < 64 && *at < end; shift += 7) {
    const uint8_t byte = *(*at)++;
    *out |= (uint64_t)(byte & 0x7f) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

bool hn_edit_next(hn_proto_bytes message, const uint8_t **at, hn_edit_field *out) {
  const uint8_t *p = *at ? *at : message.data, *end = message.data + message.length;
  uint64_t tag, number;
  if (!p || p >= end) return false;
  *out = (hn_edit_field){.begin = p};
  if (!varint(&p, end, &tag)) return false;
  out->number = (uint32_t)(tag >> 3);
  const unsigned wire = tag & 7;
  if (wire == WIRE_VARINT) {
    if (!varint(&p, end, &number)) return false;
  } else if (wire == WIRE_BYTES) {
    if (!varint(&p, end, &number) || number > (uint64_t)(end - p)) return false;
    out->payload = (hn_proto_bytes){p, (size_t)number};
    p += number;
  } else {
    const size_t bytes = wire == WIRE_FIXED64 ? 8 : wire == WIRE_FIXED32 ? 4 : SIZE_MAX;
    if (bytes > (size_t)(end - p)) return false;
    p += bytes;
  }
  out->end = *at = p;
  return true;
}

/* ---- what of them has a place of its own ---- */

typedef struct raw_model {
  hn_proto_bytes graph;
} raw_model;
typedef struct raw_graph {
  hn_proto_list nodes, tensors, inputs, outputs, infos; /* hn_proto_bytes */
} raw_graph;
typedef struct raw_node {
  const char *name, *op, *domain;
  hn_proto_list in, out; /* const char * */
  hn_proto_list attrs;   /* hn_proto_bytes */
} raw_node;
typedef struct raw_attr {
  const char *name;
  hn_proto_bytes graph;
} raw_attr;
typedef struct raw_named {
  const char *name;
  hn_proto_bytes type;
} raw_named;

#define FIELD(of, at, how, text, member) .number = (at), .kind = (how), .name = (text), .offset = offsetof(of, member)
static const hn_proto_field model_fields[] = {{FIELD(raw_model, HN_MODEL_GRAPH, HN_PROTO_BYTES, "graph", graph)}};
static const hn_proto_field graph_fields[] = {
    {FIELD(raw_graph, HN_GRAPH_NODE, HN_PROTO_BYTES_LIST, "node", nodes)},
    {FIELD(raw_graph, HN_GRAPH_TENSOR, HN_PROTO_BYTES_LIST, "initializer", tensors)},
    {FIELD(raw_graph, HN_GRAPH_INPUT, HN_PROTO_BYTES_LIST, "input", inputs)},
    {FIELD(raw_graph, HN_GRAPH_OUTPUT, HN_PROTO_BYTES_LIST, "output", outputs)},
    {FIELD(raw_graph, HN_GRAPH_INFO, HN_PROTO_BYTES_LIST, "value_info", infos)},
};
static const hn_proto_field node_fields[] = {
    {FIELD(raw_node, HN_NODE_INPUT, HN_PROTO_TEXTS, "input", in)},
    {FIELD(raw_node, HN_NODE_OUTPUT, HN_PROTO_TEXTS, "output", out)},
    {FIELD(raw_node, HN_NODE_NAME, HN_PROTO_TEXT, "name", name)},
    {FIELD(raw_node, HN_NODE_OP, HN_PROTO_TEXT, "op_type", op)},
    {FIELD(raw_node, HN_NODE_ATTR, HN_PROTO_BYTES_LIST, "attribute", attrs)},
    {FIELD(raw_node, HN_NODE_DOMAIN, HN_PROTO_TEXT, "domain", domain)},
};
static const hn_proto_field attr_fields[] = {
    {FIELD(raw_attr, 1, HN_PROTO_TEXT, "name", name)},
    {FIELD(raw_attr, HN_ATTR_GRAPH, HN_PROTO_BYTES, "g", graph)},
};
static const hn_proto_field value_fields[] = {
    {FIELD(raw_named, HN_VALUE_NAME, HN_PROTO_TEXT, "name", name)},
    {FIELD(raw_named, HN_VALUE_TYPE, HN_PROTO_BYTES, "type", type)},
};
static const hn_proto_field tensor_fields[] = {{FIELD(raw_named, HN_TENSOR_NAME, HN_PROTO_TEXT, "name", name)}};
static const hn_proto_message model_message = {.name = ("model"),
                                               .bytes = sizeof(raw_model),
                                               .field_count = HN_COUNT(model_fields),
                                               .fields = (model_fields)},
                              graph_message = {.name = ("graph"),
                                               .bytes = sizeof(raw_graph),
                                               .field_count = HN_COUNT(graph_fields),
                                               .fields = (graph_fields)},
                              node_message = {.name = ("node"),
                                              .bytes = sizeof(raw_node),
                                              .field_count = HN_COUNT(node_fields),
                                              .fields = (node_fields)},
                              attr_message = {.name = ("attribute"),
                                              .bytes = sizeof(raw_attr),
                                              .field_count = HN_COUNT(attr_fields),
                                              .fields = (attr_fields)},
                              value_message = {.name = ("value_info"),
                                               .bytes = sizeof(raw_named),
                                               .field_count = HN_COUNT(value_fields),
                                               .fields = (value_fields)},
                              tensor_message = {.name = ("initializer"),
                                                .bytes = sizeof(raw_named),
                                                .field_count = HN_COUNT(tensor_fields),
                                                .fields = (tensor_fields)};

static hone_status decode(hone_model *model, const hn_proto_message *message, hn_proto_bytes bytes, void *out) {
  const hn_proto_limits limits = {.text_bytes = model->context->limits.max_string_bytes};
  return hn_proto_decode(&model->context->diag, &model->arena, &limits, message, bytes.data, bytes.length, out);
}

/* ---- lists ---- */

static hone_status read_graph(hone_model *model, hn_proto_bytes raw, int depth, hn_edit_graph *out);

static hone_status read_attr(hone_model *model, hn_proto_bytes raw, int depth, hn_edit_attr *out) {
  raw_attr *attr;
  HN_TRY(decode(model, &attr_message, raw, &attr));
  *out = (hn_edit_attr){.name = attr->name, .raw = raw};
  if (!attr->graph.data) return HONE_OK;
  out->body = HN_NEW(&model->arena, hn_edit_graph, 1);
  return out->body ? read_graph(model, attr->graph, depth + 1, out->body) : HN_FAIL_MEMORY(&model->context->diag);
}

static hone_status read_node(hone_model *model, hn_proto_bytes raw, int depth, hn_edit_node *out) {
  raw_node *node;
  HN_TRY(decode(model, &node_message, raw, &node));
  *out = (hn_edit_node){.name = node->name,
                        .op = node->op,
                        .domain = strcmp(node->domain, "ai.onnx") == 0 ? "" : node->domain,
                        .raw = raw,
                        .in_count = (int)node->in.count,
                        .out_count = (int)node->out.count,
                        .attr_count = (int)node->attrs.count,
                        .in = node->in.items,
                        .out = node->out.items};
  out->attrs = HN_NEW(&model->arena, hn_edit_attr, out->attr_count + 1);
  if (!out->attrs) return HN_FAIL_MEMORY(&model->context->diag);
  const hn_proto_bytes *attrs = node->attrs.items;
  for (int i = 0; i < out->attr_count; ++i) HN_TRY(read_attr(model, attrs[i], depth, &out->attrs[i]));
  return HONE_OK;
}

static hone_status read_values(hone_model *model, const hn_proto_list *list, hn_edit_values *out) {
  const hn_proto_bytes *raw = list->items;
  for (int64_t i = 0; i < list->count; ++i) {
    raw_named *named;
    HN_TRY(decode(model, &value_message, raw[i], &named));
    const hn_edit_value value = {.name = named->name, .raw = raw[i], .type = named->type};
    if (!hn_edit_push_value(model, out, &value)) return HN_FAIL_MEMORY(&model->context->diag);
  }
  return HONE_OK;
}

static hone_status read_graph(hone_model *model, hn_proto_bytes raw, int depth, hn_edit_graph *out) {
  raw_graph *graph;
  *out = (hn_edit_graph){.raw = raw};
  if (depth > HN_PROTO_MAX_DEPTH / 4)
    return HN_FAIL(&model->context->diag, HONE_LIMIT, "bodies of nodes lie more than %d deep", HN_PROTO_MAX_DEPTH / 4);
  HN_TRY(decode(model, &graph_message, raw, &graph));
  if (graph->nodes.count > model->context->limits.max_nodes || graph->tensors.count > INT32_MAX)
    return HN_FAIL(&model->context->diag, HONE_LIMIT, "%lld nodes; allowed: 0 to %lld", (long long)graph->nodes.count,
                   (long long)model->context->limits.max_nodes);
  hn_edit_node *nodes = HN_NEW(&model->arena, hn_edit_node, graph->nodes.count + 1);
  out->tensors = HN_NEW(&model->arena, hn_edit_tensor, graph->tensors.count + 1);
  if (!nodes || !out->tensors) return HN_FAIL_MEMORY(&model->context->diag);
  const hn_proto_bytes *raw_nodes = graph->nodes.items, *raw_tensors = graph->tensors.items;
  for (int i = 0; i < (int)graph->nodes.count; ++i) {
    HN_TRY_NOTE(&model->context->diag, read_node(model, raw_nodes[i], depth, &nodes[i]), "in node %d", i);
    if (!hn_edit_push_node(model, out, i, &nodes[i])) return HN_FAIL_MEMORY(&model->context->diag);
  }
  for (int64_t i = 0; i < graph->tensors.count; ++i) {
    raw_named *named;
    HN_TRY(decode(model, &tensor_message, raw_tensors[i], &named));
    out->tensors[i] = (hn_edit_tensor){.name = named->name, .raw = raw_tensors[i]};
  }
  out->tensor_count = out->tensor_capacity = (int)graph->tensors.count;
  HN_TRY(read_values(model, &graph->inputs, &out->inputs));
  HN_TRY(read_values(model, &graph->outputs, &out->outputs));
  return read_values(model, &graph->infos, &out->infos);
}

hone_status hn_edit_read(hone_model *model) {
  raw_model *top;
  HN_TRY(decode(model, &model_message, model->raw, &top));
  if (!top->graph.data) return HN_FAIL(&model->context->diag, HONE_MALFORMED, "the model has no graph");
  return read_graph(model, top->graph, 0, &model->graph);
}
