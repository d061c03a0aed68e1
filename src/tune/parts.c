/* SPDX-License-Identifier: Apache-2.0 */
/* parts.c - a fused node against its parts. The parts are choices of their own between the storages that the fused node
 * would have; parts of parts are tried the same way, so that a fused beginning and the rest count, too. */
#include "tensor/shape.h"
#include "tensor/storage.h"
#include "tune/tuning.h"
#include <math.h>
#include <string.h>

const hn_candidate *hn_choice_best(const hn_choice *choice, const hone_storage_pair *pair) {
  const hn_candidate *best = NULL;
  for (int c = 0; c < choice->candidate_count; ++c) {
    const hn_candidate *candidate = &choice->candidates[c];
    if (!hn_candidate_usable(candidate) || hn_candidate_is_reference(candidate)) continue;
    if (pair && (candidate->storages.in != pair->in || candidate->storages.out != pair->out)) continue;
    if (!best || hn_candidate_ns(candidate) < hn_candidate_ns(best)) best = candidate;
  }
  return best;
}

/* Of a part that is of the fused node's kind, only what is best there is timed. */
static void keep_like_fused(const hn_choice *fused, hn_choice *part) {
  bool any = false;
  for (int pass = 0; pass < 2; ++pass)
    for (int c = 0; c < part->candidate_count; ++c) {
      hn_candidate *candidate = &part->candidates[c];
      if (!hn_candidate_usable(candidate) || hn_candidate_is_reference(candidate)) continue;
      const hn_candidate *best = hn_choice_best(fused, &candidate->storages);
      const bool like = best && best->tactic == candidate->tactic && hn_params_equal(&best->params, &candidate->params);
      if (pass == 0) any = any || like;
      if (pass == 0 || like || !any) continue;
      candidate->state = HN_CANDIDATE_REJECTED;
      candidate->reason = "left out: another is faster for the fused node";
    }
}

static hn_choices *create(const hn_choices *choices, hn_choice *choice) {
  hn_choices *parts = hn_alloc_zero(&choices->context->allocator, sizeof *parts);
  if (!parts) return NULL;
  *parts = *choices;
  hn_arena_init(&parts->arena, choices->context->allocator);
  parts->root = choice->node->parts;
  parts->outer = choice;
  parts->items = NULL;
  parts->blocks = NULL;
  parts->count = parts->block_count = 0;
  parts->untimed_count = parts->split_count = 0;
  return parts;
}

/* Parts run where the fused node does: their times do not hold what crossing to another memory costs. */
static void keep_beside_fused(const hn_choices *parts, const hn_choice *fused, hn_choice *part) {
  bool host = true;
  for (int c = 0; c < fused->candidate_count && !fused->on_host; ++c)
    if (hn_candidate_usable(&fused->candidates[c]))
      host = host && parts->devices[fused->candidates[c].device]->facts.host_memory;
  for (int c = 0; c < part->candidate_count; ++c) {
    hn_candidate *candidate = &part->candidates[c];
    if (!hn_candidate_usable(candidate) || parts->devices[candidate->device]->facts.host_memory == host) continue;
    candidate->state = HN_CANDIDATE_REJECTED;
    candidate->reason = "the fused node runs on another device";
  }
}

/* Asks about all parts; *out_why when one of them has no tactic. */
static hone_status ask(hn_choices *parts, const hn_choice *fused, const char **out_why) {
  const hn_parts_effort effort = parts->tuning->level->parts;
  HN_TRY(hn_choices_list(parts));
  for (int i = 0; i < parts->count; ++i) {
    hn_choice *part = &parts->items[i];
    if (part->data_dependent || part->control) *out_why = "a part's shape is data-dependent";
    if (!hn_choice_runs(part) || *out_why) continue;
    HN_TRY(hn_tune_ask(parts, part, true));
    keep_beside_fused(parts, fused, part);
    if (!hn_choice_best(part, NULL)) *out_why = "a part has no tactic but the reference";
    if (effort == HN_PARTS_LIKE && part->node->op == fused->node->op) keep_like_fused(fused, part);
  }
  return HONE_OK;
}

/* By the device's peaks: can the parts be as fast as the fused node is? */
static bool may_win(const hn_choices *parts, const hn_choice *fused) {
  const hn_candidate *best = hn_choice_best(fused, NULL);
  double floor_ns = 0;
  for (int i = 0; i < parts->count; ++i) {
    double least = HUGE_VAL;
    for (int c = 0; c < parts->items[i].candidate_count; ++c)
      if (hn_candidate_usable(&parts->items[i].candidates[c]))
        least = fmin(least, parts->items[i].candidates[c].floor_ns);
    if (least < HUGE_VAL) floor_ns += least;
  }
  return !best || best->state != HN_CANDIDATE_TIMED || floor_ns < best->time_high_ns;
}

static void add_pair(hn_parts_trial *trial, hone_storage in, hone_storage out) {
  for (int i = 0; i < trial->count; ++i)
    if (trial->storages[i].in == in && trial->storages[i].out == out) return;
  if (trial->count < HN_TRIAL_PAIRS) trial->storages[trial->count++] = (hone_storage_pair){in, out};
}

static void storages_around(const hn_choice *fused, const hone_storage_pair *pair, hone_storage *storages) {
  const hn_node *node = fused->node;
  for (int i = 0; i < node->in_count; ++i) storages[i] = hn_port_storage(node->op, i, &fused->in[i].type, pair);
  for (int i = 0; i < node->out_count; ++i)
    storages[node->in_count + i] = hn_storage_fit(&fused->out[i].type, pair->out);
}

/* The parts' time between one pair of storages. */
static hone_status assign_between(hn_choices *parts, const hone_storage_pair *pair, double *out_ns) {
  const hn_choice *fused = parts->outer;
  const hn_node *node = fused->node;
  hone_storage *storages = HN_NEW(&parts->arena, hone_storage, node->in_count + node->out_count + 1);
  if (!storages) return HN_FAIL_MEMORY(&parts->context->diag);
  storages_around(fused, pair, storages);
  const hn_boundary boundary = {.params = storages, .results = storages + node->in_count};
  HN_TRY(hn_tune_assign(parts, &boundary));
  *out_ns = parts->total_ns;
  return HONE_OK;
}

/* The storages that the fused node can have, and those that only the parts might take. */
static hone_status list_pairs(hn_choices *parts, const hn_choice *choice, hn_parts_trial *trial) {
  const hn_node *node = choice->node;
  hone_storage *storages = HN_NEW(&parts->arena, hone_storage, node->in_count + node->out_count + 1);
  if (!storages) return HN_FAIL_MEMORY(&parts->context->diag);
  for (int c = 0; c < choice->candidate_count; ++c)
    if (hn_candidate_usable(&choice->candidates[c]))
      add_pair(trial, choice->candidates[c].storages.in, choice->candidates[c].storages.out);
  for (int f = 0; f < HONE_STORAGE_COUNT; ++f) {
    if (f >= HONE_FORMAT_COUNT && !(parts->narrow >> f & 1)) continue;
    const hone_storage_pair pair = {(hone_storage)f, (hone_storage)f};
    bool real = f == HONE_PLAIN; /* nothing but small tensors: all formats are plain there */
    storages_around(choice, &pair, storages);
    for (int i = 0; i < node->in_count + node->out_count; ++i) real = real || storages[i] == pair.in;
    if (real) add_pair(trial, pair.in, pair.out);
  }
  return HONE_OK;
}

/* The fused node's best and the parts that would take its place, once more and in turns. */
static hone_status repeat_contest(hn_choices *parts, hn_choice *choice, const hn_candidate *fused, bool *out_decided) {
  hn_contestant list[HN_MAX_CONTESTANTS] = {
      {.choices = parts, .choice = choice, .candidate = (int)(fused - choice->candidates)}};
  int count = 1;
  *out_decided = true;
  for (int i = 0; i < parts->count; ++i) {
    hn_choice *part = &parts->items[i];
    if (!hn_choice_runs(part) || part->split || part->chosen < 0) continue; /* split ones were in a contest already */
    const hn_candidate *chosen = &part->candidates[part->chosen];
    if (hn_candidate_is_reference(chosen) || count == HN_MAX_CONTESTANTS) return HONE_OK;
    list[count++] = (hn_contestant){.choices = parts, .choice = part, .candidate = part->chosen};
  }
  return hn_tune_contest(parts->tuning, list, count, out_decided);
}

static const char *outcome(const hn_choice *choice, const hn_parts_trial *trial) {
  const hn_candidate *fused = hn_choice_best(choice, NULL);
  if (!fused) return "the fused node has no tactic but the reference";
  for (int i = 0; i < trial->count; ++i)
    if (trial->ns[i] < HN_PARTS_MARGIN * hn_candidate_ns(fused)) return "they are faster";
  return "they are not 5 % faster";
}

static hone_status assign_all(hn_choices *parts, hn_choice *choice, hn_parts_trial *trial) {
  HN_TRY(list_pairs(parts, choice, trial));
  int best = 0;
  for (int i = 0; i < trial->count; ++i) {
    HN_TRY(assign_between(parts, &trial->storages[i], &trial->ns[i]));
    const hn_candidate *fused = hn_choice_best(choice, &trial->storages[i]), *any = hn_choice_best(choice, NULL);
    if (!fused) fused = any;
    /* Between storages in which nothing is near the best of all, who is faster will not matter. */
    const bool matters = any && trial->ns[i] < 1.15 * hn_candidate_ns(any);
    if (fused && matters && fused->state == HN_CANDIDATE_TIMED &&
        trial->ns[i] < HN_PARTS_MARGIN * hn_candidate_ns(fused)) {
      bool decided;
      HN_TRY(repeat_contest(parts, choice, fused, &decided));
      HN_TRY(assign_between(parts, &trial->storages[i], &trial->ns[i]));
      if (!decided) trial->ns[i] = fmax(trial->ns[i], hn_candidate_ns(fused)); /* in doubt it stays whole */
    }
    if (trial->ns[i] < trial->ns[best]) best = i;
  }
  double ns;
  HN_TRY(assign_between(parts, &trial->storages[best], &ns)); /* what the ledger shows */
  trial->why = outcome(choice, trial);
  return HONE_OK;
}

/* Does it make a result, which leaves in the plain format, by the reference alone? */
static bool leaves_by_reference(const hn_choice *choice) {
  bool result = false;
  for (int o = 0; o < choice->node->out_count; ++o)
    result = result ||
             (choice->node->out[o] && hn_value_is_result(choice->node->out[o]) && hn_can_block(&choice->out[o].type));
  for (int c = 0; c < choice->candidate_count && result; ++c)
    if (hn_candidate_usable(&choice->candidates[c]) && !hn_candidate_is_reference(&choice->candidates[c]) &&
        choice->candidates[c].storages.out == HONE_PLAIN)
      return false;
  return result;
}

/* Types are allowed that the network can have and the fused node cannot: a row for it is missing, and whatever it wins
 * is in f32. */
static bool lacks_narrow(const hn_choices *choices, const hn_choice *choice) {
  for (int c = 0; c < choice->candidate_count; ++c)
    if (hn_candidate_usable(&choice->candidates[c]) && hn_candidate_is_narrow(&choice->candidates[c])) return false;
  return choices->narrow != 0;
}

/* Why the parts need not be tried; NULL when they are. */
static const char *skip(const hn_choices *choices, const hn_choice *choice) {
  hn_tactic_override wanted;
  if (choices->tuning->splitting_over) return "too many fused nodes were split";
  if (!hn_node_can_split(choice->node)) return "they cannot stand alone";
  if (hn_tactic_override_find(choices->tuning->options, choice->node->name, &wanted)) return "a tactic was requested";
  if (!hn_choice_best(choice, NULL) || leaves_by_reference(choice)) return NULL;
  const hn_level *level = choices->tuning->level;
  if (level->parts == HN_PARTS_NEVER && !(level->times && lacks_narrow(choices, choice)))
    return "not timed at this level";
  if (choices->tuning->options->timing_cache_only) return "nothing is timed, by the options";
  return hn_tuning_stopped(choices->tuning) ? hn_time_used_up : NULL;
}

hone_status hn_tune_parts(hn_choices *choices, hn_choice *choice) {
  hn_parts_trial *trial = HN_NEW(&choices->arena, hn_parts_trial, 1);
  if (!trial) return HN_FAIL_MEMORY(&choices->context->diag);
  choice->trial = trial;
  trial->why = skip(choices, choice);
  if (trial->why) return HONE_OK;
  hn_choices *parts = trial->choices = create(choices, choice);
  if (!parts) return HN_FAIL_MEMORY(&choices->context->diag);
  HN_TRY(ask(parts, choice, &trial->why));
  if (!trial->why && !may_win(parts, choice)) trial->why = "by the device's peaks they cannot be faster";
  if (trial->why) return HONE_OK;
  HN_TRY(hn_choices_find_identical(parts));
  HN_TRY(hn_choices_measure(parts));
  if (hn_choice_best(choice, NULL) && choices->tuning->stopped) trial->why = hn_time_used_up;
  if (trial->why) return HONE_OK;
  return assign_all(parts, choice, trial);
}
