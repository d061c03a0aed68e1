/* SPDX-License-Identifier: Apache-2.0 */
/* fusion.h - what of a layer's time is gone when another layer takes it in. */
#ifndef HN_REPORT_FUSION_H
#define HN_REPORT_FUSION_H

#include "report/profile.h"

/* A layer that works on each element by itself is gone but for its arithmetic and for operands that are read all the
 * same (the residual of a sum); one that moves or pools, but for its arithmetic at half of the roof. */
double hn_fusion_saving_ns(const hn_profile *profile, const hn_profile_row *row);

#endif
