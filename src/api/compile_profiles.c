/* SPDX-License-Identifier: Apache-2.0 */
/* compile_profiles.c - the shapes that an engine is built for: each profile a range of shapes for its inputs. */
#include "api/compile.h"
#include "ops/ports.h"
#include "tensor/shape.h"
#include <string.h>

const hone_profile_shape *hn_profile_shape(const hone_build_options *options, int profile, const char *input) {
  for (int i = 0; i < options->shape_count; ++i)
    if (options->shapes[i].profile == profile && strcmp(options->shapes[i].input, input) == 0)
      return &options->shapes[i];
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

/* One input's profile: as given, or its own fixed shape; a free dim without a profile is 1. */
static hone_status input_shape(hone_context *context, const hone_graph *graph, const hone_build_options *options,
                               int profile, int input, hn_ranges *out) {
  const hn_value *value = graph->main->params[input];
  hone_shape *min = &out->min[input], *opt = &out->opt[input], *max = &out->max[input];
  const hone_shape *shape = &value->fact.type.shape;
  if (value->fact.type.kind != HONE_TENSOR) { /* its elements have what extents they have */
    *min = *opt = *max = hn_shape(0, NULL);
    return HONE_OK;
  }
  if (shape->rank < 0) {
    const hn_node *reader = value->uses ? value->uses->node : NULL;
    return HN_FAIL(&context->diag, HONE_UNSUPPORTED,
                   "node \"%s\" (%s, opset %d): it reads input %s, which is not a tensor of known rank",
                   reader ? reader->name : "", reader ? reader->op->name : "none", graph->opset, value->name);
  }
  const hone_profile_shape *given = hn_profile_shape(options, profile, value->name);
  if (!given) {
    *min = *shape;
    for (int i = 0; i < shape->rank; ++i)
      if (HONE_SYMBOLIC(shape->dim[i])) min->dim[i] = 1;
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

void hn_profiles_warn(hone_context *context, const hone_graph *graph, const hone_build_options *options, int profile) {
  for (int input = 0; input < graph->main->param_count; ++input) {
    const hn_value *value = graph->main->params[input];
    const hone_shape *shape = &value->fact.type.shape;
    if (value->fact.type.kind != HONE_TENSOR || hn_profile_shape(options, profile, value->name)) continue;
    for (int i = 0; i < shape->rank; ++i) {
      if (!HONE_SYMBOLIC(shape->dim[i])) continue;
      const hn_dim_symbol *symbol = hn_dim_symbol_at(&graph->dims, shape->dim[i], NULL);
      hn_log(context, HONE_LOG_WARN, "input %s: dim %d (%s) is free and has no profile; it is taken as 1", value->name,
             i, symbol ? symbol->name : "?");
    }
  }
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

static bool is_free(const hone_shape *shape) {
  for (int i = 0; i < shape->rank; ++i)
    if (HONE_SYMBOLIC(shape->dim[i])) return true;
  return false;
}

/* Several profiles: each says something of every input that has free dims, and there is one. */
static hone_status check_complete(hone_context *context, const hone_graph *graph, const hone_build_options *options,
                                  int count) {
  bool any = false;
  for (int i = 0; i < graph->main->param_count; ++i) {
    const hn_value *value = graph->main->params[i];
    if (!is_free(&value->fact.type.shape)) continue;
    any = true;
    for (int profile = 0; profile < count; ++profile)
      if (!hn_profile_shape(options, profile, value->name))
        return HN_FAIL(&context->diag, HONE_INVALID, "profile %d has no shape for input %s, which has free dims",
                       profile, value->name);
  }
  if (any) return HONE_OK;
  return HN_FAIL(&context->diag, HONE_INVALID, "%d profiles were given, but no input of the model has a free dim",
                 count);
}

hone_status hn_profiles_count(hone_context *context, const hone_graph *graph, const hone_build_options *options,
                              int *out) {
  bool given[HONE_MAX_SCHEDULES] = {true}; /* number 0 may be left to its defaults */
  int count = 1;
  HN_TRY(check_names(context, graph, options));
  for (int i = 0; i < options->shape_count; ++i) {
    const hone_profile_shape *shape = &options->shapes[i];
    if (shape->profile < 0 || shape->profile >= HONE_MAX_SCHEDULES)
      return HN_FAIL(&context->diag, HONE_INVALID, "input %s is in profile %d; 0 to %d are possible", shape->input,
                     shape->profile, HONE_MAX_SCHEDULES - 1);
    if (hn_profile_shape(options, shape->profile, shape->input) != shape)
      return HN_FAIL(&context->diag, HONE_INVALID, "input %s has two shapes in profile %d", shape->input,
                     shape->profile);
    given[shape->profile] = true;
    if (shape->profile >= count) count = shape->profile + 1;
  }
  for (int profile = 0; profile < count; ++profile)
    if (!given[profile])
      return HN_FAIL(&context->diag, HONE_INVALID, "there is a profile %d, but no profile %d", count - 1, profile);
  *out = count;
  return count > 1 ? check_complete(context, graph, options, count) : HONE_OK;
}

hone_status hn_profiles_read(hone_context *context, const hone_graph *graph, const hone_build_options *options,
                             int profile, hn_arena *arena, hn_ranges *out) {
  const int inputs = graph->main->param_count;
  *out = (hn_ranges){.min = HN_NEW(arena, hone_shape, inputs + 1),
                     .opt = HN_NEW(arena, hone_shape, inputs + 1),
                     .max = HN_NEW(arena, hone_shape, inputs + 1)};
  if (!out->min || !out->opt || !out->max) return HN_FAIL_MEMORY(&context->diag);
  for (int i = 0; i < inputs; ++i) HN_TRY(input_shape(context, graph, options, profile, i, out));
  return HONE_OK;
}

/* Where both are numbers, what infer says now must be what it said while there were symbols. */
static hone_status compare_block(const hone_graph *graph, const int64_t *symbols, const hone_graph *tried) {
  const hn_node *now = tried->main->first;
  for (const hn_node *node = graph->main->first; node && now; node = node->next, now = now->next)
    for (int i = 0; i < node->out_count; ++i) {
      hone_shape planned;
      if (!node->out[i] || !now->out[i]) continue;
      if (!hn_shape_eval(&graph->dims, &node->out[i]->fact.type.shape, symbols, graph->dims.symbol_count, &planned))
        continue;
      HN_TRY_NOTE(&graph->context->diag,
                  hn_extents_agree(&graph->context->diag, node->out[i]->name, &now->out[i]->fact.type.shape, &planned),
                  "in node %s (%s)", node->name, node->op->name);
    }
  return HONE_OK;
}

/* The graph with numbers in place of its inputs' free dims, inferred again. */
static hone_status try_shapes(const hone_graph *graph, const hone_shape *shapes, hone_graph **tried) {
  HN_TRY(hn_graph_clone(graph, tried));
  const int symbol_count = graph->dims.symbol_count;
  int64_t *symbols = HN_NEW(&(*tried)->arena, int64_t, symbol_count + 1);
  if (!symbols) return HN_FAIL_MEMORY(&graph->context->diag);
  for (int s = 0; s < symbol_count; ++s) symbols[s] = -1;
  for (int i = 0; i < graph->main->param_count; ++i) {
    hone_shape *shape = &(*tried)->main->params[i]->fact.type.shape;
    for (int d = 0; d < shape->rank; ++d) {
      int number;
      if (hn_dim_symbol_at(&graph->dims, shape->dim[d], &number)) symbols[number] = shapes[i].dim[d];
      shape->dim[d] = shapes[i].dim[d];
    }
  }
  HN_TRY(hn_infer_graph(*tried));
  return compare_block(graph, symbols, *tried);
}

static hone_status try_one(const hone_graph *graph, const hone_shape *shapes) {
  hone_graph *tried = NULL;
  const hone_status status = try_shapes(graph, shapes, &tried);
  hn_graph_destroy(tried);
  return status == HONE_MALFORMED ? HONE_INVALID : status;
}

/* What refuses the shapes becomes a warning. */
static hone_status try_warned(hone_context *context, const hone_graph *graph, const hone_shape *shapes,
                              const char *name) {
  hone_diagnostics *diag = &context->diag;
  const int before = diag->count, dropped = diag->dropped;
  const hone_status status = try_one(graph, shapes);
  if (status != HONE_INVALID) return status;
  hn_log(context, HONE_LOG_WARN, "the shapes at %s cannot run: %s", name,
         before < diag->count ? diag->entries[before].text : "");
  diag->count = before;
  diag->dropped = dropped;
  return HONE_OK;
}

/* A third kind of shape inside the profile: what broadcasts at both ends, such as 1 and all, need not between. */
static hone_shape *halfway(const hone_graph *graph, const hn_ranges *ranges, hn_arena *arena) {
  hone_shape *shapes = HN_NEW(arena, hone_shape, graph->main->param_count + 1);
  for (int i = 0; shapes && i < graph->main->param_count; ++i) {
    shapes[i] = ranges->max[i];
    for (int d = 0; d < shapes[i].rank; ++d) shapes[i].dim[d] -= (shapes[i].dim[d] - ranges->min[i].dim[d]) / 2;
  }
  return shapes;
}

hone_status hn_profiles_try(hone_context *context, const hone_graph *graph, const hn_ranges *ranges, hn_arena *arena) {
  bool any = false;
  for (int i = 0; i < graph->main->param_count; ++i) any = any || is_free(&graph->main->params[i]->fact.type.shape);
  if (!any) return HONE_OK;
  const hone_shape *between = halfway(graph, ranges, arena);
  if (!between) return HN_FAIL_MEMORY(&context->diag);
  HN_TRY_NOTE(&context->diag, try_one(graph, ranges->opt), "with the profile's opt shapes");
  HN_TRY(try_warned(context, graph, ranges->min, "the profile's min"));
  HN_TRY(try_warned(context, graph, ranges->max, "the profile's max"));
  return try_warned(context, graph, between, "the middle of the profile");
}
