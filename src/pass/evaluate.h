/* SPDX-License-Identifier: Apache-2.0 */
/* evaluate.h - one node computed by its op's own eval. */
#ifndef HN_PASS_EVALUATE_H
#define HN_PASS_EVALUATE_H

#include "ir/graph.h"

/* By the threads of a pool (NULL: by the caller). Outputs in `out` arrive with their types and data NULL where known
 * (kind ABSENT: not wanted) and leave with memory from the arena. UNSUPPORTED: there is no eval. LIMIT: an output has
 * more than max_bytes. */
hone_status hn_evaluate_node(hone_context *context, const hn_node *node, hn_arena *arena, const hone_tensor *in,
                             hone_tensor *out, int64_t max_bytes, const struct hn_pool *pool);

#endif
