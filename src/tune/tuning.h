/* SPDX-License-Identifier: Apache-2.0 */
/* tuning.h - inside of tune/: what enumerating, measuring and assigning share. */
#ifndef HN_TUNE_TUNING_H
#define HN_TUNE_TUNING_H

#include "tune/tune.h"

enum { HN_MAX_VARIANTS = 16 };

bool hn_candidate_usable(const hn_candidate *candidate); /* neither rejected nor inexact */
/* What tells two choices apart for measuring: op, attributes, types, constness. Text in the arena; NULL: no memory. */
const char *hn_choice_key(hn_choices *choices, const hn_choice *choice);

/* Timing cache (tune/cache.c). path NULL: an empty one that is never written. */
hone_status hn_timing_cache_open(hone_context *context, hn_arena *arena, const char *path, hn_timing_cache **out);
bool hn_timing_cache_get(const hn_timing_cache *cache, const char *key, hn_candidate *candidate);
hone_status hn_timing_cache_put(hn_timing_cache *cache, const char *key, const hn_candidate *candidate);
hone_status hn_timing_cache_save(hone_context *context, const hn_timing_cache *cache);
const char *hn_timing_cache_key(hn_choices *choices, const char *choice_key, const hn_candidate *candidate);

/* Buffers and reference results for one choice (tune/bench.c). */
typedef struct hn_bench hn_bench;
hone_status hn_bench_open(hn_choices *choices, const hn_choice *choice, uint64_t seed, hn_bench **out);
void hn_bench_close(hn_bench *bench);
/* Makes a candidate ready; its first launch measures the error (rel. L2 over the sampled elements, HUGE_VAL if an
 * integer differs or a number is NaN against a number). */
hone_status hn_bench_prepare(hn_bench *bench, hn_candidate *candidate, int slot);
/* Runs a prepared candidate `repeat` times and gives the elapsed time of all. */
hone_status hn_bench_time(hn_bench *bench, int slot, int repeat, double *out_elapsed_ns);
enum { HN_BENCH_SLOTS = 24 };

/* PBQP over small matrices (tune/pbqp.c). */
enum { HN_PBQP_MAX = 8 };
typedef struct hn_pbqp_edge {
  int from, to;
  double cost[HN_PBQP_MAX * HN_PBQP_MAX]; /* [from's alternative * HN_PBQP_MAX + to's] */
} hn_pbqp_edge;
typedef struct hn_pbqp {
  int node_count;
  int *alternatives; /* one a node, 1..HN_PBQP_MAX */
  double *cost;      /* [node * HN_PBQP_MAX + alternative] */
  int edge_count;
  hn_pbqp_edge *edges;
} hn_pbqp;
double hn_pbqp_total(const hn_pbqp *problem, const int *assignment);
/* starts: start_count assignments to improve from, [start * node_count + node]. *out_optimal: proved best. */
hone_status hn_pbqp_solve(const hn_pbqp *problem, const int *starts, int start_count, hn_arena *arena, int *assignment,
                          bool *out_optimal);

#endif
