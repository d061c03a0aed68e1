/* SPDX-License-Identifier: Apache-2.0 */
/* api/shrink.h - inside of api/: layers at several widths, measured. */
#ifndef HN_API_SHRINK_H
#define HN_API_SHRINK_H

#include "api/engine.h"
#include "tune/tune.h"
#include <hone/hone.h>

/* One side of one layer. */
typedef struct hn_stairs {
  const hn_node *layer; /* of the optimised graph */
  bool inputs;
  int64_t full;
  int count;
  hone_shrink_step *steps;
  hn_node **nodes; /* of the graph that is tuned, one a step, while that is in the making */
  int next;
  int like;            /* an earlier one with the same times; -1: its own */
  const char *key;     /* what makes two layers alike */
  double sparse_share; /* of the fastest dense kernel's time; 0: not measured */
  const char *dense_why;
} hn_stairs;

typedef struct hn_shrinking {
  hone_context *context;
  hone_shrink_options options;
  hone_build_options build;
  hn_device_list list;
  hn_arena arena;
  hone_graph *graph;  /* optimised, at the shapes that are tuned for */
  hone_graph *widths; /* one node for each width that is to be measured next */
  size_t bytes;       /* of its constants */
  hn_tuner *tuner;
  hn_stairs *items;
  int count, capacity, measured;
  bool *named; /* by options.layers: some layer has the name */
} hn_shrinking;

/* Fills items. hn_shrink_end() is right after every outcome. */
hone_status hn_shrink_begin(hone_context *context, const hone_graph *graph, hone_device *const *devices,
                            int device_count, const hone_shrink_options *options, hn_shrinking *s);
void hn_shrink_end(hn_shrinking *s);
/* Time at a width that may lie between steps; 0: it was not measured. */
double hn_stairs_ns(const hn_stairs *stairs, int64_t width);

#endif
