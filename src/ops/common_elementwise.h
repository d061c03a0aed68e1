/* SPDX-License-Identifier: Apache-2.0 */
/* common_elementwise.h - elementwise rows that an expression alone does not describe: strings, absent inputs. */
#ifndef HN_OPS_COMMON_ELEMENTWISE_H
#define HN_OPS_COMMON_ELEMENTWISE_H

#include "ops/op.h"

enum { HN_WALK_MAX = 3 };

/* Walks output 0 and up to HN_WALK_MAX inputs broadcast to it, in row-major order of the output. */
typedef struct hn_walk {
  int rank, count;
  int64_t dim[HONE_MAX_RANK], index[HONE_MAX_RANK];
  int64_t stride[HN_WALK_MAX][HONE_MAX_RANK];
  int64_t at[HN_WALK_MAX]; /* of each input */
} hn_walk;

/* Starts at output element `first`; absent inputs stay at 0. */
void hn_walk_start(hn_walk *walk, const hone_eval *eval, int input_count, int64_t first);
void hn_walk_next(hn_walk *walk);

/* Output 0 has the broadcast shape of all given inputs; nothing is known of its value. */
hone_status hn_infer_broadcast_given(hone_infer *infer);

#endif
