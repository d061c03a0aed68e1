/* SPDX-License-Identifier: Apache-2.0 */
/* profiles.h - inside of api/: what a build's options say of input shapes, checked against the graph. */
#ifndef HN_API_PROFILES_H
#define HN_API_PROFILES_H

#include "base/context.h"
#include "ir/graph.h"
#include <hone/engine.h>

/* What one schedule is for: one shape an input. */
typedef struct hn_ranges {
  hone_shape *min, *opt, *max;
} hn_ranges;

/* How many schedules are asked for; 1 when nothing is said. INVALID: numbers with gaps, an input that the model does
 * not have or that a profile leaves out. */
hone_status hn_profiles_count(hone_context *context, const hone_graph *graph, const hone_build_options *options,
                              int *out);
hone_status hn_profiles_read(hone_context *context, const hone_graph *graph, const hone_build_options *options,
                             int profile, hn_arena *arena, hn_ranges *out);

#endif
