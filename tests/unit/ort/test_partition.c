/* SPDX-License-Identifier: Apache-2.0 */
/* test_partition.c - sets of supported nodes, over random graphs: convex, without circles between them, and none that
 * could be joined with a neighbour. */
#include "base/random.h"
#include "ep.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

enum { MOST_NODES = 14, MOST_EDGES = MOST_NODES * MOST_NODES, ROUNDS = 4000 };

typedef struct net {
  int count, edge_count, set_count;
  bool supported[MOST_NODES];
  int from[MOST_EDGES], to[MOST_EDGES], set[MOST_NODES];
} net;

static hn_random source = {7};
static int below(int n) { return (int)(hn_random_u64(&source) % (uint64_t)n); }

static void draw(net *n) {
  *n = (net){.count = 1 + below(MOST_NODES)};
  const int density = 1 + below(5), support = 1 + below(4);
  for (int v = 0; v < n->count; ++v) {
    n->supported[v] = below(4) < support;
    for (int u = 0; u < v; ++u)
      if (below(8) < density) {
        n->from[n->edge_count] = u;
        n->to[n->edge_count++] = v;
      }
  }
}

/* Do the vertices have a circle, where vertex[v] stands for node v? */
static bool has_circle(const net *n, const int *vertex) {
  bool reach[2 * MOST_NODES][2 * MOST_NODES] = {{false}};
  for (int e = 0; e < n->edge_count; ++e)
    if (vertex[n->from[e]] != vertex[n->to[e]]) reach[vertex[n->from[e]]][vertex[n->to[e]]] = true;
  for (int k = 0; k < 2 * MOST_NODES; ++k)
    for (int i = 0; i < 2 * MOST_NODES; ++i)
      for (int j = 0; j < 2 * MOST_NODES; ++j) reach[i][j] |= reach[i][k] && reach[k][j];
  for (int i = 0; i < 2 * MOST_NODES; ++i)
    if (reach[i][i]) return true;
  return false;
}

/* Each set is a vertex, and each node that is in none. A circle through one is a set that is not convex, too. */
static void vertices_of(const net *n, int *vertex) {
  for (int v = 0; v < n->count; ++v) vertex[v] = n->set[v] >= 0 ? n->set[v] : MOST_NODES + v;
}

static void check_net(const net *n) {
  int vertex[MOST_NODES];
  vertices_of(n, vertex);
  for (int v = 0; v < n->count; ++v) {
    assert_int_equal(n->set[v] >= 0, n->supported[v]);
    assert_true(n->set[v] < n->set_count);
  }
  assert_false(has_circle(n, vertex));
  for (int e = 0; e < n->edge_count; ++e) { /* joined with a neighbour, a circle must come */
    const int a = n->set[n->from[e]], b = n->set[n->to[e]];
    if (a < 0 || b < 0 || a == b) continue;
    vertices_of(n, vertex);
    for (int v = 0; v < n->count; ++v)
      if (vertex[v] == b) vertex[v] = a;
    assert_true(has_circle(n, vertex));
  }
}

static void test_random(void **state) {
  (void)state;
  net n;
  int whole = 0, parted = 0;
  for (int round = 0; round < ROUNDS; ++round) {
    draw(&n);
    n.set_count = ep_partition(n.count, n.supported, n.edge_count, n.from, n.to, n.set);
    assert_true(n.set_count >= 0);
    check_net(&n);
    whole += n.set_count == 1;
    parted += n.set_count > 1;
  }
  assert_true(whole > ROUNDS / 20 && parted > ROUNDS / 20);
}

/* a -> left -> c, a -> b -> c: the node between keeps a and c apart; b goes with one of them. */
static void test_diamond(void **state) {
  (void)state;
  static const bool supported[] = {true, false, true, true};
  static const int from[] = {0, 1, 0, 2}, to[] = {1, 3, 2, 3};
  int set[4];
  assert_int_equal(ep_partition(4, supported, 4, from, to, set), 2);
  assert_int_equal(set[1], -1);
  assert_int_not_equal(set[0], set[3]);
  assert_true(set[2] == set[0] || set[2] == set[3]);
}

/* What comes from a node that is left, late in a chain, does not part the chain. */
static void test_side_input(void **state) {
  (void)state;
  static const bool supported[] = {true, false, true, true};
  static const int from[] = {0, 1, 2}, to[] = {2, 2, 3};
  int set[4];
  assert_int_equal(ep_partition(4, supported, 3, from, to, set), 1);
}

static void test_nothing(void **state) {
  (void)state;
  assert_int_equal(ep_partition(0, NULL, 0, NULL, NULL, NULL), 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_random),
      cmocka_unit_test(test_diamond),
      cmocka_unit_test(test_side_input),
      cmocka_unit_test(test_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
