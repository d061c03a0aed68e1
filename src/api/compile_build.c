/* SPDX-License-Identifier: Apache-2.0 */
/* compile_build.c - graph -> engine: passes, tuning, lowering, put together. */
#include "api/engine.h"
#include "api/target.h"
#include "lower/lower.h"
#include "pass/pipeline.h"
#include "tensor/shape.h"
#include "tune/tune.h"
#include <string.h>

static const hone_profile_shape *find_shape(const hone_build_options *options, const char *input) {
  for (int i = 0; i < options->shape_count; ++i)
    if (strcmp(options->shapes[i].input, input) == 0) return &options->shapes[i];
  return NULL;
}

static hone_status check_dim(hone_context *context, const char *input, int axis, int64_t given, int64_t fixed) {
  if (!HONE_SYMBOLIC(fixed) && given != fixed)
    return HN_FAIL(&context->diag, HONE_INVALID, "input %s: dim %d is %lld in the model, not %lld", input, axis,
                   (long long)fixed, (long long)given);
  if (given < 0)
    return HN_FAIL(&context->diag, HONE_INVALID, "input %s: dim %d is %lld; it must be >= 0", input, axis,
                   (long long)given);
  return HONE_OK;
}

/* One input's profile: as given, or its own fixed shape; a free dim without a profile is 1, with a warning. */
static hone_status input_shape(hone_context *context, const hone_graph *graph, const hone_build_options *options,
                               const hn_value *value, hone_shape *min, hone_shape *opt, hone_shape *max) {
  const hone_shape *shape = &value->fact.type.shape;
  if (value->fact.type.kind != HONE_TENSOR || shape->rank < 0) {
    const hn_node *reader = value->uses ? value->uses->node : NULL;
    return HN_FAIL(&context->diag, HONE_UNSUPPORTED,
                   "node \"%s\" (%s, opset %d): it reads input %s, which is no tensor of known rank",
                   reader ? reader->name : "", reader ? reader->op->name : "none", graph->opset, value->name);
  }
  const hone_profile_shape *given = find_shape(options, value->name);
  if (!given) {
    *min = *shape;
    for (int i = 0; i < shape->rank; ++i)
      if (HONE_SYMBOLIC(shape->dim[i])) {
        const hn_dim_symbol *symbol = hn_dim_symbol_at(&graph->dims, shape->dim[i], NULL);
        min->dim[i] = 1;
        hn_log(context, HONE_LOG_WARN, "input %s: dim %d (%s) is free and has no profile; it is taken as 1",
               value->name, i, symbol ? symbol->name : "?");
      }
    *opt = *max = *min;
    return HONE_OK;
  }
  if (given->min.rank != shape->rank || given->opt.rank != shape->rank || given->max.rank != shape->rank)
    return HN_FAIL(&context->diag, HONE_INVALID, "input %s has rank %d in the model; the profile has another",
                   value->name, shape->rank);
  for (int i = 0; i < shape->rank; ++i) {
    HN_TRY(check_dim(context, value->name, i, given->min.dim[i], shape->dim[i]));
    HN_TRY(check_dim(context, value->name, i, given->max.dim[i], shape->dim[i]));
    if (given->min.dim[i] > given->opt.dim[i] || given->opt.dim[i] > given->max.dim[i])
      return HN_FAIL(&context->diag, HONE_INVALID,
                     "input %s: dim %d of the profile is not min <= opt <= max (%lld, %lld, %lld)", value->name, i,
                     (long long)given->min.dim[i], (long long)given->opt.dim[i], (long long)given->max.dim[i]);
  }
  *min = given->min;
  *opt = given->opt;
  *max = given->max;
  return HONE_OK;
}

static hone_status check_names(hone_context *context, const hone_graph *graph, const hone_build_options *options) {
  for (int k = 0; k < options->shape_count; ++k) {
    bool found = false;
    for (int i = 0; i < graph->main->param_count; ++i)
      found = found || strcmp(graph->main->params[i]->name, options->shapes[k].input) == 0;
    if (!found)
      return HN_FAIL(&context->diag, HONE_INVALID, "the model has no input %s to give a shape to",
                     options->shapes[k].input);
  }
  return HONE_OK;
}

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
  hone_graph *graph; /* our copy */
  hn_device_list list;
  hn_arena arena;
  hone_shape *min, *opt, *max;
  hn_choices *choices;
  hn_schedules *schedules;
  hn_pass_log log;
} build_state;

static hone_status prepare(build_state *b, const hone_graph *graph, const hone_build_options *options) {
  HN_TRY(hn_graph_clone(graph, &b->graph));
  const int inputs = b->graph->main->param_count;
  b->min = HN_NEW(&b->arena, hone_shape, inputs + 1);
  b->opt = HN_NEW(&b->arena, hone_shape, inputs + 1);
  b->max = HN_NEW(&b->arena, hone_shape, inputs + 1);
  if (!b->min || !b->opt || !b->max) return HN_FAIL_MEMORY(&b->context->diag);
  HN_TRY(check_names(b->context, b->graph, options));
  for (int i = 0; i < inputs; ++i)
    HN_TRY(input_shape(b->context, b->graph, options, b->graph->main->params[i], &b->min[i], &b->opt[i], &b->max[i]));
  return fix_static_dims(b->graph, b->min, b->max);
}

static hone_status build(build_state *b, const hone_graph *graph, hone_device *const *devices, int device_count,
                         const hone_build_options *options, hone_engine **out_engine) {
  hone_context *context = b->context;
  HN_TRY(hn_device_list_open(context, devices, device_count, &b->list));
  HN_TRY(prepare(b, graph, options));
  hn_device_target asked;
  const hn_target target = hn_target_of_devices(b->list.devices, b->list.count, &b->graph->dims, &asked);
  b->log.arena = &b->arena;
  hn_pass_run run = {
      .context = context, .graph = b->graph, .target = options->reference_only ? NULL : &target, .log = &b->log};
  const char *after = NULL;
  if (options->passes) {
    run.disable = options->passes->disable;
    run.disable_count = options->passes->disable_count;
    after = options->passes->after;
  }
  HN_TRY(hn_pipeline_run(&run, after));
  HN_TRY(hn_infer_graph(b->graph)); /* folded values may tell more extents than were known before */
  HN_TRY(hn_tune(context, b->graph, b->list.devices, b->list.count, options, b->min, b->opt, b->max, &b->choices));
  HN_TRY(hn_schedules_create(context->allocator, &b->schedules, &context->diag));
  HN_TRY(hn_lower(context, b->graph, b->choices, b->min, b->opt, b->max, b->schedules));
  hn_schedules *schedules = b->schedules;
  b->schedules = NULL; /* the engine takes them */
  HN_TRY(hn_engine_create(context->allocator, schedules, b->list.devices, b->list.count, out_engine, &context->diag));
  hn_text ledger;
  hn_text_init(&ledger, context->allocator);
  const hone_status status = hn_ledger_write(b->choices, &b->log, &ledger);
  if (status == HONE_OK) {
    (*out_engine)->ledger = ledger.data; /* the engine frees it */
    (*out_engine)->ledger_bytes = ledger.capacity;
    return HONE_OK;
  }
  hn_text_deinit(&ledger);
  hone_engine_release(*out_engine);
  *out_engine = NULL;
  return status;
}

hone_status hone_engine_build(hone_context *context, const hone_graph *graph, hone_device *const *devices,
                              int device_count, const hone_build_options *options, hone_engine **out_engine) {
  *out_engine = NULL;
  static const hone_build_options defaults = {.struct_size = sizeof defaults};
  if (!options) options = &defaults;
  if (options->struct_size != sizeof *options)
    return HN_FAIL(&context->diag, HONE_INVALID, "build options have struct_size %u; this library knows %zu",
                   options->struct_size, sizeof *options);
  build_state b = {.context = context};
  hn_arena_init(&b.arena, context->allocator);
  const hone_status status = build(&b, graph, devices, device_count, options, out_engine);
  hn_schedules_destroy(b.schedules);
  hn_choices_destroy(b.choices);
  hn_graph_destroy(b.graph);
  hn_device_list_close(&b.list);
  hn_arena_deinit(&b.arena);
  return status;
}

hone_status hone_timing_cache_merge(hone_context *context, const char *const *paths, int count, const char *out_path) {
  if (!context) return HONE_INVALID;
  if (!paths || count < 1 || !out_path)
    return HN_FAIL(&context->diag, HONE_INVALID, "paths and out_path must be given");
  return hn_timing_cache_merge(context, paths, count, out_path);
}
