/* SPDX-License-Identifier: Apache-2.0 */
/* score.c - ways to score units, rows; and the choice of those that go. */
#include "prune/score.h"
#include "prune/rules.h"
#include "tensor/element.h"
#include "tensor/shape.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static hone_status no_memory(const hn_coupling *c) { return HN_FAIL_MEMORY(&c->graph->context->diag); }

/* ---- by weights (Li et al. 2017, Pruning filters for efficient convnets), over all tensors of a unit ---- */

/* out[place along the axis] = sum of |w|^power over the slice. */
static void slice_norms(const hone_tensor *tensor, int axis, int power, double *out) {
  const hone_shape *shape = &tensor->type.shape;
  int64_t inner = 1, outer = 1;
  for (int a = 0; a < shape->rank; ++a) *(a < axis ? &outer : &inner) *= a == axis ? 1 : shape->dim[a];
  for (int64_t k = 0; k < shape->dim[axis]; ++k) out[k] = 0;
  int64_t at = 0;
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t k = 0; k < shape->dim[axis]; ++k)
      for (int64_t i = 0; i < inner; ++i, ++at) {
        const double w = fabs(hn_real(tensor, at));
        out[k] += power == 2 ? w * w : w;
      }
}

/* Adds shares whose mean is 1 to the units that have places on the axis. */
static void add_shares(const hn_coupling *c, int axis, const double *values, double *scores, int *counts) {
  const hn_coupled_axis *a = &c->axes[axis];
  double mean = 0;
  for (int64_t k = 0; k < a->extent; ++k) mean += values[k] / (double)a->extent;
  for (int64_t k = 0; k < a->extent && mean > 0; ++k) {
    const int unit = hn_coupling_unit(c, a->first + (int)k);
    if (unit < 0) continue;
    scores[unit] += values[k] / mean;
    ++counts[unit];
  }
}

static bool has_unit(const hn_coupling *c, int axis) {
  for (int64_t k = 0; axis >= 0 && k < c->axes[axis].extent; ++k)
    if (hn_coupling_unit(c, c->axes[axis].first + (int)k) >= 0) return true;
  return false;
}

static hone_status score_weights(const hn_coupling *c, int power, double *scores) {
  const hone_graph *graph = c->graph;
  bool *scored = HN_NEW(c->arena, bool, graph->value_count + 1);
  int *counts = HN_NEW(c->arena, int, c->unit_count + 1);
  if (!scored || !counts) return no_memory(c);
  for (const hn_node *node = graph->main->first; node; node = node->next) {
    const hn_prune_rule *rule = hn_prune_rule_of(node->op);
    for (int i = 0; rule && i < node->in_count && i < 32; ++i)
      if (rule->scored & 1u << i && node->in[i] && hn_value_is_constant(node->in[i])) scored[node->in[i]->id] = true;
  }
  for (int v = 0; v < c->value_count; ++v) {
    const hn_value *value = graph->values[v];
    for (int a = 0; scored[v] && a < value->fact.type.shape.rank; ++a) {
      const int axis = hn_coupling_axis(c, value, a);
      if (!has_unit(c, axis)) continue;
      const hn_arena_mark mark = hn_arena_here(c->arena);
      double *norms = HN_NEW(c->arena, double, c->axes[axis].extent);
      if (!norms) return no_memory(c);
      HN_TRY(hn_check_stop(graph->context));
      slice_norms(value->fact.constant, a, power, norms);
      for (int64_t k = 0; power == 2 && k < c->axes[axis].extent; ++k) norms[k] = sqrt(norms[k]);
      add_shares(c, axis, norms, scores, counts);
      hn_arena_back(c->arena, &mark);
    }
  }
  for (int u = 0; u < c->unit_count; ++u) scores[u] /= counts[u] > 0 ? counts[u] : 1;
  return HONE_OK;
}

static hone_status score_l1(const hn_coupling *c, const hn_moments_of_layer *moments, double *scores) {
  (void)moments;
  return score_weights(c, 1, scores);
}

static hone_status score_l2(const hn_coupling *c, const hn_moments_of_layer *moments, double *scores) {
  (void)moments;
  return score_weights(c, 2, scores);
}

/* ---- by what the layers that read a channel would lose: its mean square times the squares of its weights ---- */

static hone_status score_error(const hn_coupling *c, const hn_moments_of_layer *moments, double *scores) {
  int *counts = HN_NEW(c->arena, int, c->unit_count + 1);
  if (!counts) return no_memory(c);
  for (int i = 0; i < c->layer_count; ++i) {
    const hn_coupled_layer *layer = &c->layers[i];
    if (!moments[i].square || !has_unit(c, layer->inputs)) continue;
    const hn_coupled_axis *axis = &c->axes[layer->inputs];
    const hn_arena_mark mark = hn_arena_here(c->arena);
    double *lost = HN_NEW(c->arena, double, axis->extent);
    if (!lost) return no_memory(c);
    slice_norms(layer->weights->fact.constant, axis->axis, 2, lost);
    for (int64_t k = 0; k < axis->extent; ++k) lost[k] *= moments[i].square[k];
    add_shares(c, layer->inputs, lost, scores, counts);
    hn_arena_back(c->arena, &mark);
  }
  for (int u = 0; u < c->unit_count; ++u) scores[u] /= counts[u] > 0 ? counts[u] : 1;
  return HONE_OK;
}

const hn_scorer hn_scorers[] = {
    {"l1", "sum of the absolute values of a channel's weights, in all layers that share it", false, score_l1},
    {"l2", "root of the sum of their squares", false, score_l2},
    {"error", "what the layers that read the channel lose without it, on the samples of --calib", true, score_error},
    {0}};

const hn_scorer *hn_scorer_find(const char *name) {
  if (!name) return &hn_scorers[0];
  for (const hn_scorer *row = hn_scorers; row->name; ++row)
    if (strcmp(row->name, name) == 0) return row;
  return NULL;
}

/* ---- the choice ---- */

int64_t hn_round_channels(const hn_group *group, double channels, int multiple) {
  int64_t kept = (int64_t)floor(channels / multiple + 0.5) * multiple;
  if (kept < multiple) kept = multiple;
  if (kept >= group->channels) return group->channels;
  const int64_t units = kept / group->width;
  return (units > 0 ? units : 1) * group->width;
}

static const char *why_not(const hn_coupling *c, const hn_group *group, int multiple) {
  if (group->channels > multiple && group->count > 1) return NULL;
  return group->count == 1 ? "all of its channels stand or fall together"
                           : hn_arena_printf(c->arena, "it has %lld channels, and at least %d stay",
                                             (long long)group->channels, multiple);
}

typedef struct ranked {
  double score;
  int unit;
} ranked;

static int compare_ranked(const void *a, const void *b) {
  const ranked *x = a, *y = b;
  if (x->score != y->score) return x->score < y->score ? -1 : 1;
  return (x->unit > y->unit) - (x->unit < y->unit);
}

/* How many of each group are among the share of all that is worth least. */
static hone_status choose_global(hn_coupling *c, const double *scores, const hn_choice_of_units *how) {
  ranked *list = HN_NEW(c->arena, ranked, c->unit_count + 1);
  if (!list) return no_memory(c);
  int count = 0;
  double channels = 0, gone = 0;
  for (int u = 0; u < c->unit_count; ++u) {
    const hn_group *group = &c->groups[c->units[u].group];
    if (group->why) continue;
    list[count++] = (ranked){scores[u], u};
    channels += group->width;
  }
  if (count > 0) qsort(list, (size_t)count, sizeof *list, compare_ranked);
  for (int i = 0; i < count && gone < how->ratio * channels; ++i) {
    hn_group *group = &c->groups[c->units[list[i].unit].group];
    gone += group->width;
    group->kept -= group->width;
  }
  for (int g = 0; g < c->group_count; ++g)
    if (!c->groups[g].why)
      c->groups[g].kept = hn_round_channels(&c->groups[g], (double)c->groups[g].kept, how->multiple);
  return HONE_OK;
}

hone_status hn_choose_kept(hn_coupling *c, const double *scores) {
  ranked *list = HN_NEW(c->arena, ranked, c->unit_count + 1);
  if (!list) return no_memory(c);
  for (int g = 0; g < c->group_count; ++g) {
    const hn_group *group = &c->groups[g];
    for (int i = 0; i < group->count; ++i) {
      const int unit = c->unit_order[group->first + i];
      list[i] = (ranked){scores[unit], unit};
    }
    qsort(list, (size_t)group->count, sizeof *list, compare_ranked);
    const int64_t gone = group->count - group->kept / group->width;
    for (int i = 0; i < group->count; ++i) c->units[list[i].unit].removed = i < gone;
  }
  return HONE_OK;
}

hone_status hn_choose_units(hn_coupling *c, const double *scores, const hn_choice_of_units *how) {
  for (int g = 0; g < c->group_count; ++g) {
    hn_group *group = &c->groups[g];
    group->kept = group->channels;
    group->why = why_not(c, group, how->multiple);
    if (!group->why && !how->global)
      group->kept = hn_round_channels(group, (double)group->channels * (1 - how->ratio), how->multiple);
  }
  if (how->global) HN_TRY(choose_global(c, scores, how));
  return hn_choose_kept(c, scores);
}
