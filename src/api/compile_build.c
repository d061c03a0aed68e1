/* SPDX-License-Identifier: Apache-2.0 */
/* compile_build.c - graph -> engine: passes, tuning, lowering, put together. */
#include "tensor/element.h"
#include "api/engine.h"
#include "api/compile.h"
#include "base/float_mode.h"
#include "base/arguments.h"
#include "lower/lower.h"
#include "pass/pipeline.h"
#include "tensor/shape.h"
#include "tune/tuning.h"
#include <math.h>
#include <string.h>

/* Free dims whose profile is one number become that number: everything downstream is then static. */
static hone_status fix_static_dims(hone_graph *graph, const hn_ranges *ranges) {
  bool changed = false;
  for (int i = 0; i < graph->main->param_count; ++i) {
    hone_shape *shape = &graph->main->params[i]->fact.type.shape;
    for (int d = 0; d < shape->rank; ++d)
      if (HONE_SYMBOLIC(shape->dim[d]) && ranges->min[i].dim[d] == ranges->max[i].dim[d]) {
        shape->dim[d] = ranges->min[i].dim[d];
        changed = true;
      }
  }
  if (!changed) return HONE_OK;
  const hone_status status = hn_infer_graph(graph);
  if (status != HONE_MALFORMED) return status;
  return hone_note(&graph->context->diag, HONE_INVALID, "with the profile's shapes"); /* others may do */
}

typedef struct build_state {
  hone_context *context;
  const hone_build_options *options;
  const hone_graph *graph; /* the caller's */
  hn_build_watch watch;
  hn_device_list list;
  hn_tuner *tuner;
  hn_schedules *schedules;
  hn_ledger ledger;
  hn_text ledger_text;
  hn_spans spans;
  double spread;    /* the largest of the schedules' */
  int timed, known; /* nodes by measured times; of them, by times that the cache had */
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

/* Types that some layer may be narrowed to. */
static uint32_t precisions_of(const hone_build_options *options) {
  uint32_t bits = options->precisions;
  for (int i = 0; i < options->layer_type_count; ++i) {
    const hone_layer_type *type = &options->layer_types[i];
    if (type->compute != HONE_NONE) bits |= HONE_BIT(type->compute);
    if (type->output != HONE_NONE) bits |= HONE_BIT(type->output);
  }
  return bits;
}

static hone_status optimise(const build_state *b, making *m) {
  const hone_build_options *options = b->options;
  hn_device_target asked;
  const hn_target target =
      hn_target_of_devices(b->list.devices, b->list.count, &m->graph->dims, precisions_of(options), &asked);
  m->log.arena = &m->arena;
  hn_pass_run run = {.context = b->context,
                     .graph = m->graph,
                     .target = options->reference_only ? NULL : &target,
                     .builds = true,
                     .spans = b->spans,
                     .log = &m->log,
                     .pool = hn_devices_pool(b->list.devices, b->list.count)};
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

/* Weights are packed, timed and compared as they will be run: without subnormal numbers, unless those are to count. */
static hone_status tune_and_lower(build_state *b, making *m) {
  const bool flush = !b->options->keep_subnormals;
  if (flush) HN_TRY(hn_graph_flush_subnormals(m->graph));
  const hn_float_mode before = hn_float_mode_flush(flush);
  hn_accuracy accuracy = {
      .context = b->context, .options = b->options, .graph = m->graph, .ranges = &m->ranges, .spans = b->spans};
  const hn_judge judge = hn_accuracy_begin(&accuracy);
  int64_t begin_ns = hn_span_begin(&b->spans);
  hone_status status = hn_tune(b->tuner, m->graph, b->list.devices, b->list.count, &m->ranges,
                               b->watch.unjudged ? NULL : &judge, &m->choices);
  if (status == HONE_OK && b->watch.see) status = b->watch.see(b->watch.user, m->choices);
  hn_accuracy_end(&accuracy);
  hn_span_end(&b->spans, HONE_SPAN_PHASE, "tuning", begin_ns, 1);
  begin_ns = hn_span_begin(&b->spans);
  if (status == HONE_OK && !b->watch.sampling)
    status = hn_lower(b->context, m->graph, m->choices, &m->ranges, b->schedules);
  hn_span_end(&b->spans, HONE_SPAN_PHASE, "lowering", begin_ns, 1);
  hn_float_mode_set(before);
  return status;
}

/* To where the shapes have been asked of every operator: no shape is refused later. */
static hone_status shape(const build_state *b, making *m) {
  HN_TRY(fix_static_dims(m->graph, &m->ranges));
  const int64_t begin_ns = hn_span_begin(&b->spans);
  HN_TRY(optimise(b, m));
  hn_span_end(&b->spans, HONE_SPAN_PHASE, "passes", begin_ns, 1);
  return hn_profiles_try(b->context, m->graph, &m->ranges, &m->arena);
}

static void forget(making *m) {
  hn_choices_destroy(m->choices);
  hn_graph_destroy(m->graph);
  hn_arena_deinit(&m->arena);
}

static bool works(void *user, const hn_ranges *ranges) {
  const build_state *b = user;
  making m = {.ranges = *ranges};
  hn_arena_init(&m.arena, b->context->allocator);
  const bool yes = hn_graph_clone(b->graph, &m.graph) == HONE_OK && shape(b, &m) == HONE_OK;
  forget(&m);
  return yes;
}

/* From the model again, at other ranges. */
static hone_status shape_again(const build_state *b, making *m) {
  hn_graph_destroy(m->graph);
  m->graph = NULL;
  m->log = (hn_pass_log){0};
  HN_TRY(hn_graph_clone(b->graph, &m->graph));
  return shape(b, m);
}

static hone_status make(build_state *b, int profile, making *m) {
  HN_TRY(hn_graph_clone(b->graph, &m->graph));
  HN_TRY(hn_profiles_read(b->context, m->graph, b->options, profile, &m->arena, &m->ranges));
  if (!b->watch.sizes) hn_profiles_warn(b->context, m->graph, b->options, profile);
  hone_diagnostics *diag = &b->context->diag;
  const int messages = diag->count;
  const hone_status status = shape(b, m);
  if (status != HONE_OK) {
    const hn_size_tries tries = {.works = works, .user = b, .takes = b->watch.sizes};
    HN_TRY(hn_profiles_suggest(b->context, b->graph, b->options, profile, &m->ranges, status, &tries));
    hn_diag_cut(diag, messages);
    HN_TRY(shape_again(b, m));
  }
  HN_TRY(tune_and_lower(b, m));
  hn_ledger_add(&b->ledger, m->choices, &m->log);
  b->spread = fmax(b->spread, hn_choices_spread(m->choices));
  hn_choices_add_timed(m->choices, &b->timed, &b->known);
  return HONE_OK;
}

static hone_status make_schedule(build_state *b, int profile) {
  making m = {0};
  hn_arena_init(&m.arena, b->context->allocator);
  b->spans.schedule = profile;
  const int64_t begin_ns = hn_span_begin(&b->spans);
  const hone_status status = make(b, profile, &m);
  hn_span_end(&b->spans, HONE_SPAN_PHASE, "schedule", begin_ns, 1);
  forget(&m);
  return status;
}

static bool runs_row(const hn_schedules *schedules, const void *row) {
  for (int k = 0; k < schedules->count; ++k)
    for (int s = 0; s < schedules->plans[k]->step_count; ++s) {
      const hn_plan_step *step = &schedules->plans[k]->steps[s];
      if (step->op == row || step->tactic == row) return true;
    }
  return false;
}

/* Without its folder; "": the program defined the row. */
static const char *file_of(const char *path) {
  const char *slash = path ? strrchr(path, '/') : NULL;
  return slash ? slash + 1 : path ? path : "";
}

/* The engine names the files of the plug-ins that it needs, without their folders. */
static hone_status name_plugins(const build_state *b) {
  hn_schedules *schedules = b->schedules;
  const char **names = NULL;
  int count = 0, room = 0;
  const hn_plugin_op *op = b->context->plugin_ops;
  const hn_plugin_tactic *tactic = b->context->plugin_tactics;
  while (op || tactic) {
    const void *row = op ? (const void *)op->op : tactic->tactic;
    const char *name = op ? op->op->name : tactic->tactic->name, *path = op ? op->path : tactic->path;
    if (op)
      op = op->next;
    else
      tactic = tactic->next;
    if (!runs_row(schedules, row)) continue;
    if (!hn_arena_grow(&schedules->arena, (void **)&names, &room, count + 2, sizeof *names))
      return HN_FAIL_MEMORY(&b->context->diag);
    names[count] = hn_arena_text(&schedules->arena, name);
    names[count + 1] = hn_arena_text(&schedules->arena, file_of(path));
    if (!names[count] || !names[count + 1]) return HN_FAIL_MEMORY(&b->context->diag);
    count += 2;
  }
  schedules->plugin_names = names;
  schedules->plugin_name_count = count;
  return HONE_OK;
}

static hone_status keep_refit(const build_state *b) {
  if (!b->options->refittable) return HONE_OK;
  size_t length;
  const char *lock = hn_tuner_lock(b->tuner, &length);
  hn_text text;
  hn_text_init(&text, b->context->allocator);
  hone_status status = hn_refit_describe(b->context, b->options, lock, length, &text);
  if (status == HONE_OK) b->schedules->refit = hn_arena_text(&b->schedules->arena, hn_text_string(&text));
  if (status == HONE_OK && !b->schedules->refit) status = HN_FAIL_MEMORY(&b->context->diag);
  hn_text_deinit(&text);
  return status;
}

static hone_status keep_recipe(const build_state *b) {
  if (!b->graph->recipe) return HONE_OK;
  b->schedules->recipe = hn_arena_text(&b->schedules->arena, b->graph->recipe);
  return b->schedules->recipe ? HONE_OK : HN_FAIL_MEMORY(&b->context->diag);
}

static hone_status begin_ledger(build_state *b) {
  hn_arena arena;
  hn_json *quantised = NULL;
  const char *notes = b->graph->notes;
  hone_status status = HONE_OK;
  hn_arena_init(&arena, b->context->allocator);
  if (notes) status = hn_json_read(&arena, &b->context->diag, "the graph's notes", notes, strlen(notes), &quantised);
  if (status == HONE_OK) hn_ledger_begin(&b->ledger, &b->list.devices[0]->facts, quantised, &b->ledger_text);
  hn_arena_deinit(&arena);
  return status;
}

static hone_status make_schedules(build_state *b, hone_device *const *devices, int device_count) {
  hone_context *context = b->context;
  int count;
  HN_TRY(hn_layer_types_check(context, b->graph, b->options));
  HN_TRY(hn_device_list_open(context, devices, device_count, &b->list));
  HN_TRY(hn_profiles_count(context, b->graph, b->options, &count));
  HN_TRY(hn_schedules_create(context->allocator, &b->schedules, &context->diag));
  b->schedules->keep_subnormals = b->options->keep_subnormals;
  if (b->watch.sampling) count = 1;
  HN_TRY(hn_tuner_open(context, b->options, count, b->watch.lock, &b->tuner));
  b->tuner->unproved = b->watch.unproved;
  if (b->watch.sampling) hn_tuner_sample(b->tuner, b->watch.sampling);
  HN_TRY(begin_ledger(b));
  for (int profile = 0; profile < count; ++profile) {
    if (count > 1) hn_log(context, HONE_LOG_VERBOSE, "schedule %d of %d", profile, count);
    const hone_status status = make_schedule(b, profile);
    if (status != HONE_OK)
      return count > 1 ? hone_note(&context->diag, status, "while building schedule %d", profile) : status;
  }
  hn_ledger_end(&b->ledger);
  if (b->watch.sampling) return HONE_OK;
  if (b->options->strict_device) HN_TRY(hn_engine_refuse_host_steps(context, b->schedules));
  HN_TRY(name_plugins(b));
  HN_TRY(keep_refit(b));
  HN_TRY(keep_recipe(b));
  return b->ledger_text.failed ? HN_FAIL_MEMORY(&context->diag) : HONE_OK;
}

static hone_status build(build_state *b, hone_device *const *devices, int device_count, hone_engine **out_engine) {
  hone_status status = make_schedules(b, devices, device_count);
  status = hn_tuner_close(b->tuner, status);
  HN_TRY(status);
  if (b->watch.sampling) return HONE_OK;
  hn_schedules *schedules = b->schedules;
  b->schedules = NULL; /* the engine takes them */
  HN_TRY(hn_engine_create(b->context->allocator, schedules, b->list.devices, b->list.count, out_engine,
                          &b->context->diag));
  (*out_engine)->logger = b->context->logger;
  (*out_engine)->users = hn_users_join(b->context->plugin_users, HN_USER_ENGINE);
  (*out_engine)->ledger = b->ledger_text.data; /* the engine frees it */
  (*out_engine)->time_spread = b->spread;
  (*out_engine)->timed_nodes = b->timed;
  (*out_engine)->known_nodes = b->known;
  (*out_engine)->ledger_bytes = b->ledger_text.capacity;
  hn_text_init(&b->ledger_text, b->context->allocator);
  status = hn_engine_choose_lanes(b->context, *out_engine, b->options);
  if (status == HONE_OK) return HONE_OK;
  hone_engine_release(*out_engine);
  *out_engine = NULL;
  return status;
}

static hone_status check_lists(hone_diagnostics *diag, const hone_build_options *options) {
  HN_TRY(hn_argument_list(diag, "build option shapes", options->shapes, options->shape_count, INT32_MAX));
  for (int i = 0; i < options->shape_count; ++i) {
    const hone_profile_shape *shape = &options->shapes[i];
    if (!shape->input) return HN_FAIL(diag, HONE_INVALID, "build option shapes: entry %d has no input's name", i);
    HN_TRY(hn_argument_range(diag, "the rank of a profile's min", shape->min.rank, 0, HONE_MAX_RANK));
    HN_TRY(hn_argument_range(diag, "the rank of a profile's opt", shape->opt.rank, 0, HONE_MAX_RANK));
    HN_TRY(hn_argument_range(diag, "the rank of a profile's max", shape->max.rank, 0, HONE_MAX_RANK));
  }
  HN_TRY(hn_argument_list(diag, "build option inputs", options->inputs, options->input_count, INT32_MAX));
  for (int i = 0; i < options->input_count; ++i)
    if (!options->inputs[i].name || !options->inputs[i].tensor.data)
      return HN_FAIL(diag, HONE_INVALID, "build option inputs: entry %d has no name or no data", i);
  HN_TRY(hn_argument_pointers(diag, "build option tactics", options->tactics, options->tactic_count, INT32_MAX));
  return hn_argument_pointers(diag, "build option tactic_sources", options->tactic_sources,
                              options->tactic_source_count, INT32_MAX);
}

static bool is_layer_type(hone_dtype dtype) {
  return dtype == HONE_NONE || dtype == HONE_F32 || dtype == HONE_F16 || dtype == HONE_BF16;
}
static bool is_compute_type(hone_dtype dtype) { return is_layer_type(dtype) || dtype == HONE_TF32; }

static hone_status check_layer_types(hone_diagnostics *diag, const hone_build_options *options) {
  HN_TRY(
      hn_argument_list(diag, "build option layer_types", options->layer_types, options->layer_type_count, INT32_MAX));
  for (int i = 0; i < options->layer_type_count; ++i) {
    const hone_layer_type *entry = &options->layer_types[i];
    if (!entry->node) return HN_FAIL(diag, HONE_INVALID, "build option layer_types: entry %d names no node", i);
    if (!is_compute_type(entry->compute) || !is_layer_type(entry->output))
      return HN_FAIL(diag, HONE_INVALID,
                     "build option layer_types: %s: allowed are f32, f16, bf16 and, to compute in, tf32, not %s",
                     entry->node, hone_dtype_name(is_compute_type(entry->compute) ? entry->output : entry->compute));
  }
  return HONE_OK;
}

static hone_status check_precision(hone_diagnostics *diag, const hone_build_options *options) {
  if (options->precisions & ~HN_TYPES_NARROW)
    return HN_FAIL(diag, HONE_INVALID,
                   "build option precisions is 0x%x; allowed are f16 (0x%x), bf16 (0x%x) and tf32 (0x%x)",
                   options->precisions, HONE_BIT(HONE_F16), HONE_BIT(HONE_BF16), HONE_BIT(HONE_TF32));
  if (!(options->max_error >= 0) || options->max_error > 1e6)
    return HN_FAIL(diag, HONE_INVALID, "build option max_error is %g; allowed are 0 to 1e6", options->max_error);
  return check_layer_types(diag, options);
}

static hone_status check_port_formats(hone_diagnostics *diag, const hone_build_options *options) {
  HN_TRY(hn_argument_list(diag, "build option port_formats", options->port_formats, options->port_format_count,
                          INT32_MAX));
  for (int i = 0; i < options->port_format_count; ++i) {
    const hone_port_format *entry = &options->port_formats[i];
    const char *name = entry->name ? entry->name : "all";
    if (entry->format != HONE_PLAIN && entry->format != HONE_NHWC)
      return HN_FAIL(diag, HONE_INVALID, "build option port_formats: %s: allowed are plain and nhwc", name);
    if (!is_layer_type(entry->dtype))
      return HN_FAIL(diag, HONE_INVALID, "build option port_formats: %s: allowed are f32, f16 and bf16, not %s", name,
                     hone_dtype_name(entry->dtype));
    if (!entry->on_device && (entry->format != HONE_PLAIN || entry->dtype != HONE_NONE))
      return HN_FAIL(diag, HONE_INVALID,
                     "build option port_formats: %s: in the host's memory it is as the model has it", name);
  }
  return HONE_OK;
}

static hone_status take_options(hone_diagnostics *diag, const hone_build_options *given, hone_build_options *out,
                                hone_pass_options *passes) {
  HN_OPTIONS(diag, "build", given, hone_build_options, progress_user, out);
  if (out->passes) {
    HN_TRY(hn_pass_options_take(diag, out->passes, passes));
    out->passes = passes;
  }
  HN_TRY(hn_argument_range(diag, "build option level", out->level, -1, 5));
  HN_TRY(hn_argument_range(diag, "build option timing_runs", out->timing_runs, 0, 1000000));
  HN_TRY(hn_argument_range(diag, "build option scratch_limit_bytes", out->scratch_limit_bytes, 0, HN_NO_MOST));
  HN_TRY(hn_argument_range(diag, "build option time_budget_ms", out->time_budget_ms, 0, HN_MOST_MS));
  HN_TRY(hn_argument_range(diag, "build option max_tactics", out->max_tactics, 0, 1000000));
  HN_TRY(hn_argument_range(diag, "build option max_aux_streams", out->max_aux_streams, -1, HONE_MAX_LANES - 1));
  HN_TRY(check_precision(diag, out));
  HN_TRY(check_port_formats(diag, out));
  return check_lists(diag, out);
}

hone_status hn_engine_build_watched(hone_context *context, const hone_graph *graph, hone_device *const *devices,
                                    int device_count, const hone_build_options *given, const hn_build_watch *watch,
                                    hone_engine **out_engine) {
  if (out_engine) *out_engine = NULL;
  HN_GIVEN(NULL, context);
  HN_GIVEN(&context->diag, graph);
  HN_GIVEN(&context->diag, out_engine);
  hone_build_options options;
  hone_pass_options passes;
  HN_TRY(take_options(&context->diag, given, &options, &passes));
  hn_call_begin(context);
  build_state b = {
      .context = context, .options = &options, .graph = graph, .spans = {options.on_span, options.on_span_user, 0}};
  if (watch) b.watch = *watch;
  hn_text_init(&b.ledger_text, context->allocator);
  const hone_status status = build(&b, devices, device_count, out_engine);
  hn_schedules_destroy(b.schedules);
  hn_text_deinit(&b.ledger_text);
  hn_device_list_close(&b.list);
  return status;
}

hone_status hone_engine_build(hone_context *context, const hone_graph *graph, hone_device *const *devices,
                              int device_count, const hone_build_options *given, hone_engine **out_engine) {
  return hn_engine_build_watched(context, graph, devices, device_count, given, NULL, out_engine);
}

hone_status hone_timing_cache_merge(hone_context *context, const char *const *paths, int count, const char *out_path) {
  HN_GIVEN(NULL, context);
  HN_GIVEN(&context->diag, out_path);
  HN_TRY(hn_argument_range(&context->diag, "the number of timing caches", count, 1, INT32_MAX));
  HN_TRY(hn_argument_pointers(&context->diag, "paths", paths, count, INT32_MAX));
  return hn_timing_cache_merge(context, paths, count, out_path);
}
