/* SPDX-License-Identifier: Apache-2.0 */
/* assign.c - tactics and formats together. Each choice offers, for every format pair, its fastest candidate; an edge
 * between a producer and a consumer costs a reformat when their formats differ. Graph inputs and results are plain.
 *
 * Lowering makes one reformat step for all readers of a value. So a value that is read more than once, and may be there
 * in more than one format, is a node of its own: its alternatives are the sets of formats that exist of it. Its maker
 * pays for the steps that make them, and a reader pays nothing, but its format must be in the set. */
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

/* Who reads a value. */
typedef struct reading {
  int count;             /* of readers; a result of parts is read by what is outside */
  unsigned formats;      /* that they may want, a bit each */
  const hone_type *type; /* at opt */
  int node;              /* of the problem, for a shared value; -1: none */
} reading;

_Static_assert((1 << HONE_FORMAT_COUNT) - 1 <= M, "every set of formats must be an alternative");

typedef struct assigning {
  hn_choices *choices;
  const hn_boundary *boundary; /* NULL: parameters and results are plain */
  hn_pbqp problem;             /* nodes: the choices, then the shared values */
  offer *offers;               /* [choice * M + alternative] */
  double *own;                 /* costs without those of borders */
  int *choice_of;              /* [value id]: the choice that makes it; -1: none */
  reading *readings;           /* [value id] */
  unsigned *sets;              /* [node * M + alternative]: of shared values, the formats that exist */
  bool *follows;               /* [node]: it is a shared value */
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
    if (!(trial->ns[i] < HN_FORBIDDEN_NS)) continue;
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

/* The format in which a result leaves. */
static hone_format result_format(const assigning *a, int result) {
  return a->boundary ? a->boundary->results[result] : HONE_PLAIN;
}

static hn_pbqp_edge *new_edge(assigning *a, int from, int to) {
  if (!hn_arena_grow(&a->choices->arena, (void **)&a->problem.edges, &a->edge_capacity, a->problem.edge_count + 1,
                     sizeof *a->problem.edges))
    return NULL;
  hn_pbqp_edge *edge = &a->problem.edges[a->problem.edge_count++];
  *edge = (hn_pbqp_edge){.from = from, .to = to};
  return edge;
}

static hone_status add_edge(assigning *a, int from, int from_output, int to, int to_input) {
  hn_pbqp_edge *edge = new_edge(a, from, to);
  if (!edge) return HN_FAIL_MEMORY(&a->choices->context->diag);
  const hn_choice *maker = &a->choices->items[from], *reader = &a->choices->items[to];
  for (int i = 0; i < a->problem.alternatives[from]; ++i)
    for (int j = 0; j < a->problem.alternatives[to]; ++j)
      edge->cost[i * M + j] =
          hn_reformat_ns(a->choices, &reader->in[to_input].type, writes(maker, &a->offers[from * M + i], from_output),
                         reads(reader, &a->offers[to * M + j], to_input));
  return HONE_OK;
}

/* ---- values with several readers ---- */

static unsigned bit(hone_format format) { return 1U << format; }

static void read_by(assigning *a, const hn_value *value, unsigned formats, const hone_type *type) {
  reading *r = &a->readings[value->id];
  ++r->count;
  r->formats |= formats;
  r->type = type;
}

static void count_readers(assigning *a) {
  const hn_block *root = a->choices->root;
  for (int c = 0; c < a->choices->count; ++c) {
    const hn_choice *choice = &a->choices->items[c];
    for (int i = 0; i < choice->node->in_count; ++i) {
      unsigned formats = 0;
      if (!choice->node->in[i] || choice->in[i].constant) continue;
      for (int k = 0; k < a->problem.alternatives[c]; ++k) formats |= bit(reads(choice, &a->offers[c * M + k], i));
      read_by(a, choice->node->in[i], formats, &choice->in[i].type);
    }
  }
  for (int r = 0; r < root->result_count; ++r) {
    const hn_value *result = root->results[r];
    const int c = result ? a->choice_of[result->id] : -1;
    if (c >= 0) read_by(a, result, bit(result_format(a, r)), &a->choices->items[c].out[result->out_index].type);
  }
}

/* The steps that make all of a set from one format; between two blocked ones the way leads over plain. */
static double set_ns(const assigning *a, const hone_type *type, unsigned set, hone_format made) {
  double ns = 0;
  if (!(set & bit(made))) return HN_FORBIDDEN_NS;
  for (int f = 0; f < HONE_FORMAT_COUNT; ++f) {
    const hone_format format = (hone_format)f;
    if (!(set & bit(format)) || format == made) continue;
    if (format != HONE_PLAIN && !(set & bit(HONE_PLAIN))) return HN_FORBIDDEN_NS;
    ns += hn_reformat_ns(a->choices, type, format == HONE_PLAIN ? made : HONE_PLAIN, format);
  }
  return ns;
}

/* The value as a node, with the maker's side of it. */
static hone_status share(assigning *a, const hn_value *value, reading *r, unsigned all) {
  const int node = a->problem.node_count++, maker = a->choice_of[value->id];
  int *count = &a->problem.alternatives[node];
  r->node = node;
  a->follows[node] = true;
  for (unsigned set = 1; set <= all; ++set)
    if ((set & all) == set) a->sets[node * M + (*count)++] = set;
  if (maker < 0) {
    for (int k = 0; k < *count; ++k)
      a->problem.cost[node * M + k] = set_ns(a, r->type, a->sets[node * M + k], given_format(a, value));
    return HONE_OK;
  }
  hn_pbqp_edge *edge = new_edge(a, maker, node);
  if (!edge) return HN_FAIL_MEMORY(&a->choices->context->diag);
  const hn_choice *choice = &a->choices->items[maker];
  for (int i = 0; i < a->problem.alternatives[maker]; ++i)
    for (int k = 0; k < *count; ++k)
      edge->cost[i * M + k] =
          set_ns(a, r->type, a->sets[node * M + k], writes(choice, &a->offers[maker * M + i], value->out_index));
  return HONE_OK;
}

static hone_status share_values(assigning *a) {
  const hone_graph *graph = a->choices->graph;
  count_readers(a);
  for (int v = 0; v < graph->value_count; ++v) {
    reading *r = &a->readings[v];
    if (r->count < 2) continue;
    const int maker = a->choice_of[v];
    unsigned all = r->formats;
    if (maker < 0) all |= bit(given_format(a, graph->values[v]));
    for (int k = 0; maker >= 0 && k < a->problem.alternatives[maker]; ++k)
      all |= bit(writes(&a->choices->items[maker], &a->offers[maker * M + k], graph->values[v]->out_index));
    if (!(all & (all - 1))) continue; /* one format: nothing to decide */
    if (all & ~bit(HONE_PLAIN) & ((all & ~bit(HONE_PLAIN)) - 1)) all |= bit(HONE_PLAIN); /* on the way */
    HN_TRY(share(a, graph->values[v], r, all));
  }
  return HONE_OK;
}

static hone_status add_reader(assigning *a, int shared, int c, int input) {
  hn_pbqp_edge *edge = new_edge(a, shared, c);
  if (!edge) return HN_FAIL_MEMORY(&a->choices->context->diag);
  for (int i = 0; i < a->problem.alternatives[shared]; ++i)
    for (int k = 0; k < a->problem.alternatives[c]; ++k)
      if (!(a->sets[shared * M + i] & bit(reads(&a->choices->items[c], &a->offers[c * M + k], input))))
        edge->cost[i * M + k] = HN_FORBIDDEN_NS;
  return HONE_OK;
}

/* ---- borders ---- */

/* Costs of a choice's inputs: an edge to each producer; graph inputs are plain, constants cost nothing. */
static hone_status connect(assigning *a, int c) {
  const hn_choice *choice = &a->choices->items[c];
  for (int i = 0; i < choice->node->in_count; ++i) {
    const hn_value *value = choice->node->in[i];
    if (!value || choice->in[i].constant) continue;
    const int maker = a->choice_of[value->id], shared = a->readings[value->id].node;
    if (shared >= 0) {
      HN_TRY(add_reader(a, shared, c, i));
      continue;
    }
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

/* A result that is made in another format than it leaves in is reformatted behind its maker. */
static void charge_results(assigning *a) {
  const hn_block *root = a->choices->root;
  for (int r = 0; r < root->result_count; ++r) {
    const hn_value *result = root->results[r];
    const int c = result ? a->choice_of[result->id] : -1;
    if (c < 0) continue;
    const hn_choice *choice = &a->choices->items[c];
    const hone_format wanted = result_format(a, r);
    const int shared = a->readings[result->id].node;
    for (int k = 0; shared >= 0 && k < a->problem.alternatives[shared]; ++k)
      if (!(a->sets[shared * M + k] & bit(wanted))) a->problem.cost[shared * M + k] = HN_FORBIDDEN_NS;
    for (int k = 0; shared < 0 && k < a->problem.alternatives[c]; ++k)
      a->problem.cost[c * M + k] += hn_reformat_ns(a->choices, &choice->out[result->out_index].type,
                                                   writes(choice, &a->offers[c * M + k], result->out_index), wanted);
  }
}

/* Of the shared values, just what their makers and readers need of each under an assignment of the choices. */
static hone_status needed_sets(const assigning *a, double *ns, int *assignment) {
  const int first = a->choices->count;
  memcpy(ns, a->problem.cost, (size_t)a->problem.node_count * M * sizeof *ns);
  for (int e = 0; e < a->problem.edge_count; ++e) { /* no edge is between two of them */
    const hn_pbqp_edge *edge = &a->problem.edges[e];
    for (int k = 0; edge->from >= first && k < a->problem.alternatives[edge->from]; ++k)
      ns[edge->from * M + k] += edge->cost[k * M + assignment[edge->to]];
    for (int k = 0; edge->to >= first && k < a->problem.alternatives[edge->to]; ++k)
      ns[edge->to * M + k] += edge->cost[assignment[edge->from] * M + k];
  }
  for (int n = first; n < a->problem.node_count; ++n) {
    assignment[n] = 0;
    for (int k = 1; k < a->problem.alternatives[n]; ++k)
      if (ns[n * M + k] < ns[n * M + assignment[n]]) assignment[n] = k;
  }
  return hn_check_stop(a->choices->context);
}

/* The assignment that prefers one format everywhere. */
static void uniform_start(const assigning *a, hone_format format, int *assignment) {
  for (int c = 0; c < a->choices->count; ++c) {
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
  const int values = choices->graph->value_count + 1;
  int count =
      choices->count + choices->root->result_count + 1; /* every shared value has a reader that none other has */
  for (int c = 0; c < choices->count; ++c) count += choices->items[c].node->in_count;
  a->problem.node_count = choices->count;
  a->problem.alternatives = HN_NEW(&choices->arena, int, count);
  a->problem.cost = HN_NEW(&choices->arena, double, count *M);
  a->offers = HN_NEW(&choices->arena, offer, count * M);
  a->own = HN_NEW(&choices->arena, double, count *M);
  a->choice_of = HN_NEW(&choices->arena, int, values);
  a->readings = HN_NEW(&choices->arena, reading, values);
  a->sets = HN_NEW(&choices->arena, unsigned, count *M);
  a->follows = HN_NEW(&choices->arena, bool, count);
  if (!a->problem.alternatives || !a->problem.cost || !a->offers || !a->own || !a->choice_of || !a->readings ||
      !a->sets || !a->follows)
    return HN_FAIL_MEMORY(&choices->context->diag);
  a->problem.follows = a->follows;
  for (int v = 0; v < values; ++v) a->choice_of[v] = a->readings[v].node = -1;
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
  assigning a = {.choices = choices, .boundary = boundary, .problem = {.stop = &choices->context->stop}};
  HN_TRY(start(&a));
  memcpy(a.own, a.problem.cost, (size_t)choices->count * M * sizeof *a.own);
  HN_TRY(share_values(&a));
  for (int c = 0; c < choices->count; ++c) {
    HN_TRY(connect(&a, c));
    if ((c & 0xfff) == 0) HN_TRY(hn_check_stop(choices->context));
  }
  charge_results(&a);
  const int nodes = a.problem.node_count;
  int *assignment = HN_NEW(&choices->arena, int, nodes + 1);
  int *starts = HN_NEW(&choices->arena, int, nodes *HONE_FORMAT_COUNT + 1);
  double *ns = HN_NEW(&choices->arena, double, nodes *M + 1);
  if (!assignment || !starts || !ns) return HN_FAIL_MEMORY(&choices->context->diag);
  for (int f = 0; f < HONE_FORMAT_COUNT; ++f) {
    uniform_start(&a, (hone_format)f, starts + f * nodes);
    HN_TRY(needed_sets(&a, ns, starts + f * nodes));
  }
  const hone_status solved =
      hn_pbqp_solve(&a.problem, starts, HONE_FORMAT_COUNT, &choices->arena, assignment, &choices->optimal);
  HN_TRY(hn_check_stop(choices->context));
  if (solved != HONE_OK) return HN_FAIL_MEMORY(&choices->context->diag);
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
