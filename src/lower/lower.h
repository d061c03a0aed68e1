/* SPDX-License-Identifier: Apache-2.0 */
/* lower.h - graph + choices -> a schedule: convert steps, storage, packed weights, memory plan. */
#ifndef HN_LOWER_LOWER_H
#define HN_LOWER_LOWER_H

#include "plan/schedules.h"
#include "tune/choices.h"

/* Adds a schedule. Weights are packed here, into the region that the schedules share; equal blobs are stored once (by
 * content). */
hone_status hn_lower(hone_context *context, const hone_graph *graph, const hn_choices *choices, const hn_ranges *ranges,
                     hn_schedules *schedules);

#endif
