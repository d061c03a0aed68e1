/* SPDX-License-Identifier: Apache-2.0 */
/* ref_graph.h - a graph run node by node through its ops' own eval: what tests compare with. */
#ifndef HN_TESTS_REF_GRAPH_H
#define HN_TESTS_REF_GRAPH_H

#include "ir/graph.h"

/* Inputs have known shapes that fit the graph's. Outputs are in the arena. UNSUPPORTED: a node has blocks. */
hone_status ref_graph_run(const hone_graph *graph, hn_arena *arena, const hone_tensor *inputs, hone_tensor *outputs);

/* Inputs of the graph's types: symbolic extents become `extent`; reals in [-1, 1), integers 0 to 3. */
hone_status ref_graph_inputs(const hone_graph *graph, hn_arena *arena, uint64_t seed, int64_t extent,
                             hone_tensor *inputs);

#endif
