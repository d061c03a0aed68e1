/* SPDX-License-Identifier: Apache-2.0 */
/* tune.h - graph -> choices: ask every tactic, prune by cost, time the rest, measure their errors, choose formats. */
#ifndef HN_TUNE_TUNE_H
#define HN_TUNE_TUNE_H

#include "ir/log.h"
#include "tune/choices.h"
#include <hone/engine.h>

/* options: level, budget, seed, runs, caches, lock, as the public call documents. The graph is optimised already; fused
 * nodes whose parts are faster are replaced by those in it. opt holds one shape a graph input.
 * Errors: UNSUPPORTED (no tactic accepts a node, or what the lock or the options name; the timing cache misses a layer
 * that it must hold), INVALID (a lock or a cache that does not read), and what devices and stops give. */
hone_status hn_tune(hone_context *context, hone_graph *graph, hone_device *const *devices, int device_count,
                    const hone_build_options *options, const hone_shape *min, const hone_shape *opt,
                    const hone_shape *max, hn_choices **out);
void hn_choices_destroy(hn_choices *choices);

/* ---- parts, each testable alone ---- */
/* Every (tactic, variant, format pair) of every device for every node; rejections keep their reason (tune/enumerate.c).
 */
hone_status hn_tune_enumerate(hn_choices *choices);
/* Times and errors of a choice's candidates on seeded data (tune/measure.c). only >= 0: just that candidate's error. */
hone_status hn_tune_measure(hn_choices *choices, hn_choice *choice, int only);
/* Formats and tactics together: PBQP (Scholz and Eckstein 2002), degree-1 and -2 reductions exact, local search for the
 * rest, never worse than the best uniform assignment: tune/pbqp.c over tune/assign.c. */

/* Lock: one line a step that a person can diff and edit (tune/lock.c):
 * NODE<TAB>provider:tactic@version{param=value,...} in=FORMAT out=FORMAT error=REL_L2
 * NODE<TAB>parts       the fused node is replaced by its parts, whose lines follow */
hone_status hn_lock_write(const hn_choices *choices, hn_text *out);
/* The next node that the lock wants to run as its parts and that the graph has fused; NULL when there is none. */
hn_node *hn_lock_next_split(const hone_graph *graph, const char *text, size_t length);
hone_status hn_lock_apply(hn_choices *choices, const char *what, const char *text, size_t length);

/* One timing cache of several, and of what stands at out_path already. INVALID: a file is none (tune/cache.c). */
hone_status hn_timing_cache_merge(hone_context *context, const char *const *paths, int count, const char *out_path);

/* The ledger: JSON with every candidate, reason and interval, and what the passes told (tune/ledger.c). */
hone_status hn_ledger_write(const hn_choices *choices, const hn_pass_log *passes, hn_text *out);

#endif
