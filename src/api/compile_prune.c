/* SPDX-License-Identifier: Apache-2.0 */
/* compile_prune.c - graph -> graph with fewer channels: coupling, scores, choice, cut. */
#include "api/engine.h"
#include "api/prune.h"
#include "api/quantize.h"
#include "base/arguments.h"
#include "pass/passes.h"
#include "tensor/element.h"
#include "tensor/shape.h"
#include <stdio.h>
#include <string.h>

/* ---- what the layers read, for scores by error ---- */

typedef struct watcher {
  const hn_pruning *p;
  const int *layers; /* of the watched values */
  hn_moments_of_layer *moments;
} watcher;

static hone_status add_squares(void *user, int64_t sample, int index, const hone_tensor *tensor) {
  const watcher *w = user;
  const int layer = w->layers[index];
  const hn_coupled_axis *axis = &w->p->coupling.axes[w->p->coupling.layers[layer].x];
  const hone_shape *shape = &tensor->type.shape;
  int64_t inner = 1, outer = 1, at = 0;
  (void)sample;
  for (int a = 0; a < shape->rank; ++a) *(a < axis->axis ? &outer : &inner) *= a == axis->axis ? 1 : shape->dim[a];
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t k = 0; k < axis->extent; ++k)
      for (int64_t i = 0; i < inner; ++i, ++at) {
        const double x = hn_real(tensor, at);
        w->moments[layer].square[k] += x * x;
      }
  return HONE_OK;
}

static hone_status watch(hn_pruning *p, hn_quantizing *q, hn_moments_of_layer *moments) {
  const hn_coupling *c = &p->coupling;
  int *values = HN_NEW(&p->arena, int, c->layer_count + 1), *layers = HN_NEW(&p->arena, int, c->layer_count + 1);
  int count = 0;
  int64_t samples;
  if (!values || !layers) return HN_FAIL_MEMORY(&p->context->diag);
  for (int i = 0; i < c->layer_count; ++i) {
    const hn_coupled_layer *layer = &c->layers[i];
    if (layer->x < 0 || layer->inputs < 0) continue;
    moments[i].square = HN_NEW(&p->arena, double, c->axes[layer->x].extent);
    if (!moments[i].square) return HN_FAIL_MEMORY(&p->context->diag);
    layers[count] = i;
    values[count++] = layer->node->in[0]->id;
  }
  watcher w = {p, layers, moments};
  const hn_watch watching = {.graph = q->graph,
                             .values = values,
                             .count = count,
                             .see = add_squares,
                             .user = &w,
                             .floats = true,
                             .what = "watching layers"};
  HN_TRY(hn_quantize_watch(q, &watching, &samples));
  if (samples > 0) return HONE_OK;
  return HN_FAIL(&p->context->diag, HONE_INVALID, "there is no calibration sample: at least one is needed");
}

static hone_status find_moments(hn_pruning *p, hn_moments_of_layer *moments) {
  const hone_quantize_options options = {.struct_size = sizeof options,
                                         .sample = p->options.sample,
                                         .sample_user = p->options.sample_user,
                                         .sample_count = p->options.sample_count,
                                         .progress = p->options.progress,
                                         .progress_user = p->options.progress_user};
  hn_quantizing q;
  HN_TRY(hn_quantize_begin(p->context, p->whole, p->devices, p->device_count, &options, &q));
  const hone_status status = watch(p, &q, moments);
  hn_quantize_end(&q);
  return status;
}

static hone_status score(hn_pruning *p) {
  hn_moments_of_layer *moments = HN_NEW(&p->arena, hn_moments_of_layer, p->coupling.layer_count + 1);
  p->scores = HN_NEW(&p->arena, double, p->coupling.unit_count + 1);
  if (!moments || !p->scores) return HN_FAIL_MEMORY(&p->context->diag);
  if (p->scorer->samples) HN_TRY(find_moments(p, moments));
  return p->scorer->score(&p->coupling, moments, p->scores);
}

/* ---- telling ---- */

static int64_t extent_of(const hn_coupling *c, int axis) { return axis < 0 ? 0 : c->axes[axis].extent; }

/* Places of an axis that go; NULL: none. */
static const int64_t *removed_places(hn_pruning *p, int axis, int64_t *out_count) {
  const hn_coupling *c = &p->coupling;
  int64_t *places = HN_NEW(&p->arena, int64_t, extent_of(c, axis) + 1);
  *out_count = 0;
  for (int64_t k = 0; places && k < extent_of(c, axis); ++k) {
    const int unit = hn_coupling_unit(c, c->axes[axis].first + (int)k);
    if (unit >= 0 && c->units[unit].removed) places[(*out_count)++] = k;
  }
  return *out_count > 0 ? places : NULL;
}

static void tell(hn_pruning *p) {
  const hn_coupling *c = &p->coupling;
  for (int i = 0; i < c->layer_count && p->options.layer; ++i) {
    const hn_coupled_layer *layer = &c->layers[i];
    const int inputs = layer->inputs < 0 ? layer->x : layer->inputs;
    int64_t gone_in, gone_out;
    hone_prune_layer event = {.name = layer->node->name,
                              .op = layer->node->op->name,
                              .group = layer->group,
                              .inputs = extent_of(c, inputs),
                              .outputs = extent_of(c, layer->outputs),
                              .removed_inputs = removed_places(p, inputs, &gone_in),
                              .removed_outputs = removed_places(p, layer->outputs, &gone_out)};
    event.inputs_kept = event.inputs - gone_in;
    event.outputs_kept = event.outputs - gone_out;
    if (gone_out == 0 && layer->group >= 0) {
      event.why = c->groups[layer->group].why;
      if (!event.why) event.why = "all of its channels are worth keeping, or the share is less than a multiple";
    } else if (gone_out == 0 && layer->fixed) {
      event.why = layer->fixed->why;
      event.why_node = layer->fixed->node ? layer->fixed->node->name : NULL;
    }
    p->options.layer(p->options.layer_user, &event);
  }
}

/* ---- work ---- */

static double count_weights(const hone_graph *graph) {
  double weights = 0;
  for (int i = 0; i < graph->value_count; ++i) {
    const hn_value *value = graph->values[i];
    if (hn_value_is_constant(value) && hn_value_use_count(value) > 0 && hn_dtype_is_float(value->fact.type.dtype))
      weights += (double)hn_elems(&value->fact.type.shape);
  }
  return weights;
}

static bool node_cost(const hn_node *node, hn_arena *arena, double *flops) {
  hone_fact *facts = HN_NEW(arena, hone_fact, node->in_count + node->out_count + 1);
  if (!facts || node->block_count > 0) return false;
  for (int i = 0; i < node->in_count + node->out_count; ++i) {
    const hn_value *value = i < node->in_count ? node->in[i] : node->out[i - node->in_count];
    if (!value) continue;
    facts[i] = value->fact;
    if (value->fact.type.kind != HONE_TENSOR || !hn_shape_known(&value->fact.type.shape)) return false;
  }
  if (node->op->cost)
    *flops += node->op->cost(&node->attrs, facts, node->in_count, facts + node->in_count, node->out_count).flops;
  return true;
}

enum { FREE_EXTENT = 64 }; /* as passes take them that ask devices */

/* Work of one run with free dims taken as 1 on the first axis and as 64 on others, and elements of constants of floats;
 * flops 0: shapes are not known. */
static hone_status measure_work(const hone_graph *graph, double *out_flops, double *out_weights) {
  hone_graph *copy;
  hone_diagnostics *diag = &graph->context->diag;
  const int messages = diag->count;
  *out_weights = count_weights(graph);
  *out_flops = 0;
  HN_TRY(hn_graph_clone(graph, &copy));
  for (int i = 0; i < copy->main->param_count; ++i) {
    hone_shape *shape = &copy->main->params[i]->fact.type.shape;
    for (int a = 0; a < shape->rank; ++a)
      if (HONE_SYMBOLIC(shape->dim[a])) shape->dim[a] = a == 0 ? 1 : FREE_EXTENT;
  }
  hone_status status = hn_infer_graph(copy);
  double flops = 0;
  bool known = status == HONE_OK;
  for (const hn_node *node = copy->main->first; node && known; node = node->next) {
    hn_arena arena;
    hn_arena_init(&arena, graph->context->allocator);
    known = node_cost(node, &arena, &flops);
    hn_arena_deinit(&arena);
  }
  hn_graph_destroy(copy);
  if (status == HONE_NO_MEMORY) return status;
  hn_diag_cut(diag, messages); /* free dims may not work so: then nothing is said of the work */
  if (known) *out_flops = flops;
  return HONE_OK;
}

static void count_channels(hn_pruning *p) {
  const hn_coupling *c = &p->coupling;
  for (int g = 0; g < c->group_count; ++g) {
    const hn_group *group = &c->groups[g];
    p->summary.channels += group->channels;
    p->summary.channels_kept += group->kept;
    p->summary.groups_pruned += group->kept < group->channels;
    for (int i = 0; i < group->count; ++i) p->summary.dead += p->scores[c->unit_order[group->first + i]] <= 0;
  }
  p->summary.groups = c->group_count;
}

/* ---- in order ---- */

hone_status hn_prune_make(hn_pruning *p, hone_graph **out) {
  hn_cut cut;
  hone_graph *graph;
  *out = NULL;
  HN_TRY(hn_graph_clone(p->whole, &graph));
  hone_status status = hn_cut_by_units(&p->coupling, graph, &p->arena, &cut);
  if (status == HONE_OK) status = hn_cut_apply(&cut);
  if (status == HONE_OK) hn_constants_rejoin(graph, &p->parted);
  hn_pass_run run = {.context = p->context, .graph = graph};
  if (status == HONE_OK) status = hn_pass_eliminate_dead(&run);
  if (status == HONE_OK) status = hn_graph_verify(graph);
  graph->model_hash = 0; /* it is another model now */
  if (status == HONE_OK)
    *out = graph;
  else
    hn_graph_destroy(graph);
  return status;
}

static hone_status make_masked(hn_pruning *p, hone_graph **out) {
  hn_cut cut;
  HN_TRY(hn_cut_by_units(&p->coupling, p->whole, &p->arena, &cut));
  HN_TRY(hn_cut_mask(&cut));
  hn_constants_rejoin(p->whole, &p->parted);
  HN_TRY(hn_graph_verify(p->whole));
  p->whole->model_hash = 0;
  *out = p->whole;
  p->whole = NULL;
  return HONE_OK;
}

/* Why nothing goes, by the first layer that says so. */
static hone_status nothing_goes(const hn_pruning *p) {
  const hn_coupling *c = &p->coupling;
  hone_diagnostics *diag = &p->context->diag;
  for (int g = 0; g < c->group_count; ++g)
    if (!c->groups[g].why)
      return HN_FAIL(diag, HONE_INVALID,
                     "nothing goes: a share of %g is less than half of a multiple of %d of every layer's channels",
                     p->options.ratio, p->options.multiple);
  if (c->group_count > 0)
    return HN_FAIL(diag, HONE_UNSUPPORTED, "nothing of the model can be pruned: layer %s: %s",
                   c->layers[c->groups[0].layer].node->name, c->groups[0].why);
  if (c->layer_count == 0)
    return HN_FAIL(diag, HONE_UNSUPPORTED,
                   "nothing of the model can be pruned: it has no convolution or product with constant weights");
  const hn_coupled_layer *layer = &c->layers[c->layer_count - 1];
  return HN_FAIL(diag, HONE_UNSUPPORTED, "nothing of the model can be pruned: layer %s: %s%s%s%s", layer->node->name,
                 layer->fixed->why, layer->fixed->node ? " (" : "", layer->fixed->node ? layer->fixed->node->name : "",
                 layer->fixed->node ? ")" : "");
}

static hone_status prune(hn_pruning *p, hone_graph **out_pruned, hone_graph **out_masked) {
  const hn_coupling_options options = {.keep = p->options.keep, .keep_count = p->options.keep_count};
  HN_TRY(hn_sites_check_floats(p->whole));
  HN_TRY(measure_work(p->whole, &p->summary.flops, &p->summary.weights));
  HN_TRY(hn_constants_part(p->whole, &p->arena, &p->parted));
  HN_TRY(hn_coupling_find(p->whole, &options, &p->arena, &p->coupling));
  HN_TRY(score(p));
  const hn_choice_of_units how = {p->options.ratio, p->options.multiple, p->options.global};
  HN_TRY(hn_choose_units(&p->coupling, p->scores, &how));
  if (p->options.target_ms > 0) HN_TRY(hn_prune_to_target(p));
  count_channels(p);
  tell(p);
  if (p->summary.channels == p->summary.channels_kept && p->options.target_ms <= 0) return nothing_goes(p);
  HN_TRY(hn_prune_make(p, out_pruned));
  HN_TRY(measure_work(*out_pruned, &p->summary.flops_kept, &p->summary.weights_kept));
  return out_masked ? make_masked(p, out_masked) : HONE_OK;
}

static hone_status take_options(hn_pruning *p, const hone_prune_options *given) {
  hone_diagnostics *diag = &p->context->diag;
  hone_prune_options *out = &p->options;
  HN_OPTIONS(diag, "prune", given, hone_prune_options, ratio, out);
  HN_TRY(hn_argument_pointers(diag, "prune option keep", out->keep, out->keep_count, INT32_MAX));
  HN_TRY(hn_argument_range(diag, "prune option multiple", out->multiple, 0, 1024));
  HN_TRY(hn_argument_range(diag, "prune option sample_count", out->sample_count, 0, 1000000000));
  if (out->multiple == 0) out->multiple = 8;
  if (!(out->target_ms >= 0) || out->target_ms > 1e9)
    return HN_FAIL(diag, HONE_INVALID, "prune option target_ms is %g; allowed are 0 to 1e9", out->target_ms);
  if (out->target_ms > 0 && (out->ratio != 0 || p->device_count == 0))
    return HN_FAIL(diag, HONE_INVALID, "prune option target_ms %s",
                   out->ratio != 0 ? "excludes a ratio: it chooses widths itself" : "needs a device to measure on");
  if (!(out->target_ms > 0) && !(out->ratio > 0 && out->ratio < 1))
    return HN_FAIL(diag, HONE_INVALID, "prune option ratio is %g; allowed are numbers above 0 and below 1", out->ratio);
  p->scorer = hn_scorer_find(out->score);
  if (!p->scorer)
    return HN_FAIL(diag, HONE_INVALID, "prune option score: no way to score is \"%.60s\"; there are l1, l2, error",
                   out->score);
  if (p->scorer->samples && !out->sample)
    return HN_FAIL(diag, HONE_INVALID, "prune option score: %s needs calibration samples", p->scorer->name);
  return HONE_OK;
}

hone_status hone_graph_prune(hone_context *context, const hone_graph *graph, hone_device *const *devices,
                             int device_count, const hone_prune_options *given, hone_graph **out_pruned,
                             hone_graph **out_masked, hone_prune_summary *out_summary) {
  if (out_pruned) *out_pruned = NULL;
  if (out_masked) *out_masked = NULL;
  HN_GIVEN(NULL, context);
  HN_GIVEN(&context->diag, graph);
  HN_GIVEN(&context->diag, out_pruned);
  if (out_summary) HN_RESULT(&context->diag, out_summary, hone_prune_summary, rounds);
  hn_pruning p = {.context = context, .devices = devices, .device_count = device_count};
  HN_TRY(hn_argument_pointers(&context->diag, "devices", devices, device_count, HN_MAX_DEVICES));
  HN_TRY(take_options(&p, given));
  hn_call_begin(context);
  HN_TRY(hn_graph_clone(graph, &p.whole));
  hn_arena_init(&p.arena, context->allocator);
  hone_status status = prune(&p, out_pruned, out_masked);
  if (status == HONE_OK && out_summary) {
    hn_result_give(&p.summary, out_summary);
  } else if (status != HONE_OK) {
    hn_graph_destroy(*out_pruned);
    *out_pruned = NULL;
  }
  hn_graph_destroy(p.whole);
  hn_arena_deinit(&p.arena);
  return status;
}

hone_status hone_prune_scorers(hone_write_fn write, void *user) {
  HN_GIVEN(NULL, write);
  for (const hn_scorer *row = hn_scorers; row->name; ++row) {
    char line[256];
    const int length = snprintf(line, sizeof line, "%s\t%s\n", row->name, row->doc);
    if (!write(user, line, (size_t)length)) return HONE_IO;
  }
  return HONE_OK;
}
