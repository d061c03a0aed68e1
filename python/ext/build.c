/* SPDX-License-Identifier: Apache-2.0 */
/* build.c - Graph.build: the options of hone_engine_build by their names. */
#include "ext.h"

/* What Python gave, as it came. */
typedef struct request {
  PyObject *shapes, *tactics, *tactic_sources, *layer_types, *inputs, *disable, *progress;
  const char *kind, *timing_cache, *lock, *device_io;
  int index, threads, level, timing_runs, max_tactics, reference_only, timing_cache_only, keep_subnormals;
  long long time_budget_ms, scratch_limit_bytes;
  unsigned long long seed;
  unsigned int precisions;
  double max_error;
} request;

static bool read_request(PyObject *args, PyObject *kwargs, request *r) {
  static char *names[] = {"kind",
                          "index",
                          "threads",
                          "shapes",
                          "level",
                          "lock",
                          "timing_cache",
                          "time_budget_ms",
                          "precisions",
                          "max_error",
                          "inputs",
                          "layer_types",
                          "tactics",
                          "tactic_sources",
                          "disable_passes",
                          "timing_runs",
                          "max_tactics",
                          "scratch_limit_bytes",
                          "seed",
                          "reference_only",
                          "timing_cache_only",
                          "keep_subnormals",
                          "device_io",
                          "progress",
                          NULL};
  *r = (request){.kind = "cpu", .level = 0};
  return PyArg_ParseTupleAndKeywords(
      args, kwargs, "|$siiOizzLIdOOOOOiiLKpppzO", names, &r->kind, &r->index, &r->threads, &r->shapes, &r->level,
      &r->lock, &r->timing_cache, &r->time_budget_ms, &r->precisions, &r->max_error, &r->inputs, &r->layer_types,
      &r->tactics, &r->tactic_sources, &r->disable, &r->timing_runs, &r->max_tactics, &r->scratch_limit_bytes, &r->seed,
      &r->reference_only, &r->timing_cache_only, &r->keep_subnormals, &r->device_io, &r->progress);
}

/* All inputs and outputs on the device, in the model's types or floats in the one that is named; plain, as others hold
 * them. */
static bool take_device_io(py_pool *pool, const char *dtype, hone_build_options *out) {
  if (!dtype) return true;
  hone_port_format *all = py_pool_take(pool, 1, sizeof *all);
  if (!all) return false;
  *all =
      (hone_port_format){.on_device = true, .dtype = *dtype ? py_dtype_find(dtype) : HONE_NONE, .format = HONE_PLAIN};
  if (*dtype && all->dtype == HONE_NONE) {
    PyErr_Format(PyExc_ValueError, "device_io is \"%s\"; allowed: True, \"float16\", \"bfloat16\"", dtype);
    return false;
  }
  out->port_formats = all;
  out->port_format_count = 1;
  return true;
}

static bool fill(py_state *state, const request *r, py_pool *pool, hone_pass_options *passes, py_named_arrays *inputs,
                 hone_build_options *out) {
  *passes = (hone_pass_options){.struct_size = sizeof *passes};
  *out = (hone_build_options){.struct_size = sizeof *out,
                              .passes = passes,
                              .reference_only = r->reference_only,
                              .level = r->level,
                              .timing_runs = r->timing_runs,
                              .timing_cache_path = r->timing_cache,
                              .lock_path = r->lock,
                              .seed = r->seed,
                              .scratch_limit_bytes = r->scratch_limit_bytes,
                              .progress = py_progress_tell,
                              .time_budget_ms = r->time_budget_ms,
                              .timing_cache_only = r->timing_cache_only,
                              .max_tactics = r->max_tactics,
                              .keep_subnormals = r->keep_subnormals,
                              .precisions = r->precisions,
                              .max_error = r->max_error};
  if (!py_shapes_take(pool, r->shapes, &out->shapes, &out->shape_count) ||
      !py_names_take(pool, r->tactics, "tactics", &out->tactics, &out->tactic_count) ||
      !py_names_take(pool, r->tactic_sources, "tactic_sources", &out->tactic_sources, &out->tactic_source_count) ||
      !py_names_take(pool, r->disable, "disable_passes", &passes->disable, &passes->disable_count) ||
      !py_layers_take(pool, r->layer_types, &out->layer_types, &out->layer_type_count) ||
      !take_device_io(pool, r->device_io, out) || !py_named_take(state, pool, r->inputs, inputs))
    return false;
  out->inputs = inputs->tensors;
  out->input_count = inputs->count;
  return true;
}

/* (engine, interrupted) */
static PyObject *build(py_graph *self, const request *r, const hone_build_options *filled) {
  hone_build_options options = *filled;
  hone_device *device = NULL;
  hone_engine *engine = NULL;
  py_progress progress;
  py_progress_begin(&progress, self->context, r->progress ? r->progress : Py_None);
  options.progress_user = &progress;
  options.stop_timing = &progress.stop_timing;
  hone_status status = py_device_open(self->context, r->kind, r->index, r->threads, &device);
  if (status == HONE_OK) status = hone_engine_build(self->context->context, self->graph, &device, 1, &options, &engine);
  if (!py_progress_end(&progress) || status != HONE_OK) {
    hone_engine_release(engine);
    hone_device_close(device);
    return py_fail(self->context, status);
  }
  PyObject *built = py_engine_new(self->state, engine, device, r->kind, r->index, r->threads);
  return built ? Py_BuildValue("(NO)", built, progress.interrupted ? Py_True : Py_False) : NULL;
}

PyObject *py_graph_build(py_graph *self, PyObject *args, PyObject *kwargs) {
  request r;
  py_pool pool = {0};
  py_named_arrays inputs = {0};
  hone_pass_options passes;
  hone_build_options options;
  PyObject *built = NULL;
  if (!read_request(args, kwargs, &r) || !py_graph_enter(self)) return NULL;
  self->context->busy = true;
  if (fill(self->state, &r, &pool, &passes, &inputs, &options)) built = build(self, &r, &options);
  self->context->busy = false;
  py_named_drop(&inputs);
  py_pool_free(&pool);
  return built;
}
