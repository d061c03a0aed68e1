/* SPDX-License-Identifier: Apache-2.0 */
/* assign.c - tactics and formats together. Each choice offers, for every format pair, its fastest candidate; an edge
 * between a producer and a consumer costs a reformat when their formats differ. Graph inputs and results are plain. */
#include "tensor/shape.h"
#include "tune/tuning.h"
#include <math.h>
#include <string.h>

enum { M = HN_PBQP_MAX };

typedef struct offer { /* of one alternative */
  int candidate;       /* -1: a view, or parts alone */
  bool parts;          /* the parts of the fused node are faster than the candidate */
  hone_format_pair formats;
} offer;

typedef struct assigning {
  hn_choices *choices;
  const hn_boundary *boundary; /* NULL: parameters and results are plain */
  hn_pbqp problem;
  offer *offers;  /* [choice * M + alternative] */
  double *own;    /* costs without those of borders */
  int *choice_of; /* [value id]: the choice that makes it; -1: none */
  int edge_capacity;
} assigning;

/* What a candidate is taken to cost: the lower end of its interval, since other programs on the machine only add time.
 */
static double cost_of(const hn_candidate *candidate) {
  return candidate->state == HN_CANDIDATE_TIMED ? candidate->time_low_ns : candidate->estimate_ns;
}

static int find_offer(assigning *a, int c, const hone_format_pair *pair) {
  int *count = &a->problem.alternatives[c];
  offer *offers = &a->offers[c * M];
  for (int at = 0; at < *count; ++at)
    if (offers[at].formats.in == pair->in && offers[at].formats.out == pair->out) return at;
  if (*count == M) return -1;
  offers[*count] = (offer){.candidate = -1, .formats = *pair};
  a->problem.cost[c * M + *count] = HUGE_VAL;
  return (*count)++;
}

/* The parts of a fused node are offered for the formats between which they were tried. */
static void offer_parts(assigning *a, int c) {
  const hn_choice *choice = &a->choices->items[c];
  const hn_parts_trial *trial = choice->trial;
  for (int i = 0; trial && !choice->locked && i < trial->count; ++i) {
    if (!(trial->ns[i] < 1e17)) continue;
    const int at = find_offer(a, c, &trial->formats[i]);
    if (at < 0 || trial->ns[i] >= HN_PARTS_MARGIN * a->problem.cost[c * M + at]) continue;
    a->problem.cost[c * M + at] = trial->ns[i];
    a->offers[c * M + at].parts = true;
  }
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
    if (!choice->locked && hn_candidate_waits(a->choices, choice, candidate)) continue;
    const int at = find_offer(a, c, &candidate->formats);
    if (at < 0 || cost_of(candidate) >= a->problem.cost[c * M + at]) continue;
    a->problem.cost[c * M + at] = cost_of(candidate);
    offers[at].candidate = k;
  }
  offer_parts(a, c);
  if (*count > 0) return HONE_OK;
  return HN_FAIL(&a->choices->context->diag, HONE_UNSUPPORTED, "node %s (%s): every tactic was rejected or is inexact",
                 choice->node->name, choice->node->op->name);
}

/* The format in which an alternative reads an input or writes an output. */
static hone_format reads(const hn_choice *choice, const offer *chosen, int input) {
  return hn_port_format(choice->node->op, input, &choice->in[input].type, &chosen->formats);
}
static hone_format writes(const hn_choice *choice, const offer *chosen, int output) {
  return hn_can_block(&choice->out[output].type) ? chosen->formats.out : HONE_PLAIN;
}

/* The format of a value that no choice makes. */
static hone_format given_format(const assigning *a, const hn_value *value) {
  const hn_block *root = a->choices->root;
  for (int i = 0; a->boundary && i < root->param_count; ++i)
    if (root->params[i] == value) return a->boundary->params[i];
  return HONE_PLAIN;
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
          hn_reformat_ns(a->choices, &reader->in[to_input].type, writes(maker, &a->offers[from * M + i], from_output),
                         reads(reader, &a->offers[to * M + j], to_input));
  return HONE_OK;
}

/* Costs of a choice's inputs: an edge to each producer; graph inputs are plain, constants cost nothing. */
static hone_status connect(assigning *a, int c) {
  const hn_choice *choice = &a->choices->items[c];
  for (int i = 0; i < choice->node->in_count; ++i) {
    const hn_value *value = choice->node->in[i];
    if (!value || choice->in[i].constant) continue;
    const int maker = a->choice_of[value->id];
    if (maker >= 0) {
      HN_TRY(add_edge(a, maker, value->out_index, c, i));
      continue;
    }
    for (int k = 0; k < a->problem.alternatives[c]; ++k)
      a->problem.cost[c * M + k] += hn_reformat_ns(a->choices, &choice->in[i].type, given_format(a, value),
                                                   reads(choice, &a->offers[c * M + k], i));
  }
  return HONE_OK;
}

/* Results leave in plain format: other alternatives are not offered to a node that makes one. Those of parts are
 * reformatted to what the fused node would have written. */
static void charge_results(assigning *a) {
  const hn_block *root = a->choices->root;
  for (int r = 0; r < root->result_count; ++r) {
    const hn_value *result = root->results[r];
    const int c = result ? a->choice_of[result->id] : -1;
    if (c < 0) continue;
    const hn_choice *choice = &a->choices->items[c];
    for (int k = 0; k < a->problem.alternatives[c]; ++k) {
      const hone_format made = writes(choice, &a->offers[c * M + k], result->out_index);
      if (a->boundary)
        a->problem.cost[c * M + k] +=
            hn_reformat_ns(a->choices, &choice->out[result->out_index].type, made, a->boundary->results[r]);
      else if (made != HONE_PLAIN)
        a->problem.cost[c * M + k] = 1e18;
    }
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
  a->own = HN_NEW(&choices->arena, double, count *M);
  a->choice_of = HN_NEW(&choices->arena, int, choices->graph->value_count + 1);
  if (!a->problem.alternatives || !a->problem.cost || !a->offers || !a->own || !a->choice_of)
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
  if (chosen < 0) return "its parts are faster";
  for (int k = 0; k < choice->candidate_count; ++k) {
    if (!hn_candidate_usable(&choice->candidates[k])) continue;
    ++usable;
    if (cost_of(&choice->candidates[k]) < cost_of(&choice->candidates[chosen])) return "formats of its neighbours";
  }
  return usable == 1 ? "only one accepts" : "fastest";
}

hone_status hn_tune_assign(hn_choices *choices, const hn_boundary *boundary) {
  assigning a = {.choices = choices, .boundary = boundary};
  HN_TRY(start(&a));
  memcpy(a.own, a.problem.cost, (size_t)choices->count * M * sizeof *a.own);
  for (int c = 0; c < choices->count; ++c) HN_TRY(connect(&a, c));
  charge_results(&a);
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
    const offer *taken = &a.offers[c * M + assignment[c]];
    choice->split = taken->parts;
    choice->parts_ns = taken->parts ? a.own[c * M + assignment[c]] : 0;
    choice->chosen = taken->candidate;
    choice->why = why_chosen(choice, choice->chosen);
  }
  return HONE_OK;
}
