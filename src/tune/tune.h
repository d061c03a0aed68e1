/* SPDX-License-Identifier: Apache-2.0 */
/* tune.h - graph -> choices: ask every tactic, prune by cost, time the rest, measure their errors, choose formats. */
#ifndef HN_TUNE_TUNE_H
#define HN_TUNE_TUNE_H

#include "base/json.h"
#include "ir/log.h"
#include "plan/plan.h"
#include "tensor/shape.h"
#include "tune/choices.h"
#include <hone/engine.h>

/* One build: what the tunings of its schedules, one after the other, have in common: options, timing cache, the time
 * budget, the lock. A layer that two schedules have at the same shapes is timed once. */
typedef struct hn_tuner hn_tuner;
/* Lock: one line a step that a person can diff and edit (tune/lock.c):
 * NODE<TAB>provider:tactic@version{param=value,...} in=FORMAT out=FORMAT error=REL_L2
 * NODE<TAB>parts       the fused node is replaced by its parts, whose lines follow
 * [schedule K]         what follows is of that schedule; without it, of the first */
typedef struct hn_lock { /* what a lock says of one schedule */
  const char *path, *text;
  size_t length;
  int lines_before;
} hn_lock;
/* A tuning that only looks. Of the layers that nothing is known of, those are timed that a run is made of; they stand
 * for the others, whose estimates they correct (tune/sample.c). Nothing is proved, so what is chosen tells times and
 * must not be run. */
typedef struct hn_sampling {
  double enough;      /* of a run's time, as it is estimated: nothing more is timed; nor after the time budget */
  const char **parts; /* fused nodes that run as their parts, NULL once one does; of others parts are tried */
  int part_count;
  /* What computes the same now takes so long, on any scale: the layer's own size, that a sample of its operator is
   * held against. 0: nothing is known. NULL: estimates alone tell layers' sizes. */
  double (*now_ns)(void *user, const hn_node *node);
  /* Its product runs by the same kernel now: it is not timed, and takes so long. 0: it does not. NULL: none does. */
  double (*same_ns)(void *user, const hn_node *node, double flops);
  void *user;
  /* Filled in: different layers with candidates that had no time, and those of them that were timed now; what these
   * take by their fastest candidates, and by those that estimates alone would have taken; and of a run's time as it is
   * estimated, the share whose times are known by now. */
  int unknown_count, timed_count;
  double known_share;
  /* Given: an engine on the same device, or NULL. Filled in, where it has the same layers (tune/compare.c): what it
   * takes by these times, conversions with it, and what the choices gain; 0: the times say nothing of it. */
  const hn_plan *plan;
  double plan_ns, gain_ns;
  double timed_ns, likeliest_ns;
  bool done; /* later rounds time nothing more */
} hn_sampling;
/* From now on. sampling must live as long. */
void hn_tuner_sample(hn_tuner *tuner, hn_sampling *sampling);
/* lock: in the place of the options' lock file; NULL: that. INVALID: a lock or a cache that does not read. The options
 * and the lock must live as long. */
hone_status hn_tuner_open(hone_context *context, const hone_build_options *options, int schedule_count,
                          const hn_lock *lock, hn_tuner **out);
/* Of a refittable build: the lock of the schedules tuned so far. Borrowed. */
const char *hn_tuner_lock(const hn_tuner *tuner, size_t *out_length);
/* Runs what was chosen, on the build's inputs. as_reference: its outputs are kept, to hold others against; else
 * out_errors receives the relative L2 of each of the graph's outputs, HUGE_VAL where one is not a number or, with a
 * limit, has another shape, and -1 for those that are not compared. */
typedef struct hn_judge {
  hone_status (*run)(void *user, const hn_choices *choices, bool as_reference, double *out_errors);
  /* The same, ready to be timed; enter NULL: it cannot be. *out_plan: for leave(), NULL where drawn inputs are refused
   * or memory does not do for it. time: one sample of a run's time. */
  hone_status (*enter)(void *user, const hn_choices *choices, void **out_plan);
  hone_status (*time)(void *user, void *plan, double *out_ns);
  void (*leave)(void *user, void *plan);
  void *user;
} hn_judge;
/* INVALID names a layer in the options' layer_types that the graph, not optimised, does not have. */
hone_status hn_layer_types_check(hone_context *context, const hone_graph *graph, const hone_build_options *options);
/* Tunes the next schedule: level, budget, seed, runs, caches, lock, as the public call documents. The graph is
 * optimised already; fused nodes whose parts are faster are replaced by those in it.
 * Errors: UNSUPPORTED (no tactic accepts a node, or what the lock or the options name; the timing cache misses a layer
 * that it must hold), INVALID (a lock that names no node of the graph), and what devices and stops give. */
hone_status hn_tune(hn_tuner *tuner, hone_graph *graph, hone_device *const *devices, int device_count,
                    const hn_ranges *ranges, const hn_judge *judge, hn_choices **out);
/* Keeps what was measured in the timing cache, also when the build failed; writes the lock, if there was none, when
 * status is OK. Returns status, or what went wrong here. tuner NULL is fine. */
hone_status hn_tuner_close(hn_tuner *tuner, hone_status status);
/* How unsteady the times were: of what was chosen by its time, the median layer's median over its least; 0: nothing was
 * timed. Well above 1 where something else used the machine. */
double hn_choices_spread(hn_choices *choices);
/* Adds the nodes that were chosen by measured times, and those of them whose times the timing cache had before. */
void hn_choices_add_timed(const hn_choices *choices, int *timed, int *known);
void hn_choices_destroy(hn_choices *choices);

/* ---- parts, each testable alone ---- */
/* Every (tactic, variant, format pair) of every device for every node; rejections keep their reason (tune/enumerate.c).
 */
hone_status hn_tune_enumerate(hn_choices *choices);
/* Times and errors of a choice's candidates on seeded data (tune/measure.c). only >= 0: just that candidate's error. */
hone_status hn_tune_measure(hn_choices *choices, hn_choice *choice, int only);
/* Formats and tactics together: PBQP (Scholz and Eckstein 2002), degree-1 and -2 reductions exact, local search for the
 * rest, never worse than the best uniform assignment: search/pbqp.c over tune/assign.c. */

hone_status hn_lock_write(const hn_choices *choices, hn_text *out); /* the lines of one schedule */
/* INVALID: sections that are not in their order, or of a schedule that is not built. */
hone_status hn_lock_find(hone_context *context, const hn_lock *whole, int schedule, int schedule_count, hn_lock *out);
/* The next node that the lock wants to run as its parts and that the graph has fused; NULL when there is none. */
hn_node *hn_lock_next_split(const hone_graph *graph, const hn_lock *lock);
hone_status hn_lock_apply(hn_choices *choices, const hn_lock *lock);

/* One timing cache of several, and of what stands at out_path already. INVALID: a file is none (tune/cache.c). */
hone_status hn_timing_cache_merge(hone_context *context, const char *const *paths, int count, const char *out_path);

/* The ledger: JSON with every candidate, reason and interval of each schedule, and what the passes told
 * (tune/ledger.c). */
typedef struct hn_ledger {
  hn_json_writer writer;
  int schedule_count;
} hn_ledger;
/* quantised: what quantising decided; NULL: nothing. */
void hn_ledger_begin(hn_ledger *ledger, const hone_facts *facts, const hn_json *quantised, hn_text *out);
void hn_ledger_add(hn_ledger *ledger, const hn_choices *choices, const hn_pass_log *passes);
void hn_ledger_end(hn_ledger *ledger);

#endif
