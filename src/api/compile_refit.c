/* SPDX-License-Identifier: Apache-2.0 */
/* compile_refit.c - an engine with the weights of another graph: built again by the lock that the engine keeps, then
 * held against it step by step. What decided the engine's structure besides the lock is kept with it, and without the
 * lock it is what a build anew of the model that the engine carries needs. */
#include "api/compile.h"
#include "api/engine.h"
#include "base/arguments.h"
#include "plan/plan.h"
#include <hone/lifecycle.h>
#include <string.h>

static void put_layer_types(hn_json_writer *w, const hone_build_options *options) {
  hn_json_open(w, "layer_types", '[');
  for (int i = 0; i < options->layer_type_count; ++i) {
    const hone_layer_type *entry = &options->layer_types[i];
    hn_json_open_flat(w, NULL, '{');
    hn_json_put_text(w, "node", entry->node);
    hn_json_put_text(w, "compute", hone_dtype_name(entry->compute));
    hn_json_put_text(w, "output", hone_dtype_name(entry->output));
    hn_json_put_bool(w, "preferred", entry->preferred);
    hn_json_close(w, '}');
  }
  hn_json_close(w, ']');
}

static void put_ports(hn_json_writer *w, const hone_build_options *options) {
  hn_json_open(w, "ports", '[');
  for (int i = 0; i < options->port_format_count; ++i) {
    const hone_port_format *entry = &options->port_formats[i];
    hn_json_open_flat(w, NULL, '{');
    hn_json_put_text(w, "name", entry->name ? entry->name : "");
    hn_json_put_bool(w, "on_device", entry->on_device);
    hn_json_put_text(w, "dtype", hone_dtype_name(entry->dtype));
    hn_json_put_bool(w, "nhwc", entry->format == HONE_NHWC);
    hn_json_close(w, '}');
  }
  hn_json_close(w, ']');
}

hone_status hn_refit_describe(hone_context *context, const hone_build_options *options, const char *lock, size_t length,
                              hn_text *out) {
  hn_json_writer writer, *w = &writer;
  const hone_pass_options *passes = options->passes;
  hn_json_begin(w, out);
  hn_json_open(w, NULL, '{');
  hn_json_put_bool(w, "reference_only", options->reference_only);
  hn_json_put_int(w, "precisions", options->precisions);
  hn_json_put_int(w, "scratch_limit_bytes", options->scratch_limit_bytes);
  hn_json_open(w, "disable", '[');
  for (int i = 0; passes && i < passes->disable_count; ++i) hn_json_put_text(w, NULL, passes->disable[i]);
  hn_json_close(w, ']');
  hn_json_put_text(w, "after", passes && passes->after ? passes->after : "");
  put_layer_types(w, options);
  put_ports(w, options);
  hn_json_put_bytes(w, "lock", lock, length);
  hn_json_close(w, '}');
  return out->failed ? HN_FAIL_MEMORY(&context->diag) : HONE_OK;
}

/* ---- reading it ---- */

typedef struct refit {
  hone_context *context;
  hone_diagnostics *diag;
  const hn_schedules *schedules; /* of the engine */
  hn_arena arena;
  hone_build_options options;
  hone_pass_options passes;
  hn_lock lock;
} refit;

static bool is_true(const hn_json *object, const char *key) {
  const hn_json *value = hn_json_get(object, key);
  return value && value->kind == HN_JSON_BOOL && value->i;
}

static hone_status read_dtype(const refit *r, const hn_json *object, const char *key, hone_dtype *out) {
  const char *name;
  HN_TRY(hn_json_text(object, key, &name, r->diag));
  *out = strcmp(name, hone_dtype_name(HONE_TF32)) == 0 ? HONE_TF32 : hone_dtype_find(name);
  return HONE_OK;
}

static hone_status read_passes(refit *r, const hn_json *kept) {
  const hn_json *list;
  HN_TRY(hn_json_array(kept, "disable", &list, r->diag));
  const char **names = HN_NEW(&r->arena, const char *, list->length + 1);
  if (!names) return HN_FAIL_MEMORY(r->diag);
  for (size_t i = 0; i < list->length; ++i) {
    if (list->items[i].kind != HN_JSON_STRING) return HN_FAIL(r->diag, HONE_MALFORMED, "refit: disable: not a name");
    names[i] = list->items[i].string;
  }
  r->passes =
      (hone_pass_options){.struct_size = sizeof r->passes, .disable = names, .disable_count = (int)list->length};
  HN_TRY(hn_json_text(kept, "after", &r->passes.after, r->diag));
  if (!*r->passes.after) r->passes.after = NULL;
  r->options.passes = &r->passes;
  return HONE_OK;
}

static hone_status read_layer_types(refit *r, const hn_json *kept) {
  const hn_json *list;
  HN_TRY(hn_json_array(kept, "layer_types", &list, r->diag));
  hone_layer_type *entries = HN_NEW(&r->arena, hone_layer_type, list->length + 1);
  if (!entries) return HN_FAIL_MEMORY(r->diag);
  for (size_t i = 0; i < list->length; ++i) {
    HN_TRY(hn_json_text(&list->items[i], "node", &entries[i].node, r->diag));
    HN_TRY(read_dtype(r, &list->items[i], "compute", &entries[i].compute));
    HN_TRY(read_dtype(r, &list->items[i], "output", &entries[i].output));
    entries[i].preferred = is_true(&list->items[i], "preferred");
  }
  r->options.layer_types = entries;
  r->options.layer_type_count = (int)list->length;
  return HONE_OK;
}

static hone_status read_ports(refit *r, const hn_json *kept) {
  const hn_json *list;
  HN_TRY(hn_json_array(kept, "ports", &list, r->diag));
  hone_port_format *entries = HN_NEW(&r->arena, hone_port_format, list->length + 1);
  if (!entries) return HN_FAIL_MEMORY(r->diag);
  for (size_t i = 0; i < list->length; ++i) {
    HN_TRY(hn_json_text(&list->items[i], "name", &entries[i].name, r->diag));
    HN_TRY(read_dtype(r, &list->items[i], "dtype", &entries[i].dtype));
    if (!*entries[i].name) entries[i].name = NULL;
    entries[i].on_device = is_true(&list->items[i], "on_device");
    entries[i].format = is_true(&list->items[i], "nhwc") ? HONE_NHWC : HONE_PLAIN;
  }
  r->options.port_formats = entries;
  r->options.port_format_count = (int)list->length;
  return HONE_OK;
}

/* The ranges that each schedule was built for. */
static hone_status take_shapes(refit *r) {
  const int inputs = r->schedules->plans[0]->input_count;
  hone_profile_shape *shapes = HN_NEW(&r->arena, hone_profile_shape, (size_t)(inputs * r->schedules->count) + 1);
  if (!shapes) return HN_FAIL_MEMORY(r->diag);
  for (int k = 0; k < r->schedules->count; ++k)
    for (int i = 0; i < inputs; ++i) {
      const hn_plan_port *port = &r->schedules->plans[k]->inputs[i];
      shapes[k * inputs + i] =
          (hone_profile_shape){.input = port->name, .min = port->min, .opt = port->opt, .max = port->max, .profile = k};
    }
  r->options.shapes = shapes;
  r->options.shape_count = inputs * r->schedules->count;
  return HONE_OK;
}

static hone_status read_kept(refit *r) {
  const char *text = r->schedules->refit;
  hn_json *kept;
  int64_t precisions;
  const hn_json *lock;
  HN_TRY(hn_json_read(&r->arena, r->diag, "what the engine keeps of its build", text, strlen(text), &kept));
  r->options = (hone_build_options){.struct_size = sizeof r->options, .level = -1, .refittable = true};
  r->options.keep_subnormals = r->schedules->keep_subnormals;
  r->options.reference_only = is_true(kept, "reference_only");
  HN_TRY(hn_json_int(kept, "precisions", 0, UINT32_MAX, &precisions, r->diag));
  r->options.precisions = (uint32_t)precisions;
  HN_TRY(hn_json_int(kept, "scratch_limit_bytes", 0, INT64_MAX, &r->options.scratch_limit_bytes, r->diag));
  HN_TRY(read_passes(r, kept));
  HN_TRY(read_layer_types(r, kept));
  HN_TRY(read_ports(r, kept));
  lock = hn_json_get(kept, "lock");
  if (!lock || lock->kind != HN_JSON_STRING) return HN_FAIL(r->diag, HONE_MALFORMED, "refit: there is no lock");
  r->lock = (hn_lock){.path = "the engine's lock", .text = lock->string, .length = lock->length};
  return take_shapes(r);
}

/* ---- is it the same engine but for its weights? ---- */

static bool same_text(const char *a, const char *b) { return strcmp(a ? a : "", b ? b : "") == 0; }

static bool same_tensors(const hn_plan *a, const hn_plan *b, const int *in_a, const int *in_b, int count) {
  for (int i = 0; i < count; ++i) {
    if ((in_a[i] < 0) != (in_b[i] < 0)) return false;
    if (in_a[i] >= 0 && !hn_type_equal(&a->tensors[in_a[i]].type, &b->tensors[in_b[i]].type)) return false;
  }
  return true;
}

static const char *difference(const hn_plan *a, const hn_plan *b, const hn_plan_step *x, const hn_plan_step *y) {
  if (!same_text(x->name, y->name)) return "has another name";
  if (x->kind != y->kind || x->op != y->op) return "is of another operator";
  if (x->tactic != y->tactic || !hn_params_equal(&x->params, &y->params)) return "is run by another tactic";
  if (x->in_count != y->in_count || x->out_count != y->out_count) return "has other numbers of inputs and outputs";
  if (!same_tensors(a, b, x->in, y->in, x->in_count)) return "reads other types or shapes";
  if (!same_tensors(a, b, x->out, y->out, x->out_count)) return "writes other types or shapes";
  return NULL;
}

static hone_status compare(const refit *r, const hn_schedules *made) {
  for (int k = 0; k < made->count; ++k) {
    const hn_plan *a = r->schedules->plans[k], *b = made->plans[k];
    for (int s = 0; s < a->step_count && s < b->step_count; ++s) {
      const char *why = difference(a, b, &a->steps[s], &b->steps[s]);
      if (why)
        return HN_FAIL(r->diag, HONE_INVALID,
                       "the model becomes other steps than the engine has: step %d, %s, %s (%s of the model); build a "
                       "new engine",
                       s, a->steps[s].name, why, b->steps[s].name);
    }
    if (a->step_count != b->step_count)
      return HN_FAIL(r->diag, HONE_INVALID,
                     "the model becomes %d steps, and the engine has %d: it is of another model; build a new engine",
                     b->step_count, a->step_count);
  }
  return HONE_OK;
}

static hone_status make(refit *r, const hone_graph *graph, hone_device *const *devices, int device_count,
                        hone_engine **out_engine) {
  HN_TRY(read_kept(r));
  const hn_build_watch watch = {.unjudged = true, .lock = &r->lock};
  const hone_status status =
      hn_engine_build_watched(r->context, graph, devices, device_count, &r->options, &watch, out_engine);
  if (status == HONE_UNSUPPORTED || status == HONE_INVALID)
    return hone_note(r->diag, HONE_INVALID, "the engine cannot take this model's weights: it is of another model");
  return status;
}

hone_status hone_engine_refit(hone_context *context, const hone_engine *engine, const hone_graph *graph,
                              hone_device *const *devices, int device_count, hone_engine **out_engine) {
  if (out_engine) *out_engine = NULL;
  HN_GIVEN(NULL, context);
  HN_GIVEN(&context->diag, engine);
  HN_GIVEN(&context->diag, graph);
  HN_GIVEN(&context->diag, out_engine);
  HN_TRY(hn_argument_pointers(&context->diag, "devices", devices, device_count, HN_MAX_DEVICES));
  if (!engine->schedules->refit)
    return HN_FAIL(&context->diag, HONE_INVALID,
                   "the engine does not keep how it was built: build it with refittable (hone build --refit)");
  refit r = {.context = context, .diag = &context->diag, .schedules = engine->schedules};
  hn_arena_init(&r.arena, context->allocator);
  hone_status status = make(&r, graph, devices, device_count, out_engine);
  if (status == HONE_OK) status = compare(&r, (*out_engine)->schedules);
  if (status != HONE_OK) {
    hone_engine_release(*out_engine);
    *out_engine = NULL;
  }
  hn_arena_deinit(&r.arena);
  return status;
}

/* ---- the engine's own model, chosen anew ---- */

/* Who asks for it says how hard is tried; what the engine is, it says itself. */
static hone_status take_kept(refit *r, hone_build_options *options) {
  if (!r->schedules->refit) {
    HN_TRY(take_shapes(r));
  } else {
    HN_TRY(read_kept(r));
    options->passes = r->options.passes;
    options->reference_only = r->options.reference_only;
    options->precisions = r->options.precisions;
    options->scratch_limit_bytes = r->options.scratch_limit_bytes;
    options->layer_types = r->options.layer_types;
    options->layer_type_count = r->options.layer_type_count;
    options->port_formats = r->options.port_formats;
    options->port_format_count = r->options.port_format_count;
    options->refittable = true;
  }
  options->keep_subnormals = r->schedules->keep_subnormals;
  options->shapes = r->options.shapes;
  options->shape_count = r->options.shape_count;
  return HONE_OK;
}

static hone_status rebuild(refit *r, const hone_build_options *given, hone_device *const *devices, int device_count,
                           hone_engine **out_engine) {
  hone_build_options options;
  hone_graph *graph = NULL;
  HN_OPTIONS(r->diag, "build", given, hone_build_options, progress_user, &options);
  HN_TRY(hn_schedules_check_onnx(r->schedules, r->diag));
  HN_TRY(take_kept(r, &options));
  HN_TRY_NOTE(
      r->diag,
      hone_graph_load_onnx_memory(r->context, r->schedules->onnx, (size_t)r->schedules->onnx_bytes, NULL, &graph),
      "in the model that the engine carries");
  const hone_status status = hone_engine_build(r->context, graph, devices, device_count, &options, out_engine);
  hone_graph_destroy(graph);
  return status;
}

hone_status hone_engine_rebuild(hone_context *context, const hone_engine *engine, hone_device *const *devices,
                                int device_count, const hone_build_options *options, hone_engine **out_engine) {
  if (out_engine) *out_engine = NULL;
  HN_GIVEN(NULL, context);
  HN_GIVEN(&context->diag, engine);
  HN_GIVEN(&context->diag, out_engine);
  HN_TRY(hn_argument_pointers(&context->diag, "devices", devices, device_count, HN_MAX_DEVICES));
  refit r = {.context = context, .diag = &context->diag, .schedules = engine->schedules};
  hn_arena_init(&r.arena, context->allocator);
  const hone_status status = rebuild(&r, options, devices, device_count, out_engine);
  hn_arena_deinit(&r.arena);
  return status;
}
