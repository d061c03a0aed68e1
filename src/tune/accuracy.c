/* SPDX-License-Identifier: Apache-2.0 */
/* accuracy.c - how far narrow types move the network's outputs, and layers that give theirs back until that is within
 * what the caller allows. The fastest assignment is run and held against the one in which nothing was made narrower.
 * Where it is too far away, each narrow layer is tried in f32 by itself, the others as they were: time that costs
 * against error that wins. Those that win most for their time go first, as many as it takes: errors of layers add up
 * like independent noise, so that the squares of the outputs' error fall as layers go. */
#include "tensor/element.h"
#include "tensor/storage.h"
#include "tune/tuning.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define HUGE_ERROR 1e6 /* of outputs that are no numbers: f16 ends at 65504 */

typedef struct layer {
  int choice;
  double lost_ns, won; /* by running it in f32; won: of the square of the outputs' error */
} layer;

typedef struct giving {
  hn_choices *choices;
  const hn_judge *judge;
  layer *layers; /* that are narrow in the fastest assignment and need not be */
  int count;
  int *locked;       /* [choice]: what the lock chose */
  double f32_ns, ns; /* of the plans without narrow types, and of the fastest one */
  double error;      /* of the fastest one */
  int tried, trials; /* runs, done and expected at most */
} giving;

bool hn_candidate_is_narrow(const hn_candidate *candidate) {
  return candidate->storages.in >= HONE_FORMAT_COUNT || candidate->storages.out >= HONE_FORMAT_COUNT ||
         (HN_TYPES_NARROW & HONE_BIT(candidate->tactic->compute));
}

static bool is_narrow(const hn_choice *choice) {
  return hn_choice_runs(choice) && choice->chosen >= 0 && hn_candidate_is_narrow(&choice->candidates[choice->chosen]);
}

bool hn_choice_can_widen(const hn_choice *choice, bool withheld) {
  for (int k = 0; hn_choice_runs(choice) && k < choice->candidate_count; ++k) {
    const hn_candidate *candidate = &choice->candidates[k];
    if (hn_candidate_is_narrow(candidate)) continue;
    if (hn_candidate_usable(candidate) || (withheld && candidate->state == HN_CANDIDATE_WITHHELD)) return true;
  }
  return false;
}

/* One assignment, run. as_reference: what the others are held against. */
static hone_status try_one(giving *g, bool as_reference, double *out_error) {
  hn_choices *choices = g->choices;
  const hone_build_options *options = choices->tuning->options;
  if (options->progress) options->progress(options->progress_user, "error of the outputs", g->tried, g->trials);
  ++g->tried;
  HN_TRY(hn_check_stop(choices->context));
  for (int i = 0; i < choices->count; ++i)
    if (choices->items[i].locked && !choices->items[i].widened) choices->items[i].chosen = g->locked[i];
  const int64_t begin_ns = hn_span_begin(&choices->tuning->spans);
  HN_TRY(hn_tune_prove(choices));
  hn_span_end(&choices->tuning->spans, HONE_SPAN_PHASE, "choosing", begin_ns, 1);
  HN_TRY(g->judge->run(g->judge->user, choices, as_reference, choices->output_errors));
  *out_error = 0;
  for (int i = 0; i < choices->root->result_count; ++i)
    *out_error = fmax(*out_error, fmin(choices->output_errors[i], HUGE_ERROR));
  return HONE_OK;
}

static hone_status try_reference(giving *g) {
  hn_choices *choices = g->choices;
  double error;
  for (int i = 0; i < choices->count; ++i) {
    hn_choice *choice = &choices->items[i];
    g->locked[i] = choice->chosen;
    choice->widened = hn_choice_can_widen(choice, true);
  }
  const hone_status status = try_one(g, true, &error);
  g->f32_ns = choices->total_ns;
  for (int i = 0; i < choices->count; ++i) choices->items[i].widened = false;
  return status;
}

static hone_status list_layers(giving *g) {
  hn_choices *choices = g->choices;
  g->layers = HN_NEW(&choices->arena, layer, choices->count + 1);
  if (!g->layers) return HN_FAIL_MEMORY(&choices->context->diag);
  for (int i = 0; i < choices->count; ++i)
    if (is_narrow(&choices->items[i]) && !choices->items[i].locked && hn_choice_can_widen(&choices->items[i], false))
      g->layers[g->count++] = (layer){.choice = i};
  return HONE_OK;
}

/* Each layer by itself. Once the time for measuring is used up, by its own error: the outputs' squares are shared out
 * by the layers' squares. */
static hone_status probe(giving *g) {
  hn_choices *choices = g->choices;
  double squares = 0;
  for (int l = 0; l < g->count; ++l) {
    const hn_choice *choice = &choices->items[g->layers[l].choice];
    g->layers[l].won = pow(fmax(choice->candidates[choice->chosen].error_rel_l2, 1e-6), 2);
    squares += g->layers[l].won;
  }
  for (int l = 0; l < g->count; ++l) {
    layer *one = &g->layers[l];
    hn_choice *choice = &choices->items[one->choice];
    double error;
    one->won *= g->error * g->error / squares;
    if (!hn_tuning_stopped(choices->tuning)) {
      choice->widened = true;
      HN_TRY(try_one(g, false, &error));
      choice->widened = false;
      one->won = g->error * g->error - error * error;
      one->lost_ns = fmax(choices->total_ns - g->ns, 0);
      choice->f32_probed = true;
      choice->f32_error = error;
    }
    choice->f32_won = one->won;
    choice->f32_lost_ns = one->lost_ns;
  }
  return HONE_OK;
}

/* The cheapest error first; what wins nothing last, the cheapest of it first. */
static int compare_layers(const void *a, const void *b) {
  const layer *x = a, *y = b;
  if ((x->won > 0) != (y->won > 0)) return x->won > 0 ? -1 : 1;
  const double left = x->won > 0 ? x->lost_ns * y->won : x->lost_ns,
               right = x->won > 0 ? y->lost_ns * x->won : y->lost_ns;
  if (left != right) return left < right ? -1 : 1;
  if (x->won != y->won) return x->won > y->won ? -1 : 1;
  return x->choice - y->choice;
}

static hone_status try_first(giving *g, int count, double *out_error) {
  for (int l = 0; l < g->count; ++l) g->choices->items[g->layers[l].choice].widened = l < count;
  return try_one(g, false, out_error);
}

/* Everything in f32 that may be. */
static hone_status try_widest(giving *g, double *out_error) {
  for (int i = 0; i < g->choices->count; ++i) {
    hn_choice *choice = &g->choices->items[i];
    choice->widened = !choice->locked && hn_choice_can_widen(choice, false);
  }
  return try_one(g, false, out_error);
}

/* The least count of layers, in their order, that brings the error within the limit, by bisection. */
static hone_status give_back(giving *g, double limit) {
  HN_TRY(list_layers(g));
  g->trials = g->tried + g->count + 12;
  HN_TRY(probe(g));
  qsort(g->layers, (size_t)g->count, sizeof *g->layers, compare_layers);
  int too_few = 0, enough = g->count + 1; /* too_few is known to be over the limit; count + 1 stands for everything */
  double error = HUGE_VAL;
  while (enough - too_few > 1) {
    const int middle = too_few + (enough - too_few) / 2;
    HN_TRY(try_first(g, middle, &error));
    if (error <= limit)
      enough = middle;
    else
      too_few = middle;
  }
  HN_TRY(enough <= g->count ? try_first(g, enough, &error) : try_widest(g, &error));
  if (error <= limit && g->choices->total_ns > g->f32_ns) HN_TRY(try_widest(g, &error));
  if (error <= limit) return HONE_OK;
  return HN_FAIL(&g->choices->context->diag, HONE_UNSUPPORTED,
                 "the outputs are %.3g (relative L2) from those of f32, and %.3g is allowed: what is narrow still was "
                 "asked for by the lock or by a layer's type",
                 error, limit);
}

hone_status hn_tune_accuracy(hn_choices *choices, const hn_judge *judge) {
  const double asked = choices->tuning->options->max_error, limit = asked > 0 ? asked : HUGE_ERROR / 2;
  const int results = choices->root->result_count;
  bool any = false;
  for (int i = 0; i < choices->count; ++i) any = any || is_narrow(&choices->items[i]);
  if (!any || !judge || (asked <= 0 && !choices->tuning->level->times)) return HONE_OK;
  giving g = {.choices = choices, .judge = judge, .ns = choices->total_ns, .trials = 2};
  choices->settled = true;
  choices->output_errors = HN_NEW(&choices->arena, double, results + 1);
  g.locked = HN_NEW(&choices->arena, int, choices->count + 1);
  if (!choices->output_errors || !g.locked) return HN_FAIL_MEMORY(&choices->context->diag);
  HN_TRY(try_reference(&g));
  HN_TRY(try_one(&g, false, &g.error));
  g.ns = choices->total_ns;
  if (g.error > limit) HN_TRY(give_back(&g, limit));
  choices->f32_ns = g.f32_ns;
  choices->fastest_ns = g.ns;
  choices->fastest_error = g.error;
  return HONE_OK;
}
