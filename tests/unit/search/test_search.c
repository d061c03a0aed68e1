/* SPDX-License-Identifier: Apache-2.0 */
/* test_search.c - the frontier against all assignments of small random networks with known times and noises. */
#include "base/random.h"
#include "search/search.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { T = HN_SEARCH_TYPES, MOST_LAYERS = 12, MOST_EDGES = 24, MOST_ALL = 1 << 16 };

typedef struct network {
  hn_search search;
  hn_search_layer layers[MOST_LAYERS];
  hn_search_edge edges[MOST_EDGES];
} network;

static double unit(hn_random *random) { return (hn_random_unit(random) + 1) / 2; }

static void connect(network *n, hn_random *random, int from, int to) {
  hn_search_edge *edge = &n->edges[n->search.edge_count++];
  *edge = (hn_search_edge){.from = from, .to = to};
  for (int i = 0; i < T; ++i)
    for (int j = 0; j < T; ++j)
      if (i != j) edge->ns[i][j] = floor(30 * unit(random));
  const int last = T - 1; /* one rounding, charged once */
  edge->noise[last][last] = -unit(random) * fmin(n->layers[from].noise[last], n->layers[to].noise[last]) / 4;
}

/* A chain with some skips, as networks have them; the last type is fast and noisy, the first slow and exact. */
static void make(network *n, uint64_t seed, int layers, int types) {
  hn_random random = {.state = seed};
  memset(n, 0, sizeof *n);
  n->search = (hn_search){.layer_count = layers, .layers = n->layers, .edges = n->edges, .base_ns = 7};
  for (int l = 0; l < layers; ++l) {
    n->layers[l].types = 1 | 1U << (T - 1);
    if (types > 2) n->layers[l].types |= 2;
    for (int t = 0; t < T; ++t) {
      n->layers[l].ns[t] = floor(100 * unit(&random) / (1 + t));
      n->layers[l].noise[t] = t * t * floor(1000 * unit(&random)) * 1e-6;
    }
    if (l > 0) connect(n, &random, l - 1, l);
    if (l > 2 && unit(&random) < 0.4) connect(n, &random, l - 3, l);
  }
}

typedef struct pair {
  double ns, noise;
} pair;

static int all_pairs(const network *n, pair *out) {
  uint8_t types[MOST_LAYERS + 1] = {0};
  int count = 0;
  for (;;) {
    out[count++] = (pair){hn_search_ns(&n->search, types), hn_search_noise(&n->search, types)};
    int l = 0;
    for (; l < n->search.layer_count; ++l) {
      do ++types[l];
      while (types[l] < T && !(n->layers[l].types >> types[l] & 1));
      if (types[l] < T) break;
      types[l] = 0;
    }
    if (l == n->search.layer_count) return count;
  }
}

static double least(const pair *all, int count, double lambda) {
  double best = HUGE_VAL;
  for (int i = 0; i < count; ++i) best = fmin(best, all[i].ns + lambda * all[i].noise);
  return best;
}

static hn_arena begin(void) {
  hn_arena arena;
  hn_arena_init(&arena, hn_allocator_default());
  return arena;
}

static void test_each_weight(void **state) {
  (void)state;
  static const double weights[] = {0, 1e2, 1e3, 1e4, 1e5, 1e6, 1e9};
  pair *all = malloc(MOST_ALL * sizeof *all);
  for (uint64_t seed = 0; seed < 60; ++seed) {
    network n;
    make(&n, seed, 1 + (int)(seed % (seed & 1 ? 12 : 9)), seed & 1 ? 2 : 3);
    const int count = all_pairs(&n, all);
    for (size_t k = 0; k < sizeof weights / sizeof *weights; ++k) {
      hn_arena arena = begin();
      uint8_t types[MOST_LAYERS + 1];
      bool exact;
      assert_int_equal(hn_search_solve(&n.search, weights[k], &arena, types, &exact), HONE_OK);
      const double got = hn_search_ns(&n.search, types) + weights[k] * hn_search_noise(&n.search, types);
      const double want = least(all, count, weights[k]);
      if (exact) assert_true(got <= want + 1e-9 * fabs(want));
      assert_true(got <= 1.02 * want); /* where skips leave nodes of degree three, local search */
      hn_arena_deinit(&arena);
    }
  }
  free(all);
}

/* What lies on the lower hull of all assignments: no weight finds anything below the frontier's points. */
static void test_hull(void **state) {
  (void)state;
  pair *all = malloc(MOST_ALL * sizeof *all);
  int exact = 0, above = 0;
  for (uint64_t seed = 100; seed < 160; ++seed) {
    network n;
    make(&n, seed, 2 + (int)(seed % 8), 3);
    const int count = all_pairs(&n, all);
    hn_arena arena = begin();
    hn_frontier f;
    assert_int_equal(hn_search_frontier(&n.search, &arena, &f), HONE_OK);
    assert_true(f.count >= 1);
    assert_true(fabs(f.points[0].ns - least(all, count, 0)) < 1e-9 || !f.exact); /* the fastest is there */
    for (int i = 0; i < f.count; ++i) {
      assert_true(fabs(f.points[i].ns - hn_search_ns(&n.search, f.points[i].types)) < 1e-9);
      if (i > 0) assert_true(f.points[i].ns > f.points[i - 1].ns && f.points[i].noise < f.points[i - 1].noise);
    }
    exact += f.exact;
    for (int i = 0; f.exact && i < count; ++i) /* each assignment is beaten, or at least not below all of the points */
      for (double lambda = 1; lambda < 1e7; lambda *= 3) {
        double best = HUGE_VAL;
        for (int k = 0; k < f.count; ++k) best = fmin(best, f.points[k].ns + lambda * f.points[k].noise);
        assert_true(best <= all[i].ns + lambda * all[i].noise + 1e-6);
      }
    for (int k = 1; k + 1 < f.count; ++k) { /* points that no weight finds */
      const pair a = {f.points[k - 1].ns, f.points[k - 1].noise}, b = {f.points[k + 1].ns, f.points[k + 1].noise};
      const double lambda = (b.ns - a.ns) / (a.noise - b.noise);
      above += f.points[k].ns + lambda * f.points[k].noise > a.ns + lambda * a.noise + 1e-9;
    }
    hn_arena_deinit(&arena);
  }
  assert_true(exact > 30);
  assert_true(above > 10);
  free(all);
}

static void test_one_layer_and_none(void **state) {
  (void)state;
  network n;
  hn_arena arena = begin();
  hn_frontier f;
  make(&n, 1, 1, 3);
  n.layers[0] = (hn_search_layer){.types = 8, .ns = {1, 1, 1, 5}, .noise = {0, 0, 0, 1e-3}};
  assert_int_equal(hn_search_frontier(&n.search, &arena, &f), HONE_OK);
  assert_int_equal(f.count, 1); /* a type that it may not have is not taken, however fast */
  assert_int_equal(f.points[0].types[0], 3);
  assert_true(f.points[0].ns == 12);
  make(&n, 1, 0, 3);
  assert_int_equal(hn_search_frontier(&n.search, &arena, &f), HONE_OK);
  assert_int_equal(f.count, 1);
  assert_true(f.points[0].ns == 7 && f.points[0].noise == 0);
  hn_arena_deinit(&arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_each_weight),
      cmocka_unit_test(test_hull),
      cmocka_unit_test(test_one_layer_and_none),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
