/* SPDX-License-Identifier: Apache-2.0 */
/* lower.h - graph + choices -> plan: reformat steps, storage, packed weights, memory plan. */
#ifndef HN_LOWER_LOWER_H
#define HN_LOWER_LOWER_H

#include "plan/plan.h"
#include "tune/choices.h"

/* Weights are packed here, once; equal blobs are stored once (by hash). min/opt/max: one shape a graph input. */
hone_status hn_lower(hone_context *context, const hone_graph *graph, const hn_choices *choices, const hone_shape *min,
                     const hone_shape *opt, const hone_shape *max, hn_plan **out);

#endif
