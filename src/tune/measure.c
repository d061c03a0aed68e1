/* SPDX-License-Identifier: Apache-2.0 */
/* measure.c - times the candidates of one node against each other, interleaved, so that a change of the machine's speed
 * meets all of them; drops those that are clearly slower; keeps medians with their 95 % intervals. */
#include "tune/tuning.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SAMPLES = 64 };

/* Effort by level: most samples a candidate, nanoseconds a sample at least, how far above the best estimate a lower
 * bound may lie to be timed at all. */
typedef struct tuning_effort {
  int samples;
  double sample_ns, prune;
} tuning_effort;

static tuning_effort effort_of(const hone_build_options *options) {
  static const tuning_effort rows[] = {{3, 10e3, 1.9}, {3, 10e3, 1.9}, {5, 20e3, 3},
                                       {9, 30e3, 3},   {15, 50e3, 9},  {31, 100e3, 99}};
  int level = options->level == 0 ? 3 : options->level;
  if (level < 0) level = 0;
  tuning_effort chosen = rows[level > 5 ? 5 : level];
  if (options->timing_runs > 0)
    chosen.samples = options->timing_runs < MAX_SAMPLES ? options->timing_runs : MAX_SAMPLES;
  return chosen;
}

typedef struct timing {
  hn_candidate *candidate;
  const char *key;
  int slot, repeat, count;
  double samples[MAX_SAMPLES];
  bool dropped;
} timing;

static int compare_doubles(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Median, and the order statistics that bound it with 95 % confidence (Conover 1999, section 3.2). */
static void summarize(timing *t) {
  double sorted[MAX_SAMPLES];
  const int n = t->count;
  memcpy(sorted, t->samples, (size_t)n * sizeof *sorted);
  qsort(sorted, (size_t)n, sizeof *sorted, compare_doubles);
  const double half = 0.98 * sqrt((double)n);
  int low = (int)floor(n / 2.0 - half), high = (int)ceil(n / 2.0 + half);
  if (low < 0) low = 0;
  if (high > n - 1) high = n - 1;
  t->candidate->time_ns = n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
  t->candidate->time_low_ns = sorted[low];
  t->candidate->time_high_ns = sorted[high];
  t->candidate->runs = n;
  t->candidate->state = HN_CANDIDATE_TIMED;
}

static double best_median(const timing *timings, int count) {
  double best = HUGE_VAL;
  for (int i = 0; i < count; ++i)
    if (!timings[i].dropped && timings[i].count && timings[i].candidate->time_ns < best)
      best = timings[i].candidate->time_ns;
  return best;
}

static hone_status sample(hn_bench *bench, timing *t, double sample_ns) {
  double elapsed_ns;
  if (t->repeat == 0) { /* the first launch warmed it; this one tells how many fill a sample */
    HN_TRY(hn_bench_time(bench, t->slot, 1, &elapsed_ns));
    const double repeat = elapsed_ns > 0 ? ceil(sample_ns / elapsed_ns) : 1;
    t->repeat = repeat < 1 ? 1 : repeat > 200 ? 200 : (int)repeat;
  }
  HN_TRY(hn_bench_time(bench, t->slot, t->repeat, &elapsed_ns));
  t->samples[t->count++] = elapsed_ns / t->repeat;
  summarize(t);
  return HONE_OK;
}

static hone_status time_all(hn_choices *choices, hn_bench *bench, timing *timings, int count, tuning_effort effort) {
  for (int round = 0; round < effort.samples; ++round) {
    for (int i = 0; i < count; ++i)
      if (!timings[i].dropped) HN_TRY(sample(bench, &timings[i], effort.sample_ns));
    const double best = best_median(timings, count);
    for (int i = 0; i < count; ++i) /* twice as slow after two rounds will not win */
      if (round > 0 && timings[i].candidate->time_low_ns > 1.5 * best) timings[i].dropped = true;
    HN_TRY(hn_check_stop(choices->context));
  }
  return HONE_OK;
}

static double best_estimate(const hn_choice *choice) {
  double best = HUGE_VAL;
  for (int c = 0; c < choice->candidate_count; ++c)
    if (hn_candidate_usable(&choice->candidates[c]) && choice->candidates[c].estimate_ns < best)
      best = choice->candidates[c].estimate_ns;
  return best;
}

/* Measures the error; a candidate over its bound is out, and the ledger keeps why. */
static hone_status check_error(hn_bench *bench, hn_candidate *candidate, int slot) {
  HN_TRY(hn_bench_prepare(bench, candidate, slot));
  if (candidate->error_rel_l2 <= candidate->error_bound) return HONE_OK;
  candidate->state = HN_CANDIDATE_INEXACT;
  candidate->reason = "its measured error is over its bound";
  return HONE_OK;
}

/* Estimates are of a fast machine; on a slow one they would make the untimed look better than what was timed. */
static void put_untimed_behind(hn_choice *choice) {
  double best = 0;
  for (int c = 0; c < choice->candidate_count; ++c) {
    const hn_candidate *timed = &choice->candidates[c];
    if (timed->state == HN_CANDIDATE_TIMED && (best == 0 || timed->time_ns < best)) best = timed->time_ns;
  }
  for (int c = 0; c < choice->candidate_count; ++c) {
    hn_candidate *candidate = &choice->candidates[c];
    if (candidate->state == HN_CANDIDATE_ESTIMATED && candidate->estimate_ns < 4 * best)
      candidate->estimate_ns = 4 * best;
  }
}

static bool is_reference(const hn_candidate *candidate) { return candidate->tactic->flags & HONE_TACTIC_REFERENCE; }

hone_status hn_tune_measure(hn_choices *choices, hn_choice *choice, const hone_build_options *options,
                            hn_timing_cache *cache, int only) {
  const tuning_effort effort = effort_of(options);
  const char *choice_key = hn_choice_key(choices, choice);
  if (!choice_key) return HN_FAIL_MEMORY(&choices->context->diag);
  const double limit = best_estimate(choice) * effort.prune + 2000;
  timing *timings = HN_NEW(&choices->arena, timing, HN_BENCH_SLOTS);
  if (!timings) return HN_FAIL_MEMORY(&choices->context->diag);
  hn_bench *bench = NULL;
  hone_status status = HONE_OK;
  int count = 0, slot = 0;
  for (int c = 0; c < choice->candidate_count && status == HONE_OK; ++c) {
    hn_candidate *candidate = &choice->candidates[c];
    if (!hn_candidate_usable(candidate) || is_reference(candidate) || (only >= 0 && c != only)) continue;
    if (only < 0 && (candidate->estimate_ns > limit || slot == HN_BENCH_SLOTS)) {
      candidate->reason = slot == HN_BENCH_SLOTS ? "not timed: enough others were"
                                                 : "not timed: its lower bound is too far above the best one";
      candidate->estimate_ns *= 4; /* behind the timed ones, see put_untimed_behind */
      continue;
    }
    if (!bench) status = hn_bench_open(choices, choice, options->seed + 1, &bench);
    if (status == HONE_OK) status = check_error(bench, candidate, slot);
    if (status != HONE_OK || candidate->state == HN_CANDIDATE_INEXACT) continue;
    timing *t = &timings[count];
    *t = (timing){.candidate = candidate, .slot = slot++, .key = hn_timing_cache_key(choices, choice_key, candidate)};
    if (!t->key)
      status = HN_FAIL_MEMORY(&choices->context->diag);
    else if (options->level >= 0 && only < 0 && !hn_timing_cache_get(cache, t->key, candidate))
      ++count;
  }
  if (status == HONE_OK && count > 0) status = time_all(choices, bench, timings, count, effort);
  for (int i = 0; i < count && status == HONE_OK; ++i)
    status = hn_timing_cache_put(cache, timings[i].key, timings[i].candidate);
  hn_bench_close(bench);
  if (only < 0) put_untimed_behind(choice);
  return status;
}
