/* SPDX-License-Identifier: Apache-2.0 */
/* parts.h - a fused node remembers the nodes that it stands for. */
#ifndef HN_PASS_PARTS_H
#define HN_PASS_PARTS_H

#include "ir/graph.h"

/* Copies nodes (in any order) into fused->parts: params are fused's inputs, results its outputs; fused's output i
 * stands for outputs[i], NULL when nobody asked for it. Parts of parts are kept inside them. What the nodes read from
 * outside must be an input of fused or a constant, else INTERNAL. */
hone_status hn_parts_attach(hn_node *fused, hn_node *const *nodes, int node_count, hn_value *const *outputs);

#endif
