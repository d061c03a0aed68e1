/* SPDX-License-Identifier: Apache-2.0 */
/* tune.c - graph -> choices, in rounds: a round that finds fused nodes whose parts are faster puts those in their place
 * and begins again; what was measured is not measured twice. */
#include "base/clock.h"
#include "tensor/shape.h"
#include "tune/tuning.h"
#include <stdlib.h>
#include <string.h>

enum { MOST_ROUNDS = 64 };

static hone_status no_memory(const hn_choices *choices) { return HN_FAIL_MEMORY(&choices->context->diag); }

static void copy_measurements(const hn_choices *choices, hn_choice *choice) {
  const hn_choice *first = &choices->items[choice->same_as];
  for (int k = 0; k < choice->candidate_count; ++k) {
    const void *packed = choice->candidates[k].packed; /* its weights are its own */
    choice->candidates[k] = first->candidates[k];
    choice->candidates[k].packed = packed;
  }
  choice->trial = choice->node->parts ? first->trial : NULL;
}

/* ---- measuring ---- */

typedef struct work {
  int index;
  double ns;
} work;

static int compare_work(const void *a, const void *b) {
  const work *x = a, *y = b;
  if (x->ns != y->ns) return x->ns > y->ns ? -1 : 1;
  return x->index - y->index;
}

/* What a choice is expected to take in the whole network: where the time is, timing comes first. */
double hn_choice_expected_ns(const hn_choice *choice) {
  double best = 0;
  for (int c = 0; c < choice->candidate_count; ++c)
    if (hn_candidate_usable(&choice->candidates[c]) && (best == 0 || choice->candidates[c].estimate_ns < best))
      best = choice->candidates[c].estimate_ns;
  return best * (1 + choice->identical_count);
}

static hone_status measure_locked(hn_choices *choices, hn_choice *choice) {
  HN_TRY(hn_tune_measure(choices, choice, choice->chosen));
  const hn_candidate *candidate = &choice->candidates[choice->chosen];
  if (hn_candidate_usable(candidate)) return HONE_OK;
  return HN_FAIL(&choices->context->diag, HONE_UNSUPPORTED, "the lock expects %s for node %s, but %s (%.3g > %.3g)",
                 candidate->tactic->name, choice->node->name, candidate->reason, candidate->error_rel_l2,
                 candidate->error_bound);
}

static hone_status measure_node(hn_choices *choices, hn_choice *choice) {
  if (choice->locked) return measure_locked(choices, choice);
  if (choices->tuning->level->times) HN_TRY(hn_tune_measure(choices, choice, -1));
  return choice->node->parts ? hn_tune_parts(choices, choice) : HONE_OK;
}

hone_status hn_choice_measure(hn_choices *choices, hn_choice *choice) {
  const int64_t begin_ns = hn_span_begin(&choices->tuning->spans);
  const hone_status status = measure_node(choices, choice);
  hn_span_end(&choices->tuning->spans, HONE_SPAN_NODE, choice->node->name, begin_ns, 1);
  return status;
}

static hone_status sample(hn_choices *choices, const work *order, int count) {
  int *numbers = HN_NEW(&choices->arena, int, count + 1);
  if (!numbers) return no_memory(choices);
  for (int k = 0; k < count; ++k) numbers[k] = order[k].index;
  return hn_choices_sample(choices, numbers, count);
}

hone_status hn_choices_measure(hn_choices *choices) {
  const hone_build_options *options = choices->tuning->options;
  const hone_progress_fn progress = choices->outer ? NULL : options->progress;
  work *order = HN_NEW(&choices->arena, work, choices->count + 1);
  if (!order) return no_memory(choices);
  int count = 0;
  for (int i = 0; i < choices->count; ++i) {
    const hn_choice *choice = &choices->items[i];
    if (hn_choice_runs(choice) && !choice->data_dependent && choice->same_as < 0)
      order[count++] = (work){.index = i, .ns = hn_choice_expected_ns(choice)};
  }
  qsort(order, (size_t)count, sizeof *order, compare_work);
  hone_status status = HONE_OK;
  const bool samples = choices->tuning->sampling && !choices->outer;
  if (samples) HN_TRY(sample(choices, order, count));
  for (int k = 0; k < count && !samples; ++k) {
    hn_choice *choice = &choices->items[order[k].index];
    if (progress) progress(options->progress_user, choice->node->name, k, count);
    HN_TRY(hn_check_stop(choices->context));
    const hone_status one = hn_choice_measure(choices, choice);
    if (one != HONE_OK && one != HONE_UNSUPPORTED) return one;
    if (one != HONE_OK) status = one; /* all that the lock or the cache cannot serve are named */
  }
  for (int i = 0; i < choices->count; ++i)
    if (choices->items[i].same_as >= 0) copy_measurements(choices, &choices->items[i]);
  if (progress) progress(options->progress_user, "done", count, count);
  return status;
}

/* Weights and the largest layer's activations stay in the inner cache, or launches are timed on memory that does not.
 * Weights that the last cache cannot hold come from main memory in each run: there asking ahead pays, which in a cache
 * costs. */
static size_t cold_bytes(const hn_choices *choices) {
  int host = 0; /* whose memory they are timed on; others bring their own */
  while (host + 1 < choices->device_count && !choices->devices[host]->facts.host_memory) ++host;
  const hone_facts *facts = &choices->devices[host]->facts;
  const double inner = facts->l2_bytes ? (double)facts->l2_bytes : 1 << 20;
  double weights = 0, largest = 0;
  for (int i = 0; i < choices->count; ++i) {
    const hn_choice *choice = &choices->items[i];
    double layer = 0;
    for (int k = 0; k < choice->node->in_count && !choice->data_dependent; ++k) {
      const double bytes = (double)hn_bytes(&choice->in[k].type);
      if (choice->in[k].constant)
        weights += bytes;
      else
        layer += bytes;
    }
    for (int k = 0; k < choice->node->out_count && !choice->data_dependent; ++k)
      layer += (double)hn_bytes(&choice->out[k].type);
    if (layer > largest) largest = layer;
  }
  const double outer = (double)facts->l3_bytes, most = 64 << 20; /* of each candidate that is timed */
  if (outer > 0 && weights > 4 * outer) return (size_t)(2 * outer < most ? 2 * outer : most);
  return weights + largest > inner ? (size_t)(3 * inner) : 0;
}

/* Peaks decide what need not be timed; small graphs are timed faster than a device is measured. */
static hone_status measure_devices(hn_choices *choices) {
  double flops = 0;
  for (int i = 0; i < choices->count; ++i) flops += choices->items[i].cost.flops;
  if (!choices->tuning->level->times || flops < 2e8) return HONE_OK;
  for (int d = 0; d < choices->device_count; ++d) {
    hone_device *device = choices->devices[d];
    if (device->facts.roofs[HONE_ROOF_F32] > 0 || !device->backend->measure) continue;
    const hone_status status = hn_device_measure(device, &choices->context->stop, &choices->context->diag);
    if (status != HONE_OK && status != HONE_UNSUPPORTED) return status;
    if (status == HONE_UNSUPPORTED) hn_diag_clear(&choices->context->diag);
  }
  return HONE_OK;
}

/* ---- proving ---- */

/* Must the error of what was chosen still be measured? A candidate that was not timed may win for the sake of its
 * storages; and an identical layer shares the first one's times, but its weights are its own. */
static bool is_unproved(const hn_choice *choice) {
  if (!hn_choice_runs(choice) || choice->data_dependent || choice->split) return false;
  if (choice->locked && !choice->widened) return false;
  const hn_candidate *candidate = &choice->candidates[choice->chosen];
  if ((candidate->tactic->flags & HONE_TACTIC_REFERENCE) || candidate->state == HN_CANDIDATE_WITHHELD) return false;
  return candidate->error_rel_l2 < 0 || choice->same_as >= 0;
}

/* An identical layer without weights reads the same drawn numbers as the first one: what was proved there holds here.
 */
static bool proved_by_first(const hn_choices *choices, hn_choice *choice) {
  if (choice->same_as < 0) return false;
  for (int i = 0; i < choice->node->in_count; ++i)
    if (choice->in[i].constant) return false;
  const hn_candidate *first = &choices->items[choice->same_as].candidates[choice->chosen];
  if (first->error_rel_l2 < 0) return false;
  hn_candidate *own = &choice->candidates[choice->chosen];
  own->error_rel_l2 = first->error_rel_l2;
  own->error_bound = first->error_bound;
  own->state = first->state;
  own->reason = first->reason;
  return true;
}

static bool any_split(const hn_choices *choices) {
  for (int i = 0; i < choices->count; ++i)
    if (choices->items[i].split) return true;
  return false;
}

hone_status hn_choice_prove(hn_choices *choices, hn_choice *choice) {
  if (!is_unproved(choice) || proved_by_first(choices, choice)) return HONE_OK;
  return hn_tune_measure(choices, choice, choice->chosen);
}

/* Chooses until everything chosen is within its bound. A time that finds an inexact candidate takes it away, so that
 * this ends. */
hone_status hn_tune_prove(hn_choices *choices) {
  bool lost;
  do {
    lost = false;
    HN_TRY(hn_tune_assign(choices, NULL));
    if (any_split(choices)) return HONE_OK; /* another round */
    for (int i = 0; i < choices->count && !choices->tuning->unproved; ++i) {
      hn_choice *choice = &choices->items[i];
      if (!is_unproved(choice)) continue;
      HN_TRY(hn_check_stop(choices->context));
      HN_TRY(hn_choice_prove(choices, choice));
      lost |= !hn_candidate_usable(&choice->candidates[choice->chosen]);
    }
  } while (lost);
  return HONE_OK;
}

/* ---- splitting ---- */

static hone_status split(hn_tuning *tuning, hone_graph *graph, hn_node *node, const char *why, double fused_ns,
                         double parts_ns) {
  if (!hn_arena_grow(&tuning->arena, (void **)&tuning->splits, &tuning->split_capacity, tuning->split_count + 1,
                     sizeof *tuning->splits))
    return HN_FAIL_MEMORY(&tuning->context->diag);
  hn_split *s = &tuning->splits[tuning->split_count];
  *s = (hn_split){.node = hn_arena_text(&tuning->arena, node->name),
                  .op = node->op->name,
                  .why = why,
                  .fused_ns = fused_ns,
                  .parts_ns = parts_ns};
  if (!s->node) return HN_FAIL_MEMORY(&tuning->context->diag);
  HN_TRY(hn_node_split(graph, node));
  ++tuning->split_count;
  hn_log(tuning->context, HONE_LOG_VERBOSE, "%s (%s): its parts run instead: %s", s->node, s->op, why);
  return HONE_OK;
}

static bool wants_parts(const hn_tuning *tuning, const hn_node *node) {
  const hn_sampling *sampling = tuning->sampling;
  if (!hn_node_can_split(node)) return false;
  for (int i = 0; sampling && i < sampling->part_count; ++i)
    if (sampling->parts[i] && strcmp(sampling->parts[i], node->name) == 0) {
      sampling->parts[i] = NULL; /* a part may have the name of the whole */
      return true;
    }
  return hn_tactic_override_parts(tuning->options, node->name);
}

/* What the lock and the options want in parts, before anything is asked. */
static hone_status split_wanted(hn_tuning *tuning, hone_graph *graph) {
  hn_node *node;
  while (tuning->lock && (node = hn_lock_next_split(graph, tuning->lock)))
    HN_TRY(split(tuning, graph, node, "the lock", 0, 0));
  for (node = graph->main->first; node && (tuning->options->tactic_count || tuning->sampling);) {
    hn_node *next = node->next, *before = node->prev;
    if (wants_parts(tuning, node)) {
      HN_TRY(split(tuning, graph, node, "it was requested", 0, 0));
      next = before ? before->next : graph->main->first; /* the parts may be wanted in parts, too */
    }
    node = next;
  }
  return HONE_OK;
}

static hone_status split_chosen(hn_choices *choices) {
  hn_tuning *tuning = choices->tuning;
  for (int i = 0; i < choices->count; ++i) {
    hn_choice *choice = &choices->items[i];
    if (!choice->split) continue;
    /* Where the parts won by their formats, none was chosen, or the reference, which may be alone in these. */
    const hn_candidate *fused = choice->chosen >= 0 ? &choice->candidates[choice->chosen] : NULL;
    if (!fused || hn_candidate_is_reference(fused)) fused = hn_choice_best(choice, NULL);
    const bool by_type = choice->why && choice->chosen < 0 && choice->parts_ns == 0; /* before anything was chosen */
    HN_TRY(split(tuning, choices->graph, choice->node,
                 by_type  ? choice->why
                 : !fused ? "the fused node has no tactic but the reference"
                          : "they are faster",
                 fused && fused->state == HN_CANDIDATE_TIMED ? fused->time_low_ns : 0, choice->parts_ns));
  }
  return HONE_OK;
}

/* Its own device's tactics are inexact, or not to be had in the types that the outputs' error allows: what is left runs
 * in the host's memory, and what crossing to it and back costs is in no candidate's time. */
static bool left_its_device(const hn_choices *choices, const hn_choice *choice) {
  if (!hn_choice_runs(choice) || choice->on_host || choice->locked || choice->chosen < 0 ||
      !choices->devices[choice->candidates[choice->chosen].device]->facts.host_memory)
    return false;
  for (int c = 0; c < choice->candidate_count; ++c) {
    const hn_candidate *candidate = &choice->candidates[c];
    if (!choices->devices[candidate->device]->facts.host_memory &&
        (hn_candidate_usable(candidate) || candidate->state == HN_CANDIDATE_INEXACT))
      return true;
  }
  return false;
}

/* Fused nodes that left their device are to run as their parts, which may have other tactics there. */
static void split_left(hn_choices *choices) {
  for (int i = 0; i < choices->count && !choices->tuning->splitting_over && !choices->tuning->sampling; ++i) {
    hn_choice *choice = &choices->items[i];
    if (choice->split || !left_its_device(choices, choice) || !hn_node_can_split(choice->node)) continue;
    choice->split = true;
    choice->chosen = -1;
    choice->why = "the fused node would leave its device";
  }
}

/* ---- the whole ---- */

/* Nodes that something was to be timed for, and nothing was. */
static int count_untimed(const hn_choices *choices) {
  int untimed = 0;
  for (int i = 0; i < choices->count && choices->tuning->stopped; ++i) {
    const hn_choice *choice = &choices->items[i];
    bool timed = !hn_choice_runs(choice) || choice->data_dependent || choice->locked, may = false;
    for (int k = 0; k < choice->candidate_count; ++k) {
      timed = timed || choice->candidates[k].state == HN_CANDIDATE_TIMED;
      may = may || (hn_candidate_usable(&choice->candidates[k]) &&
                    !(choice->candidates[k].tactic->flags & HONE_TACTIC_REFERENCE));
    }
    untimed += !timed && may;
  }
  return untimed;
}

/* A part of the tuning, as a span of its own. */
static hone_status phase(hn_choices *choices, const char *name, hone_status (*part)(hn_choices *choices)) {
  const int64_t begin_ns = hn_span_begin(&choices->tuning->spans);
  const hone_status status = part(choices);
  hn_span_end(&choices->tuning->spans, HONE_SPAN_PHASE, name, begin_ns, 1);
  return status;
}

static hone_status run_round(hn_choices *choices, const hn_ranges *ranges) {
  int64_t *min_symbols, *max_symbols;
  HN_TRY(hn_tune_symbols(choices, ranges->opt, &choices->symbols));
  HN_TRY(hn_tune_symbols(choices, ranges->min, &min_symbols));
  HN_TRY(hn_tune_symbols(choices, ranges->max, &max_symbols));
  choices->min_symbols = min_symbols;
  choices->max_symbols = max_symbols;
  HN_TRY(hn_choices_list(choices));
  HN_TRY(hn_tune_place_ports(choices));
  HN_TRY(phase(choices, "roofs", measure_devices));
  choices->cold_bytes = cold_bytes(choices);
  HN_TRY(phase(choices, "enumerating", hn_tune_enumerate));
  if (any_split(choices)) return HONE_OK; /* another round */
  if (choices->tuning->lock) HN_TRY(hn_lock_apply(choices, choices->tuning->lock));
  HN_TRY(hn_choices_find_identical(choices));
  if (choices->tuning->lock) HN_TRY(phase(choices, "packing", hn_tune_pack));
  HN_TRY(phase(choices, "converts", hn_converts_measure));
  HN_TRY(phase(choices, "measuring", hn_choices_measure));
  HN_TRY(hn_tune_calibrate(choices));
  if (choices->tuning->sampling) {
    HN_TRY(hn_sample_project(choices));
    HN_TRY(hn_tune_assign(choices, NULL));
    return choices->tuning->sampling->plan && !any_split(choices) ? hn_sample_compare(choices) : HONE_OK;
  }
  if (choices->tuning->cold_bytes > 0) HN_TRY(phase(choices, "cold", hn_tune_cold));
  return phase(choices, "choosing", hn_tune_prove);
}

static hn_choices *create(hn_tuning *tuning, hone_graph *graph, hone_device *const *devices, int device_count) {
  hn_choices *choices = hn_alloc_zero(&tuning->context->allocator, sizeof *choices);
  if (!choices) return NULL;
  choices->context = tuning->context;
  choices->tuning = tuning;
  choices->options = tuning->options;
  choices->graph = graph;
  choices->root = graph->main;
  choices->devices = devices;
  choices->device_count = device_count;
  hn_arena_init(&choices->arena, tuning->context->allocator);
  return choices;
}

/* What the choices keep of the tuner that is about to go. */
static hone_status keep(hn_choices *choices) {
  hn_tuning *tuning = choices->tuning;
  hn_split *splits = HN_NEW(&choices->arena, hn_split, tuning->split_count + 1);
  if (!splits) return no_memory(choices);
  for (int i = 0; i < tuning->split_count; ++i) {
    splits[i] = tuning->splits[i];
    splits[i].node = hn_arena_text(&choices->arena, splits[i].node);
    if (!splits[i].node) return no_memory(choices);
  }
  choices->splits = splits;
  choices->split_count = tuning->split_count;
  choices->untimed_count = count_untimed(choices);
  if (choices->untimed_count > 0 && !tuning->sampling)
    hn_log(choices->context, HONE_LOG_WARN, "the tuning time budget ran out: %d of %d layers were chosen by estimates",
           choices->untimed_count, choices->count);
  choices->tuning = NULL;
  return HONE_OK;
}

static hone_status tune(hn_tuning *tuning, hone_graph *graph, hone_device *const *devices, int device_count,
                        const hn_ranges *ranges, const hn_judge *judge, hn_choices **out) {
  HN_TRY(split_wanted(tuning, graph));
  bool again = true;
  for (int round = 0; again; ++round) {
    hn_choices_destroy(*out);
    *out = create(tuning, graph, devices, device_count);
    if (!*out) return HN_FAIL_MEMORY(&tuning->context->diag);
    if (round == MOST_ROUNDS) tuning->splitting_over = true;
    HN_TRY(run_round(*out, ranges));
    split_left(*out);
    if (!any_split(*out)) HN_TRY(hn_tune_accuracy(*out, judge));
    split_left(*out); /* to f32 again */
    again = any_split(*out);
    if (again) HN_TRY(split_chosen(*out));
  }
  const int64_t begin_ns = hn_span_begin(&tuning->spans);
  HN_TRY(hn_tune_in_network(*out, judge));
  hn_span_end(&tuning->spans, HONE_SPAN_PHASE, "in the network", begin_ns, 1);
  return keep(*out);
}

double hn_choices_spread(hn_choices *choices) {
  double *spreads = HN_NEW(&choices->arena, double, choices->count + 1);
  int count = 0;
  for (int i = 0; spreads && i < choices->count; ++i) {
    const hn_choice *choice = &choices->items[i];
    const hn_candidate *chosen =
        hn_choice_runs(choice) && choice->chosen >= 0 ? &choice->candidates[choice->chosen] : NULL;
    if (chosen && chosen->state == HN_CANDIDATE_TIMED && !chosen->from_cache && chosen->time_low_ns > 0)
      spreads[count++] = chosen->time_ns / chosen->time_low_ns;
  }
  if (count == 0) return 0;
  qsort(spreads, (size_t)count, sizeof *spreads, hn_compare_doubles);
  return spreads[count / 2];
}

void hn_choices_add_timed(const hn_choices *choices, int *timed, int *known) {
  for (int i = 0; i < choices->count; ++i) {
    const hn_choice *choice = &choices->items[i];
    const hn_candidate *chosen =
        hn_choice_runs(choice) && choice->chosen >= 0 ? &choice->candidates[choice->chosen] : NULL;
    if (!chosen || chosen->state != HN_CANDIDATE_TIMED) continue;
    ++*timed;
    *known += chosen->known;
  }
}

/* What is left of the time is shared by the schedules that are left. */
static int64_t stop_of(const hn_tuner *tuner) {
  if (tuner->stop_ns == 0) return 0;
  const int64_t now_ns = hn_clock_ns(), left_ns = tuner->stop_ns - now_ns;
  return left_ns > 0 ? now_ns + left_ns / (tuner->schedule_count - tuner->tuned_count) : tuner->stop_ns;
}

hone_status hn_tune(hn_tuner *tuner, hone_graph *graph, hone_device *const *devices, int device_count,
                    const hn_ranges *ranges, const hn_judge *judge, hn_choices **out) {
  *out = NULL;
  hn_lock lock;
  hn_tuning tuning = {.context = tuner->context,
                      .options = tuner->options,
                      .level = hn_level_of(tuner->options, devices, device_count),
                      .cache = tuner->cache,
                      .stop_ns = stop_of(tuner),
                      .cold_bytes = tuner->cold_bytes,
                      .unproved = tuner->unproved,
                      .sampling = tuner->sampling,
                      .spans = {tuner->options->on_span, tuner->options->on_span_user, tuner->tuned_count}};
  hn_arena_init(&tuning.arena, tuner->context->allocator);
  hn_table_init(&tuning.contests, &tuning.arena);
  hone_status status = HONE_OK;
  if (tuner->lock.text) {
    status = hn_lock_find(tuner->context, &tuner->lock, tuner->tuned_count, tuner->schedule_count, &lock);
    tuning.lock = &lock;
  }
  if (status == HONE_OK) status = tune(&tuning, graph, devices, device_count, ranges, judge, out);
  hn_tuning_forget_blocks(&tuning);
  hn_arena_deinit(&tuning.arena);
  if (status == HONE_OK) status = hn_tuner_note(tuner, *out);
  if (status == HONE_OK) return HONE_OK;
  hn_choices_destroy(*out);
  *out = NULL;
  return hone_note(&tuner->context->diag, status, "while choosing tactics");
}

void hn_choices_destroy(hn_choices *choices) {
  if (!choices) return;
  hone_context *context = choices->context;
  for (int i = 0; i < choices->count; ++i) /* trials shared by identical layers are destroyed with the first */
    if (choices->items[i].trial && choices->items[i].same_as < 0) hn_choices_destroy(choices->items[i].trial->choices);
  hn_arena_deinit(&choices->arena);
  hn_free(&context->allocator, choices, sizeof *choices);
}
