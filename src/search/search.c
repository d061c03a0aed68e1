/* SPDX-License-Identifier: Apache-2.0 */
/* search.c - time and noise in one optimum: for a weight lambda, the least time + lambda * noise is a partitioned
 * boolean quadratic problem over layers (search/pbqp.h). The lower hull of all assignments is found by halving: of two
 * of its points, the weight at which both are equally good either finds a point below the line between them, or there
 * is none (Aneja and Nair 1979). A grid of weights would find no more, and miss some. What lies above the hull, and
 * still is not beaten by one of its points, is looked for by single changes from one to the next, the most noise for
 * the time first.
 */
#include "search/search.h"
#include "search/pbqp.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { T = HN_SEARCH_TYPES, M = HN_PBQP_MAX, MOST_SOLVES = 256 };

double hn_search_ns(const hn_search *s, const uint8_t *types) {
  double ns = s->base_ns;
  for (int l = 0; l < s->layer_count; ++l) ns += s->layers[l].ns[types[l]];
  for (int e = 0; e < s->edge_count; ++e) ns += s->edges[e].ns[types[s->edges[e].from]][types[s->edges[e].to]];
  return ns;
}

double hn_search_noise(const hn_search *s, const uint8_t *types) {
  double noise = 0;
  for (int l = 0; l < s->layer_count; ++l) noise += s->layers[l].noise[types[l]];
  for (int e = 0; e < s->edge_count; ++e) noise += s->edges[e].noise[types[s->edges[e].from]][types[s->edges[e].to]];
  return noise;
}

/* ---- one weight ---- */

static int list_types(const hn_search_layer *layer, uint8_t out[T]) {
  int count = 0;
  for (int t = 0; t < T; ++t)
    if (layer->types >> t & 1) out[count++] = (uint8_t)t;
  return count;
}

static void fill_problem(const hn_search *s, double lambda, hn_pbqp *p) {
  uint8_t from[T], to[T];
  for (int l = 0; l < s->layer_count; ++l) {
    p->alternatives[l] = list_types(&s->layers[l], from);
    for (int i = 0; i < p->alternatives[l]; ++i)
      p->cost[l * M + i] = s->layers[l].ns[from[i]] + lambda * s->layers[l].noise[from[i]];
  }
  for (int e = 0; e < s->edge_count; ++e) {
    const hn_search_edge *edge = &s->edges[e];
    p->edges[e] = (hn_pbqp_edge){.from = edge->from, .to = edge->to};
    const int rows = list_types(&s->layers[edge->from], from), columns = list_types(&s->layers[edge->to], to);
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j < columns; ++j)
        p->edges[e].cost[i * M + j] = edge->ns[from[i]][to[j]] + lambda * edge->noise[from[i]][to[j]];
  }
}

/* Each type everywhere where it may be, for local search to begin with. */
static void fill_starts(const hn_search *s, int *starts) {
  uint8_t types[T];
  for (int t = 0; t < T; ++t)
    for (int l = 0; l < s->layer_count; ++l) {
      const int count = list_types(&s->layers[l], types);
      starts[t * s->layer_count + l] = 0;
      for (int i = 0; i < count; ++i)
        if (types[i] == t) starts[t * s->layer_count + l] = i;
    }
}

hone_status hn_search_solve(const hn_search *s, double lambda, hn_arena *arena, uint8_t *types, bool *out_exact) {
  hn_arena own;
  hn_arena_init(&own, arena->allocator);
  const int layers = s->layer_count + 1, edges = s->edge_count + 1;
  hn_pbqp problem = {.node_count = s->layer_count, .edge_count = s->edge_count, .stop = s->stop};
  problem.alternatives = HN_NEW(&own, int, layers);
  problem.cost = HN_NEW(&own, double, layers *M);
  problem.edges = HN_NEW(&own, hn_pbqp_edge, edges);
  int *starts = HN_NEW(&own, int, layers *T), *assignment = HN_NEW(&own, int, layers);
  hone_status status = HONE_NO_MEMORY;
  if (problem.alternatives && problem.cost && problem.edges && starts && assignment) {
    fill_problem(s, lambda, &problem);
    fill_starts(s, starts);
    status = hn_pbqp_solve(&problem, starts, T, &own, assignment, out_exact);
  }
  for (int l = 0; l < s->layer_count && status == HONE_OK; ++l) {
    uint8_t of[T];
    (void)list_types(&s->layers[l], of);
    types[l] = of[assignment[l]];
  }
  hn_arena_deinit(&own);
  return status;
}

/* ---- the frontier ---- */

/* Points by rising time; beaten ones are dropped, and equal ones kept once. */
static hone_status add_point(const hn_search *s, hn_arena *arena, hn_frontier *f, const uint8_t *types) {
  const double ns = hn_search_ns(s, types), noise = hn_search_noise(s, types);
  int at = 0;
  while (at < f->count && f->points[at].ns < ns) ++at;
  if (at > 0 && f->points[at - 1].noise <= noise) return HONE_OK;
  if (at < f->count && f->points[at].ns <= ns && f->points[at].noise <= noise) return HONE_OK;
  int beaten = at;
  while (beaten < f->count && f->points[beaten].noise >= noise) ++beaten;
  const uint8_t *copy = hn_arena_copy(arena, types, (size_t)s->layer_count + 1);
  if (!copy || !hn_arena_grow(arena, (void **)&f->points, &f->capacity, f->count + 1, sizeof *f->points))
    return HONE_NO_MEMORY;
  memmove(&f->points[at + 1], &f->points[beaten], (size_t)(f->count - beaten) * sizeof *f->points);
  f->points[at] = (hn_search_point){.ns = ns, .noise = noise, .types = copy};
  f->count += 1 + at - beaten;
  return HONE_OK;
}

typedef struct halving {
  const hn_search *search;
  hn_arena *arena;
  hn_frontier *front;
  uint8_t *types;
  int solves;
} halving;

static hone_status solve(halving *h, double lambda, hn_search_point *out) {
  bool exact;
  ++h->solves;
  HN_TRY(hn_search_solve(h->search, lambda, h->arena, h->types, &exact));
  h->front->exact &= exact;
  *out = (hn_search_point){.ns = hn_search_ns(h->search, h->types),
                           .noise = hn_search_noise(h->search, h->types),
                           .types = hn_arena_copy(h->arena, h->types, (size_t)h->search->layer_count + 1)};
  return out->types ? add_point(h->search, h->arena, h->front, h->types) : HONE_NO_MEMORY;
}

/* Between a fast point and a quiet one; the deepest first would need a queue, and all of them are wanted. */
static hone_status halve(halving *h, const hn_search_point *fast, const hn_search_point *quiet) {
  const double won = fast->noise - quiet->noise, lost = quiet->ns - fast->ns;
  if (!(won > 0) || !(lost > 0)) return HONE_OK;
  if (h->solves >= MOST_SOLVES) {
    h->front->exact = false;
    return HONE_OK;
  }
  const double lambda = lost / won, line = fast->ns + lambda * fast->noise;
  hn_search_point middle;
  HN_TRY(solve(h, lambda, &middle));
  if (middle.ns + lambda * middle.noise >= line - 1e-9 * fabs(line)) return HONE_OK; /* nothing lies below */
  HN_TRY(halve(h, fast, &middle));
  return halve(h, &middle, quiet);
}

/* The weight at which noise alone decides: a millionth of all noise is worth more than all time. */
static double largest_weight(const hn_search *s) {
  double ns = 1, noise = 0;
  for (int l = 0; l < s->layer_count; ++l) {
    double most_ns = 0, most_noise = 0;
    for (int t = 0; t < T; ++t)
      if (s->layers[l].types >> t & 1) {
        most_ns = fmax(most_ns, s->layers[l].ns[t]);
        most_noise = fmax(most_noise, s->layers[l].noise[t]);
      }
    ns += most_ns;
    noise += most_noise;
  }
  return noise > 0 ? 1e6 * ns / noise : 0;
}

/* From a fast point to the next quiet one, layer by layer. */
static hone_status walk(const hn_search *s, hn_arena *arena, hn_frontier *f, const hn_search_point *fast,
                        const hn_search_point *quiet, uint8_t *types) {
  memcpy(types, fast->types, (size_t)s->layer_count);
  for (;;) {
    const double ns = hn_search_ns(s, types), noise = hn_search_noise(s, types);
    int best = -1;
    double best_gain = -HUGE_VAL;
    for (int l = 0; l < s->layer_count; ++l) {
      const uint8_t before = types[l];
      if (before == quiet->types[l]) continue;
      types[l] = quiet->types[l];
      const double won = noise - hn_search_noise(s, types), lost = hn_search_ns(s, types) - ns;
      types[l] = before;
      const double gain = lost > 0 ? won / lost : won > 0 ? HUGE_VAL : -HUGE_VAL;
      if (best < 0 || gain > best_gain) best = l, best_gain = gain;
    }
    if (best < 0) return HONE_OK;
    types[best] = quiet->types[best];
    HN_TRY(add_point(s, arena, f, types));
  }
}

hone_status hn_search_frontier(const hn_search *s, hn_arena *arena, hn_frontier *out) {
  *out = (hn_frontier){.exact = true};
  halving h = {.search = s, .arena = arena, .front = out, .types = HN_NEW(arena, uint8_t, s->layer_count + 1)};
  hn_search_point fast, quiet;
  if (!h.types) return HONE_NO_MEMORY;
  HN_TRY(solve(&h, 0, &fast));
  HN_TRY(solve(&h, largest_weight(s), &quiet));
  HN_TRY(halve(&h, &fast, &quiet));
  const int hull_count = out->count;
  hn_search_point *hull = hn_arena_copy(arena, out->points, (size_t)hull_count * sizeof *hull);
  if (!hull) return HONE_NO_MEMORY;
  for (int i = 0; i + 1 < hull_count; ++i) HN_TRY(walk(s, arena, out, &hull[i], &hull[i + 1], h.types));
  return HONE_OK;
}
