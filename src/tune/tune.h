/* SPDX-License-Identifier: Apache-2.0 */
/* tune.h - graph -> choices: ask every tactic, prune by cost, time the rest, measure their errors, choose formats. */
#ifndef HN_TUNE_TUNE_H
#define HN_TUNE_TUNE_H

#include "ir/log.h"
#include "tune/choices.h"
#include <hone/engine.h>

/* options: level, seed, runs, caches, lock, as the public call documents. The graph is optimised already and stays
 * unchanged. opt holds one shape a graph input. */
hone_status hn_tune(hone_context *context, hone_graph *graph, hone_device *const *devices, int device_count,
                    const hone_build_options *options, const hone_shape *min, const hone_shape *opt,
                    const hone_shape *max, hn_choices **out);
void hn_choices_destroy(hn_choices *choices);

/* ---- parts, each testable alone ---- */
/* Every (tactic, variant, format pair) of every device for every node; rejections keep their reason (tune/enumerate.c).
 */
hone_status hn_tune_enumerate(hn_choices *choices, const hone_build_options *options, const int64_t *min_symbols,
                              const int64_t *max_symbols);
/* Times and errors of a choice's candidates on seeded data (tune/measure.c). only >= 0: just that candidate's error. */
typedef struct hn_timing_cache hn_timing_cache;
hone_status hn_tune_measure(hn_choices *choices, hn_choice *choice, const hone_build_options *options,
                            hn_timing_cache *cache, int only);
/* Formats and tactics together: PBQP (Scholz and Eckstein 2002), degree-1 and -2 reductions exact, local search for the
 * rest, never worse than the best uniform assignment (tune/pbqp.c over tune/assign.c). */
hone_status hn_tune_assign(hn_choices *choices);

/* Lock: one line a step that a person can diff and edit (tune/lock.c):
 * NODE<TAB>provider:tactic@version{param=value,...} in=FORMAT out=FORMAT error=REL_L2 */
hone_status hn_lock_write(const hn_choices *choices, hn_text *out);
hone_status hn_lock_apply(hn_choices *choices, const char *what, const char *text, size_t length);

/* The ledger: JSON with every candidate, reason and interval, and what the passes told (tune/ledger.c). */
hone_status hn_ledger_write(const hn_choices *choices, const hn_pass_log *passes, hn_text *out);

#endif
