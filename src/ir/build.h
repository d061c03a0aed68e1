/* SPDX-License-Identifier: Apache-2.0 */
/* ir/build.h - what the files that make and change graphs share and nobody else needs. */
#ifndef HN_IR_BUILD_H
#define HN_IR_BUILD_H

#include "base/file.h"
#include "ir/graph.h"
#include "ops/ports.h"

/* A copy of wanted, or when that is taken wanted_1, wanted_2, ...: the first number not given yet. NULL: no memory. */
const char *hn_name_unique(hn_arena *arena, const hn_table *taken, hn_table *counters, const char *wanted);

/* A value without a definition; the caller gives it one. NULL after a message. */
hn_value *hn_value_create(hone_graph *graph, const char *name, const hone_fact *fact);
void hn_value_forget(hn_value *value); /* its definition is gone: the name becomes free */
/* A view in the arena of the same bytes (borrow) or of a copy. NULL after a message. */
hone_tensor *hn_tensor_keep(hone_graph *graph, const hone_tensor *tensor, bool borrow, bool *out_in_arena);

void hn_use_link(hn_value *value, hn_use *use); /* value may be NULL */
void hn_use_unlink(hn_value *value, hn_use *use);

/* Inserts a node into a block's list; before NULL: at the end. */
void hn_node_link(hn_block *block, hn_node *node, hn_node *before);

/* Ports (ports.c). Counts of inputs and outputs against the row, INVALID in words. */
static inline hone_status hn_ports_check_counts(hone_diagnostics *diag, const hone_op *op, int in_count,
                                                hn_value *const *in, int out_count, const bool *out_wanted) {
  return hn_ports_check(diag, op, in_count, (const void *const *)in, out_count, out_wanted);
}

/* Runs the row's infer and checks what it says. out has room for max(out_count, HONE_MAX_PORTS) facts. */
hone_status hn_infer_outputs(hone_graph *graph, const hn_node *node, hn_arena *arena, hone_fact *out);

/* ---- bytes that outlive any one graph: a model's file, or a copy that was made for a large constant (mapping.c) ----
 */
void hn_mapping_retain(hn_mapping *mapping);
void hn_mapping_release(hn_mapping *mapping);

/* The graph takes the reference; false (and released) when out of memory. */
bool hn_graph_hold_mapping(hone_graph *graph, hn_mapping *mapping);
/* bytes copied into a mapping of their own that the graph holds; 64-aligned. NULL when out of memory. */
const void *hn_graph_keep_bytes(hone_graph *graph, const void *bytes, size_t count);

#endif
