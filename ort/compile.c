/* SPDX-License-Identifier: Apache-2.0 */
/* compile.c - the runtime's sets of nodes become partitions: what hone took in ep_get_capability() comes back as a
 * graph and the node that stands for it, whose inputs and outputs are the partition's. */
#include "ep.h"
#include <stdlib.h>
#include <string.h>

static void destroy(ep_partition_state *part) {
  if (!part) return;
  ep_engines_free(part);
  ep_model_free(&part->model);
  (void)pthread_mutex_destroy(&part->lock);
  ep_arena_free(&part->arena);
  free(part);
}

void ep_release_infos(ort_ep *ep, ort_node_compute_info **infos, size_t count) {
  (void)ep;
  for (size_t i = 0; infos && i < count; ++i) destroy((ep_partition_state *)infos[i]);
}

/* The partition lives as long as the runtime's node: there is no state of its own. */
static OrtStatus *create_state(ort_node_compute_info *info, OrtNodeComputeContext *context, void **out_state) {
  (void)context;
  *out_state = info;
  return NULL;
}

static void release_state(ort_node_compute_info *info, void *state) {
  (void)info;
  (void)state;
}

static OrtStatus *create(ep_provider *provider, const ep_node *fused, ep_partition_state **out) {
  ep_partition_state *part = calloc(1, sizeof *part);
  *out = NULL;
  if (!part) return ep_fail_memory(provider->ort);
  part->table = (ort_node_compute_info){.ort_version_supported = provider->factory->version,
                                        .CreateState = create_state,
                                        .Compute = ep_compute,
                                        .ReleaseState = release_state};
  part->provider = provider;
  part->name = ep_copy_text(&part->arena, *fused->name ? fused->name : "a partition");
  if (pthread_mutex_init(&part->lock, NULL) != 0 || !part->name) {
    ep_arena_free(&part->arena);
    free(part);
    return ep_fail_memory(provider->ort);
  }
  *out = part;
  return NULL;
}

/* Of the fused node's values; they are copied, since the runtime's graph goes. */
static OrtStatus *read_ports(ep_partition_state *part, const ep_graph *graph, int count, const int *values,
                             ep_port **out) {
  const ort_calls *ort = part->provider->ort;
  *out = EP_NEW(&part->arena, ep_port, count);
  if (!*out) return ep_fail_memory(ort);
  for (int i = 0; i < count; ++i) {
    const ep_value *value = values[i] >= 0 ? &graph->values[values[i]] : NULL;
    ep_port *port = &(*out)[i];
    if (!value || ep_dtype_of(value->onnx_type) == HONE_NONE)
      return ep_fail(ort, ORT_ERROR_INVALID_GRAPH, "hone: %s: port %d has no type that is known here", part->name, i);
    *port = (ep_port){.name = ep_copy_text(&part->arena, value->name),
                      .onnx_type = value->onnx_type,
                      .dtype = ep_dtype_of(value->onnx_type),
                      .shape = {.rank = value->rank}};
    if (!port->name) return ep_fail_memory(ort);
    for (int d = 0; d < value->rank; ++d) port->shape.dim[d] = value->dims[d];
  }
  return NULL;
}

static OrtStatus *make_lists(ep_partition_state *part) {
  part->least = EP_NEW(&part->arena, hone_shape, part->in_count);
  part->most = EP_NEW(&part->arena, hone_shape, part->in_count);
  if (!part->least || !part->most) return ep_fail_memory(part->provider->ort);
  for (int i = 0; i < part->in_count; ++i)
    for (int d = 0; d < part->in[i].shape.rank; ++d) part->has_free_dims |= part->in[i].shape.dim[d] < 0;
  return NULL;
}

/* All nodes of the graph, between the fused node's ports. */
static OrtStatus *write_model(ep_partition_state *part, ep_graph *graph, const ep_node *fused) {
  const ort_calls *ort = part->provider->ort;
  int *nodes = EP_NEW(&graph->arena, int, graph->node_count);
  if (!nodes) return ep_fail_memory(ort);
  for (int n = 0; n < graph->node_count; ++n) nodes[n] = n;
  const ep_cut cut = {.nodes = nodes,
                      .node_count = graph->node_count,
                      .inputs = fused->in,
                      .input_count = fused->in_count,
                      .outputs = fused->out,
                      .output_count = fused->out_count};
  return ep_model_write(ort, graph, &cut, &part->model);
}

/* Now, or when shapes come; then the model is kept, with constants of its own. */
static OrtStatus *make_engine(ep_partition_state *part, OrtNode **out_context_node) {
  const ep_options *o = &part->provider->options;
  ep_engine *engine = NULL;
  if (part->has_free_dims && !ep_profiles_cover(part)) {
    if (o->context_enable)
      return ep_fail(
          part->provider->ort, ORT_ERROR_INVALID_ARGUMENT,
          "hone: %s: a compiled model needs profile_min_shapes, profile_opt_shapes and profile_max_shapes for "
          "its inputs with free dims",
          part->name);
    ep_log(part->provider->ort, part->provider->logger, ORT_LOG_INFO,
           "hone: %s: engines are built when shapes come, since dims are free", part->name);
    return ep_model_own(part->provider->ort, &part->model);
  }
  EP_TRY(ep_engine_prepare(part, &engine));
  ep_model_free(&part->model);
  return o->context_enable ? ep_context_write(part, engine, out_context_node) : NULL;
}

static OrtStatus *fill(ep_partition_state *part, ep_graph *graph, const ep_node *fused, OrtNode **out_context_node) {
  const ort_calls *ort = part->provider->ort;
  part->in_count = fused->in_count;
  part->out_count = fused->out_count;
  EP_TRY(read_ports(part, graph, fused->in_count, fused->in, &part->in));
  EP_TRY(read_ports(part, graph, fused->out_count, fused->out, &part->out));
  EP_TRY(make_lists(part));
  if (graph->node_count == 1 && ep_is_context_node(ort, &graph->nodes[0])) return ep_context_load(part, graph);
  EP_TRY(write_model(part, graph, fused));
  return make_engine(part, out_context_node);
}

static OrtStatus *compile(ep_provider *provider, const OrtGraph *graph, const OrtNode *fused,
                          ort_node_compute_info **out, OrtNode **out_context_node) {
  ep_partition_state *part = NULL;
  ep_graph read;
  ep_node node = {0};
  EP_TRY(ep_graph_read(provider->ort, graph, &read));
  OrtStatus *status = ep_graph_read_fused(provider->ort, &read, fused, &node);
  if (!status) status = create(provider, &node, &part);
  if (!status) status = fill(part, &read, &node, out_context_node);
  ep_graph_free(&read);
  if (status)
    destroy(part);
  else
    *out = &part->table;
  return status;
}

OrtStatus *ep_compile(ort_ep *ep, const OrtGraph **graphs, const OrtNode **fused_nodes, size_t count,
                      ort_node_compute_info **out_infos, OrtNode **out_context_nodes) {
  ep_provider *provider = (ep_provider *)ep;
  for (size_t i = 0; i < count; ++i) out_infos[i] = NULL;
  if (provider->options.context_enable && !out_context_nodes)
    return ep_fail(provider->ort, ORT_ERROR_INVALID_ARGUMENT, "hone: there is no room for the compiled model's nodes");
  for (size_t i = 0; i < count; ++i) {
    OrtNode **context_node = provider->options.context_enable ? &out_context_nodes[i] : NULL;
    OrtStatus *status = compile(provider, graphs[i], fused_nodes[i], &out_infos[i], context_node);
    if (!status) continue;
    ep_release_infos(ep, out_infos, count);
    for (size_t k = 0; k < count; ++k) out_infos[k] = NULL;
    return status;
  }
  return NULL;
}
