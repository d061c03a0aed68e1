/* SPDX-License-Identifier: Apache-2.0 */
/* target.h - what graph passes may know of the devices: one question, answered without ref and host fallback. */
#ifndef HN_TENSOR_TARGET_H
#define HN_TENSOR_TARGET_H

#include <hone/op.h>

typedef struct hn_target {
  void *user;
  /* Does some tactic of the devices accept this op with these attributes and facts? NULL accepts: everything is. */
  bool (*accepts)(void *user, const hone_op *op, const hone_attrs *attrs, const hone_fact *in, int in_count,
                  const hone_fact *out, int out_count);
} hn_target;

#endif
