/* SPDX-License-Identifier: Apache-2.0 */
/* sites.h - where a graph gets quantize_linear and dequantize_linear.
 *
 * Layers (rows of hn_quant_layers) multiply bytes: their activation is quantised, their weights and bias are constants
 * of i8 and i32. What lies between layers and would only make floats of bytes and bytes of floats again is quantised,
 * too: it moves, selects, joins or adds bytes, or is a table of them. All readers of a quantised value read it
 * dequantised, so that one rounding serves all and the layer before it ends in it. */
#ifndef HN_CALIB_SITES_H
#define HN_CALIB_SITES_H

#include "calib/range.h"
#include "ir/graph.h"

/* An operator whose products are made of bytes. Ports -1: none. */
typedef struct hn_quant_layer {
  const char *op;
  int weights, bias;                        /* ports; -1: it has none */
  int least_rank, most_rank;                /* of the weights */
  int axis;                                 /* of the weights' outputs; 0 where the attribute `transposed` is set */
  const char *transposed;                   /* NULL: no attribute turns them */
  const char *(*when)(const hn_node *node); /* NULL, or why bytes cannot do this one; NULL: nothing else matters */
  bool closed; /* only kernels that write bytes are there: its output is always quantised */
} hn_quant_layer;
extern const hn_quant_layer hn_quant_layers[];                /* ends with op NULL */
const hn_quant_layer *hn_quant_layer_of(const hn_node *node); /* its operator's row, or NULL */

/* A value that is rounded to bytes. */
typedef struct hn_site {
  hn_value *value;
  bool changed;            /* since its range was picked */
  int shares;              /* the site whose scale it has, an earlier or later one; itself: its own */
  hn_histogram *histogram; /* NULL: nothing was seen */
  hn_range picked;         /* by the histogram; `range` is what it and those that it is joined with have */
  hn_range range;
  hn_scale scale;
} hn_site;

/* A layer, or what stays in floats and why. */
typedef struct hn_quant_node {
  hn_node *node;
  const hn_quant_layer *layer;
  const char *why; /* NULL: it is quantised */
} hn_quant_node;

typedef struct hn_sites {
  hone_graph *graph;
  hn_arena *arena;
  hn_site *items;
  int count, capacity;
  int *of; /* by the value's id; -1 */
  int value_count;
  bool inputs_alone;    /* only what layers read is rounded, and they write floats: 8-bit floats */
  hn_quant_node *nodes; /* those of hn_quant_layers' operators, in the graph's order */
  int node_count, node_capacity;
} hn_sites;

/* keep: names or operators of nodes that stay in floats; globs. Nothing of the graph changes. INVALID: it is quantised
 * already, or a pattern that fits nothing. */
hone_status hn_sites_find(hone_graph *graph, const char *const *keep, int keep_count, hn_arena *arena, hn_sites *out);
/* The same of the layers' inputs alone. */
hone_status hn_sites_find_inputs(hone_graph *graph, const char *const *keep, int keep_count, hn_arena *arena,
                                 hn_sites *out);
/* The same where only these layers are quantised, of those that are: wanted[i] is about nodes[i] of `all`, which were
 * found in the same graph. Ranges and scales are those that `all` has. */
hone_status hn_sites_choose(const hn_sites *all, const bool *wanted, hn_arena *arena, hn_sites *out);
/* The axis of the weights that output channels lie along. */
int hn_quant_axis(const hn_node *node);
/* INVALID when the graph has operators on bytes with scales. */
hone_status hn_sites_check_floats(const hone_graph *graph);
/* Of a rounded value: the site whose numbers it has, and so whose histogram. */
const hn_site *hn_sites_source(const hn_sites *sites, const hn_value *value);
/* Scales from ranges: those of concatenations become one where none is less than half of the widest. */
void hn_sites_scale(hn_sites *sites, const hn_scheme *scheme);

/* A layer's weights as bytes, in their own order, and a scale for each output (one for all: equal ones). */
typedef struct hn_rounding {
  const int8_t *bytes;
  const float *scales;
} hn_rounding;

typedef struct hn_insertion {
  hn_scheme scheme;
  bool per_tensor;                   /* one scale for all weights of a layer, else one an output channel */
  const hn_rounding *const *weights; /* NULL, or one for each of the sites' nodes: NULL, the nearest bytes */
  double *const *bias; /* added to biases: one list, or NULL, for each of the sites' nodes. NULL: nothing is */
} hn_insertion;
/* The same of a clone of the graph, in the arena. */
hone_status hn_sites_rebind(const hn_sites *sites, hone_graph *clone, hn_arena *arena, hn_sites *out);
/* Puts the nodes in. UNSUPPORTED: a weight is NaN or infinite. */
hone_status hn_sites_insert(hn_sites *sites, const hn_insertion *how);

#endif
