/* SPDX-License-Identifier: Apache-2.0 */
/* compile_build.c - graph -> engine: passes, tuning, lowering, put together. */
#include "api/engine.h"
#include "api/profiles.h"
#include "api/target.h"
#include "lower/lower.h"
#include "pass/pipeline.h"
#include "tensor/shape.h"
#include "tune/tune.h"

/* Free dims whose profile is one number become that number: everything downstream is then static. */
static hone_status fix_static_dims(hone_graph *graph, const hone_shape *min, const hone_shape *max) {
  bool changed = false;
  for (int i = 0; i < graph->main->param_count; ++i) {
    hone_shape *shape = &graph->main->params[i]->fact.type.shape;
    for (int d = 0; d < shape->rank; ++d)
      if (HONE_SYMBOLIC(shape->dim[d]) && min[i].dim[d] == max[i].dim[d]) {
        shape->dim[d] = min[i].dim[d];
        changed = true;
      }
  }
  return changed ? hn_infer_graph(graph) : HONE_OK;
}

typedef struct build_state {
  hone_context *context;
  const hone_build_options *options;
  const hone_graph *graph; /* the caller's */
  hn_device_list list;
  hn_tuner *tuner;
  hn_schedules *schedules;
  hn_ledger ledger;
  hn_text ledger_text;
} build_state;

/* One schedule in the making. */
typedef struct making {
  hn_arena arena;
  hone_graph *graph; /* our copy */
  hn_ranges ranges;
  hn_choices *choices;
  hn_pass_log log;
} making;

/* Nodes that no model's importer named come from themselves: what they are fused into can then be told. */
static hone_status own_origins(const hn_block *block) {
  for (hn_node *node = block->first; node; node = node->next) {
    if (node->origins.count == 0) HN_TRY(hn_origins_one(block->graph, node->name, &node->origins));
    for (int i = 0; i < node->block_count; ++i) HN_TRY(own_origins(node->blocks[i]));
  }
  return HONE_OK;
}

static hone_status optimise(const build_state *b, making *m) {
  const hone_build_options *options = b->options;
  hn_device_target asked;
  const hn_target target = hn_target_of_devices(b->list.devices, b->list.count, &m->graph->dims, &asked);
  m->log.arena = &m->arena;
  hn_pass_run run = {.context = b->context,
                     .graph = m->graph,
                     .target = options->reference_only ? NULL : &target,
                     .builds = true,
                     .log = &m->log};
  const char *after = NULL;
  if (options->passes) {
    run.disable = options->passes->disable;
    run.disable_count = options->passes->disable_count;
    after = options->passes->after;
  }
  HN_TRY(own_origins(m->graph->main));
  HN_TRY(hn_pipeline_run(&run, after));
  return hn_infer_graph(m->graph); /* folded values may tell more extents than were known before */
}

static hone_status make(build_state *b, int profile, making *m) {
  HN_TRY(hn_graph_clone(b->graph, &m->graph));
  HN_TRY(hn_profiles_read(b->context, m->graph, b->options, profile, &m->arena, &m->ranges));
  const hn_ranges *r = &m->ranges;
  HN_TRY(fix_static_dims(m->graph, r->min, r->max));
  HN_TRY(optimise(b, m));
  HN_TRY(hn_tune(b->tuner, m->graph, b->list.devices, b->list.count, r->min, r->opt, r->max, &m->choices));
  HN_TRY(hn_lower(b->context, m->graph, m->choices, r->min, r->opt, r->max, b->schedules));
  hn_ledger_add(&b->ledger, m->choices, &m->log);
  return HONE_OK;
}

static hone_status make_schedule(build_state *b, int profile) {
  making m = {0};
  hn_arena_init(&m.arena, b->context->allocator);
  const hone_status status = make(b, profile, &m);
  hn_choices_destroy(m.choices);
  hn_graph_destroy(m.graph);
  hn_arena_deinit(&m.arena);
  return status;
}

static hone_status make_schedules(build_state *b, hone_device *const *devices, int device_count) {
  hone_context *context = b->context;
  int count;
  HN_TRY(hn_device_list_open(context, devices, device_count, &b->list));
  HN_TRY(hn_profiles_count(context, b->graph, b->options, &count));
  HN_TRY(hn_schedules_create(context->allocator, &b->schedules, &context->diag));
  HN_TRY(hn_tuner_open(context, b->options, count, &b->tuner));
  hn_ledger_begin(&b->ledger, &b->list.devices[0]->facts, &b->ledger_text);
  for (int profile = 0; profile < count; ++profile) {
    if (count > 1) hn_log(context, HONE_LOG_VERBOSE, "schedule %d of %d", profile, count);
    const hone_status status = make_schedule(b, profile);
    if (status != HONE_OK)
      return count > 1 ? hone_note(&context->diag, status, "while building schedule %d", profile) : status;
  }
  hn_ledger_end(&b->ledger);
  return b->ledger_text.failed ? HN_FAIL_MEMORY(&context->diag) : HONE_OK;
}

static hone_status build(build_state *b, hone_device *const *devices, int device_count, hone_engine **out_engine) {
  hone_status status = make_schedules(b, devices, device_count);
  status = hn_tuner_close(b->tuner, status);
  HN_TRY(status);
  hn_schedules *schedules = b->schedules;
  b->schedules = NULL; /* the engine takes them */
  HN_TRY(hn_engine_create(b->context->allocator, schedules, b->list.devices, b->list.count, out_engine,
                          &b->context->diag));
  (*out_engine)->ledger = b->ledger_text.data; /* the engine frees it */
  (*out_engine)->ledger_bytes = b->ledger_text.capacity;
  hn_text_init(&b->ledger_text, b->context->allocator);
  return HONE_OK;
}

hone_status hone_engine_build(hone_context *context, const hone_graph *graph, hone_device *const *devices,
                              int device_count, const hone_build_options *options, hone_engine **out_engine) {
  *out_engine = NULL;
  static const hone_build_options defaults = {.struct_size = sizeof defaults};
  if (!options) options = &defaults;
  if (options->struct_size != sizeof *options)
    return HN_FAIL(&context->diag, HONE_INVALID, "build options have struct_size %u; this library knows %zu",
                   options->struct_size, sizeof *options);
  build_state b = {.context = context, .options = options, .graph = graph};
  hn_text_init(&b.ledger_text, context->allocator);
  const hone_status status = build(&b, devices, device_count, out_engine);
  hn_schedules_destroy(b.schedules);
  hn_text_deinit(&b.ledger_text);
  hn_device_list_close(&b.list);
  return status;
}

hone_status hone_timing_cache_merge(hone_context *context, const char *const *paths, int count, const char *out_path) {
  if (!context) return HONE_INVALID;
  if (!paths || count < 1 || !out_path)
    return HN_FAIL(&context->diag, HONE_INVALID, "paths and out_path must be given");
  return hn_timing_cache_merge(context, paths, count, out_path);
}
