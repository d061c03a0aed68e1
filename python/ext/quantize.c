/* SPDX-License-Identifier: Apache-2.0 */
/* quantize.c - Graph.quantize: samples come from Python one by one. */
#include "ext.h"
#include <stdlib.h>
#include <string.h>

typedef struct calibration {
  py_state *state;
  py_progress progress;
  PyObject *sample; /* sample(index) -> {input: array}, or None when there are no more */
  PyObject *held;   /* the sample that the library reads now */
  py_pool pool;
  py_named_arrays arrays;
  PyObject *layers; /* [(layer, op, why it stays)] */
} calibration;

static void drop_sample(calibration *c) {
  py_named_drop(&c->arrays);
  py_pool_free(&c->pool);
  Py_CLEAR(c->held);
}

static hone_status give(calibration *c, int64_t index, hone_named_tensor *out, int room, int *out_count) {
  drop_sample(c);
  c->held = PyObject_CallFunction(c->sample, "L", (long long)index);
  if (!c->held) return HONE_CANCELLED;
  if (c->held == Py_None) return HONE_OK;
  if (!py_named_take(c->state, &c->pool, c->held, &c->arrays)) return HONE_CANCELLED;
  if (c->arrays.count > room) {
    PyErr_Format(PyExc_ValueError, "sample %lld has %d arrays; the model has %d inputs", (long long)index,
                 c->arrays.count, room);
    return HONE_CANCELLED;
  }
  memcpy(out, c->arrays.tensors, (size_t)c->arrays.count * sizeof *out);
  *out_count = c->arrays.count;
  return HONE_OK;
}

static hone_status give_sample(void *user, int64_t index, hone_named_tensor *out, int room, int *out_count) {
  calibration *c = user;
  *out_count = 0;
  py_progress_hold(&c->progress);
  const hone_status status = give(c, index, out, room, out_count);
  py_progress_go_on(&c->progress);
  return status;
}

static void tell_progress(void *user, const char *what, int64_t done, int64_t total) {
  calibration *c = user;
  py_progress_tell(&c->progress, what, done, total);
}

static void note_layer(void *user, const hone_quantize_event *event) {
  calibration *c = user;
  if (!event->layer) return;
  py_progress_hold(&c->progress);
  PyObject *row = Py_BuildValue("(NNN)", py_string(event->layer), py_string(event->op), py_string(event->why));
  if (row) (void)PyList_Append(c->layers, row);
  Py_XDECREF(row);
  py_progress_go_on(&c->progress);
}

/* (graph, layers). The graph lives in the context of the one that it was made of. */
static PyObject *quantize(py_graph *self, calibration *c, hone_quantize_options *options, const char *kind, int threads,
                          PyObject *progress) {
  py_graph *made = (py_graph *)PyType_GenericAlloc(self->state->graph, 0);
  if (!made) return NULL;
  made->state = self->state;
  made->context = self->context;
  made->source = Py_NewRef((PyObject *)self);
  hone_device *device = NULL;
  py_progress_begin(&c->progress, self->context, progress);
  hone_status status = py_device_open(self->context, kind, 0, threads, &device);
  if (status == HONE_OK)
    status = hone_graph_quantize(self->context->context, self->graph, &device, 1, options, &made->graph);
  hone_device_close(device);
  const bool clean = py_progress_end(&c->progress);
  if (clean && c->progress.interrupted) PyErr_SetNone(PyExc_KeyboardInterrupt); /* there is no timing to end */
  if (clean && status == HONE_OK && !c->progress.interrupted) return Py_BuildValue("(NO)", (PyObject *)made, c->layers);
  (void)py_fail(self->context, status);
  Py_DECREF((PyObject *)made);
  return NULL;
}

PyObject *py_graph_quantize(py_graph *self, PyObject *args, PyObject *kwargs) {
  static char *names[] = {"sample", "count",       "method", "activations", "per_tensor", "keep",
                          "cache",  "uncorrected", "kind",   "threads",     "progress",   NULL};
  PyObject *sample = NULL, *keep = NULL, *progress = Py_None;
  const char *activations = "uint8", *kind = "cpu";
  long long count = 0;
  int per_tensor = 0, uncorrected = 0, threads = 0;
  hone_quantize_options options = {.struct_size = sizeof options};
  calibration c = {.state = self->state};
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|LzspOzpsiO", names, &sample, &count, &options.method, &activations,
                                   &per_tensor, &keep, &options.cache_path, &uncorrected, &kind, &threads, &progress) ||
      !py_graph_enter(self))
    return NULL;
  py_pool pool = {0};
  if (!py_names_take(&pool, keep, "keep", &options.keep, &options.keep_count)) return NULL;
  c.sample = sample;
  c.layers = PyList_New(0);
  options.activations = py_dtype_find(activations);
  options.sample_count = count;
  options.per_tensor = per_tensor;
  options.uncorrected = uncorrected;
  options.sample = sample == Py_None ? NULL : give_sample;
  options.sample_user = options.progress_user = options.event_user = &c;
  options.progress = tell_progress;
  options.event = note_layer;
  self->context->busy = true;
  PyObject *made = c.layers ? quantize(self, &c, &options, kind, threads, progress) : NULL;
  self->context->busy = false;
  drop_sample(&c);
  Py_XDECREF(c.layers);
  py_pool_free(&pool);
  return made;
}
