/* SPDX-License-Identifier: Apache-2.0 */
/* sparse.h - two of four: of each four consecutive input channels two weights stay. */
#ifndef HN_PRUNE_SPARSE_H
#define HN_PRUNE_SPARSE_H

#include "prune/cut.h"

/* One layer's weights, as the search for an order sees them. */
typedef struct hn_sparse_reader {
  int layer;       /* in hn_coupling.layers */
  const char *why; /* it stays dense; NULL: it does not */
  int64_t rows, columns;
  float *magnitudes;         /* [column][row] */
  int *column;               /* [place]: which one lies there */
  double whole, plain, kept; /* magnitude: of all weights, and of those that stay in either order */
  bool permuted;
} hn_sparse_reader;

typedef struct hn_sparse {
  hn_coupling *coupling;
  hn_arena *arena;
  hn_sparse_reader *readers; /* one a layer */
} hn_sparse;

/* Reads the weights. dense: layers that stay as they are, one a layer. */
hone_status hn_sparse_begin(hn_coupling *coupling, const bool *dense, hn_arena *arena, hn_sparse *out);
/* Finds an order of a group's channels that keeps more, by swaps of two (greedy, seeded), and adds it to the cut. */
hone_status hn_sparse_permute(hn_sparse *sparse, int group, hn_cut *cut);
/* Zeroes two of four in a layer's weights, as they are in the graph now. */
hone_status hn_sparse_zero(const hn_sparse *sparse, hone_graph *graph, int layer);
/* Has every four consecutive places along the axis two zeros at least? */
bool hn_sparse_is_two_of_four(const hone_tensor *weights, int axis);

#endif
