/* SPDX-License-Identifier: Apache-2.0 */
/* compile_prune_target.c - widths by measured times: staircases of the layers say what a narrower group saves, scores
 * what it loses; the widths that are found are built and measured, and the search goes on where they take too long. */
#include "api/prune.h"
#include "api/shrink.h"
#include "base/clock.h"
#include "base/random.h"
#include "tensor/element.h"
#include "tune/tuning.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ROUNDS = 5, LOOK_AHEAD = 16, LEAST_RUNS = 5, MOST_RUNS = 2000 };
static const int64_t run_ns = 400 * 1000 * 1000; /* of one measurement */
static const double near_share = 0.94;           /* of the target: a run that takes less gives channels back */
static const double least_share = 0.25;          /* of a group's channels that always stays */

/* Places of a layer's axis that are of one group. */
typedef struct share {
  int group;
  int64_t places;
} share;

typedef struct side {
  int64_t full;
  const share *shares;
  int count;
  const hn_stairs *stairs; /* NULL: it has none, and nothing is saved */
} side;

typedef struct timed_layer {
  double full_ns;
  side outputs, inputs;
} timed_layer;

typedef struct search {
  hn_pruning *p;
  hn_shrinking shrinking;
  timed_layer *layers;
  int count;
  double **lost;  /* [group][units that go]: share of the group's worth */
  double rest_ns; /* of the run, that is in no layer */
  double layers_ns;
} search;

/* ---- measuring a whole model ---- */

static hone_status fill_inputs(const hone_engine *engine, hone_session *session) {
  for (int i = 0; i < hone_engine_input_count(engine); ++i) {
    hone_port_info port = HONE_SIZED(hone_port_info);
    hone_tensor tensor;
    hn_random random = {.state = (uint64_t)i + 1};
    HN_TRY(hone_engine_input(engine, i, &port));
    HN_TRY(hone_session_tensor(session, port.name, &tensor));
    const bool real = hn_dtype_is_float(tensor.type.dtype);
    const int64_t count = hone_tensor_count(&tensor);
    for (int64_t k = 0; k < count; ++k) hn_store_real(&tensor, k, real ? 2 * hn_random_unit(&random) - 1 : 0);
  }
  return HONE_OK;
}

static hone_status time_runs(const search *s, const hone_engine *engine, hone_session *session, double *out_ms) {
  double times[MOST_RUNS];
  int count = 0;
  HN_TRY(fill_inputs(engine, session));
  for (int i = 0; i < LEAST_RUNS; ++i) HN_TRY(hone_session_run(session));
  const int64_t begin_ns = hn_clock_ns();
  while (count < MOST_RUNS && (count < LEAST_RUNS || hn_clock_ns() - begin_ns < run_ns)) {
    HN_TRY(hn_check_stop(s->p->context));
    const int64_t at = hn_clock_ns();
    HN_TRY(hone_session_run(session));
    times[count++] = (double)(hn_clock_ns() - at) * 1e-6;
  }
  qsort(times, (size_t)count, sizeof *times, hn_compare_doubles);
  *out_ms = times[count / 10]; /* others on the machine only add time */
  return HONE_OK;
}

static hone_status measure(const search *s, const hone_graph *graph, double *out_ms) {
  const hn_pruning *p = s->p;
  hone_engine *engine;
  hone_session *session = NULL;
  HN_TRY(hone_engine_build(p->context, graph, p->devices, p->device_count, p->options.build, &engine));
  hone_status status = hone_session_create(engine, NULL, &session, &p->context->diag);
  if (status == HONE_OK) {
    status = time_runs(s, engine, session, out_ms);
    if (status != HONE_OK && p->context->diag.count == 0)
      status = HN_FAIL(&p->context->diag, status, "the model could not be run to be measured");
  }
  hone_session_destroy(session);
  hone_engine_release(engine);
  return status;
}

/* ---- from layers to groups ---- */

static hone_status find_shares(const search *s, int axis, side *out) {
  const hn_coupling *c = &s->p->coupling;
  int64_t *places = HN_NEW(&s->p->arena, int64_t, c->group_count + 1);
  share *shares = HN_NEW(&s->p->arena, share, c->group_count + 1);
  if (!places || !shares) return HN_FAIL_MEMORY(&s->p->context->diag);
  out->full = axis < 0 ? 0 : c->axes[axis].extent;
  for (int64_t k = 0; k < out->full; ++k) {
    const int unit = hn_coupling_unit(c, c->axes[axis].first + (int)k);
    if (unit >= 0) ++places[c->units[unit].group];
  }
  for (int g = 0; g < c->group_count; ++g)
    if (places[g] > 0) shares[out->count++] = (share){g, places[g]};
  out->shares = shares;
  return HONE_OK;
}

static bool comes_from(const hn_node *built, const hn_node *node) {
  if (strcmp(built->name, node->name) == 0) return true;
  for (int i = 0; i < built->origins.count; ++i)
    if (strcmp(built->origins.names[i], node->name) == 0) return true;
  for (int i = 0; i < node->origins.count; ++i)
    for (int k = 0; k < built->origins.count; ++k)
      if (strcmp(built->origins.names[k], node->origins.names[i]) == 0) return true;
  return false;
}

static hone_status find_layers(search *s) {
  const hn_coupling *c = &s->p->coupling;
  s->layers = HN_NEW(&s->p->arena, timed_layer, c->layer_count + 1);
  if (!s->layers) return HN_FAIL_MEMORY(&s->p->context->diag);
  for (int i = 0; i < c->layer_count; ++i) {
    timed_layer layer = {0};
    for (int k = 0; k < s->shrinking.count; ++k) {
      const hn_stairs *stairs = &s->shrinking.items[k];
      if (!comes_from(stairs->layer, c->layers[i].node)) continue;
      if (stairs->inputs)
        layer.inputs.stairs = stairs;
      else
        layer.outputs.stairs = stairs;
      if (layer.full_ns <= 0) layer.full_ns = stairs->steps[0].ns;
    }
    if (layer.full_ns <= 0) continue;
    HN_TRY(find_shares(s, c->layers[i].outputs, &layer.outputs));
    HN_TRY(find_shares(s, c->layers[i].inputs, &layer.inputs));
    s->layers_ns += layer.full_ns;
    s->layers[s->count++] = layer;
  }
  return HONE_OK;
}

static hone_status find_losses(search *s) {
  const hn_coupling *c = &s->p->coupling;
  s->lost = HN_NEW(&s->p->arena, double *, c->group_count + 1);
  if (!s->lost) return HN_FAIL_MEMORY(&s->p->context->diag);
  for (int g = 0; g < c->group_count; ++g) {
    const hn_group *group = &c->groups[g];
    double *lost = s->lost[g] = HN_NEW(&s->p->arena, double, group->count + 2), sum = 0;
    if (!lost) return HN_FAIL_MEMORY(&s->p->context->diag);
    for (int i = 0; i < group->count; ++i) lost[i + 1] = s->p->scores[c->unit_order[group->first + i]];
    qsort(lost + 1, (size_t)group->count, sizeof *lost, hn_compare_doubles);
    for (int i = 1; i <= group->count; ++i) lost[i] += lost[i - 1];
    sum = lost[group->count];
    for (int i = 1; i <= group->count; ++i) lost[i] = sum > 0 ? lost[i] / sum : 0;
  }
  return HONE_OK;
}

/* ---- predicting ---- */

/* What a side's width does to its layer's time, by its staircase alone. */
static double factor(const search *s, const side *of) {
  if (!of->stairs || of->count == 0) return 1;
  double width = (double)of->full;
  for (int i = 0; i < of->count; ++i) {
    const hn_group *group = &s->p->coupling.groups[of->shares[i].group];
    width -= (double)of->shares[i].places * (1 - (double)group->kept / (double)group->channels);
  }
  const double full = hn_stairs_ns(of->stairs, of->stairs->full);
  return full > 0 ? hn_stairs_ns(of->stairs, (int64_t)(width + 0.5)) / full : 1;
}

static double predict_ns(const search *s) {
  const hn_coupling *c = &s->p->coupling;
  double ns = 0, channels = 0, kept = 0;
  for (int i = 0; i < s->count; ++i)
    ns += s->layers[i].full_ns * factor(s, &s->layers[i].outputs) * factor(s, &s->layers[i].inputs);
  for (int g = 0; g < c->group_count; ++g) {
    channels += (double)c->groups[g].channels;
    kept += (double)c->groups[g].kept;
  }
  return ns + s->rest_ns * (channels > 0 ? kept / channels : 1);
}

static int64_t least_kept(const search *s, const hn_group *group) {
  return hn_round_channels(group, (double)group->channels * least_share, s->p->options.multiple);
}

static double lost_of(const search *s, int g, int64_t kept) {
  const hn_group *group = &s->p->coupling.groups[g];
  return s->lost[g][group->count - kept / group->width];
}

/* Narrows the group that saves most time for what it loses, to the width where it does. false: none saves any. */
static bool narrow_one(search *s) {
  hn_coupling *c = &s->p->coupling;
  const double now = predict_ns(s);
  double best = 0;
  int best_group = -1;
  int64_t best_kept = 0;
  for (int g = 0; g < c->group_count; ++g) {
    hn_group *group = &c->groups[g];
    const int64_t before = group->kept;
    int64_t last = before;
    for (int ahead = 1; ahead <= LOOK_AHEAD && !group->why; ++ahead) {
      const int64_t kept =
          hn_round_channels(group, (double)(before - ahead * s->p->options.multiple), s->p->options.multiple);
      if (kept < least_kept(s, group)) break;
      if (kept >= last) continue;
      last = group->kept = kept;
      const double worth = (now - predict_ns(s)) / (lost_of(s, g, kept) - lost_of(s, g, before) + 1e-6);
      group->kept = before;
      if (worth <= best) continue;
      best = worth;
      best_group = g;
      best_kept = kept;
    }
  }
  if (best_group < 0) return false;
  c->groups[best_group].kept = best_kept;
  return true;
}

/* ---- the search ---- */

static hone_status out_of_reach(const search *s, double ms) {
  return HN_FAIL(&s->p->context->diag, HONE_INVALID,
                 "--target-ms is %g, and with a quarter of each group's channels a run is expected to take %.3g ms",
                 s->p->options.target_ms, ms);
}

static hone_status narrow_to(search *s, double target_ms) {
  while (predict_ns(s) * 1e-6 > target_ms) {
    HN_TRY(hn_check_stop(s->p->context));
    if (!narrow_one(s)) return out_of_reach(s, predict_ns(s) * 1e-6);
  }
  return HONE_OK;
}

static hone_status round_trip(search *s, double target_ms) {
  hn_pruning *p = s->p;
  hone_graph *made;
  HN_TRY(narrow_to(s, target_ms));
  HN_TRY(hn_choose_kept(&p->coupling, p->scores));
  HN_TRY(hn_prune_make(p, &made));
  const hone_status status = measure(s, made, &p->summary.ms_kept);
  hn_graph_destroy(made);
  p->summary.ms_predicted = predict_ns(s) * 1e-6;
  ++p->summary.rounds;
  return status;
}

/* Widths that were measured; of those that reach the target the slowest. */
typedef struct found_widths {
  int64_t *kept; /* one a group */
  double ms, predicted_ms;
} found_widths;

static void keep_widths(const search *s, found_widths *best) {
  const hn_pruning *p = s->p;
  if (p->summary.ms_kept > p->options.target_ms || p->summary.ms_kept <= best->ms) return;
  for (int g = 0; g < p->coupling.group_count; ++g) best->kept[g] = p->coupling.groups[g].kept;
  best->ms = p->summary.ms_kept;
  best->predicted_ms = p->summary.ms_predicted;
}

static hone_status take_widths(const search *s, const found_widths *best) {
  hn_pruning *p = s->p;
  if (best->ms <= 0)
    return HN_FAIL(&p->context->diag, HONE_LIMIT, "--target-ms is %g, and after %d builds a run still takes %.3g ms",
                   p->options.target_ms, p->summary.rounds, p->summary.ms_kept);
  for (int g = 0; g < p->coupling.group_count; ++g) p->coupling.groups[g].kept = best->kept[g];
  p->summary.ms_kept = best->ms;
  p->summary.ms_predicted = best->predicted_ms;
  return hn_choose_kept(&p->coupling, p->scores);
}

static hone_status prepare(search *s) {
  hn_pruning *p = s->p;
  HN_TRY(measure(s, p->whole, &p->summary.ms));
  if (p->summary.ms <= p->options.target_ms)
    return HN_FAIL(&p->context->diag, HONE_INVALID, "--target-ms is %g, and the model takes %.3g ms as it is",
                   p->options.target_ms, p->summary.ms);
  HN_TRY(find_layers(s));
  HN_TRY(find_losses(s));
  s->rest_ns = fmax(p->summary.ms * 1e6 - s->layers_ns, 0);
  return HONE_OK;
}

/* What was predicted is wrong by a factor that the next round knows. */
static hone_status find_widths(search *s) {
  hn_pruning *p = s->p;
  const double target = p->options.target_ms;
  found_widths best = {.kept = HN_NEW(&p->arena, int64_t, p->coupling.group_count + 1)};
  double aim = target;
  if (!best.kept) return HN_FAIL_MEMORY(&p->context->diag);
  HN_TRY(prepare(s));
  for (int i = 0; i < MOST_ROUNDS && best.ms < near_share * target; ++i) {
    for (int g = 0; g < p->coupling.group_count; ++g) p->coupling.groups[g].kept = p->coupling.groups[g].channels;
    HN_TRY(round_trip(s, aim));
    keep_widths(s, &best);
    aim = p->summary.ms_predicted * 0.98 * target / p->summary.ms_kept;
    if (aim >= p->summary.ms) aim = 0.5 * (p->summary.ms + p->summary.ms_predicted);
  }
  return take_widths(s, &best);
}

hone_status hn_prune_to_target(hn_pruning *p) {
  search s = {.p = p};
  const hone_shrink_options options = {
      .struct_size = sizeof options, .multiple = p->options.multiple, .build = p->options.build};
  hone_status status = hn_shrink_begin(p->context, p->whole, p->devices, p->device_count, &options, &s.shrinking);
  if (status == HONE_OK) status = find_widths(&s);
  hn_shrink_end(&s.shrinking);
  return status;
}
