/* SPDX-License-Identifier: Apache-2.0 */
/* fusion_target.h - may nodes become this fused one, as far as the devices go? */
#ifndef HN_PASS_FUSION_TARGET_H
#define HN_PASS_FUSION_TARGET_H

#include "pass/pipeline.h"

/* *out_unmet stays NULL when some device takes the fused node and no work leaves the device that would do it: a fused
 * node that only the host takes holds a node that the host has to run in any case, and none that computes (more than
 * element by element) and would run on a device with memory of its own. Else why not, in words. */
hone_status hn_fusion_target_check(const hn_pass_run *run, const hn_node *fused, hn_node *const *nodes, int node_count,
                                   const char **out_unmet);

#endif
