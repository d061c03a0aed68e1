/* SPDX-License-Identifier: Apache-2.0 */
/* common_scatter.h - what happens when an update meets the element that is there. */
#ifndef HN_OPS_COMMON_SCATTER_H
#define HN_OPS_COMMON_SCATTER_H

#include "ops/common_move.h"

/* Output 0 is data's type; checks the attribute reduction against the dtype. */
hone_status hn_infer_scatter(hone_infer *infer);
/* output[at] = reduction(output[at], update) by the attribute's name: none, add, mul, max, min. */
void hn_scatter_element(hone_eval *eval, const char *reduction, int64_t at, const hone_tensor *updates, int64_t from);

#endif
