/* SPDX-License-Identifier: Apache-2.0 */
/* part.h - constants that several nodes read: exporters write equal biases once, which says nothing of channels. */
#ifndef HN_PRUNE_PART_H
#define HN_PRUNE_PART_H

#include "ir/graph.h"

/* A node's input that got a copy of its own: ids of values, which clones share. */
typedef struct hn_parted_constant {
  int original, copy;
} hn_parted_constant;
typedef struct hn_parted {
  hn_parted_constant *items;
  int count, capacity;
} hn_parted;

/* Every reader but the first gets a copy of constants along one axis of several places. Weights of more axes stay as
 * they are: layers that share them were meant to. */
hone_status hn_constants_part(hone_graph *graph, hn_arena *arena, hn_parted *out);
/* Copies that were not cut, of constants that were not, give way to them. */
void hn_constants_rejoin(hone_graph *graph, const hn_parted *parted);

#endif
