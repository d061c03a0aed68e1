/* SPDX-License-Identifier: Apache-2.0 */
/* coupling.h - which channels of a graph stand and fall together.
 *
 * Every index along every axis of every value is an element. The rules (rules.c), a row an operator, join elements that
 * are the same channel on both sides of a node, constants included: a convolution's output, its weights' first axis and
 * its bias; its input and its weights' second axis. What no rule joins is fixed, with the reason. Elements that are
 * joined and not fixed are a unit: to remove its elements from all their tensors gives a graph that fits together, and
 * that computes what the whole one does once the unit's weights are zero.
 * Units with elements on the same axes are alike: a group, whose units compete with one another (DepGraph, Fang et al.
 * 2023, has the idea of a dependency graph over layers; here it is over single channels, so that concatenations,
 * splits and groups need nothing of their own). */
#ifndef HN_PRUNE_COUPLING_H
#define HN_PRUNE_COUPLING_H

#include "ir/graph.h"

/* Why elements stay as they are. */
typedef struct hn_fixed {
  const char *why;     /* in words */
  const hn_node *node; /* where; NULL: an input or output of the graph */
} hn_fixed;

/* An axis of a value that has elements. */
typedef struct hn_coupled_axis {
  hn_value *value;
  int axis;
  int first; /* of its elements */
  int64_t extent;
} hn_coupled_axis;

/* A layer: a node with weights that make its output channels of its input channels. */
typedef struct hn_coupled_layer {
  hn_node *node;
  hn_value *weights;
  int weights_port;
  int outputs, inputs; /* the axes of the weights, in hn_coupling.axes; inputs -1: each channel by itself (grouped) */
  int x;               /* the axis of the layer's input along its channels, likewise; -1: has no elements */
  int group;           /* of its outputs; -1: they are fixed */
  const hn_fixed *fixed;
} hn_coupled_layer;

typedef struct hn_unit {
  int first, count; /* in hn_coupling.members, ascending */
  int group;
  bool removed;
} hn_unit;

typedef struct hn_group {
  int first, count; /* in hn_coupling.unit_order, by their first element */
  int layer;        /* the first layer whose outputs they are; of open graphs also whose inputs */
  int width;        /* channels of that layer in a unit */
  int64_t channels; /* width * count */
  const char *why;  /* the choice left it alone; NULL: it did not */
  int64_t kept;     /* channels, after the choice */
} hn_group;

typedef struct hn_coupling {
  hone_graph *graph;
  hn_arena *arena;
  int value_count; /* of the graph when it was looked at */
  hn_coupled_axis *axes;
  int axis_count;
  int *axis_of; /* [value id * HONE_MAX_RANK + axis]; -1 */
  int *axis_of_element;
  int element_count;
  int *parent;            /* union-find over elements */
  const hn_fixed **fixed; /* of a root; NULL: free */
  int *unit_of;           /* of a root: in units; -1: fixed */
  hn_unit *units;
  int unit_count;
  int *members; /* elements, unit after unit */
  int *unit_order;
  hn_group *groups;
  int group_count;
  hn_coupled_layer *layers;
  int layer_count, layer_capacity;
} hn_coupling;

typedef struct hn_coupling_options {
  const char *const *keep; /* names or operators of nodes whose outputs stay; globs */
  int keep_count;
  bool open; /* inputs and outputs of the graph may change, and layers' inputs are units: a layer by itself */
} hn_coupling_options;

/* Nothing of the graph changes. Everything lives in the arena. INVALID: a pattern of keep fits nothing. NO_MEMORY. */
hone_status hn_coupling_find(hone_graph *graph, const hn_coupling_options *options, hn_arena *arena, hn_coupling *out);

static inline int hn_coupling_root(const hn_coupling *c, int element) {
  while (c->parent[element] != element) element = c->parent[element];
  return element;
}
/* -1: it is fixed, or of no layer. */
static inline int hn_coupling_unit(const hn_coupling *c, int element) {
  return c->unit_of[hn_coupling_root(c, element)];
}
static inline hn_unit *hn_group_unit(const hn_coupling *c, const hn_group *group, int index) {
  return &c->units[c->unit_order[group->first + index]];
}
/* The axis's number in c->axes; -1: it has no elements. */
int hn_coupling_axis(const hn_coupling *c, const hn_value *value, int axis);

#endif
