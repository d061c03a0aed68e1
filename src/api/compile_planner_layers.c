/* SPDX-License-Identifier: Apache-2.0 */
/* compile_planner_layers.c - the layers that a plan decides about, how they follow each other, and graphs and build
 * options in which each has a type of its own. */
#include "api/planner.h"
#include "base/clock.h"
#include "tensor/attrs.h"
#include "tensor/shape.h"
#include <string.h>

static bool takes_bytes(const hn_quant_node *node) { return node->why == NULL; }

static hone_status name_layer(hn_planning *p, hn_planned_layer *layer) {
  const hn_node *node = p->q.sites.nodes[layer->node].node;
  bool put = hn_table_put(&p->layer_of, node->name, layer);
  for (int i = 0; i < node->origins.count && put; ++i) put = hn_table_put(&p->layer_of, node->origins.names[i], layer);
  return put ? HONE_OK : HN_FAIL_MEMORY(&p->context->diag);
}

/* Multiply-adds of one sample: weights, times the positions of the output that each meets. */
static double macs_of(const hn_node *node, const hn_quant_layer *row) {
  const hone_shape *w = &node->in[row->weights]->fact.type.shape, *y = &node->out[0]->fact.type.shape;
  double positions = 1;
  for (int d = row->closed ? 2 : 0; d < y->rank - (row->closed ? 0 : 1); ++d)
    positions *= HONE_SYMBOLIC(y->dim[d]) ? 1 : (double)y->dim[d];
  return (double)hn_elems(w) * positions + 1;
}

static hone_status list_layers(hn_planning *p) {
  const hn_sites *sites = &p->q.sites;
  p->layers = HN_NEW(&p->arena, hn_planned_layer, sites->node_count + 1);
  if (!p->layers) return HN_FAIL_MEMORY(&p->context->diag);
  for (int i = 0; i < sites->node_count; ++i) {
    const hn_quant_node *node = &sites->nodes[i];
    if (node->node->owner != p->q.graph->main) continue;
    const hn_value *w = node->layer->weights < node->node->in_count ? node->node->in[node->layer->weights] : NULL;
    if (!w || !hn_value_is_constant(w)) continue; /* a product of two activations: it follows its neighbours */
    hn_planned_layer *layer = &p->layers[p->layer_count++];
    *layer = (hn_planned_layer){.node = i, .macs = macs_of(node->node, node->layer), .why_not_bytes = node->why};
    layer->types = 1U << HONE_PLAN_F32 | (takes_bytes(node) ? 1U << HONE_PLAN_INT8 : 0);
    for (int t = HONE_PLAN_BF16; t <= HONE_PLAN_F16; ++t)
      if (p->build.precisions & HONE_BIT(t == HONE_PLAN_BF16 ? HONE_BF16 : HONE_F16)) layer->types |= 1U << t;
    HN_TRY(name_layer(p, layer));
  }
  return HONE_OK;
}

/* ---- how layers follow each other ---- */

/* The latest layers that a value comes from. */
typedef struct makers {
  int count, items[HN_PLAN_EDGES];
} makers;

static void add_maker(makers *to, int layer) {
  int at = to->count;
  for (int i = 0; i < to->count; ++i)
    if (to->items[i] == layer) return;
  if (to->count < HN_PLAN_EDGES)
    ++to->count;
  else
    at = -1;
  for (int i = 0; at < 0 && i < to->count; ++i) /* the earliest one gives way */
    if (to->items[i] < layer) at = i;
  if (at >= 0) to->items[at] = layer;
}

static int latest(const makers *m) {
  int last = -1;
  for (int i = 0; i < m->count; ++i) last = m->items[i] > last ? m->items[i] : last;
  return last;
}

static int layer_index(const hn_planning *p, const hn_node *node) {
  for (int l = 0; l < p->layer_count; ++l)
    if (p->q.sites.nodes[p->layers[l].node].node == node) return l;
  return -1;
}

static hone_status connect(hn_planning *p) {
  const hone_graph *graph = p->q.graph;
  makers *of = HN_NEW(&p->arena, makers, graph->value_count + 1);
  p->home = HN_NEW(&p->arena, int, graph->value_count + 1);
  if (!of || !p->home) return HN_FAIL_MEMORY(&p->context->diag);
  for (int v = 0; v <= graph->value_count; ++v) p->home[v] = -1;
  for (const hn_node *node = graph->main->first; node; node = node->next) {
    makers all = {0};
    for (int i = 0; i < node->in_count; ++i)
      for (int k = 0; node->in[i] && k < of[node->in[i]->id].count; ++k) add_maker(&all, of[node->in[i]->id].items[k]);
    const int index = layer_index(p, node);
    if (index >= 0) {
      hn_planned_layer *layer = &p->layers[index];
      layer->from_count = all.count;
      for (int k = 0; k < all.count; ++k) {
        layer->from[k] = all.items[k];
        ++p->layers[all.items[k]].readers;
      }
      all = (makers){.count = 1, .items = {index}};
    }
    for (int o = 0; o < node->out_count; ++o)
      if (node->out[o]) {
        of[node->out[o]->id] = all;
        p->home[node->out[o]->id] = latest(&all);
      }
  }
  return HONE_OK;
}

hone_status hn_plan_find_layers(hn_planning *p) {
  hn_table_init(&p->layer_of, &p->arena);
  HN_TRY(list_layers(p));
  return connect(p);
}

/* ---- graphs and options of given types ---- */

hone_status hn_plan_graph(hn_planning *p, const uint8_t *types, hone_graph **out) {
  hn_quantizing *q = &p->q;
  hn_sites chosen;
  hn_arena arena;
  bool any = false;
  *out = NULL;
  hn_arena_init(&arena, p->context->allocator);
  bool *wanted = HN_NEW(&arena, bool, q->sites.node_count + 1);
  hone_status status = wanted ? HONE_OK : HN_FAIL_MEMORY(&p->context->diag);
  for (int l = 0; l < p->layer_count && wanted; ++l) {
    wanted[p->layers[l].node] = types[l] == HONE_PLAN_INT8;
    any |= types[l] == HONE_PLAN_INT8;
  }
  if (any) status = hn_sites_choose(&q->sites, wanted, &arena, &chosen);
  if (status == HONE_OK) status = any ? hn_quantize_make(q, &chosen, out) : hn_graph_clone(q->graph, out);
  hn_arena_deinit(&arena);
  return status;
}

static hone_dtype dtype_of(uint8_t type) {
  return type == HONE_PLAN_BF16 ? HONE_BF16 : type == HONE_PLAN_F16 ? HONE_F16 : HONE_F32;
}

/* One narrow type in a plan: it is allowed, and all that is not to have it is held to f32, so that the tuner takes it
 * where it is faster. Two, or by force: each layer is told its own. What has no weights is as the layer before it. */
hone_status hn_plan_options(hn_planning *p, const uint8_t *types, bool force, hn_arena *arena,
                            hone_build_options *out) {
  *out = p->build;
  out->precisions = 0;
  out->stop_timing = p->options.stop;
  if (p->stop_ns != 0) { /* once it is up, estimates choose: what is built by then can still be measured */
    const int64_t left_ms = (p->stop_ns - hn_clock_ns()) / 1000000;
    out->time_budget_ms = left_ms > 1 ? left_ms : 1;
  }
  for (int l = 0; l < p->layer_count; ++l)
    if (dtype_of(types[l]) != HONE_F32) out->precisions |= HONE_BIT(dtype_of(types[l]));
  if (!out->precisions) return HONE_OK;
  const bool each = force || (out->precisions & (out->precisions - 1));
  int count = 0;
  for (const hn_node *node = p->q.graph->main->first; node; node = node->next) ++count;
  hone_layer_type *entries = HN_NEW(arena, hone_layer_type, count + 1);
  if (!entries) return HN_FAIL_MEMORY(&p->context->diag);
  count = 0;
  for (const hn_node *node = p->q.graph->main->first; node; node = node->next) {
    const int home = node->out_count > 0 && node->out[0] ? p->home[node->out[0]->id] : -1;
    const hone_dtype dtype = home < 0 ? HONE_F32 : dtype_of(types[home]);
    const bool own = layer_index(p, node) >= 0;
    if (dtype == HONE_F32 || (each && own))
      entries[count++] = (hone_layer_type){.node = node->name, .compute = dtype, .preferred = true};
  }
  out->layer_types = entries;
  out->layer_type_count = count;
  return HONE_OK;
}
