/* SPDX-License-Identifier: Apache-2.0 */
/* leftovers.h - what of a profile is no product of matrices: for each such layer the fusion that would remove it, what
 * stands in its way and what it would save; and fused forms that gave way to their parts. */
#ifndef HN_REPORT_LEFTOVERS_H
#define HN_REPORT_LEFTOVERS_H

#include "base/json.h"
#include "report/profile.h"

/* Of the profile's rows, with the ledger where its input has one. NO_MEMORY. */
hone_status hn_leftovers_find(const hn_profile *profile, hn_leftovers *out);

/* ---- writing (leftovers_write.c) ---- */
void hn_leftovers_write_text(const hn_profile *profile, hn_text *out);
/* "leftovers" and "refused_regions" as members of an object that is open. */
void hn_leftovers_put(hn_json_writer *w, const hn_profile *profile);

#endif
