/* SPDX-License-Identifier: Apache-2.0 */
/* search.h - which type each layer should have, when every type of it has a time and a noise: all assignments that no
 * other beats in both. Knows numbers alone; who measured them is api/'s affair (docs/PLANNING.md).
 *
 * Noise is what a layer's type alone does to the outputs, |y' - y|^2 / |y|^2. It adds up over layers, but what two
 * neighbours share (one rounding of the value between them) is to be charged once: edges say so with negative noise.
 * Conversions between neighbours of different types are times of edges. */
#ifndef HN_SEARCH_SEARCH_H
#define HN_SEARCH_SEARCH_H

#include "base/memory.h"
#include "base/stop.h"

enum { HN_SEARCH_TYPES = 4 };

typedef struct hn_search_layer {
  unsigned types; /* that it may have, a bit each; at least one */
  double ns[HN_SEARCH_TYPES], noise[HN_SEARCH_TYPES];
} hn_search_layer;

/* What it costs that two layers have these types, beyond what each costs by itself. */
typedef struct hn_search_edge {
  int from, to;
  double ns[HN_SEARCH_TYPES][HN_SEARCH_TYPES], noise[HN_SEARCH_TYPES][HN_SEARCH_TYPES]; /* [from's][to's] */
} hn_search_edge;

typedef struct hn_search {
  int layer_count, edge_count;
  const hn_search_layer *layers;
  const hn_search_edge *edges;
  double base_ns; /* of what no layer decides */
  hn_stop *stop;  /* NULL: none */
} hn_search;

typedef struct hn_search_point {
  double ns, noise;
  const uint8_t *types; /* [layer] */
} hn_search_point;

/* Points of rising time and falling noise: none is beaten in both. */
typedef struct hn_frontier {
  int count, capacity;
  hn_search_point *points;
  bool exact; /* every point of the lower hull is proved to be on it */
} hn_frontier;

double hn_search_ns(const hn_search *search, const uint8_t *types);
double hn_search_noise(const hn_search *search, const uint8_t *types);
/* The least time + lambda * noise; lambda 0: the fastest. *out_exact: proved. NO_MEMORY, or why it was stopped. */
hone_status hn_search_solve(const hn_search *search, double lambda, hn_arena *arena, uint8_t *types, bool *out_exact);
/* The lower hull, and between its points what single changes on the way from one to the next reach. */
hone_status hn_search_frontier(const hn_search *search, hn_arena *arena, hn_frontier *out);

#endif
