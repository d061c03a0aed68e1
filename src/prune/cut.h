/* SPDX-License-Identifier: Apache-2.0 */
/* cut.h - takes elements out of a graph's tensors, or puts them in another order. */
#ifndef HN_PRUNE_CUT_H
#define HN_PRUNE_CUT_H

#include "prune/coupling.h"

/* What stays of each axis, and in which order. */
typedef struct hn_cut {
  hn_coupling *coupling;
  hone_graph *graph; /* that is cut: the coupling's own, or a clone with the same ids */
  hn_arena *arena;
  const int **order; /* by axis: places that stay, in their new order; NULL: all as they are */
  int64_t *extent;   /* by axis: how many */
} hn_cut;

/* By what units say of themselves (removed). */
hone_status hn_cut_by_units(hn_coupling *coupling, hone_graph *graph, hn_arena *arena, hn_cut *out);
/* Everything stays as it is, until something is said of it. */
hone_status hn_cut_begin(hn_coupling *coupling, hone_graph *graph, hn_arena *arena, hn_cut *out);
/* Units change places within a group: to a group's i-th place comes its unit place[i]. */
hone_status hn_cut_add_places(hn_cut *cut, int group, const int *place);
/* Slices constants, changes attributes and inputs of shapes, infers all again. UNSUPPORTED: what was inferred is not
 * what the coupling says; the message names the node. */
hone_status hn_cut_apply(const hn_cut *cut);
/* The same graph, unshrunk: what the cut takes away is zero in layers' weights and biases and in normalisations. */
hone_status hn_cut_mask(const hn_cut *cut);

/* ---- for rules ---- */
int64_t hn_cut_extent(const hn_cut *cut, const hn_value *value, int axis);
/* How many of the elements before `at` stay. */
int64_t hn_cut_before(const hn_cut *cut, const hn_value *value, int axis, int64_t at);
/* An input of integers becomes a constant of others, as many, under its name where nobody else reads it. */
hone_status hn_cut_set_ints(const hn_cut *cut, hn_node *node, int port, const int64_t *values);
hone_status hn_cut_set_attr(const hn_cut *cut, hn_node *node, const char *name, int64_t value);

#endif
