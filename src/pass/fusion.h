/* SPDX-License-Identifier: Apache-2.0 */
/* fusion.h - fused nodes: may nodes become one, as far as the devices go (fusion_target.c), and how it remembers the
 * nodes that it stands for (parts.c). */
#ifndef HN_PASS_FUSION_H
#define HN_PASS_FUSION_H

#include "pass/pipeline.h"

/* Floats of two bytes. */
static inline bool hn_is_half(const hone_type *type) {
  return type->kind == HONE_TENSOR && (type->dtype == HONE_F16 || type->dtype == HONE_BF16);
}

/* Where a node would run; wide: if its halves were f32. Asked with a target that answers. */
hone_status hn_reach_of(const hn_pass_run *run, const hn_node *node, bool wide, hn_reach *out);

/* *out_unmet stays NULL when some device takes the fused node, in f32 where none takes its halves (pass/widen.c), and
 * no work leaves the device that would do it: a fused node that only the host takes holds a node that the host has to
 * run in any case, and none that computes (more than element by element) and would run on a device with memory of its
 * own. Else why not, in words. */
hone_status hn_fusion_target_check(const hn_pass_run *run, const hn_node *fused, hn_node *const *nodes, int node_count,
                                   const char **out_unmet);

/* Copies nodes (in any order) into fused->parts: params are fused's inputs, results its outputs; fused's output i
 * stands for outputs[i], NULL when nobody asked for it. Parts of parts are kept inside them. What the nodes read from
 * outside must be an input of fused or a constant, else INTERNAL. */
hone_status hn_parts_attach(hn_node *fused, hn_node *const *nodes, int node_count, hn_value *const *outputs);

#endif
