/* SPDX-License-Identifier: Apache-2.0 */
/* measure.c - times the candidates of one node against each other. The likeliest come first, and what cannot win by the
 * device's peaks is not timed at all. A first look of three samples drops what is far behind; the others take turns, so
 * that a change of the machine's speed meets all of them, and after every round those go whose least time lies above
 * the best median (successive elimination: Even-Dar, Mannor and Mansour 2006, JMLR 7, with intervals of the median). */
#include "tune/tuning.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SAMPLES = 64, FIRST_LOOK = 3 };

typedef struct timing {
  hn_candidate *candidate;
  const char *key;
  int slot, repeat, count; /* slot -1: not on the bench */
  double spent_ns;         /* of all samples */
  double samples[MAX_SAMPLES];
} timing;

typedef struct measuring {
  hn_choices *choices;
  hn_choice *choice;
  hn_tuning *tuning;
  hn_bench *bench; /* opened for the first candidate that needs it */
  int samples;     /* of a candidate, at most */
  timing *timings; /* of all candidates that may be timed, the best estimate first */
  int count;
  int most, looked_at; /* at most so many candidates get a time, what the cache knows included; 0: any number */
  bool used[HN_BENCH_SLOTS];
} measuring;

int hn_compare_doubles(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static int compare_timings(const void *a, const void *b) {
  const timing *x = a, *y = b;
  const double p = x->candidate->estimate_ns, q = y->candidate->estimate_ns;
  if (p != q) return p < q ? -1 : 1;
  return (x->candidate > y->candidate) - (x->candidate < y->candidate); /* as enumerated */
}

/* The least sample, the median, and the order statistic that bounds the median from above with 95 % confidence (Conover
 * 1999, section 3.2). Choices are made by the least: other programs only add time, and the minimum is what they leave
 * alone (Chen and Revels 2016, arXiv:1608.04295). */
static void summarize(timing *t) {
  double sorted[MAX_SAMPLES];
  const int n = t->count;
  memcpy(sorted, t->samples, (size_t)n * sizeof *sorted);
  qsort(sorted, (size_t)n, sizeof *sorted, hn_compare_doubles);
  const double half = 0.98 * sqrt((double)n);
  int high = (int)ceil(n / 2.0 + half);
  if (high > n - 1) high = n - 1;
  t->candidate->time_ns = n % 2 ? sorted[n / 2] : (sorted[n / 2 - 1] + sorted[n / 2]) / 2;
  t->candidate->time_low_ns = sorted[0];
  t->candidate->time_high_ns = sorted[high];
  t->candidate->runs = n;
  t->candidate->state = HN_CANDIDATE_TIMED;
}

static bool same_storages(const hn_candidate *a, const hn_candidate *b) {
  return a->storages.in == b->storages.in && a->storages.out == b->storages.out;
}

/* The timed candidate with the least median, of these storages when like is given; NULL: none is timed. */
static const hn_candidate *best_timed(const hn_choice *choice, const hn_candidate *like) {
  const hn_candidate *best = NULL;
  for (int c = 0; c < choice->candidate_count; ++c) {
    const hn_candidate *timed = &choice->candidates[c];
    if (timed->state == HN_CANDIDATE_TIMED && (!like || same_storages(timed, like)) &&
        (!best || timed->time_ns < best->time_ns))
      best = timed;
  }
  return best;
}

static double best_estimate(const hn_choices *choices, const hn_choice *choice) {
  double best = HUGE_VAL;
  for (int c = 0; c < choice->candidate_count; ++c)
    if (hn_candidate_usable(&choice->candidates[c]) && choice->candidates[c].estimate_ns < best &&
        !hn_candidate_waits(choices, choice, &choice->candidates[c]))
      best = choice->candidates[c].estimate_ns;
  return best;
}

/* From here on a launch is long enough that waking threads and fetching inputs do not show. */
static const double long_launch_ns = 2e6;

/* A candidate that has run for so long has had its samples: of long launches a few will do, and on a disturbed machine
 * more would not be quieter. */
static bool had_enough(const hn_tuning *tuning, const timing *t) {
  return t->count >= FIRST_LOOK && t->spent_ns > 1000 * tuning->level->sample_ns;
}

static void add_sample(timing *t, double ns) {
  t->samples[t->count++] = ns;
  t->spent_ns += ns * (t->repeat > 0 ? t->repeat : 1);
  summarize(t);
}

/* The span is named as the ledger writes candidates. */
static void tell_candidate(const hn_tuning *tuning, hone_span_kind kind, const hn_candidate *candidate,
                           int64_t begin_ns, int64_t parts) {
  if (!tuning->spans.tell) return;
  hn_text text;
  hn_text_init(&text, tuning->context->allocator);
  hn_text_candidate(&text, candidate);
  hn_span_end(&tuning->spans, kind, text.failed ? candidate->tactic->name : hn_text_string(&text), begin_ns, parts);
  hn_text_deinit(&text);
}

static hone_status time_launches(const hn_tuning *tuning, hn_bench *bench, const timing *t, int repeat, bool warm,
                                 double *out_elapsed_ns) {
  const int64_t begin_ns = hn_span_begin(&tuning->spans);
  HN_TRY(hn_bench_time(bench, t->slot, repeat, warm, out_elapsed_ns));
  tell_candidate(tuning, HONE_SPAN_SAMPLE, t->candidate, begin_ns, repeat);
  return HONE_OK;
}

/* The first call finds out how many launches fill a sample; when it is one, that was it. */
static hone_status sample(const hn_tuning *tuning, hn_bench *bench, timing *t) {
  double elapsed_ns;
  if (t->repeat == 0) {
    HN_TRY(time_launches(tuning, bench, t, 1, false, &elapsed_ns)); /* checking the error has just run it */
    const double repeat = elapsed_ns > 0 ? ceil(tuning->level->sample_ns / elapsed_ns) : 1;
    t->repeat = repeat < 1 ? 1 : repeat > 200 ? 200 : (int)repeat;
    if (t->repeat == 1) {
      add_sample(t, elapsed_ns);
      return HONE_OK;
    }
  }
  const bool warm = t->count == 0 || t->candidate->time_low_ns < long_launch_ns;
  HN_TRY(time_launches(tuning, bench, t, t->repeat, warm, &elapsed_ns));
  add_sample(t, elapsed_ns / t->repeat);
  return HONE_OK;
}

static void leave_bench(measuring *m, timing *t, const char *reason) {
  if (t->slot < 0) return;
  hn_bench_drop(m->bench, t->slot);
  m->used[t->slot] = false;
  t->slot = -1;
  if (reason) t->candidate->reason = reason;
}

/* A kernel rounds every sum: that much more than one rounding of the inputs is no mistake of its own. Long sequences of
 * recurrent layers with large weights multiply each rounding by thousands. Beyond the most nothing is comparable. */
static const double roundings = 4, most_sensitive = 0.01;

/* Measures the error; a candidate over its bound is out, and the ledger keeps why. */
static hone_status check_error(hn_bench *bench, hn_candidate *candidate, int slot, bool timed) {
  HN_TRY(hn_bench_prepare(bench, candidate, slot, timed));
  if (candidate->error_rel_l2 <= candidate->error_bound) return HONE_OK;
  double sensitivity;
  HN_TRY(hn_bench_sensitivity(bench, &sensitivity));
  if (sensitivity * roundings <= most_sensitive)
    candidate->error_bound = fmax(candidate->error_bound, sensitivity * roundings);
  if (candidate->error_rel_l2 <= candidate->error_bound) return HONE_OK;
  candidate->state = HN_CANDIDATE_INEXACT;
  candidate->reason = "its measured error is over its bound";
  return HONE_OK;
}

/* Variants of a row mostly round alike: once two are over their bound by the same error, the others are not tried. */
static void reject_alike(hn_choice *choice, const hn_candidate *inexact) {
  bool alike = false;
  for (int pass = 0; pass < 2; ++pass)
    for (int c = 0; c < choice->candidate_count; ++c) {
      hn_candidate *other = &choice->candidates[c];
      if (other == inexact || other->tactic != inexact->tactic || other->device != inexact->device ||
          !same_storages(other, inexact))
        continue;
      if (pass == 0)
        alike = alike || (other->state == HN_CANDIDATE_INEXACT &&
                          fabs(other->error_rel_l2 - inexact->error_rel_l2) <= 0.05 * inexact->error_rel_l2);
      else if (alike && other->state == HN_CANDIDATE_ESTIMATED) {
        other->state = HN_CANDIDATE_REJECTED;
        other->reason = "not tried: two other variants are over the bound by the same error";
      }
    }
}

/* A free place on the bench: when there is none, the slowest leaves. */
static int free_slot(measuring *m) {
  timing *slowest = NULL;
  for (int i = 0; i < m->count; ++i)
    if (m->timings[i].slot >= 0 && (!slowest || m->timings[i].candidate->time_ns > slowest->candidate->time_ns))
      slowest = &m->timings[i];
  for (int s = 0; s < HN_BENCH_SLOTS; ++s)
    if (!m->used[s]) return s;
  const int slot = slowest->slot;
  leave_bench(m, slowest, "dropped: twelve others were faster at first sight");
  return slot;
}

/* Of a pair of storages that nothing was timed for yet? Neighbours may need just that pair, so it gets a time, too. */
static bool opens_pair(const measuring *m, const hn_candidate *candidate) {
  return m->tuning->level->variants > 1 && !best_timed(m->choice, candidate);
}

/* Why a candidate is not worth timing; NULL when it is. */
static const char *prune(const measuring *m, const hn_candidate *candidate, double limit) {
  static const char *const too_slow = "not timed: by the device's peaks it cannot be as fast as the best one";
  const hn_level *level = m->tuning->level;
  const hn_candidate *alike = best_timed(m->choice, candidate), *best = best_timed(m->choice, NULL);
  const bool first = opens_pair(m, candidate);
  if (candidate->state == HN_CANDIDATE_REJECTED) return candidate->reason; /* since the list was made */
  if (m->most > 0 && m->looked_at >= m->most) return "not timed: max-tactics limit reached";
  if (!first && candidate->estimate_ns > limit) return "not timed: its estimate is too far above the best one";
  if (first && best && best->time_ns > long_launch_ns && level->prune < 1e6 && !m->choice->each_pair &&
      candidate->estimate_ns > 1.6 * best_estimate(m->choices, m->choice))
    return "not timed: its storages would cost more than converts from the best ones";
  if (level->prune < 1e6 && alike && candidate->floor_ns > alike->time_high_ns) return too_slow;
  if (level->prune < 1e6 && best && !m->choice->each_pair && candidate->floor_ns > 2 * best->time_high_ns)
    return too_slow;
  int variants = 0;
  for (const hn_candidate *other = m->choice->candidates; other < candidate; ++other)
    variants +=
        other->tactic == candidate->tactic && other->device == candidate->device && same_storages(other, candidate);
  return variants >= level->variants ? "not timed: the level times fewer variants" : NULL;
}

/* Is it too slow to be looked at again? Other storages get more time, since their converts may fall away. */
static bool is_behind(const measuring *m, const timing *t, double factor) {
  const hn_candidate *c = t->candidate, *best = best_timed(m->choice, NULL), *alike = best_timed(m->choice, c);
  return (alike && alike != c && c->time_low_ns > factor * alike->time_ns) ||
         (best && best != c && !m->choice->each_pair && c->time_low_ns > (factor + 0.5) * best->time_ns);
}

static void log_timed(const measuring *m, const timing *t) {
  hone_context *context = m->choices->context;
  if (!hn_logs(&context->logger, HONE_LOG_VERBOSE)) return;
  hn_text text;
  hn_text_init(&text, context->allocator);
  hn_text_candidate(&text, t->candidate);
  hn_log(context, HONE_LOG_VERBOSE, "%s (%s): %s: %.4f ms", m->choice->node->name, m->choice->node->op->name,
         hn_text_string(&text), t->candidate->time_ns * 1e-6);
  hn_text_deinit(&text);
}

/* What another program takes of a sample at most, as a rule: beyond it, far behind in two samples is no accident, and
 * far beyond it in one. */
static const double slice_ns = 4e6;

/* The first look: error, and a few samples. */
static hone_status look(measuring *m, timing *t) {
  if (!m->bench) HN_TRY(hn_bench_open(m->choices, m->choice, m->tuning->options->seed + 1, true, &m->bench));
  t->slot = free_slot(m);
  m->used[t->slot] = true;
  HN_TRY(check_error(m->bench, t->candidate, t->slot, true));
  if (t->candidate->state == HN_CANDIDATE_INEXACT) {
    leave_bench(m, t, NULL);
    reject_alike(m->choice, t->candidate);
    return HONE_OK;
  }
  for (int k = 0; k < FIRST_LOOK && k < m->samples; ++k) {
    HN_TRY(sample(m->tuning, m->bench, t));
    const double surely_ns = k > 0 ? slice_ns : 4 * slice_ns;
    if (t->candidate->time_low_ns > surely_ns && is_behind(m, t, 2 * m->tuning->level->drop)) break;
  }
  log_timed(m, t);
  if (is_behind(m, t, m->tuning->level->drop)) leave_bench(m, t, "dropped: far slower at first sight");
  return HONE_OK;
}

static int on_bench(const measuring *m) {
  int count = 0;
  for (int i = 0; i < m->count; ++i) count += m->timings[i].slot >= 0;
  return count;
}

/* Nothing is left to decide: each pair of storages has one candidate, and its interval is narrow. */
static bool is_decided(const measuring *m) {
  for (int i = 0; i < m->count; ++i) {
    const timing *t = &m->timings[i];
    if (t->slot < 0) continue;
    if (t->count < 5 || t->candidate->time_high_ns > 1.03 * t->candidate->time_low_ns) return false;
    for (int j = 0; j < i; ++j)
      if (m->timings[j].slot >= 0 && same_storages(m->timings[j].candidate, t->candidate)) return false;
  }
  return true;
}

/* Half of its samples are near the least one: that one is no accident. */
static bool is_quiet(const timing *t) { return t->candidate->time_ns < 1.15 * t->candidate->time_low_ns; }

/* Other programs disturb: more samples may find a moment without them. */
static bool needs_more(const measuring *m) {
  for (int i = 0; i < m->count; ++i)
    if (m->timings[i].slot >= 0 && !is_quiet(&m->timings[i]) && !had_enough(m->tuning, &m->timings[i])) return true;
  return false;
}

static hone_status time_rounds(measuring *m) {
  const int most = m->tuning->options->timing_runs > 0 || 3 * m->samples > MAX_SAMPLES ? m->samples : 3 * m->samples;
  for (int round = FIRST_LOOK; round < most && on_bench(m) > 0; ++round) {
    if (round >= m->samples && !needs_more(m)) break;
    for (int i = 0; i < m->count; ++i)
      if (m->timings[i].slot >= 0 && !had_enough(m->tuning, &m->timings[i]))
        HN_TRY(sample(m->tuning, m->bench, &m->timings[i]));
    const double progress = fmin(1, (double)(round - FIRST_LOOK) / (double)(m->samples - FIRST_LOOK));
    const double factor = m->tuning->level->drop - (m->tuning->level->drop - 1) * progress;
    for (int i = 0; i < m->count; ++i)
      if (m->timings[i].slot >= 0 && is_behind(m, &m->timings[i], factor))
        leave_bench(m, &m->timings[i], "dropped: slower than the best of its storages");
    HN_TRY(hn_check_stop(m->choices->context));
    if (is_decided(m) || hn_tuning_stopped(m->tuning)) break;
  }
  return HONE_OK;
}

/* Estimates are of a fast machine; on a slow one they would make the untimed look better than what was timed. */
static void put_untimed_behind(hn_choice *choice) {
  const hn_candidate *best = best_timed(choice, NULL);
  if (!best) return;
  for (int c = 0; c < choice->candidate_count; ++c) {
    hn_candidate *candidate = &choice->candidates[c];
    if (candidate->reason == hn_time_used_up) continue; /* it was not put aside: its estimate will be calibrated */
    if (candidate->state == HN_CANDIDATE_ESTIMATED && candidate->estimate_ns < 4 * best->time_ns)
      candidate->estimate_ns = 4 * best->time_ns;
  }
}

/* All that may be timed, with what the cache knows of it; the known ones are not timed again. */
static hone_status list_timings(measuring *m, bool *out_known) {
  hn_choice *choice = m->choice;
  const char *choice_key = hn_choice_key(m->choices, choice);
  m->timings = HN_NEW(&m->choices->arena, timing, choice->candidate_count + 1);
  if (!choice_key || !m->timings) return HN_FAIL_MEMORY(&m->choices->context->diag);
  *out_known = false;
  for (int c = 0; c < choice->candidate_count; ++c) {
    hn_candidate *candidate = &choice->candidates[c];
    if (!hn_candidate_usable(candidate) || hn_candidate_is_reference(candidate)) continue;
    if (hn_candidate_waits(m->choices, choice, candidate)) {
      candidate->reason = "not timed: it runs in the other memory, where its neighbours are";
      continue;
    }
    const char *key = hn_timing_cache_key(m->choices, choice_key, candidate);
    if (!key) return HN_FAIL_MEMORY(&m->choices->context->diag);
    if (hn_timing_cache_get(m->tuning->cache, key, candidate)) {
      *out_known = true;
      ++m->looked_at;
    } else
      m->timings[m->count++] = (timing){.candidate = candidate, .key = key, .slot = -1};
  }
  qsort(m->timings, (size_t)m->count, sizeof *m->timings, compare_timings);
  return HONE_OK;
}

/* Candidates that will be looked at may begin to compile, side by side. */
static hone_status expect(const measuring *m, double limit) {
  hn_choice *choice = m->choice;
  hone_fact *facts = HN_NEW(&m->choices->arena, hone_fact, choice->node->in_count + choice->node->out_count + 1);
  if (!facts) return HN_FAIL_MEMORY(&m->choices->context->diag);
  for (int i = 0; i < m->count; ++i) {
    const hn_candidate *candidate = m->timings[i].candidate;
    if (!candidate->tactic->expect || prune(m, candidate, limit)) continue;
    hone_query query;
    hn_candidate_query(m->choices, choice, candidate, facts, facts + choice->node->in_count, &query);
    candidate->tactic->expect(m->choices->devices[candidate->device]->unit, &query);
  }
  return HONE_OK;
}

static hone_status time_all(measuring *m) {
  const double limit = best_estimate(m->choices, m->choice) * m->tuning->level->prune + 2000;
  if (!hn_tuning_stopped(m->tuning)) HN_TRY(expect(m, limit));
  for (int i = 0; i < m->count; ++i) {
    timing *t = &m->timings[i];
    t->candidate->reason = prune(m, t->candidate, limit);
    if (t->candidate->reason) continue;
    HN_TRY(hn_check_stop(m->choices->context));
    if (hn_tuning_stopped(m->tuning)) {
      t->candidate->reason = hn_time_used_up;
      continue;
    }
    ++m->looked_at;
    const int64_t begin_ns = hn_span_begin(&m->tuning->spans);
    HN_TRY(look(m, t));
    tell_candidate(m->tuning, HONE_SPAN_CANDIDATE, t->candidate, begin_ns, t->count);
  }
  HN_TRY(time_rounds(m));
  for (int i = 0; i < m->count; ++i)
    if (m->timings[i].candidate->state == HN_CANDIDATE_TIMED)
      HN_TRY(hn_timing_cache_put(m->tuning->cache, m->timings[i].key, m->timings[i].candidate));
  return HONE_OK;
}

static void log_fastest(const hn_choices *choices, const hn_choice *choice) {
  const hn_candidate *best = best_timed(choice, NULL);
  if (!best || !hn_logs(&choices->context->logger, HONE_LOG_VERBOSE)) return;
  hn_text text;
  hn_text_init(&text, choices->context->allocator);
  hn_text_candidate(&text, best);
  hn_log(choices->context, HONE_LOG_VERBOSE, "%s (%s): fastest is %s: %.4f ms%s", choice->node->name,
         choice->node->op->name, hn_text_string(&text), best->time_ns * 1e-6,
         best->from_cache ? " (timing cache)" : "");
  hn_text_deinit(&text);
}

/* The error of one candidate alone. On a described machine it stays unknown. */
static hone_status prove(hn_choices *choices, hn_choice *choice, int only) {
  if (choices->devices[choice->candidates[only].device]->facts.described) return HONE_OK;
  hn_bench *bench;
  HN_TRY(hn_bench_open(choices, choice, choices->tuning->options->seed + 1, true, &bench));
  const int64_t begin_ns = hn_span_begin(&choices->tuning->spans);
  const hone_status status = check_error(bench, &choice->candidates[only], 0, false);
  tell_candidate(choices->tuning, HONE_SPAN_CANDIDATE, &choice->candidates[only], begin_ns, 0);
  if (choice->candidates[only].state == HN_CANDIDATE_INEXACT) reject_alike(choice, &choice->candidates[only]);
  hn_bench_close(bench);
  return status;
}

/* One side of a contest keeps its old time where that was less: other programs only add. */
static hone_status keep_better(hn_contestant *contestant, timing *t, const hn_candidate *before) {
  hn_choices *choices = contestant->choices;
  if (before->state == HN_CANDIDATE_TIMED && before->time_low_ns < t->candidate->time_low_ns) {
    t->candidate->time_ns = before->time_ns;
    t->candidate->time_low_ns = before->time_low_ns;
    t->candidate->time_high_ns = before->time_high_ns;
    t->candidate->runs = before->runs;
  }
  const char *choice_key = hn_choice_key(choices, contestant->choice);
  const char *key = choice_key ? hn_timing_cache_key(choices, choice_key, t->candidate) : NULL;
  if (!key) return HN_FAIL_MEMORY(&choices->context->diag);
  return hn_timing_cache_put(choices->tuning->cache, key, t->candidate);
}

/* Do the others together still lead by the margin? What they cost beside these candidates would only add to it. */
static bool others_lead(const timing *timings, int count) {
  double others_ns = 0;
  for (int i = 1; i < count; ++i) others_ns += timings[i].candidate->time_low_ns;
  return others_ns < HN_PARTS_MARGIN * timings[0].candidate->time_low_ns;
}

static hone_status contest(hn_tuning *tuning, hn_contestant *list, int count, hn_bench **benches, timing *timings,
                           bool *out_decided) {
  for (int i = 0; i < count; ++i) {
    hn_candidate *candidate = &list[i].choice->candidates[list[i].candidate];
    timings[i] = (timing){.candidate = candidate};
    HN_TRY(hn_bench_open(list[i].choices, list[i].choice, tuning->options->seed + 1, false, &benches[i]));
    HN_TRY(hn_bench_prepare(benches[i], candidate, 0, true));
  }
  for (int round = 0; round < MAX_SAMPLES && !hn_tuning_stopped(tuning); ++round) {
    HN_TRY(hn_check_stop(tuning->context));
    bool quiet = true, enough = true;
    for (int i = 0; i < count; ++i) {
      HN_TRY(sample(tuning, benches[i], &timings[i]));
      quiet = quiet && is_quiet(&timings[i]);
      enough = enough && had_enough(tuning, &timings[i]);
    }
    *out_decided = quiet && (enough || round + 1 >= tuning->level->samples);
    if (*out_decided || enough || round + 1 >= 4 * tuning->level->samples) break;
    if (round + 1 >= FIRST_LOOK && !others_lead(timings, count)) break;
  }
  return HONE_OK;
}

/* What tells a contest apart: its contestants' keys. */
static const char *contest_key(hn_tuning *tuning, const hn_contestant *list, int count) {
  hn_text text;
  hn_text_init(&text, tuning->context->allocator);
  for (int i = 0; i < count; ++i) {
    const char *choice_key = hn_choice_key(list[i].choices, list[i].choice);
    const char *key =
        choice_key ? hn_timing_cache_key(list[i].choices, choice_key, &list[i].choice->candidates[list[i].candidate])
                   : NULL;
    hn_text_printf(&text, "%s\n", key ? key : "");
    if (!key) text.failed = true;
  }
  const char *key = text.failed ? NULL : hn_arena_text(&tuning->arena, hn_text_string(&text));
  hn_text_deinit(&text);
  return key;
}

hone_status hn_tune_contest(hn_tuning *tuning, hn_contestant *list, int count, bool *out_decided) {
  hn_bench *benches[HN_MAX_CONTESTANTS] = {0};
  const char *key = contest_key(tuning, list, count);
  if (!key) return HN_FAIL_MEMORY(&tuning->context->diag);
  const bool *known = hn_table_get(&tuning->contests, key);
  if (known) { /* its times are the candidates' already */
    *out_decided = *known;
    return HONE_OK;
  }
  hn_candidate before[HN_MAX_CONTESTANTS];
  timing *timings = HN_NEW(&tuning->arena, timing, HN_MAX_CONTESTANTS);
  if (!timings) return HN_FAIL_MEMORY(&tuning->context->diag);
  for (int i = 0; i < count; ++i) before[i] = list[i].choice->candidates[list[i].candidate];
  *out_decided = false;
  hone_status status = contest(tuning, list, count, benches, timings, out_decided);
  for (int i = 0; i < count; ++i) hn_bench_close(benches[i]);
  for (int i = 0; i < count && status == HONE_OK; ++i)
    if (timings[i].count > 0) status = keep_better(&list[i], &timings[i], &before[i]);
  bool *kept = HN_NEW(&tuning->arena, bool, 1);
  if (status == HONE_OK && (!kept || !hn_table_put(&tuning->contests, key, kept)))
    return HN_FAIL_MEMORY(&tuning->context->diag);
  if (kept) *kept = *out_decided;
  return status;
}

hone_status hn_tune_measure(hn_choices *choices, hn_choice *choice, int only) {
  if (only >= 0) return prove(choices, choice, only);
  hn_tuning *tuning = choices->tuning;
  const int wanted = tuning->options->timing_runs;
  measuring m = {.choices = choices,
                 .choice = choice,
                 .tuning = tuning,
                 .samples = tuning->level->samples,
                 .most = tuning->options->max_tactics};
  if (choices->outer && tuning->level->parts == HN_PARTS_LIKE) m.samples = (m.samples + 1) / 2; /* a contest follows */
  if (wanted > 0) m.samples = wanted < MAX_SAMPLES ? wanted : MAX_SAMPLES;
  bool known;
  HN_TRY(list_timings(&m, &known));
  hone_status status = HONE_OK;
  if (tuning->options->timing_cache_only && !known && m.count > 0) {
    ++tuning->miss_count;
    status = HN_FAIL(&choices->context->diag, HONE_UNSUPPORTED, "the timing cache does not hold node %s (%s)",
                     choice->node->name, choice->node->op->name);
  } else if (!tuning->options->timing_cache_only) {
    status = time_all(&m);
  }
  hn_bench_close(m.bench);
  put_untimed_behind(choice);
  log_fastest(choices, choice);
  return status;
}
