/* SPDX-License-Identifier: Apache-2.0 */
/* compile_quantize_times.c - what 8 bits save: the network is built as it is and quantised, with one timing cache, and
 * the times that the tuner measured are told layer by layer, beside what roundings, conversions and all else take. */
#include "api/engine.h"
#include "api/quantize.h"
#include "plan/schedules.h"
#include <string.h>

typedef struct timing {
  hn_quantizing *q;
  hone_layer_time *rows; /* one a sites.nodes */
  double converts_ns[2], others_ns[2];
} timing;

static bool is_of(const hn_plan_step *step, const hn_node *node) {
  if (strcmp(step->name, node->name) == 0) return true;
  for (int i = 0; i < step->origin_count; ++i)
    for (int k = 0; k < node->origins.count; ++k)
      if (strcmp(step->origins[i], node->origins.names[k]) == 0) return true;
  return false;
}

static bool is_convert(const hn_plan_step *step) {
  return step->caused_by || (step->op && (strcmp(step->op->name, "quantize_linear") == 0 ||
                                          strcmp(step->op->name, "dequantize_linear") == 0));
}

/* A step that computes several layers gives each an equal part of its time, and says of how many. */
static void add_step(timing *t, int side, const hn_plan_step *step) {
  const hn_sites *sites = &t->q->sites;
  int layers = 0;
  for (int i = 0; i < sites->node_count && !is_convert(step); ++i) layers += is_of(step, sites->nodes[i].node);
  if (layers == 0) *(is_convert(step) ? &t->converts_ns[side] : &t->others_ns[side]) += step->time_ns;
  for (int i = 0; i < sites->node_count && layers > 0; ++i) {
    hone_layer_time *row = &t->rows[i];
    if (!is_of(step, sites->nodes[i].node)) continue;
    *(side ? &row->int8_ns : &row->f32_ns) += step->time_ns / layers;
    if (layers > row->shared) row->shared = layers;
  }
}

/* Free dims get the extents of the first sample. */
static hone_status find_shapes(timing *t, hn_arena *arena, hone_profile_shape **out, int *out_count) {
  const hn_quantizing *q = t->q;
  const hn_block *main = q->graph->main;
  int given = 0;
  hone_named_tensor *inputs = HN_NEW(arena, hone_named_tensor, main->param_count + 1);
  *out = HN_NEW(arena, hone_profile_shape, main->param_count + 1);
  if (!inputs || !*out) return HN_FAIL_MEMORY(&q->context->diag);
  HN_TRY(q->options.sample(q->options.sample_user, 0, inputs, main->param_count, &given));
  for (int i = 0; i < given; ++i) {
    const hone_shape *shape = &inputs[i].tensor.type.shape;
    (*out)[i] = (hone_profile_shape){.input = inputs[i].name, .min = *shape, .opt = *shape, .max = *shape};
  }
  *out_count = given;
  return HONE_OK;
}

static hone_status time_graph(timing *t, int side, const hone_graph *graph, const hone_build_options *options) {
  const hn_quantizing *q = t->q;
  hone_engine *engine;
  HN_TRY(hone_engine_build(q->context, graph, q->devices, q->device_count, options, &engine));
  const hn_plan *plan = engine->schedules->plans[0];
  for (int i = 0; i < plan->step_count; ++i) add_step(t, side, &plan->steps[i]);
  hone_engine_release(engine);
  return HONE_OK;
}

static void tell(const timing *t) {
  const hn_sites *sites = &t->q->sites;
  void (*see)(void *user, const hone_layer_time *row) = t->q->options.layer_time;
  void *user = t->q->options.layer_time_user;
  for (int i = 0; i < sites->node_count; ++i)
    if (!sites->nodes[i].why) see(user, &t->rows[i]);
  hone_layer_time rest = {.op = "conversions", .f32_ns = t->converts_ns[0], .int8_ns = t->converts_ns[1]};
  see(user, &rest);
  rest = (hone_layer_time){.op = "others", .f32_ns = t->others_ns[0], .int8_ns = t->others_ns[1]};
  for (int i = 0; i < sites->node_count; ++i) {
    if (!sites->nodes[i].why) continue;
    rest.f32_ns += t->rows[i].f32_ns;
    rest.int8_ns += t->rows[i].int8_ns;
  }
  see(user, &rest);
}

hone_status hn_quantize_time(hn_quantizing *q) {
  hn_arena arena;
  timing t = {.q = q, .rows = HN_NEW(&q->arena, hone_layer_time, q->sites.node_count + 1)};
  hone_graph *graph = NULL;
  hone_profile_shape *shapes = NULL;
  int shape_count = 0;
  if (!t.rows) return HN_FAIL_MEMORY(&q->context->diag);
  hn_arena_init(&arena, q->context->allocator);
  for (int i = 0; i < q->sites.node_count; ++i) {
    const hn_node *node = q->sites.nodes[i].node;
    t.rows[i] = (hone_layer_time){.layer = node->name, .op = node->op->name};
  }
  hone_status status = find_shapes(&t, &arena, &shapes, &shape_count);
  hone_build_options options = {.struct_size = sizeof options};
  if (q->options.build) options = *q->options.build;
  options.shapes = shapes;
  options.shape_count = shape_count;
  if (status == HONE_OK) status = time_graph(&t, 0, q->graph, &options);
  if (status == HONE_OK) status = hn_quantize_make(q, &q->sites, &graph);
  if (status == HONE_OK) status = time_graph(&t, 1, graph, &options);
  if (status == HONE_OK) tell(&t);
  hn_graph_destroy(graph);
  hn_arena_deinit(&arena);
  return status;
}
