/* SPDX-License-Identifier: Apache-2.0 */
/* compile_shrink.c - the latency staircase of layers: each at several widths, all nodes of one graph that is tuned. */
#include "api/shrink.h"
#include "api/compile.h"
#include "api/quantize.h"
#include "base/arguments.h"
#include "base/float_mode.h"
#include "ir/named.h"
#include "pass/passes.h"
#include "pass/pipeline.h"
#include "prune/rules.h"
#include "prune/sparse.h"
#include "tensor/attrs.h"
#include "tune/tuning.h"
#include <math.h>
#include <string.h>

enum { MOST_WIDTHS = 64, MOST_BYTES = 384 << 20 };
static const double edge_share = 0.03; /* of the time, that the top of a stair takes less than all that is wider */

static hone_status no_memory(const hn_shrinking *s) { return HN_FAIL_MEMORY(&s->context->diag); }

/* ---- the graph whose layers are looked at ---- */

/* Fused with what follows, as engines run them, but for regions, so that each layer is one node. */
static hone_status optimise(hn_shrinking *s) {
  static const char *const disabled[] = {"regions", "region_beginnings", "conv_inputs"};
  hn_ranges ranges;
  hn_device_target asked;
  hn_block *main = s->graph->main;
  HN_TRY(hn_profiles_read(s->context, s->graph, &s->build, 0, &s->arena, &ranges));
  hn_profiles_warn(s->context, s->graph, &s->build, 0);
  for (int i = 0; i < main->param_count; ++i) main->params[i]->fact.type.shape = ranges.opt[i];
  HN_TRY(hn_infer_graph(s->graph));
  for (hn_node *node = main->first; node; node = node->next)
    if (node->origins.count == 0) HN_TRY(hn_origins_one(s->graph, node->name, &node->origins));
  const hn_target target =
      hn_target_of_devices(s->list.devices, s->list.count, &s->graph->dims, s->build.precisions, &asked);
  hn_pass_run run = {.context = s->context,
                     .graph = s->graph,
                     .target = &target,
                     .builds = true,
                     .disable = disabled,
                     .disable_count = HN_COUNT(disabled)};
  HN_TRY(hn_pipeline_run(&run, NULL));
  HN_TRY(hn_infer_graph(s->graph));
  return s->build.keep_subnormals ? HONE_OK : hn_graph_flush_subnormals(s->graph);
}

/* ---- one layer by itself ---- */

/* A graph of the node alone: its activations are inputs, its constants borrowed. */
static hone_status isolate(const hn_shrinking *s, const hn_node *node, hone_graph **out) {
  hone_graph *graph;
  hn_value *in[HONE_MAX_PORTS] = {NULL};
  *out = NULL;
  HN_TRY(hn_graph_create(s->context, "layer", &graph));
  hone_status status = node->in_count > HONE_MAX_PORTS || node->out_count != 1 ? HONE_UNSUPPORTED : HONE_OK;
  for (int i = 0; i < node->in_count && status == HONE_OK; ++i) {
    const hn_value *value = node->in[i];
    if (!value) continue;
    in[i] = hn_value_is_constant(value) ? hn_constant_create(graph, value->name, value->fact.constant, true)
                                        : hn_block_add_param(graph->main, value->name, &value->fact.type);
    if (!in[i]) status = HONE_NO_MEMORY;
  }
  hn_node *made = NULL;
  const hn_node_spec spec = {
      .op = node->op, .name = node->name, .attrs = node->attrs, .in_count = node->in_count, .in = in, .out_count = 1};
  if (status == HONE_OK) status = hn_node_create(graph->main, &spec, &made);
  if (status == HONE_OK) status = hn_block_add_result(graph->main, made->out[0], NULL);
  if (status == HONE_OK)
    *out = graph;
  else
    hn_graph_destroy(graph);
  return status;
}

/* The node of a layer's graph, among all widths. */
static hone_status add_width(hn_shrinking *s, const hone_graph *one, int64_t width, bool inputs, hn_node **out) {
  const hn_node *node = one->main->first;
  hn_value *in[HONE_MAX_PORTS] = {NULL};
  const char *name =
      hn_arena_printf(&s->arena, "%s %s %lld", node->name, inputs ? "inputs" : "outputs", (long long)width);
  if (!name) return no_memory(s);
  for (int i = 0; i < node->in_count; ++i) {
    const hn_value *value = node->in[i];
    if (!value) continue;
    const bool constant = hn_value_is_constant(value);
    if (constant) s->bytes += value->fact.constant->bytes;
    in[i] = constant ? hn_constant_create(s->widths, NULL, value->fact.constant, false)
                     : hn_block_add_param(s->widths->main, NULL, &value->fact.type);
    if (!in[i]) return HONE_NO_MEMORY;
  }
  const hn_node_spec spec = {
      .op = node->op, .name = name, .attrs = node->attrs, .in_count = node->in_count, .in = in, .out_count = 1};
  HN_TRY(hn_node_create(s->widths->main, &spec, out));
  return hn_block_add_result(s->widths->main, (*out)->out[0], NULL);
}

/* The layer at each of its stairs' widths. */
static hone_status cut_widths(hn_shrinking *s, hn_stairs *stairs, hn_coupling *c, hone_graph *one, const hn_group *g) {
  for (int i = 0; i < stairs->count; ++i) {
    hone_graph *narrow;
    hn_cut cut;
    for (int k = 0; k < g->count; ++k) hn_group_unit(c, g, k)->removed = k >= stairs->steps[i].width / g->width;
    HN_TRY(hn_graph_clone(one, &narrow));
    hone_status status = hn_cut_by_units(c, narrow, c->arena, &cut);
    if (status == HONE_OK) status = hn_cut_apply(&cut);
    if (status == HONE_OK) status = add_width(s, narrow, stairs->steps[i].width, stairs->inputs, &stairs->nodes[i]);
    hn_graph_destroy(narrow);
    HN_TRY(status);
  }
  for (int k = 0; k < g->count; ++k) hn_group_unit(c, g, k)->removed = false;
  return HONE_OK;
}

/* A step that covers `range` in so many, as round as it is large: stairs are where kernels' tiles end. */
static int64_t round_step(int64_t range, int64_t most, int64_t multiple) {
  const int64_t step = (range + most - 1) / most, round = step > 48 ? 32 : step > 16 ? 16 : 1;
  const int64_t unit = round % multiple == 0 ? round : multiple;
  return (step + unit - 1) / unit * unit;
}

/* From full down to about a quarter. */
static hone_status choose_widths(hn_shrinking *s, const hn_group *g, hn_stairs *stairs) {
  const int64_t full = g->channels, multiple = s->options.multiple, most = s->options.widths - 1;
  const int64_t step = round_step(full - full / 4, most, multiple);
  stairs->steps = HN_NEW(&s->arena, hone_shrink_step, MOST_WIDTHS + 1);
  stairs->nodes = HN_NEW(&s->arena, hn_node *, MOST_WIDTHS + 1);
  if (!stairs->steps || !stairs->nodes) return no_memory(s);
  stairs->steps[stairs->count++].width = full;
  for (int64_t at = (full - 1) / step * step; at > 0 && stairs->count < s->options.widths; at -= step)
    if (at >= multiple && at % g->width == 0) stairs->steps[stairs->count++].width = at;
  return HONE_OK;
}

static int find_key(const hn_shrinking *s, const char *key, bool inputs) {
  for (int i = 0; i < s->count; ++i)
    if (s->items[i].like < 0 && s->items[i].inputs == inputs && strcmp(s->items[i].key, key) == 0) return i;
  return -1;
}

static hone_status add_side(hn_shrinking *s, const hn_node *layer, hn_coupling *c, hone_graph *one, int axis,
                            bool inputs, const char *key) {
  const int unit = axis < 0 ? -1 : hn_coupling_unit(c, c->axes[axis].first);
  if (unit < 0) return HONE_OK;
  const hn_group *group = &c->groups[c->units[unit].group];
  if (group->count < 2 || group->channels <= s->options.multiple) return HONE_OK;
  if (!hn_arena_grow(&s->arena, (void **)&s->items, &s->capacity, s->count + 1, sizeof *s->items)) return no_memory(s);
  hn_stairs stairs = {.layer = layer, .inputs = inputs, .full = group->channels, .key = key};
  stairs.like = find_key(s, key, inputs);
  if (stairs.like < 0) {
    HN_TRY(choose_widths(s, group, &stairs));
    HN_TRY(cut_widths(s, &stairs, c, one, group));
  }
  s->items[s->count++] = stairs;
  return HONE_OK;
}

static const char *key_of(hn_shrinking *s, const hn_node *node) {
  hn_text text;
  hn_text_init(&text, s->context->allocator);
  hn_text_add(&text, node->op->name);
  hn_text_attrs(&text, &node->attrs, NULL);
  for (int i = 0; i < node->in_count; ++i)
    if (node->in[i]) {
      hn_text_printf(&text, " %d%s", i, hn_value_is_constant(node->in[i]) ? "=" : ":");
      hn_text_type(&text, &node->in[i]->fact.type, &s->graph->dims);
    }
  const char *key = text.failed ? NULL : hn_arena_text(&s->arena, hn_text_string(&text));
  hn_text_deinit(&text);
  return key;
}

/* Two of each four weights of the layer become zero; *out_why: they do not, NULL: they did. */
static hone_status make_two_of_four(hn_shrinking *s, hone_graph *one, const char **out_why) {
  const hn_coupling_options open = {.open = true};
  hn_coupling c = {0};
  hn_sparse sparse;
  hn_arena arena;
  *out_why = "it has no weights of its own";
  hn_arena_init(&arena, s->context->allocator);
  hone_status status = hn_coupling_find(one, &open, &arena, &c);
  const bool dense = false;
  if (status == HONE_OK && c.layer_count == 1) {
    status = hn_sparse_begin(&c, &dense, &arena, &sparse);
    if (status == HONE_OK) *out_why = sparse.readers[0].why;
    if (status == HONE_OK && !*out_why) status = hn_sparse_zero(&sparse, one, 0);
  }
  hn_arena_deinit(&arena);
  return status;
}

static hone_status add_layer(hn_shrinking *s, const hn_node *node) {
  const hn_coupling_options open = {.open = true};
  const int before = s->count;
  const char *dense_why = NULL;
  hone_graph *one;
  hn_arena arena;
  const char *key = key_of(s, node);
  if (!key) return no_memory(s);
  const int messages = s->context->diag.count;
  hone_status status = isolate(s, node, &one);
  if (status == HONE_UNSUPPORTED) { /* no layer that could be looked at alone */
    hn_diag_cut(&s->context->diag, messages);
    return HONE_OK;
  }
  HN_TRY(status);
  hn_coupling c = {0};
  hn_arena_init(&arena, s->context->allocator);
  if (s->options.sparsity) status = make_two_of_four(s, one, &dense_why);
  if (status == HONE_OK) status = hn_coupling_find(one, &open, &arena, &c);
  if (status == HONE_OK && c.layer_count == 1) {
    const hn_coupled_layer *layer = &c.layers[0];
    status = add_side(s, node, &c, one, layer->outputs, false, key);
    if (status == HONE_OK && !s->options.outputs_only) status = add_side(s, node, &c, one, layer->inputs, true, key);
  }
  for (int i = before; i < s->count; ++i) s->items[i].dense_why = dense_why;
  hn_arena_deinit(&arena);
  hn_graph_destroy(one);
  return status;
}

/* ---- measuring ---- */

static hone_status tune(hn_shrinking *s, hn_choices **out) {
  const int inputs = s->widths->main->param_count;
  hn_ranges ranges = {.min = HN_NEW(&s->arena, hone_shape, inputs + 1)};
  if (!ranges.min) return no_memory(s);
  for (int i = 0; i < inputs; ++i) ranges.min[i] = s->widths->main->params[i]->fact.type.shape;
  ranges.opt = ranges.max = ranges.min;
  const hn_float_mode before = hn_float_mode_flush(!s->build.keep_subnormals);
  const hone_status status = hn_tune(s->tuner, s->widths, s->list.devices, s->list.count, &ranges, NULL, out);
  hn_float_mode_set(before);
  return status;
}

static const hn_choice *choice_of(const hn_choices *choices, const hn_node *node) {
  for (int i = 0; i < choices->count; ++i)
    if (choices->items[i].node == node) return &choices->items[i];
  return NULL;
}

static void take_time(hn_shrinking *s, const hn_choices *choices, const hn_node *node, hone_shrink_step *step) {
  const hn_choice *choice = choice_of(choices, node);
  const hn_candidate *best = choice ? hn_choice_best(choice, NULL) : NULL;
  if (!best || best->state != HN_CANDIDATE_TIMED) return;
  step->ns = choice->cold_ns > 0 ? choice->cold_ns : hn_candidate_ns(best);
  step->tactic = hn_arena_text(&s->arena, best->tactic->name);
}

/* What weights of two of four are worth at full width, or why nothing. */
static void take_share(const hn_choices *choices, hn_stairs *stairs) {
  const hn_choice *choice = choice_of(choices, stairs->nodes[0]);
  double dense = HUGE_VAL, sparse = HUGE_VAL;
  const char *why = "the device has no kernel for such weights of this operator";
  for (int k = 0; choice && k < choice->candidate_count; ++k) {
    const hn_candidate *candidate = &choice->candidates[k];
    const bool takes = candidate->tactic->flags & HONE_TACTIC_TWO_OF_FOUR;
    if (takes) why = candidate->reason ? candidate->reason : "it was not timed";
    if (candidate->state != HN_CANDIDATE_TIMED) continue;
    if (takes)
      sparse = fmin(sparse, hn_candidate_ns(candidate));
    else
      dense = fmin(dense, hn_candidate_ns(candidate));
  }
  if (sparse < HUGE_VAL && dense < HUGE_VAL)
    stairs->sparse_share = sparse / dense;
  else if (!stairs->dense_why)
    stairs->dense_why = why;
}

/* All widths that were gathered. */
static hone_status measure(hn_shrinking *s) {
  hn_choices *choices = NULL;
  if (s->widths->main->first) HN_TRY(tune(s, &choices));
  for (; s->measured < s->count; ++s->measured) {
    hn_stairs *stairs = &s->items[s->measured];
    for (int i = 0; stairs->like < 0 && i < stairs->count; ++i)
      take_time(s, choices, stairs->nodes[i], &stairs->steps[i]);
    if (stairs->like < 0 && s->options.sparsity) take_share(choices, stairs);
  }
  hn_choices_destroy(choices);
  hn_graph_destroy(s->widths);
  s->widths = NULL;
  s->bytes = 0;
  return hn_graph_create(s->context, "widths", &s->widths);
}

/* Tops of stairs, and the one whose share of the time saved exceeds that of the channels taken by most; where time
 * falls as channels do, the widest. */
static void find_edges(hn_stairs *stairs) {
  hone_shrink_step *steps = stairs->steps;
  double least = steps[0].ns, best = edge_share;
  for (int i = 1; i < stairs->count && steps[0].ns > 0; ++i) {
    if (steps[i].ns <= 0) continue;
    steps[i].edge = steps[i].ns < least * (1 - edge_share);
    if (steps[i].ns < least) least = steps[i].ns;
    const double saved = 1 - steps[i].ns / steps[0].ns, taken = 1 - (double)steps[i].width / (double)stairs->full;
    if (!steps[i].edge || (stairs->next > 0 && saved - taken <= best)) continue;
    best = fmax(best, saved - taken);
    stairs->next = i;
  }
}

double hn_stairs_ns(const hn_stairs *stairs, int64_t width) {
  const hone_shrink_step *wider = NULL;
  for (int i = 0; i < stairs->count; ++i) {
    const hone_shrink_step *step = &stairs->steps[i];
    if (step->ns <= 0) continue;
    if (step->width == width || (step->width < width && !wider)) return step->ns;
    if (step->width < width) {
      const double part = (double)(width - step->width) / (double)(wider->width - step->width);
      return step->ns + part * (wider->ns - step->ns);
    }
    wider = step;
  }
  return wider ? wider->ns : 0;
}

/* ---- in order ---- */

static bool is_wanted(hn_shrinking *s, const hn_node *node) {
  bool wanted = s->options.layer_count == 0;
  for (int i = 0; i < s->options.layer_count; ++i) {
    const bool here = hn_node_is_named(node, s->options.layers[i]);
    s->named[i] |= here;
    wanted |= here;
  }
  return wanted;
}

static hone_status gather(hn_shrinking *s) {
  hone_status status = HONE_OK;
  for (const hn_node *node = s->graph->main->first; node; node = node->next) {
    const hn_prune_rule *rule = hn_prune_rule_of(node->op);
    if (!rule || rule->weights == 0 || !is_wanted(s, node)) continue;
    HN_TRY(hn_check_stop(s->context));
    HN_TRY(add_layer(s, node));
    if (s->bytes > MOST_BYTES) HN_TRY(measure(s));
  }
  for (int i = 0; i < s->options.layer_count; ++i)
    if (!s->named[i])
      status =
          HN_FAIL(&s->context->diag, HONE_INVALID, "no layer of the model is named \"%.100s\"", s->options.layers[i]);
  return status;
}

static hone_status take_options(hn_shrinking *s, const hone_shrink_options *given) {
  hone_diagnostics *diag = &s->context->diag;
  hone_shrink_options *out = &s->options;
  HN_OPTIONS(diag, "shrink", given, hone_shrink_options, layers, out);
  HN_TRY(hn_argument_pointers(diag, "shrink option layers", out->layers, out->layer_count, INT32_MAX));
  if (out->widths == 0) out->widths = 8;
  if (out->multiple == 0) out->multiple = 8;
  HN_TRY(hn_argument_range(diag, "shrink option widths", out->widths, 2, MOST_WIDTHS));
  HN_TRY(hn_argument_range(diag, "shrink option multiple", out->multiple, 1, 1024));
  const hone_build_options none = {.struct_size = sizeof none};
  const hone_build_options *build = out->build ? out->build : &none;
  HN_OPTIONS(diag, "build", build, hone_build_options, progress_user, &s->build);
  if (out->sparsity && !hn_name_equal(out->sparsity, "2:4"))
    return HN_FAIL(diag, HONE_INVALID, "shrink option sparsity is \"%s\"; allowed is 2:4", out->sparsity);
  if (out->int8 && out->sparsity)
    return HN_FAIL(diag, HONE_INVALID, "shrink options int8 and sparsity: one of them at most");
  return hn_argument_range(diag, "build option level", s->build.level, 0, 5);
}

/* Between two runs of a layer the other layers' weights come through the caches: as many bytes, at most what
 * overflows the outer cache. */
static size_t cold_bytes(const hn_shrinking *s) {
  const hone_facts *facts = &s->list.devices[0]->facts;
  const size_t inner = facts->l2_bytes ? facts->l2_bytes : 1 << 20,
               outer = facts->l3_bytes ? facts->l3_bytes : 8 * inner;
  size_t weights = 0;
  for (int i = 0; i < s->graph->value_count; ++i) {
    const hn_value *value = s->graph->values[i];
    if (hn_value_is_constant(value) && value->use_count > 0) weights += value->fact.constant->bytes;
  }
  return weights <= inner ? 1 : weights < 4 * outer ? weights : 4 * outer;
}

static hone_status shrink(hn_shrinking *s, hone_device *const *devices, int device_count) {
  s->named = HN_NEW(&s->arena, bool, s->options.layer_count + 1);
  if (!s->named) return no_memory(s);
  HN_TRY(hn_device_list_open(s->context, devices, device_count, &s->list));
  HN_TRY(optimise(s));
  HN_TRY(hn_graph_create(s->context, "widths", &s->widths));
  HN_TRY(hn_tuner_open(s->context, &s->build, 1, NULL, &s->tuner));
  s->tuner->cold_bytes = cold_bytes(s);
  HN_TRY(gather(s));
  HN_TRY(measure(s));
  for (int i = 0; i < s->count; ++i) {
    hn_stairs *stairs = &s->items[i];
    if (stairs->like < 0) {
      find_edges(stairs);
      continue;
    }
    const hn_stairs *other = &s->items[stairs->like];
    stairs->count = other->count;
    stairs->steps = other->steps;
    stairs->next = other->next;
    stairs->sparse_share = other->sparse_share;
    stairs->dense_why = other->dense_why;
  }
  if (s->count > 0) return HONE_OK;
  return HN_FAIL(&s->context->diag, HONE_UNSUPPORTED,
                 "no layer can be measured at other widths: there is no convolution or product with constant weights "
                 "and more than %d channels",
                 s->options.multiple);
}

hone_status hn_shrink_begin(hone_context *context, const hone_graph *graph, hone_device *const *devices,
                            int device_count, const hone_shrink_options *options, hn_shrinking *s) {
  *s = (hn_shrinking){.context = context};
  HN_TRY(hn_argument_pointers(&context->diag, "devices", devices, device_count, HN_MAX_DEVICES));
  HN_TRY(take_options(s, options));
  hn_arena_init(&s->arena, context->allocator);
  hone_status status =
      s->options.int8 ? hn_quantize_assumed(context, graph, &s->graph) : hn_graph_clone(graph, &s->graph);
  if (status == HONE_OK) status = shrink(s, devices, device_count);
  status = hn_tuner_close(s->tuner, status);
  s->tuner = NULL;
  return status;
}

void hn_shrink_end(hn_shrinking *s) {
  hn_graph_destroy(s->widths);
  hn_graph_destroy(s->graph);
  hn_device_list_close(&s->list);
  if (s->arena.allocator.resize) hn_arena_deinit(&s->arena);
}

hone_status hone_graph_shrink(hone_context *context, const hone_graph *graph, hone_device *const *devices,
                              int device_count, const hone_shrink_options *options,
                              void (*see)(void *user, const hone_shrink_stairs *stairs), void *user) {
  HN_GIVEN(NULL, context);
  HN_GIVEN(&context->diag, graph);
  HN_GIVEN(&context->diag, see);
  hn_shrinking s;
  hn_call_begin(context);
  const hone_status status = hn_shrink_begin(context, graph, devices, device_count, options, &s);
  for (int i = 0; i < s.count && status == HONE_OK; ++i) {
    const hn_stairs *stairs = &s.items[i];
    const hone_shrink_stairs told = {.layer = stairs->layer->name,
                                     .op = stairs->layer->op->name,
                                     .inputs = stairs->inputs,
                                     .full = stairs->full,
                                     .steps = stairs->steps,
                                     .count = stairs->count,
                                     .next = stairs->next,
                                     .sparse_share = stairs->sparse_share,
                                     .dense_why = stairs->dense_why,
                                     .like = stairs->like < 0 ? NULL : s.items[stairs->like].layer->name};
    see(user, &told);
  }
  hn_shrink_end(&s);
  return status;
}
