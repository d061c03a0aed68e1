/* SPDX-License-Identifier: Apache-2.0 */
/* partition.c - supported nodes to convex sets. First each node gets a stage: the most changes from unsupported to
 * supported on any path that ends in it. Along a path stages never fall, and rise behind an unsupported node, so
 * supported neighbours of one stage make sets that no path leaves and enters again. That may part what need not be
 * parted: sets with an edge between them are joined where no path runs from one to the other through something else. */
#include "ep.h"
#include <stdlib.h>
#include <string.h>

enum { MOST_TRIES = 20000 }; /* of joining two sets; what is left apart then runs as two */

typedef struct nodes {
  int count, edge_count;
  const bool *supported;
  const int *from, *to;
  int *begin, *next; /* edges of node v: next[begin[v]] to next[begin[v + 1]] are the nodes behind it */
  int *stage, *set;  /* set[v]: its first node, while they are joined */
  int *queue;
  bool *seen;
} nodes;

static void list_edges(nodes *n) {
  for (int e = 0; e < n->edge_count; ++e) ++n->begin[n->from[e] + 1];
  for (int v = 0; v < n->count; ++v) n->begin[v + 1] += n->begin[v];
  for (int v = 0; v < n->count; ++v) n->queue[v] = n->begin[v];
  for (int e = 0; e < n->edge_count; ++e) n->next[n->queue[n->from[e]]++] = n->to[e];
}

static void find_stages(nodes *n) {
  for (int v = 0; v < n->count; ++v) /* in topological order: all in front of v are done */
    for (int k = n->begin[v]; k < n->begin[v + 1]; ++k) {
      const int u = n->next[k], stage = n->stage[v] + (n->supported[u] && !n->supported[v]);
      if (n->stage[u] < stage) n->stage[u] = stage;
    }
}

static int first_of(const nodes *n, int v) {
  while (n->set[v] != v) v = n->set[v];
  return v;
}

static void join(nodes *n, int a, int b) {
  a = first_of(n, a);
  b = first_of(n, b);
  if (a < b)
    n->set[b] = a;
  else
    n->set[a] = b;
}

/* Everything of v's set, or v alone, is put into the queue, where what is seen stands once. */
static int visit(nodes *n, int v, int count) {
  if (n->seen[v]) return count;
  n->seen[v] = true;
  n->queue[count++] = v;
  for (int u = 0; n->supported[v] && u < n->count; ++u)
    if (!n->seen[u] && n->supported[u] && n->set[u] == n->set[v]) {
      n->seen[u] = true;
      n->queue[count++] = u;
    }
  return count;
}

/* Does a path lead from set a to set b through something else? Sets are whole then: who enters one leaves it anywhere.
 */
static bool leads_around(nodes *n, int a, int b) {
  int count = 0;
  memset(n->seen, 0, (size_t)n->count * sizeof *n->seen);
  for (int v = 0; v < n->count; ++v) {
    if (!n->supported[v] || n->set[v] != a) continue;
    for (int k = n->begin[v]; k < n->begin[v + 1]; ++k) {
      const int u = n->next[k];
      if (!n->supported[u] || (n->set[u] != a && n->set[u] != b)) count = visit(n, u, count);
    }
  }
  for (int q = 0; q < count; ++q)
    for (int k = n->begin[n->queue[q]]; k < n->begin[n->queue[q] + 1]; ++k) {
      const int u = n->next[k];
      if (n->supported[u] && n->set[u] == b) return true;
      count = visit(n, u, count);
    }
  return false;
}

/* Every node's set becomes its first node itself. */
static void flatten(nodes *n) {
  for (int v = 0; v < n->count; ++v) n->set[v] = first_of(n, v);
}

static void join_sets(nodes *n) {
  int tries = 0;
  for (bool joined = true; joined && tries < MOST_TRIES;) {
    joined = false;
    for (int e = 0; e < n->edge_count && tries < MOST_TRIES; ++e) {
      const int a = n->from[e], b = n->to[e];
      if (!n->supported[a] || !n->supported[b] || n->set[a] == n->set[b]) continue;
      ++tries;
      if (leads_around(n, n->set[a], n->set[b])) continue;
      join(n, a, b);
      flatten(n);
      joined = true;
    }
  }
}

static int number_sets(const nodes *n, int *group) {
  int count = 0;
  for (int v = 0; v < n->count; ++v) group[v] = !n->supported[v] ? -1 : n->set[v] == v ? count++ : group[n->set[v]];
  return count;
}

int ep_partition(int node_count, const bool *supported, int edge_count, const int *from, const int *to, int *group) {
  ep_arena arena = {0};
  nodes n = {.count = node_count, .edge_count = edge_count, .supported = supported, .from = from, .to = to};
  n.begin = EP_NEW(&arena, int, node_count + 1);
  n.next = EP_NEW(&arena, int, edge_count);
  n.stage = EP_NEW(&arena, int, node_count);
  n.set = EP_NEW(&arena, int, node_count);
  n.queue = EP_NEW(&arena, int, node_count + 1);
  n.seen = EP_NEW(&arena, bool, node_count);
  int count = -1;
  if (n.begin && n.next && n.stage && n.set && n.queue && n.seen) {
    list_edges(&n);
    find_stages(&n);
    for (int v = 0; v < node_count; ++v) n.set[v] = v;
    for (int e = 0; e < edge_count; ++e)
      if (supported[from[e]] && supported[to[e]] && n.stage[from[e]] == n.stage[to[e]]) join(&n, from[e], to[e]);
    flatten(&n);
    join_sets(&n);
    count = number_sets(&n, group);
  }
  ep_arena_free(&arena);
  return count;
}
