/* SPDX-License-Identifier: Apache-2.0 */
/* mapping.h - bytes that outlive any one graph: a model's file, or a copy that was made for a large constant. */
#ifndef HN_IR_MAPPING_H
#define HN_IR_MAPPING_H

#include "base/file.h"
#include "ir/graph.h"

/* Takes the blob, also when it fails (NULL: no memory). The caller holds the one reference. */
hn_mapping *hn_mapping_create(hn_allocator allocator, hn_blob *blob);
void hn_mapping_retain(hn_mapping *mapping);
void hn_mapping_release(hn_mapping *mapping);

/* The graph takes the reference; false (and released) when out of memory. */
bool hn_graph_hold_mapping(hone_graph *graph, hn_mapping *mapping);
/* bytes copied into a mapping of their own that the graph holds; 64-aligned. NULL when out of memory. */
const void *hn_graph_keep_bytes(hone_graph *graph, const void *bytes, size_t count);

#endif
