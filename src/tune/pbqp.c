/* SPDX-License-Identifier: Apache-2.0 */
/* pbqp.c - the partitioned boolean quadratic problem: one alternative a node, costs on nodes and on edges (Scholz and
 * Eckstein 2002). Nodes of degree 0, 1 and 2 are reduced exactly; if none is left over, the result is proved best. Else
 * the rest is fixed greedily, and local search improves it and every given start; the best of all is taken. */
#include <math.h>
#include <string.h>
#include "tune/tuning.h"

enum { M = HN_PBQP_MAX };

/* Edges as two-sided lists: half edge 2e belongs to the edge's from, 2e + 1 to its to. */
typedef struct solver {
  const hn_pbqp *problem;
  hn_arena *arena;
  hn_pbqp_edge *edges;
  int edge_count, edge_capacity;
  bool *edge_dead, *node_dead;
  double *cost;
  int *order, order_count; /* nodes as they were reduced */
  int **snapshots;         /* per reduced node: its edges at that time (at most 2) */
  int *snapshot_count;
  bool exact;
} solver;

static double edge_cost(const hn_pbqp_edge *edge, int node, int mine, int other) {
  return edge->from == node ? edge->cost[mine * M + other] : edge->cost[other * M + mine];
}

static int other_end(const hn_pbqp_edge *edge, int node) { return edge->from == node ? edge->to : edge->from; }

double hn_pbqp_total(const hn_pbqp *problem, const int *assignment) {
  double total = 0;
  for (int n = 0; n < problem->node_count; ++n) total += problem->cost[n * M + assignment[n]];
  for (int e = 0; e < problem->edge_count; ++e) {
    const hn_pbqp_edge *edge = &problem->edges[e];
    total += edge->cost[assignment[edge->from] * M + assignment[edge->to]];
  }
  return total;
}

/* Live edges of a node, at most room of them; returns how many there are. */
static int edges_of(const solver *s, int node, int *out, int room) {
  int count = 0;
  for (int e = 0; e < s->edge_count; ++e) {
    if (s->edge_dead[e] || (s->edges[e].from != node && s->edges[e].to != node)) continue;
    if (count < room) out[count] = e;
    ++count;
  }
  return count;
}

/* Adds cost to the edge between two nodes, made when there is none. */
static bool add_edge(solver *s, int from, int to, const double *cost) {
  for (int e = 0; e < s->edge_count; ++e) {
    hn_pbqp_edge *edge = &s->edges[e];
    if (s->edge_dead[e] || !((edge->from == from && edge->to == to) || (edge->from == to && edge->to == from)))
      continue;
    for (int i = 0; i < M; ++i)
      for (int j = 0; j < M; ++j) edge->cost[edge->from == from ? i * M + j : j * M + i] += cost[i * M + j];
    return true;
  }
  if (s->edge_count == s->edge_capacity) return false;
  hn_pbqp_edge *edge = &s->edges[s->edge_count++];
  edge->from = from;
  edge->to = to;
  memcpy(edge->cost, cost, sizeof edge->cost);
  return true;
}

static bool remember(solver *s, int node, const int *edges, int count) {
  s->snapshots[node] = HN_NEW(s->arena, int, 2);
  if (!s->snapshots[node]) return false;
  memcpy(s->snapshots[node], edges, (size_t)count * sizeof *edges);
  s->snapshot_count[node] = count;
  s->order[s->order_count++] = node;
  s->node_dead[node] = true;
  for (int i = 0; i < count; ++i) s->edge_dead[edges[i]] = true;
  return true;
}

/* Degree 1: the neighbour pays for the best answer to each of its alternatives. */
static void fold_one(solver *s, int node, const hn_pbqp_edge *edge) {
  const int other = other_end(edge, node);
  for (int j = 0; j < s->problem->alternatives[other]; ++j) {
    double best = HUGE_VAL;
    for (int i = 0; i < s->problem->alternatives[node]; ++i)
      best = fmin(best, s->cost[node * M + i] + edge_cost(edge, node, i, j));
    s->cost[other * M + j] += best;
  }
}

/* Degree 2: the two neighbours share an edge that pays for the best answer to each pair. */
static bool fold_two(solver *s, int node, const hn_pbqp_edge *a, const hn_pbqp_edge *b) {
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

static bool reduce_node(solver *s, int node, bool *reduced) {
  int edges[2];
  const int degree = edges_of(s, node, edges, 2);
  *reduced = degree <= 2;
  if (!*reduced) return true;
  const hn_pbqp_edge a = degree > 0 ? s->edges[edges[0]] : (hn_pbqp_edge){0};
  const hn_pbqp_edge b = degree > 1 ? s->edges[edges[1]] : (hn_pbqp_edge){0};
  if (!remember(s, node, edges, degree)) return false;
  if (degree == 1) fold_one(s, node, &a);
  return degree == 2 ? fold_two(s, node, &a, &b) : true;
}

/* A node of higher degree is fixed where it costs least if its neighbours answer best: no longer exact. */
static bool fix_node(solver *s, int node) {
  int best = 0;
  double best_cost = HUGE_VAL;
  for (int i = 0; i < s->problem->alternatives[node]; ++i) {
    double cost = s->cost[node * M + i];
    for (int e = 0; e < s->edge_count; ++e) {
      if (s->edge_dead[e] || (s->edges[e].from != node && s->edges[e].to != node)) continue;
      const int other = other_end(&s->edges[e], node);
      double least = HUGE_VAL;
      for (int j = 0; j < s->problem->alternatives[other]; ++j)
        least = fmin(least, edge_cost(&s->edges[e], node, i, j) + s->cost[other * M + j]);
      cost += least;
    }
    if (cost < best_cost) best_cost = cost, best = i;
  }
  for (int e = 0; e < s->edge_count; ++e) {
    if (s->edge_dead[e] || (s->edges[e].from != node && s->edges[e].to != node)) continue;
    const int other = other_end(&s->edges[e], node);
    for (int j = 0; j < s->problem->alternatives[other]; ++j)
      s->cost[other * M + j] += edge_cost(&s->edges[e], node, best, j);
    s->edge_dead[e] = true;
  }
  for (int i = 0; i < s->problem->alternatives[node]; ++i)
    if (i != best) s->cost[node * M + i] = HUGE_VAL;
  s->exact = false;
  return remember(s, node, NULL, 0);
}

static bool reduce_all(solver *s) {
  int left = s->problem->node_count;
  while (left > 0) {
    bool any = false;
    for (int n = 0; n < s->problem->node_count; ++n) {
      bool reduced;
      if (s->node_dead[n]) continue;
      if (!reduce_node(s, n, &reduced)) return false;
      if (reduced) any = true, --left;
    }
    for (int n = 0; !any && n < s->problem->node_count; ++n)
      if (!s->node_dead[n]) {
        if (!fix_node(s, n)) return false;
        any = true;
        --left;
      }
  }
  return true;
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
        const hn_pbqp_edge *edge = &s->edges[s->snapshots[node][e]];
        cost += edge_cost(edge, node, i, assignment[other_end(edge, node)]);
      }
      if (cost < best_cost) best_cost = cost, assignment[node] = i;
    }
  }
}

/* Changes one node at a time while that helps. */
static void improve(const hn_pbqp *problem, int *assignment) {
  for (int round = 0; round < 100; ++round) {
    bool changed = false;
    for (int n = 0; n < problem->node_count; ++n) {
      double cost[M];
      for (int i = 0; i < problem->alternatives[n]; ++i) cost[i] = problem->cost[n * M + i];
      for (int e = 0; e < problem->edge_count; ++e) {
        const hn_pbqp_edge *edge = &problem->edges[e];
        if (edge->from != n && edge->to != n) continue;
        for (int i = 0; i < problem->alternatives[n]; ++i)
          cost[i] += edge_cost(edge, n, i, assignment[other_end(edge, n)]);
      }
      for (int i = 0; i < problem->alternatives[n]; ++i)
        if (cost[i] < cost[assignment[n]] - 1e-9) assignment[n] = i, changed = true;
    }
    if (!changed) return;
  }
}

static bool start_solver(solver *s) {
  const int nodes = s->problem->node_count + 1, edges = s->problem->edge_count + s->problem->node_count + 1;
  s->edge_capacity = edges;
  s->edges = HN_NEW(s->arena, hn_pbqp_edge, edges);
  s->edge_dead = HN_NEW(s->arena, bool, edges);
  s->node_dead = HN_NEW(s->arena, bool, nodes);
  s->cost = HN_NEW(s->arena, double, nodes *M);
  s->order = HN_NEW(s->arena, int, nodes);
  s->snapshots = HN_NEW(s->arena, int *, nodes);
  s->snapshot_count = HN_NEW(s->arena, int, nodes);
  if (!s->edges || !s->edge_dead || !s->node_dead || !s->cost || !s->order || !s->snapshots || !s->snapshot_count)
    return false;
  memcpy(s->cost, s->problem->cost, (size_t)s->problem->node_count * M * sizeof(double));
  for (int e = 0; e < s->problem->edge_count; ++e) /* parallel edges are joined */
    if (!add_edge(s, s->problem->edges[e].from, s->problem->edges[e].to, s->problem->edges[e].cost)) return false;
  return true;
}

hone_status hn_pbqp_solve(const hn_pbqp *problem, const int *starts, int start_count, hn_arena *arena, int *assignment,
                          bool *out_optimal) {
  solver s = {.problem = problem, .arena = arena, .exact = true};
  int *other = HN_NEW(arena, int, problem->node_count + 1);
  if (!other || !start_solver(&s) || !reduce_all(&s)) return HONE_NO_MEMORY;
  propagate(&s, assignment);
  *out_optimal = s.exact;
  if (s.exact) return HONE_OK;
  improve(problem, assignment);
  for (int k = 0; k < start_count; ++k) {
    memcpy(other, starts + (size_t)k * problem->node_count, (size_t)problem->node_count * sizeof *other);
    improve(problem, other);
    if (hn_pbqp_total(problem, other) < hn_pbqp_total(problem, assignment))
      memcpy(assignment, other, (size_t)problem->node_count * sizeof *other);
  }
  return HONE_OK;
}
