/* SPDX-License-Identifier: Apache-2.0 */
/* sample.c - a tuning that only looks: what the timing cache has is taken, and of the layers that it does not have
 * those are timed that a run is made of. First the longest layer of each operator that counts, then the longest of all,
 * until enough of the run is known or the time is used up. The others follow them by what they take now: by the ratio
 * of sums, operator by operator (the ratio estimator of surveys: Cochran 1977, chapter 6), which knows what is
 * particular of a layer; where nothing is known of now, by estimates that tune/calibrate.c corrects. */
#include "tune/tuning.h"
#include <math.h>
#include <string.h>

/* Shorter layers of an operator are not worth a place in the sample for its sake. */
static const double counts = 0.03; /* of a run */

typedef struct sampling {
  hn_choices *choices;
  hn_sampling *told;
  const int *order;
  int count;
  bool *unknown; /* [place in the order] */
  double all_ns, known_ns;
} sampling;

static hn_choice *at(const sampling *s, int place) { return &s->choices->items[s->order[place]]; }

static bool lacks_times(const hn_choice *choice) {
  for (int c = 0; c < choice->candidate_count; ++c)
    if (choice->candidates[c].reason == hn_time_used_up) return true;
  return false;
}

static double same_ns(const hn_sampling *told, const hn_choice *choice) {
  return told->same_ns ? told->same_ns(told->user, choice->node, choice->cost.flops) : 0;
}

static double least_parts_ns(const hn_choice *choice) {
  double least = HUGE_VAL;
  for (int i = 0; choice->trial && choice->trial->choices && i < choice->trial->count; ++i)
    if (choice->trial->ns[i] > 0) least = fmin(least, choice->trial->ns[i]);
  return least;
}

/* Estimates are those that a build without times would have chosen by. */
static void tell(hn_sampling *told, const hn_choice *choice) {
  const hn_candidate *best = hn_choice_best(choice, NULL), *likeliest = NULL;
  for (int c = 0; c < choice->candidate_count; ++c) {
    const hn_candidate *candidate = &choice->candidates[c];
    if (candidate->state == HN_CANDIDATE_TIMED && (!likeliest || candidate->estimate_ns < likeliest->estimate_ns))
      likeliest = candidate;
  }
  if (!best || !likeliest || best->state != HN_CANDIDATE_TIMED) return;
  told->timed_ns += fmin(hn_candidate_ns(best), least_parts_ns(choice)) * (1 + choice->identical_count);
  told->likeliest_ns += hn_candidate_ns(likeliest) * (1 + choice->identical_count);
}

/* Times the layer, unless enough is known or the time is over. */
static hone_status take(sampling *s, int place) {
  hn_tuning *tuning = s->choices->tuning;
  if (!s->unknown[place] || s->known_ns >= s->told->enough * s->all_ns) return HONE_OK;
  HN_TRY(hn_check_stop(s->choices->context));
  tuning->stopped = false;
  if (hn_tuning_stopped(tuning)) return HONE_OK;
  s->unknown[place] = false;
  s->known_ns += hn_choice_expected_ns(at(s, place));
  ++s->told->timed_count;
  const hone_status status = hn_choice_measure(s->choices, at(s, place));
  tuning->stopped = true;
  tell(s->told, at(s, place));
  return status;
}

/* The order has the longest first. */
static bool is_first_of_operator(const sampling *s, const bool *unknown, int place) {
  for (int k = 0; k < place; ++k)
    if (unknown[k] && at(s, k)->node->op == at(s, place)->node->op) return false;
  return hn_choice_expected_ns(at(s, place)) >= counts * s->all_ns;
}

static hone_status take_all(sampling *s) {
  for (int k = 0; k < s->count; ++k) {
    const double ns = hn_choice_expected_ns(at(s, k));
    HN_TRY(hn_choice_measure(s->choices, at(s, k))); /* what is known already */
    s->unknown[k] = lacks_times(at(s, k)) && same_ns(s->told, at(s, k)) <= 0;
    s->all_ns += ns;
    s->known_ns += s->unknown[k] ? 0 : ns;
    s->told->unknown_count += s->unknown[k] && !s->told->done;
  }
  if (s->told->done) return HONE_OK;
  bool *unknown = HN_NEW(&s->choices->arena, bool, s->count + 1);
  if (!unknown) return HN_FAIL_MEMORY(&s->choices->context->diag);
  memcpy(unknown, s->unknown, (size_t)s->count * sizeof *unknown);
  for (int k = 0; k < s->count; ++k)
    if (is_first_of_operator(s, unknown, k)) HN_TRY(take(s, k));
  for (int k = 0; k < s->count; ++k) HN_TRY(take(s, k));
  if (s->choices->tuning->level->times && s->all_ns > 0) s->told->known_share = fmin(1, s->known_ns / s->all_ns);
  s->told->done = true;
  return HONE_OK;
}

hone_status hn_choices_sample(hn_choices *choices, const int *order, int count) {
  sampling s = {.choices = choices,
                .told = choices->tuning->sampling,
                .order = order,
                .count = count,
                .unknown = HN_NEW(&choices->arena, bool, count + 1)};
  if (!s.unknown) return HN_FAIL_MEMORY(&choices->context->diag);
  choices->tuning->stopped = true;
  return take_all(&s);
}

/* ---- the others ---- */

typedef struct ratio {
  const hone_op *op;
  double now_ns, new_ns;
} ratio;

/* The fastest of the candidates that were timed now, or, untimed, of those that have no time; 0: there is none. */
static double best_new_ns(const hn_choice *choice, bool untimed) {
  double best = HUGE_VAL;
  for (int c = 0; c < choice->candidate_count; ++c) {
    const hn_candidate *candidate = &choice->candidates[c];
    if (!hn_candidate_usable(candidate) || hn_candidate_is_reference(candidate)) continue;
    const bool lacks = candidate->state == HN_CANDIDATE_ESTIMATED && candidate->reason == hn_time_used_up,
               is_new = candidate->state == HN_CANDIDATE_TIMED && !candidate->from_cache;
    if (untimed ? lacks : is_new) best = fmin(best, hn_candidate_ns(candidate));
  }
  return best < HUGE_VAL ? best : 0;
}

static ratio *find_ratio(ratio *list, int count, const hone_op *op) {
  for (int i = 0; i < count; ++i)
    if (list[i].op == op) return &list[i];
  return NULL;
}

static ratio *make_ratio(ratio *list, int *count, const hone_op *op) {
  ratio *known = find_ratio(list, *count, op);
  if (known) return known;
  list[*count].op = op;
  return &list[(*count)++];
}

/* All of a layer that nothing was timed of: else those that were left out for their estimates would be the fastest. */
static void scale(hn_choice *choice, double by) {
  bool timed = false;
  for (int c = 0; c < choice->candidate_count; ++c) timed |= choice->candidates[c].state == HN_CANDIDATE_TIMED;
  for (int c = 0; c < choice->candidate_count; ++c)
    if (choice->candidates[c].state == HN_CANDIDATE_ESTIMATED &&
        (!timed || choice->candidates[c].reason == hn_time_used_up))
      choice->candidates[c].estimate_ns *= by;
}

hone_status hn_sample_project(hn_choices *choices) {
  const hn_sampling *told = choices->tuning->sampling;
  ratio *list = HN_NEW(&choices->arena, ratio, choices->count + 2);
  int count = 0;
  if (!list) return HN_FAIL_MEMORY(&choices->context->diag);
  if (!told->now_ns) return HONE_OK;
  for (int i = 0; i < choices->count; ++i) {
    const hn_choice *choice = &choices->items[i];
    const double now_ns = hn_choice_runs(choice) ? told->now_ns(told->user, choice->node) : 0,
                 new_ns = hn_choice_runs(choice) ? best_new_ns(choice, false) : 0;
    if (now_ns <= 0 || new_ns <= 0) continue;
    ratio *own = make_ratio(list, &count, choice->node->op);
    own->now_ns += now_ns;
    own->new_ns += new_ns;
  }
  for (int i = 0; i < choices->count; ++i) {
    hn_choice *choice = &choices->items[i];
    const double now_ns = hn_choice_runs(choice) ? told->now_ns(told->user, choice->node) : 0,
                 guess_ns = hn_choice_runs(choice) ? best_new_ns(choice, true) : 0;
    if (now_ns <= 0 || guess_ns <= 0) continue;
    const double same = same_ns(told, choice);
    const ratio *own = find_ratio(list, count, choice->node->op);
    if (same > 0)
      scale(choice, same / guess_ns);
    else if (own)
      scale(choice, now_ns * own->new_ns / own->now_ns / guess_ns);
  }
  return HONE_OK;
}
