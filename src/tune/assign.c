/* SPDX-License-Identifier: Apache-2.0 */
/* assign.c - tactics and storages together. Each choice offers, for every pair of storages, its fastest candidate; an
 * edge between a producer and a consumer costs a convert when theirs differ. Graph inputs and results are plain.
 *
 * Lowering makes one convert step for all readers of a value. So a value that is read more than once, and may lie in
 * more than one storage, is a node of its own: its alternatives are the sets of storages that exist of it. Its maker
 * pays for the steps that make them, and a reader pays nothing, but its storage must be in the set. */
#include "tensor/storage.h"
#include "tune/tuning.h"
#include <math.h>
#include <string.h>

enum { M = HN_PBQP_MAX };

typedef struct offer { /* of one alternative */
  int candidate;       /* -1: a view, or parts alone */
  bool parts;          /* the parts of the fused node are faster than the candidate */
  hone_storage_pair storages;
} offer;

/* Who reads a value. */
typedef struct reading {
  int count;             /* of readers; a result of parts is read by what is outside */
  unsigned storages;     /* that they may want, a bit each */
  const hone_type *type; /* at opt */
  int node;              /* of the problem, for a shared value; -1: none */
} reading;

typedef struct assigning {
  hn_choices *choices;
  const hn_boundary *boundary; /* NULL: parameters and results lie as the choices place them */
  hn_pbqp problem;             /* nodes: the choices, then the shared values */
  offer *offers;               /* [choice * M + alternative] */
  double *own;                 /* costs without those of borders */
  int *choice_of;              /* [value id]: the choice that makes it; -1: none */
  reading *readings;           /* [value id] */
  unsigned *sets;              /* [node * M + alternative]: of shared values, the storages that exist */
  bool *follows;               /* [node]: it is a shared value */
  int edge_capacity;
} assigning;

static unsigned bit(hone_storage storage) { return 1U << storage; }

static int find_offer(assigning *a, int c, const hone_storage_pair *pair) {
  int *count = &a->problem.alternatives[c];
  offer *offers = &a->offers[c * M];
  for (int at = 0; at < *count; ++at)
    if (offers[at].storages.in == pair->in && offers[at].storages.out == pair->out) return at;
  if (*count == M) return -1;
  offers[*count] = (offer){.candidate = -1, .storages = *pair};
  a->problem.cost[c * M + *count] = HUGE_VAL;
  return (*count)++;
}

/* The parts of a fused node are offered for the storages between which they were tried. */
static void offer_parts(assigning *a, int c) {
  const hn_choice *choice = &a->choices->items[c];
  const hn_parts_trial *trial = choice->trial;
  for (int i = 0; trial && !choice->locked && !a->choices->settled && i < trial->count; ++i) {
    if (!(trial->ns[i] < HN_FORBIDDEN_NS)) continue;
    const int at = find_offer(a, c, &trial->storages[i]);
    if (at < 0 || trial->ns[i] >= HN_PARTS_MARGIN * a->problem.cost[c * M + at]) continue;
    a->problem.cost[c * M + at] = trial->ns[i];
    a->offers[c * M + at].parts = true;
  }
}

static bool passes(const assigning *a, const hn_choice *view, hone_storage storage) {
  return (a->choices->narrow & bit(storage)) && hn_storage_format(storage) == HONE_PLAIN &&
         hn_storage_fit(&view->in[0].type, storage) == storage && !view->in[0].constant;
}

static const char no_exact_tactic[] = "no tactic of the fused node is within its bound";

static bool is_inexact(const hn_choice *choice) {
  for (int k = 0; k < choice->candidate_count; ++k)
    if (choice->candidates[k].state == HN_CANDIDATE_INEXACT) return true;
  return false;
}

/* What was measured is said with its error. A fused node gives way to its parts, which may have others. */
static hone_status give_up(assigning *a, int c) {
  const hn_choice *choice = &a->choices->items[c];
  hone_context *context = a->choices->context;
  hn_text reasons;
  hn_text_init(&reasons, context->allocator);
  for (int k = 0, named = 0; k < choice->candidate_count && named < 6; ++k) {
    const hn_candidate *candidate = &choice->candidates[k];
    if (candidate->state != HN_CANDIDATE_INEXACT) continue;
    hn_text_add(&reasons, "\n  ");
    hn_text_candidate(&reasons, candidate);
    hn_text_printf(&reasons, ": its error is %.3g, its bound %.3g", candidate->error_rel_l2, candidate->error_bound);
    ++named;
  }
  hone_status status = HONE_OK;
  if (is_inexact(choice) && !choice->locked && !a->choices->settled && !a->boundary &&
      hn_node_can_split(choice->node)) {
    a->offers[c * M] = (offer){.candidate = -1, .parts = true};
    a->problem.cost[c * M] = 0;
    a->problem.alternatives[c] = 1;
    hn_log(context, HONE_LOG_WARN, "node %s (%s): %s%s", choice->node->name, choice->node->op->name, no_exact_tactic,
           hn_text_string(&reasons));
  } else {
    status = HN_FAIL(&context->diag, HONE_UNSUPPORTED, "node %s (%s): every tactic was rejected or is inexact%s",
                     choice->node->name, choice->node->op->name, hn_text_string(&reasons));
  }
  hn_text_deinit(&reasons);
  return status;
}

/* The fastest usable candidate for each pair of storages. A lock leaves one. */
static hone_status make_offers(assigning *a, int c) {
  hn_choice *choice = &a->choices->items[c];
  int *count = &a->problem.alternatives[c];
  offer *offers = &a->offers[c * M];
  if (!hn_choice_runs(choice)) {
    for (int s = 0; s < HONE_STORAGE_COUNT; ++s) { /* a view passes on what lies plain */
      const hone_storage storage = (hone_storage)s;
      if (s == HONE_PLAIN || (choice->view && passes(a, choice, storage)))
        offers[(*count)++] = (offer){.candidate = -1, .storages = {storage, storage}};
    }
    return HONE_OK;
  }
  const bool takes_withheld = choice->widened && !hn_choice_can_widen(choice, false);
  for (int k = 0; k < choice->candidate_count; ++k) {
    const hn_candidate *candidate = &choice->candidates[k];
    const bool locked = choice->locked && !choice->widened;
    const bool withheld = takes_withheld && candidate->state == HN_CANDIDATE_WITHHELD;
    if (!(hn_candidate_usable(candidate) || withheld) || (locked && choice->chosen != k)) continue;
    if (choice->widened && hn_candidate_is_narrow(candidate)) continue;
    if (!locked && hn_candidate_waits(a->choices, choice, candidate)) continue;
    const int at = find_offer(a, c, &candidate->storages);
    if (at < 0 || hn_candidate_ns(candidate) >= a->problem.cost[c * M + at]) continue;
    a->problem.cost[c * M + at] = hn_candidate_ns(candidate);
    offers[at].candidate = k;
  }
  offer_parts(a, c);
  return *count > 0 ? HONE_OK : give_up(a, c);
}

/* The storage in which an alternative reads an input or writes an output. */
static hone_storage reads(const hn_choice *choice, const offer *chosen, int input) {
  return hn_port_storage(choice->node->op, input, &choice->in[input].type, &chosen->storages);
}
static hone_storage writes(const hn_choice *choice, const offer *chosen, int output) {
  return hn_storage_fit(&choice->out[output].type, chosen->storages.out);
}

/* The storage of a value that no choice makes. */
static hone_storage given_storage(const assigning *a, const hn_value *value) {
  const hn_block *root = a->choices->root;
  const hn_port_place *places = a->choices->param_places;
  for (int i = 0; (a->boundary || places) && i < root->param_count; ++i)
    if (root->params[i] == value) return a->boundary ? a->boundary->params[i] : places[i].storage;
  return HONE_PLAIN;
}

/* The storage in which a result leaves. */
static hone_storage result_storage(const assigning *a, int result) {
  const hn_port_place *places = a->choices->result_places;
  return a->boundary ? a->boundary->results[result] : places ? places[result].storage : HONE_PLAIN;
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
          hn_convert_ns(a->choices, &reader->in[to_input].type, writes(maker, &a->offers[from * M + i], from_output),
                        reads(reader, &a->offers[to * M + j], to_input));
  return HONE_OK;
}

/* ---- values with several readers ---- */

static void read_by(assigning *a, const hn_value *value, unsigned storages, const hone_type *type) {
  reading *r = &a->readings[value->id];
  ++r->count;
  r->storages |= storages;
  r->type = type;
}

static void count_readers(assigning *a) {
  const hn_block *root = a->choices->root;
  for (int c = 0; c < a->choices->count; ++c) {
    const hn_choice *choice = &a->choices->items[c];
    for (int i = 0; i < choice->node->in_count; ++i) {
      unsigned storages = 0;
      if (!choice->node->in[i] || choice->in[i].constant) continue;
      for (int k = 0; k < a->problem.alternatives[c]; ++k) storages |= bit(reads(choice, &a->offers[c * M + k], i));
      read_by(a, choice->node->in[i], storages, &choice->in[i].type);
    }
  }
  for (int r = 0; r < root->result_count; ++r) {
    const hn_value *result = root->results[r];
    const int c = result ? a->choice_of[result->id] : -1;
    if (c >= 0) read_by(a, result, bit(result_storage(a, r)), &a->choices->items[c].out[result->out_index].type);
  }
}

/* The steps that make all of a set from one storage; where it takes two of them, the way leads over plain. */
static double set_ns(const assigning *a, const hone_type *type, unsigned set, hone_storage made) {
  double ns = 0;
  if (!(set & bit(made))) return HN_FORBIDDEN_NS;
  for (int f = 0; f < HONE_STORAGE_COUNT; ++f) {
    const hone_storage storage = (hone_storage)f;
    if (!(set & bit(storage)) || storage == made) continue;
    const bool direct = hn_storage_is_direct(made, storage);
    if (!direct && !(set & bit(HONE_PLAIN))) return HN_FORBIDDEN_NS;
    ns += hn_convert_ns(a->choices, type, direct ? made : HONE_PLAIN, storage);
  }
  return ns;
}

static int bits_of(unsigned set) {
  int count = 0;
  for (; set; set &= set - 1) ++count;
  return count;
}

/* The sets that are alternatives: all of them, or the small ones where there are more than M. */
static int list_sets(unsigned all, unsigned *sets) {
  const int bits = bits_of(all), most = bits <= 4 ? bits : bits == 5 ? 2 : 1;
  int count = 0;
  for (unsigned set = 1; set <= all && count < M; ++set) {
    const bool with_plain = bits > 5 && bits_of(set) == 2 && (set & bit(HONE_PLAIN));
    if ((set & all) == set && (bits_of(set) <= most || with_plain)) sets[count++] = set;
  }
  return count;
}

/* Must the way between two of them lead over plain? */
static bool needs_plain(unsigned all) {
  for (int f = 0; f < HONE_STORAGE_COUNT; ++f)
    for (int g = 0; g < f; ++g)
      if ((all >> f & 1) && (all >> g & 1) && !hn_storage_is_direct((hone_storage)f, (hone_storage)g)) return true;
  return false;
}

/* The value as a node, with the maker's side of it. */
static hone_status share(assigning *a, const hn_value *value, reading *r, unsigned all) {
  const int node = a->problem.node_count++, maker = a->choice_of[value->id];
  int *count = &a->problem.alternatives[node];
  r->node = node;
  a->follows[node] = true;
  *count = list_sets(all, a->sets + node * M);
  if (maker < 0) {
    for (int k = 0; k < *count; ++k)
      a->problem.cost[node * M + k] = set_ns(a, r->type, a->sets[node * M + k], given_storage(a, value));
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
    unsigned all = r->storages;
    if (maker < 0) all |= bit(given_storage(a, graph->values[v]));
    for (int k = 0; maker >= 0 && k < a->problem.alternatives[maker]; ++k)
      all |= bit(writes(&a->choices->items[maker], &a->offers[maker * M + k], graph->values[v]->out_index));
    if (!(all & (all - 1))) continue; /* one storage: nothing to decide */
    if (needs_plain(all)) all |= bit(HONE_PLAIN);
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
      a->problem.cost[c * M + k] += hn_convert_ns(a->choices, &choice->in[i].type, given_storage(a, value),
                                                  reads(choice, &a->offers[c * M + k], i));
  }
  return HONE_OK;
}

/* A result that is made in another storage than it leaves in is converted behind its maker. */
static void charge_results(assigning *a) {
  const hn_block *root = a->choices->root;
  for (int r = 0; r < root->result_count; ++r) {
    const hn_value *result = root->results[r];
    const int c = result ? a->choice_of[result->id] : -1;
    if (c < 0) continue;
    const hn_choice *choice = &a->choices->items[c];
    const hone_storage wanted = result_storage(a, r);
    const int shared = a->readings[result->id].node;
    for (int k = 0; shared >= 0 && k < a->problem.alternatives[shared]; ++k)
      if (!(a->sets[shared * M + k] & bit(wanted))) a->problem.cost[shared * M + k] = HN_FORBIDDEN_NS;
    for (int k = 0; shared < 0 && k < a->problem.alternatives[c]; ++k)
      a->problem.cost[c * M + k] += hn_convert_ns(a->choices, &choice->out[result->out_index].type,
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

/* The assignment that prefers one storage everywhere. */
static void uniform_start(const assigning *a, hone_storage storage, int *assignment) {
  for (int c = 0; c < a->choices->count; ++c) {
    assignment[c] = 0;
    double best = HUGE_VAL;
    for (int k = 0; k < a->problem.alternatives[c]; ++k) {
      const offer *o = &a->offers[c * M + k];
      const int differ = (o->storages.in != storage) + (o->storages.out != storage);
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

/* Each choice's share of the whole. An edge charges its first end: what makes the value. */
static void share_out(const assigning *a, const int *assignment) {
  hn_choice *items = a->choices->items;
  const int count = a->choices->count;
  for (int c = 0; c < count; ++c) {
    const int at = c * M + assignment[c];
    items[c].taken_ns = a->own[at];
    items[c].convert_ns = a->problem.cost[at] - a->own[at];
  }
  for (int e = 0; e < a->problem.edge_count; ++e) {
    const hn_pbqp_edge *edge = &a->problem.edges[e];
    if (edge->from < count)
      items[edge->from].convert_ns += edge->cost[assignment[edge->from] * M + assignment[edge->to]];
  }
}

static const char *why_chosen(const hn_choice *choice, int chosen) {
  if (choice->locked && !choice->widened) return "lock";
  if (choice->widened) return "f32, for the outputs' error";
  int usable = 0;
  if (chosen < 0) return "its parts are faster";
  for (int k = 0; k < choice->candidate_count; ++k) {
    if (!hn_candidate_usable(&choice->candidates[k])) continue;
    ++usable;
    if (hn_candidate_ns(&choice->candidates[k]) < hn_candidate_ns(&choice->candidates[chosen]))
      return "storages of its neighbours";
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
  int *starts = HN_NEW(&choices->arena, int, nodes *HONE_STORAGE_COUNT + 1);
  double *ns = HN_NEW(&choices->arena, double, nodes *M + 1);
  if (!assignment || !starts || !ns) return HN_FAIL_MEMORY(&choices->context->diag);
  int start_count = 0;
  for (int s = 0; s < HONE_STORAGE_COUNT; ++s) {
    if (s >= HONE_FORMAT_COUNT && !(choices->narrow >> s & 1)) continue;
    uniform_start(&a, (hone_storage)s, starts + start_count * nodes);
    HN_TRY(needed_sets(&a, ns, starts + start_count++ * nodes));
  }
  const hone_status solved =
      hn_pbqp_solve(&a.problem, starts, start_count, &choices->arena, assignment, &choices->optimal);
  HN_TRY(hn_check_stop(choices->context));
  if (solved != HONE_OK) return HN_FAIL_MEMORY(&choices->context->diag);
  choices->total_ns = hn_pbqp_total(&a.problem, assignment);
  share_out(&a, assignment);
  for (int c = 0; c < choices->count; ++c) {
    hn_choice *choice = &choices->items[c];
    const offer *taken = &a.offers[c * M + assignment[c]];
    choice->viewed_in = taken->storages.out;
    if (!hn_choice_runs(choice)) continue;
    choice->split = taken->parts;
    choice->parts_ns = taken->parts ? a.own[c * M + assignment[c]] : 0;
    choice->chosen = taken->candidate;
    choice->why = taken->parts && is_inexact(choice) && choice->parts_ns <= 0 ? no_exact_tactic
                                                                              : why_chosen(choice, choice->chosen);
  }
  return HONE_OK;
}
