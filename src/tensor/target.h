/* SPDX-License-Identifier: Apache-2.0 */
/* target.h - what graph passes may know of the devices: one question, answered without ref and host fallback. */
#ifndef HN_TENSOR_TARGET_H
#define HN_TENSOR_TARGET_H

#include <hone/op.h>

/* Where a node would run: on a device with memory of its own wherever one of its tactics takes it, else on the host. */
typedef enum hn_reach { HN_REACH_NONE, HN_REACH_HOST, HN_REACH_AWAY } hn_reach;

typedef struct hn_target {
  void *user;
  /* Which of the devices have a tactic for this op with these attributes and facts? NULL: all take everything. */
  hn_reach (*reach)(void *user, const hone_op *op, const hone_attrs *attrs, const hone_fact *in, int in_count,
                    const hone_fact *out, int out_count);
} hn_target;

#endif
