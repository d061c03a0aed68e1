/* SPDX-License-Identifier: Apache-2.0 */
/* assign.c - tactics and formats together. Each choice offers, for every format pair, its fastest candidate; an edge
 * between a producer and a consumer costs a reformat when their formats differ. Graph inputs and results are plain. */
#include "tensor/shape.h"
#include "tune/tuning.h"
#include <math.h>
#include <string.h>

enum { M = HN_PBQP_MAX };

typedef struct offer { /* of one alternative */
  int candidate;       /* -1: a view */
  hone_format_pair formats;
} offer;

typedef struct assigning {
  hn_choices *choices;
  hn_pbqp problem;
  offer *offers;  /* [choice * M + alternative] */
  int *choice_of; /* [value id]: the choice that makes it; -1: none */
  int edge_capacity;
} assigning;

/* What a candidate is taken to cost: the lower end of its interval, since other programs on the machine only add time.
 */
static double cost_of(const hn_candidate *candidate) {
  return candidate->state == HN_CANDIDATE_TIMED ? candidate->time_low_ns : candidate->estimate_ns;
}

/* The fastest usable candidate for each format pair. A lock leaves one. */
static hone_status make_offers(assigning *a, int c) {
  hn_choice *choice = &a->choices->items[c];
  int *count = &a->problem.alternatives[c];
  offer *offers = &a->offers[c * M];
  if (!hn_choice_runs(choice)) {
    offers[0] = (offer){.candidate = -1};
    *count = 1;
    return HONE_OK;
  }
  for (int k = 0; k < choice->candidate_count; ++k) {
    const hn_candidate *candidate = &choice->candidates[k];
    if (!hn_candidate_usable(candidate) || (choice->locked && choice->chosen != k)) continue;
    int at = 0;
    while (at < *count &&
           (offers[at].formats.in != candidate->formats.in || offers[at].formats.out != candidate->formats.out))
      ++at;
    if (at == M) continue;
    if (at == *count) a->problem.cost[c * M + (*count)++] = HUGE_VAL;
    if (cost_of(candidate) >= a->problem.cost[c * M + at]) continue;
    a->problem.cost[c * M + at] = cost_of(candidate);
    offers[at] = (offer){.candidate = k, .formats = candidate->formats};
  }
  if (*count > 0) return HONE_OK;
  return HN_FAIL(&a->choices->context->diag, HONE_UNSUPPORTED, "node %s (%s): every tactic was rejected or is inexact",
                 choice->node->name, choice->node->op->name);
}

static bool is_param_port(const hone_op *op, int input) {
  for (int i = 0; i < HONE_MAX_PORTS && op->in[i].name; ++i)
    if (i == input || (op->in[i].flags & HONE_PORT_VARIADIC)) return op->in[i].flags & HONE_PORT_PARAM;
  return false;
}

/* The format in which an alternative reads an input or writes an output. */
static hone_format reads(const hn_choice *choice, const offer *chosen, int input) {
  return hn_can_block(&choice->in[input].type) && !is_param_port(choice->node->op, input) ? chosen->formats.in
                                                                                          : HONE_PLAIN;
}
static hone_format writes(const hn_choice *choice, const offer *chosen, int output) {
  return hn_can_block(&choice->out[output].type) ? chosen->formats.out : HONE_PLAIN;
}

/* Between two blocked formats the way leads over plain. */
static double reformat_ns(const assigning *a, const hone_type *type, hone_format from, hone_format to) {
  const double once = 1000 + a->choices->reformat_ns_per_byte * (double)hn_bytes(type);
  return from == to ? 0 : from != HONE_PLAIN && to != HONE_PLAIN ? 2 * once : once;
}

static hone_status add_edge(assigning *a, int from, int from_output, int to, int to_input) {
  if (!hn_arena_grow(&a->choices->arena, (void **)&a->problem.edges, &a->edge_capacity, a->problem.edge_count + 1,
                     sizeof *a->problem.edges))
    return HN_FAIL_MEMORY(&a->choices->context->diag);
  hn_pbqp_edge *edge = &a->problem.edges[a->problem.edge_count++];
  *edge = (hn_pbqp_edge){.from = from, .to = to};
  const hn_choice *maker = &a->choices->items[from], *reader = &a->choices->items[to];
  for (int i = 0; i < a->problem.alternatives[from]; ++i)
    for (int j = 0; j < a->problem.alternatives[to]; ++j)
      edge->cost[i * M + j] =
          reformat_ns(a, &reader->in[to_input].type, writes(maker, &a->offers[from * M + i], from_output),
                      reads(reader, &a->offers[to * M + j], to_input));
  return HONE_OK;
}

/* Costs of a choice's inputs: an edge to each producer; graph inputs are plain, constants cost nothing. */
static hone_status connect(assigning *a, int c) {
  const hn_choice *choice = &a->choices->items[c];
  for (int i = 0; i < choice->node->in_count; ++i) {
    const hn_value *value = choice->node->in[i];
    if (!value || value->fact.constant) continue;
    const int maker = a->choice_of[value->id];
    if (maker >= 0) {
      HN_TRY(add_edge(a, maker, value->out_index, c, i));
      continue;
    }
    for (int k = 0; k < a->problem.alternatives[c]; ++k)
      a->problem.cost[c * M + k] +=
          reformat_ns(a, &choice->in[i].type, HONE_PLAIN, reads(choice, &a->offers[c * M + k], i));
  }
  return HONE_OK;
}

/* Results leave in plain format: other alternatives are not offered to a node that makes one. */
static void keep_results_plain(assigning *a) {
  const hn_block *main = a->choices->graph->main;
  for (int r = 0; r < main->result_count; ++r) {
    const int c = a->choice_of[main->results[r]->id];
    if (c < 0) continue;
    for (int k = 0; k < a->problem.alternatives[c]; ++k)
      if (writes(&a->choices->items[c], &a->offers[c * M + k], main->results[r]->out_index) != HONE_PLAIN)
        a->problem.cost[c * M + k] = 1e18;
  }
}

/* The assignment that prefers one format everywhere. */
static void uniform_start(const assigning *a, hone_format format, int *assignment) {
  for (int c = 0; c < a->problem.node_count; ++c) {
    assignment[c] = 0;
    double best = HUGE_VAL;
    for (int k = 0; k < a->problem.alternatives[c]; ++k) {
      const offer *o = &a->offers[c * M + k];
      const int differ = (o->formats.in != format) + (o->formats.out != format);
      const double cost = a->problem.cost[c * M + k] + differ * 1e12;
      if (cost < best) best = cost, assignment[c] = k;
    }
  }
}

static hone_status start(assigning *a) {
  hn_choices *choices = a->choices;
  const int count = choices->count + 1;
  a->problem.node_count = choices->count;
  a->problem.alternatives = HN_NEW(&choices->arena, int, count);
  a->problem.cost = HN_NEW(&choices->arena, double, count *M);
  a->offers = HN_NEW(&choices->arena, offer, count * M);
  a->choice_of = HN_NEW(&choices->arena, int, choices->graph->value_count + 1);
  if (!a->problem.alternatives || !a->problem.cost || !a->offers || !a->choice_of)
    return HN_FAIL_MEMORY(&choices->context->diag);
  for (int v = 0; v < choices->graph->value_count; ++v) a->choice_of[v] = -1;
  hone_status status = HONE_OK;
  for (int c = 0; c < choices->count; ++c) {
    const hn_node *node = choices->items[c].node;
    for (int o = 0; o < node->out_count; ++o)
      if (node->out[o]) a->choice_of[node->out[o]->id] = c;
    const hone_status one = make_offers(a, c);
    if (one != HONE_OK) status = one;
  }
  return status;
}

static const char *why_chosen(const hn_choice *choice, int chosen) {
  if (choice->locked) return "lock";
  int usable = 0;
  for (int k = 0; k < choice->candidate_count; ++k) {
    if (!hn_candidate_usable(&choice->candidates[k])) continue;
    ++usable;
    if (cost_of(&choice->candidates[k]) < cost_of(&choice->candidates[chosen])) return "formats of its neighbours";
  }
  return usable == 1 ? "only one accepts" : "fastest";
}

hone_status hn_tune_assign(hn_choices *choices) {
  assigning a = {.choices = choices};
  HN_TRY(start(&a));
  for (int c = 0; c < choices->count; ++c) HN_TRY(connect(&a, c));
  keep_results_plain(&a);
  int *assignment = HN_NEW(&choices->arena, int, choices->count + 1);
  int *starts = HN_NEW(&choices->arena, int, choices->count *HONE_FORMAT_COUNT + 1);
  if (!assignment || !starts) return HN_FAIL_MEMORY(&choices->context->diag);
  for (int f = 0; f < HONE_FORMAT_COUNT; ++f) uniform_start(&a, (hone_format)f, starts + f * choices->count);
  if (hn_pbqp_solve(&a.problem, starts, HONE_FORMAT_COUNT, &choices->arena, assignment, &choices->optimal) != HONE_OK)
    return HN_FAIL_MEMORY(&choices->context->diag);
  choices->total_ns = hn_pbqp_total(&a.problem, assignment);
  for (int c = 0; c < choices->count; ++c) {
    hn_choice *choice = &choices->items[c];
    if (!hn_choice_runs(choice)) continue;
    choice->chosen = a.offers[c * M + assignment[c]].candidate;
    choice->why = why_chosen(choice, choice->chosen);
  }
  return HONE_OK;
}
