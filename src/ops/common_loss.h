/* SPDX-License-Identifier: Apache-2.0 */
/* common_loss.h - losses over classes along axis 1, as the two rows share them. */
#ifndef HN_OPS_COMMON_LOSS_H
#define HN_OPS_COMMON_LOSS_H

#include "ops/common_nn.h"

#define HN_LOSS_ATTRS HONE_OPTIONAL_ATTR("ignore_index", HONE_ATTR_INT), HONE_STRING_ATTR("reduction", "mean")
/* Inputs: scores [N, C, d...], targets [N, d...], weights [C]. Output 1, when there, has the scores' shape. */
hone_status hn_infer_loss(hone_infer *infer);
/* The logarithm of the probability of class `target` at a place: first is the flat index of class 0, step the distance
 * between classes. */
typedef double (*hn_log_probability)(const hone_tensor *scores, int64_t first, int64_t step, int64_t classes,
                                     int64_t target);
hone_status hn_eval_loss(hone_eval *eval, hn_log_probability log_probability);

#endif
