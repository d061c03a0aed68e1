/* SPDX-License-Identifier: Apache-2.0 */
/* in_network.c - layers' rivals, timed in the network. What a layer takes between its neighbours is not quite what it
 * takes alone: caches hold what the layer before it wrote, and launches of a device overlap. So the runners-up of the
 * layers where the time goes take the winner's place one by one, the whole network is timed with and without them in
 * turns, and what makes it faster stays. Two plans of the same choices differ, too, by where their memory lies: that is
 * measured first, less is no gain, and what is one must be there again with new plans of both.
 * The timing cache keeps what came of a contest, as a time in shares of the network's: the same rival among the same
 * choices is not timed again. */
#include "base/hash.h"
#include "tune/tuning.h"
#include <math.h>
#include <stdlib.h>

enum { LEAST_ROUNDS = 5, MOST_ROUNDS = 31, MOST_RIVALS = 4 };
static const double near = 1.25;        /* a rival takes at most so many times the winner's time */
static const double least_share = 0.02; /* of the network's time: what is less cannot be told from noise */
static const double least_gain = 0.002; /* of the network's time */
static const double hopeless = 0.02;    /* behind by so much after the least rounds */
static const double least_wins = 0.75;  /* of the rounds */
static const double whole = 1e6;        /* what the timing cache calls the network's time */

/* Identical layers that the same candidate runs. */
typedef struct group {
  int number;
  int first; /* the choice that the others share their measurements with */
  int chosen, members;
  double ns; /* of all members */
} group;

typedef struct contests {
  hn_choices *choices;
  const hn_judge *judge;
  group *groups; /* where the most time goes first */
  int count;
  int *group_of;     /* [choice]: its group's number; -1: it is in none */
  const char **keys; /* [choice]: for the timing cache; NULL: it runs nothing */
  void *plan;        /* of what is chosen now; NULL: not made yet, or not of use any more */
  bool closed;       /* no plan can be made */
  double noise;      /* below 0: not measured yet */
  int kept;
} contests;

/* How many rivals of what the candidate is are tried: where the host computes, hardly any was ever faster in the
 * network alone. */
static int most_rivals(const hn_choices *choices, const hn_candidate *candidate) {
  const hn_level *level = choices->tuning->level;
  const int most = choices->devices[candidate->device]->facts.host_memory ? level->host_rivals : level->rivals;
  return most < MOST_RIVALS ? most : MOST_RIVALS;
}

static bool may_contest(const hn_choices *choices, const hn_choice *choice) {
  if (!hn_choice_runs(choice) || choice->data_dependent || choice->locked || choice->nested || choice->chosen < 0)
    return false;
  const hn_candidate *chosen = &choice->candidates[choice->chosen];
  return chosen->state == HN_CANDIDATE_TIMED && !hn_candidate_is_reference(chosen) && most_rivals(choices, chosen) > 0;
}

static int by_time(const void *a, const void *b) {
  const group *x = a, *y = b;
  if (x->ns != y->ns) return x->ns > y->ns ? -1 : 1;
  return x->first - y->first;
}

static hone_status list_groups(contests *c) {
  hn_choices *choices = c->choices;
  c->groups = HN_NEW(&choices->arena, group, choices->count + 1);
  c->group_of = HN_NEW(&choices->arena, int, choices->count + 1);
  if (!c->groups || !c->group_of) return HN_FAIL_MEMORY(&choices->context->diag);
  for (int i = 0; i < choices->count; ++i) {
    const hn_choice *choice = &choices->items[i];
    const int first = choice->same_as >= 0 ? choice->same_as : i;
    int k = 0;
    c->group_of[i] = -1;
    if (!may_contest(choices, choice)) continue;
    while (k < c->count && !(c->groups[k].first == first && c->groups[k].chosen == choice->chosen)) ++k;
    if (k == c->count) c->groups[c->count++] = (group){.number = k, .first = first, .chosen = choice->chosen};
    c->group_of[i] = k;
    ++c->groups[k].members;
    c->groups[k].ns += hn_candidate_ns(&choice->candidates[choice->chosen]);
  }
  qsort(c->groups, (size_t)c->count, sizeof *c->groups, by_time);
  return HONE_OK;
}

/* Its storages and its arithmetic are the winner's, so that neither converts nor the outputs' error change much. */
static bool is_rival(const hn_candidate *candidate, const hn_candidate *winner) {
  return candidate != winner && candidate->state == HN_CANDIDATE_TIMED && candidate->device == winner->device &&
         candidate->storages.in == winner->storages.in && candidate->storages.out == winner->storages.out &&
         candidate->tactic->compute == winner->tactic->compute && !hn_candidate_is_reference(candidate) &&
         hn_candidate_ns(candidate) <= near * hn_candidate_ns(winner);
}

/* The fastest ones, in their order; how many. */
static int list_rivals(const contests *c, const group *g, int out[MOST_RIVALS]) {
  const hn_choice *choice = &c->choices->items[g->first];
  const hn_candidate *winner = &choice->candidates[g->chosen];
  const int room = most_rivals(c->choices, winner);
  int count = 0;
  for (int k = 0; k < choice->candidate_count; ++k) {
    if (!is_rival(&choice->candidates[k], winner)) continue;
    int at = count < room ? count++ : room;
    if (at == room && hn_candidate_ns(&choice->candidates[k]) >= hn_candidate_ns(&choice->candidates[out[room - 1]]))
      continue;
    if (at == room) --at;
    for (; at > 0 && hn_candidate_ns(&choice->candidates[k]) < hn_candidate_ns(&choice->candidates[out[at - 1]]); --at)
      out[at] = out[at - 1];
    out[at] = k;
  }
  return count;
}

static void set_chosen(hn_choices *choices, hn_choice *choice, int candidate) {
  const double change_ns =
      hn_candidate_ns(&choice->candidates[candidate]) - hn_candidate_ns(&choice->candidates[choice->chosen]);
  choice->taken_ns += change_ns;
  choices->total_ns += change_ns;
  choice->chosen = candidate;
}

static void put(contests *c, const group *g, int candidate) {
  for (int i = 0; i < c->choices->count; ++i)
    if (c->group_of[i] == g->number) set_chosen(c->choices, &c->choices->items[i], candidate);
}

/* *out_usable: what the members run on is within its error's bound in each. */
static hone_status prove(contests *c, const group *g, bool *out_usable) {
  *out_usable = true;
  for (int i = 0; i < c->choices->count; ++i) {
    hn_choice *choice = &c->choices->items[i];
    if (c->group_of[i] != g->number) continue;
    HN_TRY(hn_choice_prove(c->choices, choice));
    *out_usable = *out_usable && hn_candidate_usable(&choice->candidates[choice->chosen]);
  }
  return HONE_OK;
}

static void leave(contests *c) {
  if (c->plan) c->judge->leave(c->judge->user, c->plan);
  c->plan = NULL;
}

/* plan: of the choices with the rival; NULL: there is none yet. */
static void keep(contests *c, group *g, int rival, void *plan) {
  for (int i = 0; i < c->choices->count; ++i)
    if (c->group_of[i] == g->number) c->choices->items[i].why = "fastest in the network";
  leave(c);
  c->plan = plan;
  g->chosen = rival;
  ++c->kept;
}

/* By what share of the time the other plan is faster than the one so far; 0 where rounds do not agree. */
static hone_status race(const contests *c, void *other, double *out_gain) {
  double times[2][MOST_ROUNDS], ns[2];
  void *plans[2] = {c->plan, other};
  hn_tuning *tuning = c->choices->tuning;
  for (int side = 0; side < 2; ++side) HN_TRY(c->judge->time(c->judge->user, plans[side], &ns[side])); /* warms up */
  const double fit = tuning->level->race_ns / fmax(2 * ns[0], 1);
  const int most = fit >= MOST_ROUNDS ? MOST_ROUNDS : fit <= LEAST_ROUNDS ? LEAST_ROUNDS : (int)fit;
  int rounds = 0, wins = 0;
  *out_gain = 0;
  bool lost = false;
  while (rounds < most && !lost && !hn_tuning_stopped(tuning)) {
    HN_TRY(hn_check_stop(c->choices->context));
    for (int turn = 0; turn < 2; ++turn) {
      const int side = turn ^ (rounds & 1); /* neither always follows the other */
      HN_TRY(c->judge->time(c->judge->user, plans[side], &times[side][rounds]));
    }
    wins += times[1][rounds] < times[0][rounds];
    lost = rounds + 1 == LEAST_ROUNDS && wins == 0 && times[1][rounds] > (1 + hopeless) * times[0][rounds];
    ++rounds;
  }
  if (rounds < LEAST_ROUNDS) return HONE_OK;
  for (int side = 0; side < 2; ++side) qsort(times[side], (size_t)rounds, sizeof *times[side], hn_compare_doubles);
  const double gain = 1 - times[1][rounds / 2] / times[0][rounds / 2];
  if (gain <= 0 || wins >= least_wins * rounds) *out_gain = gain;
  return HONE_OK;
}

static void tell(const contests *c, const group *g, int rival, double gain, bool kept) {
  const hn_choice *choice = &c->choices->items[g->first];
  hn_text text;
  hn_text_init(&text, c->choices->context->allocator);
  hn_text_candidate(&text, &choice->candidates[rival]);
  hn_text_add(&text, " in the place of ");
  hn_text_candidate(&text, &choice->candidates[g->chosen]);
  hn_log(c->choices->context, HONE_LOG_VERBOSE, "%s (%d alike): %s makes the network %.1f %% %s; %s",
         choice->node->name, g->members, hn_text_string(&text), fabs(gain) * 100, gain < 0 ? "slower" : "faster",
         kept ? "kept" : "left out");
  hn_text_deinit(&text);
}

/* ---- what the timing cache knows ---- */

static hone_status list_keys(contests *c) {
  hn_choices *choices = c->choices;
  c->keys = HN_NEW(&choices->arena, const char *, choices->count + 1);
  if (!c->keys) return HN_FAIL_MEMORY(&choices->context->diag);
  for (int i = 0; i < choices->count; ++i) {
    if (!hn_choice_runs(&choices->items[i])) continue;
    c->keys[i] = hn_choice_key(choices, &choices->items[i]);
    if (!c->keys[i]) return HN_FAIL_MEMORY(&choices->context->diag);
  }
  return HONE_OK;
}

/* The rival in the network as it is chosen now. NULL: no memory. */
static const char *contest_key(const contests *c, const group *g, int rival) {
  hn_choices *choices = c->choices;
  uint64_t hash = (uint64_t)g->members;
  for (int i = 0; i < choices->count; ++i) {
    const hn_choice *choice = &choices->items[i];
    if (!c->keys[i] || choice->chosen < 0) continue;
    const char *key = hn_timing_cache_key(choices, c->keys[i], &choice->candidates[choice->chosen]);
    if (!key) return NULL;
    hash = hn_hash_join(hash, hn_hash_text(key));
  }
  const char *own = hn_timing_cache_key(choices, c->keys[g->first], &choices->items[g->first].candidates[rival]);
  return own ? hn_arena_printf(&choices->arena, "%s in the network %016llx", own, (unsigned long long)hash) : NULL;
}

static hone_status remember(const contests *c, const char *key, bool kept, double gain) {
  const double share = kept ? 1 - gain : fmax(1, 1 - gain);
  const hn_candidate timed = {
      .time_ns = share * whole, .time_low_ns = share * whole, .time_high_ns = share * whole, .runs = LEAST_ROUNDS};
  return hn_timing_cache_put(c->choices->tuning->cache, key, &timed) == HONE_OK
             ? HONE_OK
             : HN_FAIL_MEMORY(&c->choices->context->diag);
}

/* One plan may lie better in memory than another: a gain is the rival's where it is there against a new plan of what is
 * chosen, and with a new one of the rival's. */
static hone_status confirm(contests *c, const group *g, int rival, void *other, double *gain) {
  void *fresh;
  double again = 0;
  put(c, g, g->chosen);
  HN_TRY(c->judge->enter(c->judge->user, c->choices, &fresh));
  if (fresh) {
    c->judge->leave(c->judge->user, c->plan);
    c->plan = fresh;
    HN_TRY(race(c, other, &again));
  }
  *gain = fmin(*gain, again);
  if (*gain <= fmax(least_gain, c->noise)) return HONE_OK;
  put(c, g, rival);
  HN_TRY(c->judge->enter(c->judge->user, c->choices, &fresh));
  again = 0;
  const hone_status status = fresh ? race(c, fresh, &again) : HONE_OK;
  if (fresh) c->judge->leave(c->judge->user, fresh);
  *gain = fmin(*gain, again);
  return status;
}

/* What two plans of the same choices differ by. */
static hone_status measure_noise(contests *c) {
  void *same;
  c->noise = 0;
  HN_TRY(c->judge->enter(c->judge->user, c->choices, &same));
  if (!same) return HONE_OK;
  const hone_status status = race(c, same, &c->noise);
  c->noise = fabs(c->noise);
  c->judge->leave(c->judge->user, same);
  return status;
}

/* The plan of what is chosen now, and the noise; a network that cannot be timed has no contests. */
static hone_status make_ready(contests *c) {
  if (!c->plan && !c->closed) HN_TRY(c->judge->enter(c->judge->user, c->choices, &c->plan));
  c->closed = !c->plan;
  return c->closed || c->noise >= 0 ? HONE_OK : measure_noise(c);
}

/* The rival is in its place, and goes if it does not stay. */
static hone_status time_rival(contests *c, group *g, int rival, const char *key) {
  void *other = NULL;
  double gain = 0;
  const double least = fmax(least_gain, c->noise);
  hone_status status = c->judge->enter(c->judge->user, c->choices, &other);
  if (status == HONE_OK && other) status = race(c, other, &gain);
  if (status == HONE_OK && gain > least) status = confirm(c, g, rival, other, &gain);
  const bool kept = status == HONE_OK && gain > least;
  if (status == HONE_OK && other) tell(c, g, rival, gain, kept);
  put(c, g, kept ? rival : g->chosen);
  if (status == HONE_OK && other && !hn_tuning_stopped(c->choices->tuning)) status = remember(c, key, kept, gain);
  if (kept)
    keep(c, g, rival, other);
  else if (other)
    c->judge->leave(c->judge->user, other);
  return status;
}

static hone_status contest(contests *c, group *g, int rival) {
  bool usable;
  hn_candidate known;
  const char *key = contest_key(c, g, rival);
  if (!key) return HN_FAIL_MEMORY(&c->choices->context->diag);
  const bool is_known = hn_timing_cache_get(c->choices->tuning->cache, key, &known);
  if (is_known && known.time_ns >= whole) return HONE_OK;
  if (!is_known) HN_TRY(make_ready(c));
  if (c->closed) return HONE_OK;
  put(c, g, rival);
  const hone_status status = prove(c, g, &usable);
  if (status == HONE_OK && usable && !is_known) return time_rival(c, g, rival, key);
  const bool kept = status == HONE_OK && usable;
  if (kept) tell(c, g, rival, 1 - known.time_ns / whole, true);
  put(c, g, kept ? rival : g->chosen);
  if (kept) keep(c, g, rival, NULL);
  return status;
}

static hone_status contest_all(contests *c) {
  const hone_build_options *options = c->choices->options;
  const double total_ns = c->choices->total_ns;
  int rivals[MOST_RIVALS];
  for (int k = 0; k < c->count && c->groups[k].ns >= least_share * total_ns; ++k) {
    group *g = &c->groups[k];
    if (options->progress)
      options->progress(options->progress_user, c->choices->items[g->first].node->name, k, c->count);
    const int count = list_rivals(c, g, rivals);
    for (int r = 0; r < count && !hn_tuning_stopped(c->choices->tuning); ++r) HN_TRY(contest(c, g, rivals[r]));
  }
  if (options->progress) options->progress(options->progress_user, "done", c->count, c->count);
  return HONE_OK;
}

/* What a choice was before the contests. */
typedef struct former {
  int chosen;
  const char *why;
} former;

/* What the outputs' errors are now; over the limit, or no numbers, the choices are what they were. */
static hone_status judge_again(contests *c, const former *before) {
  hn_choices *choices = c->choices;
  const double limit = choices->options->max_error;
  double worst = 0;
  HN_TRY(c->judge->run(c->judge->user, choices, false, choices->output_errors));
  for (int i = 0; i < choices->root->result_count; ++i) worst = fmax(worst, choices->output_errors[i]);
  if (limit > 0 ? worst <= limit : worst < HUGE_VAL) return HONE_OK;
  hn_log(choices->context, HONE_LOG_VERBOSE, "what was faster in the network has an error of %.3g: left out", worst);
  for (int i = 0; i < choices->count; ++i) {
    if (c->group_of[i] < 0) continue;
    set_chosen(choices, &choices->items[i], before[i].chosen);
    choices->items[i].why = before[i].why;
  }
  return c->judge->run(c->judge->user, choices, false, choices->output_errors);
}

hone_status hn_tune_in_network(hn_choices *choices, const hn_judge *judge) {
  hn_tuning *tuning = choices->tuning;
  const hone_build_options *options = choices->options;
  const bool few = options->timing_runs > 0 && options->timing_runs < LEAST_ROUNDS; /* quick is what was asked for */
  if (!judge || !judge->enter || tuning->level->rivals == 0 || few || options->timing_cache_only || tuning->unproved)
    return HONE_OK;
  contests c = {.choices = choices, .judge = judge, .noise = -1};
  HN_TRY(list_groups(&c));
  if (c.count < 2 || hn_tuning_stopped(tuning)) return HONE_OK; /* one layer alone is the network */
  former *before = HN_NEW(&choices->arena, former, choices->count + 1);
  if (!before) return HN_FAIL_MEMORY(&choices->context->diag);
  for (int i = 0; i < choices->count; ++i) before[i] = (former){choices->items[i].chosen, choices->items[i].why};
  HN_TRY(list_keys(&c));
  hone_status status = contest_all(&c);
  leave(&c);
  if (status == HONE_OK && c.kept > 0 && choices->output_errors) status = judge_again(&c, before);
  return status;
}
