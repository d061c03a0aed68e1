/* SPDX-License-Identifier: Apache-2.0 */
/* graph.c - a graph of the runtime's, read into arrays: nodes and values with their types and constants. */
#include "ep.h"
#include <string.h>

typedef struct reader {
  const ort_calls *ort;
  ep_graph *graph;
  int most_values;
} reader;

/* is_value: of a tensor that is there, whose rank is no question. */
static OrtStatus *read_shape(const reader *r, const OrtTensorTypeAndShapeInfo *info, bool is_value, ep_value *value) {
  ep_arena *arena = &r->graph->arena;
  size_t rank = 0;
  EP_TRY(r->ort->GetTensorElementType(info, &value->onnx_type));
  EP_TRY(r->ort->GetDimensionsCount(info, &rank));
  if (rank > HONE_MAX_RANK) return NULL; /* left to the runtime: the rank stays unknown */
  /* A tensor of unknown rank says 0; before version 24 nothing tells it from a scalar, so that both are unknown. */
  const bool known = is_value                              ? true
                     : r->ort->TensorTypeAndShape_HasShape ? r->ort->TensorTypeAndShape_HasShape(info)
                                                           : rank > 0;
  if (!known) return NULL;
  value->dims = EP_NEW(arena, int64_t, rank);
  value->symbols = EP_NEW(arena, const char *, rank);
  if (!value->dims || !value->symbols) return ep_fail_memory(r->ort);
  EP_TRY(r->ort->GetDimensions(info, value->dims, rank));
  if (!is_value) EP_TRY(r->ort->GetSymbolicDimensions(info, value->symbols, rank)); /* they live as long as the info */
  for (size_t i = 0; i < rank; ++i) {
    if (value->dims[i] < 0) value->dims[i] = -1;
    if (!value->symbols[i]) value->symbols[i] = "";
  }
  value->rank = (int)rank;
  return NULL;
}

static OrtStatus *read_type(const reader *r, ep_value *value) {
  const OrtTypeInfo *type = NULL;
  const OrtTensorTypeAndShapeInfo *info = NULL;
  int kind = 0;
  EP_TRY(r->ort->GetValueInfoTypeInfo(value->info, &type));
  if (!type) return NULL;
  EP_TRY(r->ort->GetOnnxTypeFromTypeInfo(type, &kind));
  if (kind != ORT_TYPE_TENSOR) return NULL;
  EP_TRY(r->ort->CastTypeInfoToTensorInfo(type, &info));
  return info ? read_shape(r, info, false, value) : NULL;
}

static OrtStatus *read_constant(const reader *r, ep_value *value) {
  bool constant = false;
  EP_TRY(r->ort->ValueInfo_IsConstantInitializer(value->info, &constant));
  if (!constant) return NULL;
  EP_TRY(r->ort->ValueInfo_GetInitializerValue(value->info, &value->constant));
  if (!value->constant) return NULL;
  OrtTensorTypeAndShapeInfo *info = NULL;
  EP_TRY(r->ort->GetTensorTypeAndShape(value->constant, &info));
  OrtStatus *status = read_shape(r, info, true, value);
  r->ort->ReleaseTensorTypeAndShapeInfo(info);
  if (status) return status;
  if (value->rank < 0 || ep_dtype_of(value->onnx_type) == HONE_NONE) {
    value->constant = NULL;
    return NULL;
  }
  EP_TRY(r->ort->GetTensorSizeInBytes(value->constant, &value->bytes));
  return value->bytes > 0 ? r->ort->GetTensorData(value->constant, &value->data) : NULL;
}

/* The value's number; -1 for an absent one. */
static OrtStatus *read_value(reader *r, const OrtValueInfo *info, int *out) {
  ep_graph *g = r->graph;
  const char *name = NULL;
  *out = -1;
  if (!info) return NULL;
  EP_TRY(r->ort->GetValueInfoName(info, &name));
  if (!name || !*name) return NULL;
  *out = ep_names_get(&g->names, name);
  if (*out >= 0) return NULL;
  if (g->value_count >= r->most_values)
    return ep_fail(r->ort, ORT_ERROR_FAIL, "hone: the graph changed while it was read");
  ep_value *value = &g->values[g->value_count];
  *value = (ep_value){.name = name, .info = info, .rank = -1, .producer = -1};
  bool outer = false;
  EP_TRY(r->ort->ValueInfo_IsFromOuterScope(info, &outer));
  g->captures |= outer;
  EP_TRY(read_type(r, value));
  EP_TRY(read_constant(r, value));
  *out = g->value_count++;
  ep_names_put(&g->names, name, *out);
  return NULL;
}

typedef OrtStatus *(*values_fn)(const OrtNode *node, const OrtValueInfo **out, size_t count);

/* `count` values of a node as get() gives them, to numbers. */
static OrtStatus *read_values(reader *r, const OrtNode *node, values_fn get, size_t count, int *out) {
  if (count == 0) return NULL;
  const OrtValueInfo **infos = EP_NEW(&r->graph->arena, const OrtValueInfo *, count);
  if (!infos) return ep_fail_memory(r->ort);
  EP_TRY(get(node, infos, count));
  for (size_t i = 0; i < count; ++i) EP_TRY(read_value(r, infos[i], &out[i]));
  return NULL;
}

static OrtStatus *count_node(const ort_calls *ort, const OrtNode *node, size_t *in, size_t *implicit, size_t *out) {
  EP_TRY(ort->Node_GetNumInputs(node, in));
  EP_TRY(ort->Node_GetNumImplicitInputs(node, implicit));
  return ort->Node_GetNumOutputs(node, out);
}

static OrtStatus *read_node(reader *r, const OrtNode *from, int number) {
  const ort_calls *ort = r->ort;
  ep_graph *g = r->graph;
  ep_node *node = &g->nodes[number];
  size_t in = 0, implicit = 0, out = 0;
  node->node = from;
  EP_TRY(ort->Node_GetName(from, &node->name));
  EP_TRY(ort->Node_GetOperatorType(from, &node->op));
  EP_TRY(ort->Node_GetDomain(from, &node->domain));
  if (!node->name) node->name = "";
  if (!node->domain || strcmp(node->domain, "ai.onnx") == 0) node->domain = "";
  if (!node->op) return ep_fail(ort, ORT_ERROR_FAIL, "hone: node \"%s\" has no operator", node->name);
  EP_TRY(ort->Node_GetNumSubgraphs(from, &node->body_count));
  EP_TRY(count_node(ort, from, &in, &implicit, &out));
  node->in_count = (int)in;
  node->implicit_count = (int)implicit;
  node->out_count = (int)out;
  node->in = EP_NEW(&g->arena, int, in + implicit);
  node->out = EP_NEW(&g->arena, int, out);
  if (!node->in || !node->out) return ep_fail_memory(ort);
  EP_TRY(read_values(r, from, ort->Node_GetInputs, in, node->in));
  EP_TRY(read_values(r, from, ort->Node_GetImplicitInputs, implicit, node->in + in));
  for (size_t i = 0; i < in + implicit; ++i) /* before its outputs: none may be its own */
    if (node->in[i] >= 0 && g->values[node->in[i]].producer >= number)
      return ep_fail(ort, ORT_ERROR_FAIL, "hone: nodes are not in topological order");
  EP_TRY(read_values(r, from, ort->Node_GetOutputs, out, node->out));
  for (size_t i = 0; i < out; ++i)
    if (node->out[i] >= 0) g->values[node->out[i]].producer = number;
  return NULL;
}

static OrtStatus *read_opsets(const reader *r) {
  ep_graph *g = r->graph;
  size_t count = 0;
  EP_TRY(r->ort->Graph_GetNumOperatorSets(g->graph, &count));
  g->domains = EP_NEW(&g->arena, const char *, count);
  g->versions = EP_NEW(&g->arena, int64_t, count);
  if (!g->domains || !g->versions) return ep_fail_memory(r->ort);
  EP_TRY(r->ort->Graph_GetOperatorSets(g->graph, g->domains, g->versions, count));
  g->opset_count = (int)count;
  return NULL;
}

static OrtStatus *read_outputs(reader *r) {
  ep_graph *g = r->graph;
  size_t count = 0;
  EP_TRY(r->ort->Graph_GetNumOutputs(g->graph, &count));
  const OrtValueInfo **infos = EP_NEW(&g->arena, const OrtValueInfo *, count);
  if (!infos) return ep_fail_memory(r->ort);
  EP_TRY(r->ort->Graph_GetOutputs(g->graph, infos, count));
  for (size_t i = 0; i < count; ++i) {
    const char *name = NULL;
    EP_TRY(infos[i] ? r->ort->GetValueInfoName(infos[i], &name) : NULL);
    const int value = name ? ep_names_get(&g->names, name) : -1;
    if (value >= 0) g->values[value].is_output = true;
  }
  return NULL;
}

static OrtStatus *read_nodes(reader *r) {
  const ort_calls *ort = r->ort;
  ep_graph *g = r->graph;
  size_t count = 0, most = 0, in = 0, implicit = 0, out = 0;
  EP_TRY(ort->Graph_GetNumNodes(g->graph, &count));
  const OrtNode **nodes = EP_NEW(&g->arena, const OrtNode *, count);
  g->nodes = EP_NEW(&g->arena, ep_node, count);
  if (count > INT32_MAX || !nodes || !g->nodes) return ep_fail_memory(ort);
  EP_TRY(ort->Graph_GetNodes(g->graph, nodes, count));
  for (size_t i = 0; i < count; ++i) {
    EP_TRY(count_node(ort, nodes[i], &in, &implicit, &out));
    most += in + implicit + out;
  }
  if (most > INT32_MAX / 4) return ep_fail(ort, ORT_ERROR_FAIL, "hone: the graph has %zu values, too many", most);
  r->most_values = (int)most;
  g->values = EP_NEW(&g->arena, ep_value, most);
  if (!g->values || !ep_names_init(&g->names, &g->arena, (int)most)) return ep_fail_memory(ort);
  for (size_t i = 0; i < count; ++i) EP_TRY(read_node(r, nodes[i], (int)i));
  g->node_count = (int)count;
  return NULL;
}

OrtStatus *ep_graph_read(const ort_calls *ort, const OrtGraph *graph, ep_graph *out) {
  *out = (ep_graph){.graph = graph};
  reader r = {.ort = ort, .graph = out};
  OrtStatus *status = read_nodes(&r);
  if (!status) status = read_opsets(&r);
  if (!status) status = read_outputs(&r);
  if (status) ep_graph_free(out);
  return status;
}

OrtStatus *ep_graph_read_fused(const ort_calls *ort, ep_graph *graph, const OrtNode *fused, ep_node *out) {
  size_t in = 0, implicit = 0, count = 0;
  reader r = {.ort = ort, .graph = graph, .most_values = graph->value_count};
  *out = (ep_node){.node = fused, .op = "", .domain = ""};
  EP_TRY(ort->Node_GetName(fused, &out->name));
  if (!out->name) out->name = "";
  EP_TRY(count_node(ort, fused, &in, &implicit, &count));
  out->in_count = (int)in;
  out->out_count = (int)count;
  out->in = EP_NEW(&graph->arena, int, in);
  out->out = EP_NEW(&graph->arena, int, count);
  if (!out->in || !out->out) return ep_fail_memory(ort);
  EP_TRY(read_values(&r, fused, ort->Node_GetInputs, in, out->in));
  return read_values(&r, fused, ort->Node_GetOutputs, count, out->out);
}

void ep_graph_free(ep_graph *graph) {
  ep_arena_free(&graph->arena);
  *graph = (ep_graph){0};
}
