/* SPDX-License-Identifier: Apache-2.0 */
/* capability.c - which nodes of a session's graph hone takes: those that it runs by kernels, in convex sets that are
 * large enough. What it leaves, and why, is in the log. */
#include "ep.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ROUNDS = 200 }; /* of asking hone; each leaves out nodes that the one before refused */

typedef struct claim {
  ep_provider *provider;
  const ort_calls *ort;
  ep_graph graph;
  bool *asked;                   /* nodes that the present question is about */
  const char **reasons;          /* why a node is left; NULL: it is not */
  int *nodes, *inputs, *outputs; /* of the question */
  ep_cut cut;
  int refused; /* in the present round */
  char hash[33];
  bool from_cache;
} claim;

static void leave(claim *c, int node, const char *reason) {
  if (c->reasons[node]) return;
  c->asked[node] = false;
  c->reasons[node] = reason;
}

/* ---- what can be asked about ---- */

static const char *value_problem(const ep_graph *g, int v) {
  return v >= 0 && ep_dtype_of(g->values[v].onnx_type) == HONE_NONE ? "an element type that is left to the runtime"
                                                                    : NULL;
}

static const char *node_problem(const ort_calls *ort, const ep_graph *g, int number) {
  const ep_node *node = &g->nodes[number];
  const char *problem = node->body_count > 0 ? "bodies of branches and loops are left to the runtime" : NULL;
  for (int i = 0; i < node->in_count && !problem; ++i) problem = value_problem(g, node->in[i]);
  for (int i = 0; i < node->out_count && !problem; ++i) problem = value_problem(g, node->out[i]);
  if (!problem && !ep_node_is_writable(ort, g, number)) problem = "an attribute that is left to the runtime";
  return problem;
}

static bool is_made_inside(const claim *c, const ep_value *value) {
  return value->producer >= 0 && c->asked[value->producer];
}

/* The inputs of what is asked about. An input of unknown rank: its readers are left, and it is to be done again. */
static bool find_inputs(claim *c, bool *seen) {
  const ep_graph *g = &c->graph;
  bool whole = true;
  c->cut.input_count = 0;
  memset(seen, 0, (size_t)g->value_count * sizeof *seen);
  for (int n = 0; n < g->node_count; ++n) {
    const ep_node *node = &g->nodes[n];
    for (int i = 0; i < node->in_count && c->asked[n]; ++i) {
      const int v = node->in[i];
      if (v < 0 || g->values[v].constant || is_made_inside(c, &g->values[v])) continue;
      if (g->values[v].rank < 0) {
        leave(c, n, "it reads a tensor of unknown rank");
        whole = false;
      } else if (!seen[v]) {
        seen[v] = true;
        c->inputs[c->cut.input_count++] = v;
      }
    }
  }
  return whole;
}

static void find_outputs(claim *c, bool *seen) {
  const ep_graph *g = &c->graph;
  c->cut.output_count = c->cut.node_count = 0;
  for (int v = 0; v < g->value_count; ++v) seen[v] = g->values[v].is_output;
  for (int n = 0; n < g->node_count; ++n) {
    const ep_node *node = &g->nodes[n];
    for (int i = 0; i < node->in_count + node->implicit_count && !c->asked[n]; ++i)
      if (node->in[i] >= 0) seen[node->in[i]] = true;
    if (c->asked[n]) c->nodes[c->cut.node_count++] = n;
  }
  for (int v = 0; v < g->value_count; ++v)
    if (seen[v] && is_made_inside(c, &g->values[v])) c->outputs[c->cut.output_count++] = v;
}

/* ---- asking ---- */

/* Names are "NUMBER:NAME". */
static void on_support(void *user, const char *name, hone_support support, const char *reason) {
  claim *c = user;
  char *end;
  const long node = strtol(name, &end, 10);
  if (end == name || *end != ':' || node < 0 || node >= c->graph.node_count || !c->asked[node]) return;
  const char *kept =
      support == HONE_SUPPORT_REFERENCE ? "no kernel for these types" : ep_copy_text(&c->graph.arena, reason);
  c->reasons[node] = kept && *kept ? kept : "refused";
  ++c->refused;
}

static void drop_refused(claim *c) {
  for (int n = 0; n < c->graph.node_count; ++n)
    if (c->reasons[n]) c->asked[n] = false;
}

/* For free dims without a profile: what a layer takes is not known, so sizes are tried. */
static int guess_shapes(const claim *c, int64_t size, hone_profile_shape *out) {
  int count = 0;
  for (int i = 0; i < c->cut.input_count; ++i) {
    const ep_value *value = &c->graph.values[c->inputs[i]];
    hone_profile_shape *shape = &out[count];
    *shape = (hone_profile_shape){.input = value->name};
    shape->opt.rank = value->rank;
    bool is_free = false;
    for (int d = 0; d < value->rank; ++d) {
      is_free |= value->dims[d] < 0;
      shape->opt.dim[d] = value->dims[d] >= 0 ? value->dims[d] : d == 0 ? 1 : size;
    }
    const ep_profile *given = is_free ? ep_profile_find(&c->provider->options, value->name, 0) : NULL;
    if (given && given->opt.rank == value->rank) shape->opt = given->opt;
    shape->min = shape->max = shape->opt;
    count += is_free;
  }
  return count;
}

/* Larger constants count by their types alone: what runs does not hang on their values. */
static void hash_question(claim *c, const ep_model *model) {
  const ep_provider *p = c->provider;
  ep_bytes salt = {0};
  ep_bytes_printf(&salt, "%s; %s; ", p->compatibility, p->options.device);
  ep_bytes_add(&salt, p->options.profile_opt, strlen(p->options.profile_opt) + 1);
  ep_model_hash(model, false, salt.failed ? "" : (const char *)salt.data, c->hash);
  free(salt.data);
}

/* What hone says of the model: in c->reasons. */
static hone_status ask_hone(claim *c, const ep_model *model, hone_profile_shape *shapes) {
  static const int64_t sizes[] = {64, 320, 1};
  hone_context *context = c->provider->context;
  hone_status status = HONE_INVALID;
  const hone_onnx_source source = {.struct_size = sizeof source,
                                   .bytes = model->bytes.data,
                                   .count = model->bytes.count,
                                   .tensors = model->tensors,
                                   .tensor_count = model->tensor_count};
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0] && status == HONE_INVALID && c->refused == 0; ++i) {
    hone_context_clear_messages(context);
    const int count = guess_shapes(c, sizes[i], shapes);
    status = hone_onnx_support(context, &source, shapes, count, on_support, c);
    if (count == 0) break;
  }
  return status;
}

/* One question. What hone refuses is left; c->refused = 0: the rest runs. The first one's answer may be in the cache,
 * with all that followed. */
static OrtStatus *ask(claim *c, hone_profile_shape *shapes, bool is_first) {
  ep_provider *p = c->provider;
  ep_model model;
  OrtStatus *out = NULL;
  EP_TRY(ep_model_write(c->ort, &c->graph, &c->cut, &model));
  c->refused = 0;
  if (is_first) {
    hash_question(c, &model);
    c->from_cache = ep_claims_load(p, c->hash, &c->graph.arena, c->graph.node_count, c->reasons);
  }
  if (!c->from_cache) {
    const hone_status status = ask_hone(c, &model, shapes);
    if (c->refused == 0 && (status == HONE_UNSUPPORTED || status == HONE_MALFORMED))
      out = ep_fail_context(p, status, "the graph cannot be read");
    else if (status == HONE_NO_MEMORY)
      out = ep_fail_memory(c->ort);
    else if (status == HONE_INVALID)
      ep_log(c->ort, p->logger, ORT_LOG_INFO, "hone: which layers have kernels is not known before shapes are: %s",
             hone_context_message(p->context, 0, NULL));
  }
  ep_model_free(&model);
  return out;
}

static OrtStatus *ask_all(claim *c) {
  ep_graph *g = &c->graph;
  bool *seen = EP_NEW(&g->arena, bool, g->value_count);
  hone_profile_shape *shapes = EP_NEW(&g->arena, hone_profile_shape, g->value_count);
  if (!seen || !shapes) return ep_fail_memory(c->ort);
  for (int round = 0; round < MOST_ROUNDS; ++round) {
    while (!find_inputs(c, seen)) {
    }
    find_outputs(c, seen);
    if (c->cut.output_count == 0) return NULL;
    EP_TRY(ask(c, shapes, round == 0));
    drop_refused(c);
    if (c->refused > 0) continue;
    if (!c->from_cache) ep_claims_save(c->provider, c->hash, g->node_count, c->reasons);
    return NULL;
  }
  for (int n = 0; n < g->node_count; ++n) leave(c, n, "it is not known whether it runs");
  return NULL;
}

/* ---- claiming ---- */

static int list_edges(const ep_graph *g, int *from, int *to) {
  int count = 0;
  for (int n = 0; n < g->node_count; ++n)
    for (int i = 0; i < g->nodes[n].in_count + g->nodes[n].implicit_count; ++i) {
      const int v = g->nodes[n].in[i];
      if (v < 0 || g->values[v].producer < 0) continue;
      from[count] = g->values[v].producer;
      to[count++] = n;
    }
  return count;
}

static OrtStatus *claim_set(claim *c, OrtEpGraphSupportInfo *info, const int *group, int set, int *out_count) {
  const ep_graph *g = &c->graph;
  const ort_fusion_options options = {.ort_version_supported = c->provider->factory->version,
                                      .drop_constant_initializers = true};
  const OrtNode **nodes = EP_NEW(&c->graph.arena, const OrtNode *, g->node_count);
  size_t count = 0;
  if (!nodes) return ep_fail_memory(c->ort);
  for (int n = 0; n < g->node_count; ++n)
    if (group[n] == set) nodes[count++] = g->nodes[n].node;
  *out_count = (int)count;
  if ((int)count < c->provider->options.min_nodes) {
    for (int n = 0; n < g->node_count; ++n)
      if (group[n] == set) leave(c, n, "a set smaller than min_nodes");
    *out_count = 0;
    return NULL;
  }
  return c->ort->EpGraphSupportInfo_AddNodesToFuse(info, nodes, count, &options);
}

/* A line for each operator and reason. */
static void log_left(claim *c) {
  const ep_graph *g = &c->graph;
  for (int n = 0; n < g->node_count; ++n) {
    int count = 0;
    if (!c->reasons[n]) continue;
    for (int k = 0; k < g->node_count; ++k) {
      const bool same =
          c->reasons[k] && !strcmp(g->nodes[k].op, g->nodes[n].op) && !strcmp(c->reasons[k], c->reasons[n]);
      if (same && k < n) break; /* told before */
      count += same;
    }
    if (count > 0)
      ep_log(c->ort, c->provider->logger, ORT_LOG_INFO, "hone: left to the runtime: %d %s, first \"%s\": %s", count,
             g->nodes[n].op, g->nodes[n].name, c->reasons[n]);
  }
}

static OrtStatus *claim_sets(claim *c, OrtEpGraphSupportInfo *info) {
  ep_graph *g = &c->graph;
  int most = 0, claimed = 0, sets = 0;
  for (int n = 0; n < g->node_count; ++n) most += g->nodes[n].in_count + g->nodes[n].implicit_count;
  int *from = EP_NEW(&g->arena, int, most), *to = EP_NEW(&g->arena, int, most);
  int *group = EP_NEW(&g->arena, int, g->node_count);
  if (!from || !to || !group) return ep_fail_memory(c->ort);
  const int count = ep_partition(g->node_count, c->asked, list_edges(g, from, to), from, to, group);
  if (count < 0) return ep_fail_memory(c->ort);
  for (int set = 0; set < count; ++set) {
    int nodes = 0;
    EP_TRY(claim_set(c, info, group, set, &nodes));
    claimed += nodes;
    sets += nodes > 0;
  }
  c->provider->has_claimed |= claimed > 0;
  ep_log(c->ort, c->provider->logger, claimed < g->node_count ? ORT_LOG_WARNING : ORT_LOG_INFO,
         "hone: %d of %d nodes run on " EP_NAME ", in %d partition%s%s", claimed, g->node_count, sets,
         sets == 1 ? "" : "s", claimed < g->node_count ? "; log severity 1 tells why the others do not" : "");
  log_left(c);
  return NULL;
}

/* Nodes that hold engines of ours are taken, each for itself. */
static OrtStatus *claim_contexts(claim *c, OrtEpGraphSupportInfo *info, int *out_count) {
  const ort_fusion_options options = {.ort_version_supported = c->provider->factory->version,
                                      .drop_constant_initializers = true};
  *out_count = 0;
  for (int n = 0; n < c->graph.node_count; ++n) {
    if (!ep_is_context_node(c->ort, &c->graph.nodes[n])) continue;
    EP_TRY(c->ort->EpGraphSupportInfo_AddNodesToFuse(info, &c->graph.nodes[n].node, 1, &options));
    ++*out_count;
  }
  return NULL;
}

static OrtStatus *claim_graph(claim *c, OrtEpGraphSupportInfo *info) {
  ep_graph *g = &c->graph;
  int contexts = 0;
  EP_TRY(claim_contexts(c, info, &contexts));
  if (contexts > 0) return NULL;
  c->asked = EP_NEW(&g->arena, bool, g->node_count);
  c->reasons = EP_NEW(&g->arena, const char *, g->node_count);
  c->nodes = EP_NEW(&g->arena, int, g->node_count);
  c->inputs = EP_NEW(&g->arena, int, g->value_count);
  c->outputs = EP_NEW(&g->arena, int, g->value_count);
  if (!c->asked || !c->reasons || !c->nodes || !c->inputs || !c->outputs) return ep_fail_memory(c->ort);
  c->cut = (ep_cut){.nodes = c->nodes, .inputs = c->inputs, .outputs = c->outputs, .number_names = true};
  for (int n = 0; n < g->node_count; ++n) {
    const char *problem = node_problem(c->ort, g, n);
    c->asked[n] = !problem;
    c->reasons[n] = problem;
  }
  EP_TRY(ask_all(c));
  return claim_sets(c, info);
}

/* Bodies of branches and loops. Version 23 names no parent: values from around a body tell, and as a body may have
 * none, one graph of a session is all that is taken there, since it gives those of two graphs the same names. */
static OrtStatus *is_body(const claim *c, bool *out) {
  const OrtNode *parent = NULL;
  EP_TRY(c->ort->Graph_GetParentNode(c->graph.graph, &parent));
  *out = parent || c->graph.captures || (c->provider->factory->version < 24 && c->provider->has_claimed);
  return NULL;
}

OrtStatus *ep_get_capability(ort_ep *ep, const OrtGraph *graph, OrtEpGraphSupportInfo *info) {
  ep_provider *provider = (ep_provider *)ep;
  claim c = {.provider = provider, .ort = provider->ort};
  bool body = false;
  EP_TRY(ep_graph_read(c.ort, graph, &c.graph));
  pthread_mutex_lock(&provider->building);
  OrtStatus *status = is_body(&c, &body);
  if (!status && !body && c.graph.node_count > 0) status = claim_graph(&c, info);
  pthread_mutex_unlock(&provider->building);
  ep_graph_free(&c.graph);
  return status;
}
