/* SPDX-License-Identifier: Apache-2.0 */
/* fusion_target.c - fusing for several devices at once. One device asked about all: with a GPU beside the host, what
 * the host runs would not be fused as on the host alone, or a GPU's product would follow an activation that only the
 * host has.
 */
#include "pass/fusion.h"

/* What a kernel would be given: of constants only that they are there. */
static void widen(hone_fact *fact, hone_tensor *constant, const void *zeros) {
  if (!hn_is_half(&fact->type)) return;
  fact->type.dtype = HONE_F32;
  if (!fact->constant) return;
  *constant = (hone_tensor){.type = fact->type, .data = (void *)(uintptr_t)zeros, .bytes = 2 * fact->constant->bytes};
  fact->constant = constant;
}

static size_t largest_half(const hn_node *node) {
  size_t most = 0;
  for (int i = 0; i < node->in_count; ++i) {
    const hone_fact *fact = node->in[i] ? &node->in[i]->fact : NULL;
    if (fact && fact->constant && hn_is_half(&fact->type) && fact->constant->bytes > most) most = fact->constant->bytes;
  }
  return most;
}

hone_status hn_reach_of(const hn_pass_run *run, const hn_node *node, bool wide, hn_reach *out) {
  const hn_allocator *allocator = &run->context->allocator;
  const size_t count = (size_t)(node->in_count + node->out_count + 1), zero_bytes = wide ? 2 * largest_half(node) : 0;
  const size_t bytes = count * (sizeof(hone_fact) + sizeof(hone_tensor)) + zero_bytes;
  hone_fact *facts = hn_alloc_zero(allocator, bytes);
  if (!facts) return HN_FAIL_MEMORY(&run->context->diag);
  hone_tensor *constants = (hone_tensor *)(void *)(facts + count);
  for (int i = 0; i < node->in_count; ++i)
    if (node->in[i]) facts[i] = node->in[i]->fact;
  for (int i = 0; i < node->out_count; ++i)
    if (node->out[i]) facts[node->in_count + i] = node->out[i]->fact;
  for (size_t i = 0; wide && i < count; ++i) widen(&facts[i], &constants[i], constants + count);
  *out = run->target->reach(run->target->user, node->op, &node->attrs, facts, node->in_count, facts + node->in_count,
                            node->out_count);
  hn_free(allocator, facts, bytes);
  return HONE_OK;
}

static hone_status reach_of(const hn_pass_run *run, const hn_node *node, hn_reach *out) {
  HN_TRY(hn_reach_of(run, node, false, out));
  return *out == HN_REACH_NONE ? hn_reach_of(run, node, true, out) : HONE_OK;
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
