/* SPDX-License-Identifier: Apache-2.0 */
/* profiles.h - inside of api/: what a build's options say of input shapes, checked against the graph. */
#ifndef HN_API_PROFILES_H
#define HN_API_PROFILES_H

#include "base/context.h"
#include "ir/graph.h"
#include "tensor/shape.h"
#include <hone/engine.h>

/* How many schedules are asked for; 1 when nothing is said. INVALID: numbers with gaps, an input that the model does
 * not have or that a profile leaves out. */
hone_status hn_profiles_count(hone_context *context, const hone_graph *graph, const hone_build_options *options,
                              int *out);
hone_status hn_profiles_read(hone_context *context, const hone_graph *graph, const hone_build_options *options,
                             int profile, hn_arena *arena, hn_ranges *out);
/* Do the operators take the shapes that are tuned for? INVALID names the node when they do not. A warning when they
 * refuse those of min, of max or of the middle: others may still run. */
hone_status hn_profiles_try(hone_context *context, const hone_graph *graph, const hn_ranges *ranges, hn_arena *arena);
/* What the options say of an input; NULL: nothing. */
const hone_profile_shape *hn_profile_shape(const hone_build_options *options, int profile, const char *input);
/* After a build that ended with `status`: where free dims were taken as 1 and that may be why, adds a message that
 * names them, with sizes that `works` agrees to if there are some. Changes the ranges; is the status. */
typedef bool hn_works_fn(void *user, const hn_ranges *ranges);
hone_status hn_profiles_suggest(hone_context *context, const hone_graph *graph, const hone_build_options *options,
                                int profile, const hn_ranges *ranges, hone_status status, hn_works_fn *works,
                                void *user);

#endif
