/* SPDX-License-Identifier: Apache-2.0 */
/* compile_planner_noise.c - what each layer does to the outputs when it alone is in a narrower type, on samples that
 * the ranges were picked from. Two layers in 8 bits share the rounding of a value that the one ends in and the other
 * reads: that rounding is measured by itself, and charged once. */
#include "api/planner.h"
#include <math.h>
#include <string.h>

enum { LEAST_SAMPLES = 4, MOST_SAMPLES = 16 };

typedef struct measuring {
  hn_planning *p;
  uint8_t *types; /* all f32 but the one looked at */
  int64_t done, total;
} measuring;

static hone_status measure_graph(measuring *m, const hone_graph *graph, const hone_build_options *given,
                                 double *out_noise) {
  hn_planning *p = m->p;
  const hone_pass_options passes = {
      .struct_size = sizeof passes, .disable = hn_quantize_left_out, .disable_count = HN_LEFT_OUT};
  const hn_build_watch watch = {.unjudged = true, .unproved = true}; /* the pure engines' kernels, which were */
  hone_build_options options = *given;
  hone_engine *engine = NULL;
  hone_session *session = NULL;
  hn_plan_verdict verdict = {0};
  options.level = -1;
  options.passes = &passes;
  options.timing_cache_path = NULL;
  options.progress = NULL;
  hone_status status =
      hn_engine_build_watched(p->context, graph, p->q.devices, p->q.device_count, &options, &watch, &engine);
  if (status == HONE_OK) status = hn_plan_open(p, engine, &session);
  if (status == HONE_OK) status = hn_plan_judge(p, session, &p->noisy, &p->noisy_f32, &verdict);
  hone_session_destroy(session);
  hone_engine_release(engine);
  *out_noise = verdict.noise;
  if (p->options.progress && status == HONE_OK)
    p->options.progress(p->options.progress_user, "measuring noise", ++m->done, m->total);
  return status;
}

static hone_status measure_types(measuring *m, double *out_noise) {
  hn_planning *p = m->p;
  hone_graph *graph;
  hone_build_options options;
  hn_arena arena;
  hn_arena_init(&arena, p->context->allocator);
  HN_TRY(hn_plan_graph(p, m->types, &graph));
  hone_status status = hn_plan_options(p, m->types, true, &arena, &options);
  if (status == HONE_OK) status = measure_graph(m, graph, &options, out_noise);
  hn_graph_destroy(graph);
  hn_arena_deinit(&arena);
  return status;
}

static hone_status measure_layers(measuring *m) {
  hn_planning *p = m->p;
  for (int l = 0; l < p->layer_count; ++l)
    for (int t = HONE_PLAN_F32 + 1; t < HN_PLAN_T; ++t) {
      if (!(p->layers[l].types >> t & 1) || hn_plan_stopped(p)) continue;
      m->types[l] = (uint8_t)t;
      HN_TRY(measure_types(m, &p->noise[l][t]));
      m->types[l] = HONE_PLAN_F32;
    }
  return HONE_OK;
}

/* ---- roundings that two layers share ---- */

/* The site that the layer ends in; -1: none. */
static hone_status end_site(hn_planning *p, int layer, const hn_value *value, int *out) {
  hn_sites sites;
  hn_arena arena;
  *out = -1;
  hn_arena_init(&arena, p->context->allocator);
  bool *wanted = HN_NEW(&arena, bool, p->q.sites.node_count + 1);
  hone_status status = wanted ? HONE_OK : HN_FAIL_MEMORY(&p->context->diag);
  if (wanted) wanted[p->layers[layer].node] = true;
  if (status == HONE_OK) status = hn_sites_choose(&p->q.sites, wanted, &arena, &sites);
  if (status == HONE_OK && sites.of[value->id] >= 0) *out = p->q.sites.of[value->id];
  hn_arena_deinit(&arena);
  return status;
}

static hone_status measure_site(measuring *m, int site, double *out_noise) {
  hn_planning *p = m->p;
  hn_quantizing *q = &p->q;
  hn_sites one = q->sites, bound;
  hone_graph *graph = NULL;
  hn_arena arena;
  hn_arena_init(&arena, p->context->allocator);
  one.items = &q->sites.items[site];
  one.count = 1;
  one.node_count = 0;
  hone_status status = hn_graph_clone(q->graph, &graph);
  if (status == HONE_OK) status = hn_sites_rebind(&one, graph, &arena, &bound);
  const hn_insertion how = {.scheme = q->scheme, .per_tensor = q->options.per_tensor};
  if (status == HONE_OK) status = hn_sites_insert(&bound, &how);
  if (status == HONE_OK) status = measure_graph(m, graph, &p->build, out_noise);
  hn_graph_destroy(graph);
  hn_arena_deinit(&arena);
  return status;
}

static bool in_bytes(const hn_planning *p, int layer) { return p->layers[layer].types >> HONE_PLAN_INT8 & 1; }

/* edges[].noise of two in 8 bits. */
static hone_status measure_shared(measuring *m) {
  hn_planning *p = m->p;
  double *known = HN_NEW(&p->arena, double, p->q.sites.count + 1);
  if (!known) return HN_FAIL_MEMORY(&p->context->diag);
  for (int e = 0; e < p->search.edge_count; ++e) {
    hn_search_edge *edge = &p->edges[e];
    int site;
    if (!in_bytes(p, edge->from) || !in_bytes(p, edge->to) || hn_plan_stopped(p)) continue;
    HN_TRY(end_site(p, edge->from, p->q.sites.nodes[p->layers[edge->to].node].node->in[0], &site));
    if (site < 0) continue;
    if (known[site] <= 0) HN_TRY(measure_site(m, site, &known[site]));
    const double both = fmin(p->noise[edge->from][HONE_PLAN_INT8], p->noise[edge->to][HONE_PLAN_INT8]);
    edge->noise[HONE_PLAN_INT8][HONE_PLAN_INT8] = -fmin(known[site], both);
  }
  return HONE_OK;
}

/* So many samples that a layer takes a quarter of a second at most. */
static void take_samples(hn_planning *p) {
  const double most = fmax(2.5e8 / fmax(p->built[0].median_ns, 1), LEAST_SAMPLES);
  const int64_t all = p->ranged.count > 0 && p->ranged.count < MOST_SAMPLES ? p->ranged.count : MOST_SAMPLES;
  p->noisy = p->ranged;
  p->noisy.count = most < (double)all ? (int64_t)most : all;
}

/* ---- again, from a plan ---- */

/* Noises that add up otherwise than alone: each narrow layer of the plan goes back to f32, and what that wins is its
 * noise from now on. What neighbours share is in that already. */
hone_status hn_plan_remeasure_noise(hn_planning *p, const hn_plan_built *plan) {
  measuring m = {.p = p, .types = HN_NEW(&p->arena, uint8_t, p->layer_count + 1), .total = 1};
  double whole, without;
  if (!m.types) return HN_FAIL_MEMORY(&p->context->diag);
  memcpy(m.types, plan->types, (size_t)p->layer_count);
  for (int l = 0; l < p->layer_count; ++l) m.total += plan->types[l] != HONE_PLAN_F32;
  HN_TRY(measure_types(&m, &whole));
  for (int l = 0; l < p->layer_count; ++l) {
    const uint8_t type = plan->types[l];
    if (type == HONE_PLAN_F32 || hn_plan_stopped(p)) continue;
    m.types[l] = HONE_PLAN_F32;
    HN_TRY(measure_types(&m, &without));
    m.types[l] = type;
    /* what errors of others hide may not come out as a gain */
    p->noise[l][type] = fmax(whole - without, p->noise[l][type] / 16);
  }
  for (int e = 0; e < p->search.edge_count; ++e)
    if (plan->types[p->edges[e].from] == HONE_PLAN_INT8 && plan->types[p->edges[e].to] == HONE_PLAN_INT8)
      p->edges[e].noise[HONE_PLAN_INT8][HONE_PLAN_INT8] = 0;
  return HONE_OK;
}

hone_status hn_plan_measure_noise(hn_planning *p) {
  measuring m = {.p = p, .types = HN_NEW(&p->arena, uint8_t, p->layer_count + 1)};
  double none;
  p->noise = (double(*)[HN_PLAN_T])HN_NEW(&p->arena, double, (p->layer_count + 1) * HN_PLAN_T);
  if (!m.types || !p->noise) return HN_FAIL_MEMORY(&p->context->diag);
  take_samples(p);
  m.total = 1 + p->search.edge_count;
  for (int l = 0; l < p->layer_count; ++l)
    for (int t = 1; t < HN_PLAN_T; ++t) m.total += p->layers[l].types >> t & 1;
  memset(m.types, HONE_PLAN_F32, (size_t)p->layer_count);
  HN_TRY(measure_types(&m, &none)); /* f32, that all others are held against */
  HN_TRY(measure_layers(&m));
  return measure_shared(&m);
}
