/* SPDX-License-Identifier: Apache-2.0 */
/* pbqp.c - the partitioned boolean quadratic problem: one alternative a node, costs on nodes and on edges (Scholz and
 * Eckstein 2002). Edges whose costs are sums of their ends' fall apart; nodes of degree 0, 1 and 2 are reduced exactly;
 * if none is left over, the result is proved best. Else the rest is fixed greedily, and local search improves it and
 * every given start; the best of all is taken. */
#include "search/pbqp.h"
#include <math.h>
#include <string.h>

enum { M = HN_PBQP_MAX, MOST_LOOKS = 1000000000 /* at edges, of one local search: some seconds */ };

typedef struct edge {
  int from, to, next[2]; /* in the lists of from and to */
  bool dead;
  double cost[M * M];
} edge;

/* A binary heap, the greatest key first. */
typedef struct queue {
  int64_t *keys;
  int count;
} queue;

typedef struct solver {
  const hn_pbqp *problem;
  hn_arena *arena;
  edge *edges;
  int edge_count, edge_capacity;
  int *head, *degree; /* of nodes: their first edge, their living edges */
  int *listed;        /* edges in its list; some of them may be dead */
  bool *node_dead, *queued;
  queue easy[2]; /* nodes of degree 2 and less, the first first: of this sweep, and of the next one */
  queue hard;    /* the others with a degree that they had once, the greatest and of those the first */
  int sweep, at; /* which queue is worked off, up to which node */
  double *cost;
  int *order, order_count; /* nodes as they were reduced */
  int (*snapshots)[2];     /* per reduced node: its edges at that time */
  int *snapshot_count;
  bool exact;
} solver;

static double edge_cost(const edge *e, int node, int mine, int other) {
  return e->from == node ? e->cost[mine * M + other] : e->cost[other * M + mine];
}

static int other_end(const edge *e, int node) { return e->from == node ? e->to : e->from; }

static int next_edge(const edge *e, int node) { return e->next[e->from != node]; }

double hn_pbqp_total(const hn_pbqp *problem, const int *assignment) {
  double total = 0;
  for (int n = 0; n < problem->node_count; ++n) total += problem->cost[n * M + assignment[n]];
  for (int e = 0; e < problem->edge_count; ++e) {
    const hn_pbqp_edge *one = &problem->edges[e];
    total += one->cost[assignment[one->from] * M + assignment[one->to]];
  }
  return total;
}

static void kill_edge(solver *s, edge *e) {
  if (e->dead) return;
  e->dead = true;
  --s->degree[e->from];
  --s->degree[e->to];
}

/* What every pair of one end's alternative costs at least is that alternative's own cost; an edge left without costs
 * goes. Afterwards all costs of the edge are >= 0. */
static void simplify(solver *s, edge *e) {
  const int rows = s->problem->alternatives[e->from], columns = s->problem->alternatives[e->to];
  double most = 0;
  for (int i = 0; i < rows; ++i) {
    double least = HUGE_VAL;
    for (int j = 0; j < columns; ++j) least = fmin(least, e->cost[i * M + j]);
    s->cost[e->from * M + i] += least;
    for (int j = 0; j < columns; ++j) e->cost[i * M + j] -= least;
  }
  for (int j = 0; j < columns; ++j) {
    double least = HUGE_VAL;
    for (int i = 0; i < rows; ++i) least = fmin(least, e->cost[i * M + j]);
    s->cost[e->to * M + j] += least;
    for (int i = 0; i < rows; ++i) most = fmax(most, e->cost[i * M + j] -= least);
  }
  if (most < 1e-9) kill_edge(s, e);
}

/* The living edge between two nodes, or NULL; dead ones on the way leave the list. The shorter list is searched: one
 * value may have 10^5 readers. */
static edge *find_edge(solver *s, int from, int to) {
  const int node = s->listed[from] <= s->listed[to] ? from : to, other = node == from ? to : from;
  for (int *link = &s->head[node]; *link >= 0;) {
    edge *e = &s->edges[*link];
    if (e->dead) {
      *link = next_edge(e, node);
      --s->listed[node];
      continue;
    }
    if (other_end(e, node) == other) return e;
    link = &e->next[e->from != node];
  }
  return NULL;
}

/* Adds cost to the edge between two nodes, made when there is none. */
static bool add_edge(solver *s, int from, int to, const double *cost) {
  edge *e = find_edge(s, from, to);
  if (e) {
    for (int i = 0; i < M; ++i)
      for (int j = 0; j < M; ++j) e->cost[e->from == from ? i * M + j : j * M + i] += cost[i * M + j];
  } else {
    if (s->edge_count == s->edge_capacity) return false;
    e = &s->edges[s->edge_count];
    *e = (edge){.from = from, .to = to, .next = {s->head[from], s->head[to]}};
    memcpy(e->cost, cost, sizeof e->cost);
    s->head[from] = s->head[to] = s->edge_count++;
    ++s->degree[from], ++s->listed[from];
    ++s->degree[to], ++s->listed[to];
  }
  simplify(s, e);
  return true;
}

static void remember(solver *s, int node, const int *edges, int count) {
  for (int i = 0; i < count; ++i) {
    s->snapshots[node][i] = edges[i];
    kill_edge(s, &s->edges[edges[i]]);
  }
  s->snapshot_count[node] = count;
  s->order[s->order_count++] = node;
  s->node_dead[node] = true;
}

/* Degree 1: the neighbour pays for the best answer to each of its alternatives. */
static void fold_one(solver *s, int node, const edge *e) {
  const int other = other_end(e, node);
  for (int j = 0; j < s->problem->alternatives[other]; ++j) {
    double best = HUGE_VAL;
    for (int i = 0; i < s->problem->alternatives[node]; ++i)
      best = fmin(best, s->cost[node * M + i] + edge_cost(e, node, i, j));
    s->cost[other * M + j] += best;
  }
}

/* Degree 2: the two neighbours share an edge that pays for the best answer to each pair. */
static bool fold_two(solver *s, int node, const edge *a, const edge *b) {
  const int u = other_end(a, node), v = other_end(b, node);
  double cost[M * M] = {0};
  for (int j = 0; j < s->problem->alternatives[u]; ++j)
    for (int k = 0; k < s->problem->alternatives[v]; ++k) {
      double best = HUGE_VAL;
      for (int i = 0; i < s->problem->alternatives[node]; ++i)
        best = fmin(best, s->cost[node * M + i] + edge_cost(a, node, i, j) + edge_cost(b, node, i, k));
      cost[j * M + k] = best;
    }
  return add_edge(s, u, v, cost);
}

static bool reduce_node(solver *s, int node) {
  int edges[2], degree = 0;
  for (int e = s->head[node]; e >= 0; e = next_edge(&s->edges[e], node))
    if (!s->edges[e].dead) edges[degree++] = e;
  remember(s, node, edges, degree);
  if (degree == 1) fold_one(s, node, &s->edges[edges[0]]);
  return degree == 2 ? fold_two(s, node, &s->edges[edges[0]], &s->edges[edges[1]]) : true;
}

/* A node of higher degree is fixed where it costs least if its neighbours answer best: no longer exact. */
static void fix_node(solver *s, int node) {
  int best = 0;
  double best_cost = HUGE_VAL;
  for (int i = 0; i < s->problem->alternatives[node]; ++i) {
    double cost = s->cost[node * M + i];
    for (int e = s->head[node]; e >= 0; e = next_edge(&s->edges[e], node)) {
      if (s->edges[e].dead) continue;
      const int other = other_end(&s->edges[e], node);
      double least = HUGE_VAL;
      for (int j = 0; j < s->problem->alternatives[other]; ++j)
        least = fmin(least, edge_cost(&s->edges[e], node, i, j) + s->cost[other * M + j]);
      cost += least;
    }
    if (cost < best_cost) best_cost = cost, best = i;
  }
  for (int e = s->head[node]; e >= 0; e = next_edge(&s->edges[e], node)) {
    if (s->edges[e].dead) continue;
    const int other = other_end(&s->edges[e], node);
    for (int j = 0; j < s->problem->alternatives[other]; ++j)
      s->cost[other * M + j] += edge_cost(&s->edges[e], node, best, j);
    kill_edge(s, &s->edges[e]);
  }
  for (int i = 0; i < s->problem->alternatives[node]; ++i)
    if (i != best) s->cost[node * M + i] = HUGE_VAL;
  s->exact = false;
  remember(s, node, NULL, 0);
}

static void push(queue *q, int64_t key) {
  int at = q->count++;
  for (; at > 0 && q->keys[(at - 1) / 2] < key; at = (at - 1) / 2) q->keys[at] = q->keys[(at - 1) / 2];
  q->keys[at] = key;
}

static int64_t pop(queue *q) {
  const int64_t top = q->keys[0], last = q->keys[--q->count];
  int at = 0;
  for (int child; (child = 2 * at + 1) < q->count; at = child) {
    if (child + 1 < q->count && q->keys[child + 1] > q->keys[child]) ++child;
    if (q->keys[child] <= last) break;
    q->keys[at] = q->keys[child];
  }
  q->keys[at] = last;
  return top;
}

/* Keys: the lowest node first; the highest degree first, and then the lowest node. A degree never grows. */
static int64_t easy_key(int node) { return -(int64_t)node; }
static int64_t hard_key(const solver *s, int node) { return (int64_t)s->degree[node] << 32 | (INT32_MAX - node); }

static void enqueue(solver *s, int node) {
  if (s->node_dead[node] || s->queued[node] || s->degree[node] > 2) return;
  s->queued[node] = true;
  push(&s->easy[node > s->at ? s->sweep : !s->sweep], easy_key(node));
}

/* What became easy around a node that is gone. */
static void enqueue_around(solver *s, int node) {
  for (int e = s->head[node]; e >= 0; e = next_edge(&s->edges[e], node)) enqueue(s, other_end(&s->edges[e], node));
}

/* The node with the most edges, of those that are left. */
static int hardest(solver *s) {
  for (;;) {
    const int64_t key = pop(&s->hard);
    const int node = INT32_MAX - (int)(key & INT32_MAX);
    if (s->node_dead[node] || s->degree[node] <= 2) continue;
    if (key == hard_key(s, node)) return node;
    push(&s->hard, hard_key(s, node));
  }
}

/* Sweeps over the nodes, the lowest first, reduce what is easy by then; when nothing is, the hardest is fixed. */
static hone_status reduce_all(solver *s) {
  s->at = -1;
  for (int n = 0; n < s->problem->node_count; ++n) {
    enqueue(s, n);
    if (s->degree[n] > 2) push(&s->hard, hard_key(s, n));
  }
  for (int left = s->problem->node_count; left > 0; --left) {
    if ((left & 0xff) == 0 && hn_stop_now(s->problem->stop)) return hn_stop_look(s->problem->stop);
    if (s->easy[s->sweep].count == 0) {
      s->sweep = !s->sweep;
      s->at = -1;
    }
    if (s->easy[s->sweep].count > 0) {
      s->at = (int)-pop(&s->easy[s->sweep]);
      if (!reduce_node(s, s->at)) return HONE_NO_MEMORY;
      enqueue_around(s, s->at);
    } else {
      const int node = hardest(s);
      fix_node(s, node);
      enqueue_around(s, node);
    }
  }
  return HONE_OK;
}

/* In reverse, every node answers its neighbours' choices. */
static void propagate(const solver *s, int *assignment) {
  for (int k = s->order_count - 1; k >= 0; --k) {
    const int node = s->order[k];
    double best_cost = HUGE_VAL;
    assignment[node] = 0;
    for (int i = 0; i < s->problem->alternatives[node]; ++i) {
      double cost = s->cost[node * M + i];
      for (int e = 0; e < s->snapshot_count[node]; ++e) {
        const edge *one = &s->edges[s->snapshots[node][e]];
        cost += edge_cost(one, node, i, assignment[other_end(one, node)]);
      }
      if (cost < best_cost) best_cost = cost, assignment[node] = i;
    }
  }
}

/* The problem's own edges as lists again, for local search. */
static bool list_edges(const hn_pbqp *problem, hn_arena *arena, int **head, int (**next)[2]) {
  *head = HN_NEW(arena, int, problem->node_count + 1);
  *next = (int(*)[2])HN_NEW(arena, int, 2 * problem->edge_count + 2);
  if (!*head || !*next) return false;
  for (int n = 0; n < problem->node_count; ++n) (*head)[n] = -1;
  for (int e = 0; e < problem->edge_count; ++e) {
    const int ends[2] = {problem->edges[e].from, problem->edges[e].to};
    for (int k = 0; k < 2; ++k) {
      (*next)[e][k] = (*head)[ends[k]];
      (*head)[ends[k]] = e;
    }
  }
  return true;
}

typedef struct neighbours {
  const hn_pbqp *problem;
  const int *head;
  int (*const next)[2];
  int64_t *seen_for; /* [node]: the visit for which a follower was last asked */
  int64_t visit;
  int64_t edges_left; /* that may be looked at; then what is found by then is the result */
} neighbours;

static int next_of(const neighbours *l, int node, int e) { return l->next[e][l->problem->edges[e].from != node]; }
static int end_of(const neighbours *l, int node, int e) {
  return l->problem->edges[e].from == node ? l->problem->edges[e].to : l->problem->edges[e].from;
}
static bool follows(const neighbours *l, int node) { return l->problem->follows && l->problem->follows[node]; }

static double cost_across(const neighbours *l, int node, int e, int mine, const int *assignment) {
  const hn_pbqp_edge *one = &l->problem->edges[e];
  return one->from == node ? one->cost[mine * M + assignment[one->to]] : one->cost[assignment[one->from] * M + mine];
}

/* The best that a node can do beside its neighbours. */
static int best_answer(neighbours *l, int node, const int *assignment, double *out_cost) {
  int best = assignment[node];
  *out_cost = HUGE_VAL;
  for (int i = 0; i < l->problem->alternatives[node]; ++i) {
    double cost = l->problem->cost[node * M + i];
    for (int e = l->head[node]; e >= 0; e = next_of(l, node, e), --l->edges_left)
      cost += cost_across(l, node, e, i, assignment);
    if (cost < *out_cost - 1e-9) *out_cost = cost, best = i;
  }
  return best;
}

/* What a node's alternative costs, with the followers around it where they are best then. */
static double cost_with_followers(neighbours *l, int node, int mine, int *assignment) {
  const int before = assignment[node];
  const int64_t visit = ++l->visit;
  double cost = l->problem->cost[node * M + mine], answer;
  assignment[node] = mine;
  for (int e = l->head[node]; e >= 0 && l->edges_left > 0; e = next_of(l, node, e), --l->edges_left) {
    const int other = end_of(l, node, e);
    if (!follows(l, other)) {
      cost += cost_across(l, node, e, mine, assignment);
    } else if (l->seen_for[other] != visit) {
      l->seen_for[other] = visit;
      best_answer(l, other, assignment, &answer);
      cost += answer;
    }
  }
  assignment[node] = before;
  return cost;
}

/* False: it has looked long enough, or is stopped, and so what an alternative costs is not known. */
static bool improve_node(neighbours *l, int node, int *assignment, bool *changed) {
  double best = cost_with_followers(l, node, assignment[node], assignment);
  for (int i = 0; i < l->problem->alternatives[node]; ++i) {
    const double cost = cost_with_followers(l, node, i, assignment);
    if (l->edges_left <= 0 || hn_stop_now(l->problem->stop)) return false;
    if (cost < best - 1e-9) best = cost, assignment[node] = i, *changed = true;
  }
  return true;
}

/* Changes one node at a time while that helps, and the followers beside it with it. */
static void improve(neighbours *l, int *assignment) {
  double answer;
  bool changed = true, goes_on = true;
  l->edges_left = MOST_LOOKS;
  for (int round = 0; round < 100 && changed && goes_on; ++round) {
    changed = false;
    for (int n = 0; n < l->problem->node_count && goes_on; ++n)
      if (!follows(l, n) && l->problem->alternatives[n] >= 2) goes_on = improve_node(l, n, assignment, &changed);
  }
  for (int n = 0; n < l->problem->node_count; ++n)
    if (follows(l, n)) assignment[n] = best_answer(l, n, assignment, &answer);
}

/* Every reduced node gives at most one edge more. */
static hone_status start_solver(solver *s) {
  const int nodes = s->problem->node_count + 1;
  s->edge_capacity = s->problem->edge_count + nodes;
  s->edges = HN_NEW(s->arena, edge, s->edge_capacity);
  s->head = HN_NEW(s->arena, int, nodes);
  s->degree = HN_NEW(s->arena, int, nodes);
  s->listed = HN_NEW(s->arena, int, nodes);
  s->node_dead = HN_NEW(s->arena, bool, nodes);
  s->queued = HN_NEW(s->arena, bool, nodes);
  s->easy[0].keys = HN_NEW(s->arena, int64_t, nodes);
  s->easy[1].keys = HN_NEW(s->arena, int64_t, nodes);
  s->hard.keys = HN_NEW(s->arena, int64_t, nodes);
  s->cost = HN_NEW(s->arena, double, nodes *M);
  s->order = HN_NEW(s->arena, int, nodes);
  s->snapshots = (int(*)[2])HN_NEW(s->arena, int, nodes * 2);
  s->snapshot_count = HN_NEW(s->arena, int, nodes);
  if (!s->edges || !s->head || !s->degree || !s->listed || !s->node_dead || !s->queued || !s->easy[0].keys ||
      !s->easy[1].keys || !s->hard.keys || !s->cost || !s->order || !s->snapshots || !s->snapshot_count)
    return HONE_NO_MEMORY;
  for (int n = 0; n < nodes; ++n) s->head[n] = -1;
  memcpy(s->cost, s->problem->cost, (size_t)s->problem->node_count * M * sizeof(double));
  for (int e = 0; e < s->problem->edge_count; ++e) { /* parallel edges are joined */
    if ((e & 0xfff) == 0 && hn_stop_now(s->problem->stop)) return hn_stop_look(s->problem->stop);
    if (!add_edge(s, s->problem->edges[e].from, s->problem->edges[e].to, s->problem->edges[e].cost))
      return HONE_NO_MEMORY;
  }
  return HONE_OK;
}

hone_status hn_pbqp_solve(const hn_pbqp *problem, const int *starts, int start_count, hn_arena *arena, int *assignment,
                          bool *out_optimal) {
  solver s = {.problem = problem, .arena = arena, .exact = true};
  int *other = HN_NEW(arena, int, problem->node_count + 1), *head, (*next)[2];
  if (!other) return HONE_NO_MEMORY;
  HN_TRY(start_solver(&s));
  HN_TRY(reduce_all(&s));
  propagate(&s, assignment);
  *out_optimal = s.exact;
  if (s.exact) return HONE_OK;
  int64_t *seen_for = HN_NEW(arena, int64_t, problem->node_count + 1);
  if (!seen_for || !list_edges(problem, arena, &head, &next)) return HONE_NO_MEMORY;
  neighbours l = {.problem = problem, .head = head, .next = next, .seen_for = seen_for};
  improve(&l, assignment);
  for (int k = 0; k < start_count; ++k) {
    memcpy(other, starts + (size_t)k * problem->node_count, (size_t)problem->node_count * sizeof *other);
    improve(&l, other);
    if (hn_pbqp_total(problem, other) < hn_pbqp_total(problem, assignment))
      memcpy(assignment, other, (size_t)problem->node_count * sizeof *other);
  }
  return hn_stop_now(problem->stop) ? hn_stop_look(problem->stop) : HONE_OK;
}
