/* SPDX-License-Identifier: Apache-2.0 */
/* compile_planner_times.c - what each layer takes in each type. All layers in one type, and neighbours in two types in
 * turns, are tuned with one timing cache; the times of what was chosen are shared out to layers. What a layer takes
 * otherwise when its neighbours have another type (a conversion, a fusion that is lost) is an edge's. */
#include "api/planner.h"
#include "tune/tuning.h"
#include <math.h>
#include <string.h>

/* ---- one build, and its times by layer ---- */

static hone_status make_probe(hn_planning *p, hn_plan_probe *out) {
  *out = (hn_plan_probe){.own = HN_NEW(&p->arena, double, p->layer_count + 1),
                         .tail = HN_NEW(&p->arena, double, p->layer_count + 1),
                         .narrow = HN_NEW(&p->arena, unsigned, p->layer_count + 1)};
  return out->own && out->tail && out->narrow ? HONE_OK : HN_FAIL_MEMORY(&p->context->diag);
}

typedef struct seeing {
  hn_planning *p;
  hn_plan_probe *probe;
} seeing;

static unsigned narrow_bits(const hn_choice *choice) {
  if (!hn_choice_runs(choice) || choice->chosen < 0) return 0;
  const hn_candidate *candidate = &choice->candidates[choice->chosen];
  if (!hn_candidate_is_narrow(candidate)) return 0;
  const hone_dtype dtype = candidate->tactic->compute;
  return dtype == HONE_F16 ? 1U << HONE_PLAN_F16 : 1U << HONE_PLAN_BF16;
}

/* A choice that stands for layers: they share its time by their work. */
static int share_own(const seeing *s, const hn_choice *choice) {
  const hn_planning *p = s->p;
  const hn_planned_layer *found[64];
  int count = 0, last = -1;
  double macs = 0;
  for (int i = 0; i < choice->node->origins.count && count < (int)HN_COUNT(found); ++i) {
    const hn_planned_layer *layer = hn_table_get(&p->layer_of, choice->node->origins.names[i]);
    bool known = layer == NULL;
    for (int k = 0; k < count; ++k) known |= found[k] == layer;
    if (known) continue;
    found[count++] = layer;
    macs += layer->macs;
  }
  for (int k = 0; k < count; ++k) {
    const int at = (int)(found[k] - p->layers);
    s->probe->own[at] += choice->taken_ns * found[k]->macs / macs;
    s->probe->narrow[at] |= narrow_bits(choice);
    last = at > last ? at : last;
  }
  return last;
}

/* What reads the outputs of a node that is behind no layer, or the layer that its readers come to. */
static int next_layer(const seeing *s, const hn_node *node) {
  for (int depth = 0; node && depth < 16; ++depth) {
    const hn_use *use = node->out_count > 0 && node->out[0] ? node->out[0]->uses : NULL;
    node = use ? use->node : NULL;
    for (int i = 0; node && i < node->origins.count; ++i) {
      const hn_planned_layer *layer = hn_table_get(&s->p->layer_of, node->origins.names[i]);
      if (layer) return (int)(layer - s->p->layers);
    }
  }
  return -1;
}

static hone_status see(void *user, hn_choices *choices) {
  const seeing *s = user;
  hn_plan_probe *probe = s->probe;
  const hone_graph *graph = choices->graph;
  int *home = HN_NEW(&choices->arena, int, graph->value_count + 1);
  if (!home) return HN_FAIL_MEMORY(&s->p->context->diag);
  for (int v = 0; v <= graph->value_count; ++v) home[v] = -1;
  double sum = 0;
  for (int c = 0; c < choices->count; ++c) {
    const hn_choice *choice = &choices->items[c];
    const hn_node *node = choice->node;
    int at = hn_choice_runs(choice) ? share_own(s, choice) : -1;
    const bool is_layer = at >= 0;
    for (int i = 0; i < node->in_count && !is_layer; ++i)
      if (node->in[i] && home[node->in[i]->id] > at) at = home[node->in[i]->id];
    for (int o = 0; o < node->out_count; ++o)
      if (node->out[o]) home[node->out[o]->id] = at;
    if (at < 0) at = next_layer(s, node);
    const double behind = choice->convert_ns + (is_layer ? 0 : choice->taken_ns);
    sum += choice->taken_ns + choice->convert_ns;
    if (at >= 0)
      probe->tail[at] += behind;
    else
      probe->base += behind;
  }
  probe->total = choices->total_ns;
  probe->base += choices->total_ns - sum;
  return HONE_OK;
}

hone_status hn_plan_build(hn_planning *p, const uint8_t *types, const char *what, hn_plan_built *out) {
  hone_graph *graph;
  hone_build_options options;
  hn_arena arena;
  *out = (hn_plan_built){.what = what, .types = hn_arena_copy(&p->arena, types, (size_t)p->layer_count + 1)};
  if (!out->types) return HN_FAIL_MEMORY(&p->context->diag);
  HN_TRY(make_probe(p, &out->probe));
  seeing s = {.p = p, .probe = &out->probe};
  const hn_build_watch watch = {.see = see, .user = &s, .unjudged = true};
  hn_arena_init(&arena, p->context->allocator);
  HN_TRY(hn_plan_graph(p, types, &graph));
  hone_status status = hn_plan_options(p, types, false, &arena, &options);
  if (status == HONE_OK)
    status =
        hn_engine_build_watched(p->context, graph, p->q.devices, p->q.device_count, &options, &watch, &out->engine);
  out->expected_ns = out->probe.total;
  hn_graph_destroy(graph);
  hn_arena_deinit(&arena);
  return status;
}

/* ---- probes ---- */

/* Neighbours have different parities, as far as that goes: layers by their longest way from the input. */
static void find_parities(const hn_planning *p, uint8_t *out) {
  for (int l = 0; l < p->layer_count; ++l) {
    int before = -1;
    for (int k = 0; k < p->layers[l].from_count; ++k)
      before = p->layers[l].from[k] > before ? p->layers[l].from[k] : before;
    out[l] = before >= 0 ? !out[before] : 0;
  }
}

static void set_types(const hn_planning *p, const uint8_t *parities, int even, int odd, uint8_t *types) {
  for (int l = 0; l < p->layer_count; ++l) {
    const int wanted = parities[l] ? odd : even;
    types[l] = (uint8_t)(p->layers[l].types >> wanted & 1 ? wanted : HONE_PLAN_F32);
  }
}

static bool any_may(const hn_planning *p, int type) {
  for (int l = 0; l < p->layer_count; ++l)
    if (p->layers[l].types >> type & 1) return true;
  return false;
}

/* A narrow type that the tuner does not take where all layers may have it is no alternative there. */
static void drop_untaken(hn_planning *p, int type, const hn_plan_probe *probe) {
  if (type != HONE_PLAN_BF16 && type != HONE_PLAN_F16) return;
  for (int l = 0; l < p->layer_count; ++l)
    if (!(probe->narrow[l] >> type & 1)) p->layers[l].types &= ~(1U << type);
}

static hone_status probe(hn_planning *p, const uint8_t *types, hn_plan_probe *out) {
  hn_plan_built built;
  const hone_status status = hn_plan_build(p, types, "", &built);
  hone_engine_release(built.engine);
  *out = built.probe;
  return status;
}

hone_status hn_plan_probe_all(hn_planning *p) {
  uint8_t *parities = HN_NEW(&p->arena, uint8_t, p->layer_count + 1);
  uint8_t *types = HN_NEW(&p->arena, uint8_t, p->layer_count + 1);
  if (!parities || !types) return HN_FAIL_MEMORY(&p->context->diag);
  find_parities(p, parities);
  for (int t = 0; t < HN_PLAN_T; ++t) {
    if (!any_may(p, t) || (hn_plan_stopped(p) && p->built_count > 0)) continue;
    hn_plan_built *built = &p->built[p->built_count++];
    set_types(p, parities, t, t, types);
    HN_TRY(hn_plan_build(p, types, hone_plan_type_name((hone_plan_type)t), built));
    p->pure[t] = built->probe;
    drop_untaken(p, t, &p->pure[t]);
    set_types(p, parities, t, t, types); /* what it came to */
    built->types = hn_arena_copy(&p->arena, types, (size_t)p->layer_count + 1);
    if (!built->types) return HN_FAIL_MEMORY(&p->context->diag);
    if (any_may(p, t)) continue;
    hone_engine_release(built->engine); /* it is f32 */
    --p->built_count;
  }
  for (int t = 0; t < HN_PLAN_T; ++t)
    for (int u = 0; u < HN_PLAN_T; ++u) {
      if (t == u || !any_may(p, t) || !any_may(p, u) || hn_plan_stopped(p)) continue;
      set_types(p, parities, t, u, types);
      HN_TRY(probe(p, types, &p->mixed[t][u]));
    }
  p->parities = parities;
  return HONE_OK;
}

/* ---- costs ---- */

/* The probe in which this layer has type t and its neighbours u. */
static const hn_plan_probe *beside(const hn_planning *p, int layer, int t, int u) {
  const hn_plan_probe *probe = p->parities[layer] ? &p->mixed[u][t] : &p->mixed[t][u];
  return probe->own ? probe : NULL;
}

/* What of it is the edge's, seen from one end: its own time's part, and for the maker what follows it. */
static double extra(const hn_planning *p, int layer, int t, int u, bool makes) {
  const hn_plan_probe *probe = beside(p, layer, t, u), *pure = &p->pure[t];
  const hn_planned_layer *of = &p->layers[layer];
  if (!probe || !pure->own) return 0;
  const int edges = of->from_count + of->readers;
  double ns = (probe->own[layer] - pure->own[layer]) / (edges > 0 ? edges : 1);
  if (makes) ns += (probe->tail[layer] - pure->tail[layer]) / (of->readers > 0 ? of->readers : 1);
  return ns;
}

/* Measured times of the engines make up for what the tuner's sum does not see. */
static double factor_of(const hn_planning *p, int type) {
  for (int b = 0; b < p->built_count; ++b)
    if (p->pure[type].own && p->built[b].probe.own == p->pure[type].own && p->built[b].median_ns > 0)
      return p->built[b].median_ns / fmax(p->built[b].expected_ns, 1);
  return 1;
}

void hn_plan_price(hn_planning *p) {
  double factors[HN_PLAN_T];
  for (int t = 0; t < HN_PLAN_T; ++t) factors[t] = factor_of(p, t);
  for (int l = 0; l < p->layer_count; ++l) {
    hn_search_layer *cost = &p->costs[l];
    cost->types = p->layers[l].types;
    for (int t = 0; t < HN_PLAN_T; ++t) {
      if (!(cost->types >> t & 1)) continue;
      cost->ns[t] = factors[t] * (p->pure[t].own[l] + p->pure[t].tail[l]);
      cost->noise[t] = p->noise[l][t];
    }
  }
  for (int e = 0; e < p->search.edge_count; ++e) {
    hn_search_edge *edge = &p->edges[e];
    for (int t = 0; t < HN_PLAN_T; ++t)
      for (int u = 0; u < HN_PLAN_T; ++u)
        edge->ns[t][u] =
            t == u ? 0 : factors[t] * extra(p, edge->from, t, u, true) + factors[u] * extra(p, edge->to, u, t, false);
  }
  p->search.base_ns = factors[HONE_PLAN_F32] * p->pure[HONE_PLAN_F32].base;
}
