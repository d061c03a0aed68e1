/* SPDX-License-Identifier: Apache-2.0 */
/* common_sort.h - sorts indices: no allocation, and never quadratic. */
#ifndef HN_OPS_COMMON_SORT_H
#define HN_OPS_COMMON_SORT_H

#include "ops/op.h"

/* before must be a total order (break ties by the index), so that the result does not depend on the algorithm. */
typedef bool hn_before(const void *context, int64_t a, int64_t b);
/* Writes 0 to count - 1 into indices, and sorts them. False: it was stopped, and they are in no order, or not written.
 */
bool hn_sort_indices(const hone_eval *eval, int64_t *indices, int64_t count, hn_before *before, const void *context);

#endif
