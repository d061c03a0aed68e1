/* SPDX-License-Identifier: Apache-2.0 */
/* fusion_target.c - fusing for several devices at once. One device asked about all: with a GPU beside the host, what
 * the host runs would not be fused as on the host alone, or a GPU's product would follow an activation that only the
 * host has.
 */
#include "pass/fusion_target.h"

static hone_status reach_of(const hn_pass_run *run, const hn_node *node, hn_reach *out) {
  const hn_allocator *allocator = &run->context->allocator;
  const size_t bytes = (size_t)(node->in_count + node->out_count + 1) * sizeof(hone_fact);
  hone_fact *facts = hn_alloc_zero(allocator, bytes);
  if (!facts) return HN_FAIL_MEMORY(&run->context->diag);
  for (int i = 0; i < node->in_count; ++i)
    if (node->in[i]) facts[i] = node->in[i]->fact;
  for (int i = 0; i < node->out_count; ++i)
    if (node->out[i]) facts[node->in_count + i] = node->out[i]->fact;
  *out = run->target->reach(run->target->user, node->op, &node->attrs, facts, node->in_count, facts + node->in_count,
                            node->out_count);
  hn_free(allocator, facts, bytes);
  return HONE_OK;
}

hone_status hn_fusion_target_check(const hn_pass_run *run, const hn_node *fused, hn_node *const *nodes, int node_count,
                                   const char **out_unmet) {
  const uint32_t light = HONE_ELEMENTWISE | HONE_MOVES | HONE_ALIASES;
  hn_reach reach;
  bool host_needed = false;
  *out_unmet = NULL;
  if (!run->target || !run->target->reach) return HONE_OK;
  HN_TRY(reach_of(run, fused, &reach));
  if (reach == HN_REACH_AWAY) return HONE_OK;
  if (reach == HN_REACH_NONE) {
    *out_unmet = "no device has a kernel for the fused form";
    return HONE_OK;
  }
  for (int i = 0; i < node_count && !*out_unmet; ++i) {
    HN_TRY(reach_of(run, nodes[i], &reach));
    if (reach != HN_REACH_AWAY)
      host_needed = true;
    else if (!(nodes[i]->op->traits & light))
      *out_unmet = "only the host has a kernel for the fused form, and a part would run elsewhere";
  }
  if (!*out_unmet && !host_needed)
    *out_unmet = "only the host has a kernel for the fused form, and all parts would run elsewhere";
  return HONE_OK;
}
