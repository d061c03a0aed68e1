/* SPDX-License-Identifier: Apache-2.0 */
/* engine.c - hone._native.Engine: an engine with the device that it runs on. After a fork the device's threads are
 * gone, so the engine is shared with a device that is opened anew; what was opened before is left as it is, since
 * giving it back would wait for those threads. */
#include "ext.h"
#include <stdio.h>
#include <string.h>

hone_status py_device_open(py_context *context, const char *kind, int index, int threads, hone_device **out) {
  const hone_device_options options = {.struct_size = sizeof options, .threads = threads};
  return hone_device_open(context->context, kind, index, &options, out);
}

PyObject *py_engine_new(py_state *state, hone_engine *engine, hone_device *device, const char *kind, int index,
                        int threads) {
  py_engine *self = (py_engine *)PyType_GenericAlloc(state->engine, 0);
  if (!self) {
    hone_engine_release(engine);
    hone_device_close(device);
    return NULL;
  }
  self->state = state;
  self->engine = engine;
  self->device = device;
  self->process = state->process;
  (void)snprintf(self->kind, sizeof self->kind, "%s", kind);
  self->index = index;
  self->threads = threads;
  return (PyObject *)self;
}

static void dealloc(py_engine *self) {
  PyTypeObject *type = Py_TYPE(&self->ob_base);
  if (self->process == self->state->process) {
    hone_engine_release(self->engine);
    hone_device_close(self->device);
  }
  PyObject_Free(self);
  Py_DECREF((PyObject *)type);
}

bool py_engine_here(py_engine *self) {
  if (self->process == self->state->process) return true;
  py_context context;
  hone_device *device = NULL;
  hone_engine *engine = NULL;
  if (!py_context_open(self->state, NULL, &context)) return false;
  hone_status status = py_device_open(&context, self->kind, self->index, self->threads, &device);
  if (status == HONE_OK)
    status = hone_engine_share(self->engine, &device, 1, &engine, hone_context_diagnostics(context.context));
  if (status == HONE_OK) {
    self->engine = engine;
    self->device = device;
    self->process = self->state->process;
  } else {
    (void)py_fail(&context, status);
    hone_device_close(device);
  }
  py_context_close(&context);
  return status == HONE_OK;
}

/* ---- loading ---- */

static hone_status load(py_context *context, const char *path, const Py_buffer *data, hone_device *device,
                        hone_engine **out) {
  if (data->obj) return hone_engine_load_memory(context->context, data->buf, (size_t)data->len, &device, 1, out);
  return hone_engine_load(context->context, path, &device, 1, out);
}

PyObject *py_engine_load(PyObject *module, PyObject *args, PyObject *kwargs) {
  static char *names[] = {"path", "data", "kind", "index", "threads", "memory_limit", NULL};
  const char *path = NULL, *kind = "cpu";
  PyObject *bytes = NULL;
  int index = 0, threads = 0;
  unsigned long long memory_bytes = 0;
  py_state *state = py_state_of(module);
  py_context context;
  Py_buffer data = {0};
  hone_device *device = NULL;
  hone_engine *engine = NULL;
  hone_status status;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "z|OsiiK", names, &path, &bytes, &kind, &index, &threads,
                                   &memory_bytes))
    return NULL;
  if (bytes && bytes != Py_None && PyObject_GetBuffer(bytes, &data, PyBUF_SIMPLE) < 0) return NULL;
  const py_limits limits = {.memory_bytes = memory_bytes};
  PyObject *made = NULL;
  if (py_context_open(state, &limits, &context)) {
    Py_BEGIN_ALLOW_THREADS;
    status = py_device_open(&context, kind, index, threads, &device);
    if (status == HONE_OK) status = load(&context, path, &data, device, &engine);
    Py_END_ALLOW_THREADS;
    if (status == HONE_OK)
      made = py_engine_new(state, engine, device, kind, index, threads);
    else {
      hone_device_close(device);
      (void)py_fail(&context, status);
    }
    py_context_close(&context);
  }
  if (data.obj) PyBuffer_Release(&data);
  return made;
}

/* ---- looking ---- */

static PyObject *dtype_text(hone_dtype dtype) {
  const char *name = py_dtype_name(dtype);
  return PyUnicode_FromString(name ? name : hone_dtype_name(dtype));
}

/* What the model calls the free dims; None where a dim is fixed or has no name. */
static PyObject *dim_names(const hone_engine *engine, const hone_port_info *port) {
  if (port->type.shape.rank < 0) return Py_NewRef(Py_None);
  PyObject *names = PyTuple_New(port->type.shape.rank);
  for (int i = 0; names && i < port->type.shape.rank; ++i) {
    char text[256];
    hone_engine_dim_text(engine, port->name, i, text, sizeof text);
    PyObject *name = py_string(*text ? text : NULL);
    if (!name || PyTuple_SetItem(names, i, name) < 0) Py_CLEAR(names);
  }
  return names;
}

/* (name, dtype, shape, dim names, min, opt, max, on_device, held) */
static PyObject *describe(const hone_engine *engine, const hone_port_info *port, bool is_input) {
  static const hone_shape unknown = {.rank = -1};
  return Py_BuildValue(
      "(NNNNNNNON)", py_string(port->name), dtype_text(port->type.dtype), py_shape_tuple(&port->type.shape),
      dim_names(engine, port), py_shape_tuple(is_input ? &port->min : &unknown),
      py_shape_tuple(is_input ? &port->opt : &unknown), py_shape_tuple(is_input ? &port->max : &unknown),
      port->on_device ? Py_True : Py_False, dtype_text(port->held));
}

static PyObject *ports(py_engine *self, bool is_input) {
  PyObject *list = PyList_New(0);
  hone_port_info port = HONE_SIZED(hone_port_info);
  for (int i = 0; list && (is_input ? hone_engine_input : hone_engine_output)(self->engine, i, &port) == HONE_OK; ++i) {
    PyObject *entry = describe(self->engine, &port, is_input);
    if (!entry || PyList_Append(list, entry) < 0) Py_CLEAR(list);
    Py_XDECREF(entry);
  }
  return list;
}

static PyObject *inputs(py_engine *self, PyObject *none) {
  (void)none;
  return ports(self, true);
}

static PyObject *outputs(py_engine *self, PyObject *none) {
  (void)none;
  return ports(self, false);
}

static PyObject *summary(py_engine *self, PyObject *none) {
  (void)none;
  hone_engine_summary s = HONE_SIZED(hone_engine_summary);
  hone_facts facts = HONE_SIZED(hone_facts);
  hone_engine_summarize(self->engine, &s);
  hone_device_facts(self->device, &facts);
  return Py_BuildValue("{s:N,s:s,s:s,s:s,s:s,s:i,s:i,s:i,s:i,s:i,s:K,s:K,s:K,s:d,s:d,s:d}", "name", py_string(s.name),
                       "built_by", s.built_by, "built_for", s.device_name, "device", facts.name, "kind", self->kind,
                       "index", self->index, "threads", facts.threads, "steps", s.step_count, "reference_steps",
                       s.reference_steps, "schedules", s.schedule_count, "weights_bytes",
                       (unsigned long long)s.weights_bytes, "arena_bytes", (unsigned long long)s.arena_bytes,
                       "scratch_bytes", (unsigned long long)s.scratch_bytes, "flops", s.flops, "max_error",
                       s.max_error_rel_l2, "output_error", s.output_error_rel_l2);
}

/* That were asked for; 0: as many as the process may use. */
static PyObject *threads(py_engine *self, PyObject *none) {
  (void)none;
  return PyLong_FromLong(self->threads);
}

/* ---- what needs messages: a context of its own for each call, so that any threads may call ---- */

static PyObject *write_bytes(py_engine *self, PyObject *none) {
  (void)none;
  py_context context;
  py_text bytes = {0};
  hone_status status;
  if (!py_context_open(self->state, NULL, &context)) return NULL;
  Py_BEGIN_ALLOW_THREADS;
  status = hone_engine_write(self->engine, py_text_write, &bytes, hone_context_diagnostics(context.context));
  Py_END_ALLOW_THREADS;
  PyObject *result = status == HONE_OK ? py_text_bytes(&bytes) : py_fail(&context, status);
  py_text_free(&bytes);
  py_context_close(&context);
  return result;
}

static PyObject *save(py_engine *self, PyObject *args) {
  const char *path;
  py_context context;
  hone_status status;
  if (!PyArg_ParseTuple(args, "s", &path) || !py_context_open(self->state, NULL, &context)) return NULL;
  Py_BEGIN_ALLOW_THREADS;
  status = hone_engine_save(self->engine, path, hone_context_diagnostics(context.context));
  Py_END_ALLOW_THREADS;
  PyObject *result = status == HONE_OK ? Py_NewRef(Py_None) : py_fail(&context, status);
  py_context_close(&context);
  return result;
}

static hone_status write_report(const py_engine *self, const char *what, const char *ledger,
                                const hone_report_options *options, py_text *text, hone_diagnostics *diag) {
  if (strcmp(what, "engine") == 0) return hone_report_engine(self->engine, options, py_text_write, text, diag);
  if (strcmp(what, "memory") == 0) return hone_report_memory(self->engine, options, py_text_write, text, diag);
  if (strcmp(what, "explain") == 0)
    return hone_report_explain(self->engine, ledger, options, py_text_write, text, diag);
  return hone_fail(diag, HONE_INVALID, "there is no report %s; allowed: engine, memory, explain", what);
}

static PyObject *report(py_engine *self, PyObject *args, PyObject *kwargs) {
  static char *names[] = {"what", "json", "node", "ledger", "all", "width", NULL};
  const char *what, *ledger = NULL;
  int json = 0, all = 0, width = 0;
  py_context context;
  py_text text = {0};
  hone_status status;
  hone_report_options options = {.struct_size = sizeof options};
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "s|pzzpi", names, &what, &json, &options.node, &ledger, &all, &width))
    return NULL;
  options.json = json;
  options.all = all;
  options.width = width;
  if (!py_context_open(self->state, NULL, &context)) return NULL;
  Py_BEGIN_ALLOW_THREADS;
  status = write_report(self, what, ledger, &options, &text, hone_context_diagnostics(context.context));
  Py_END_ALLOW_THREADS;
  PyObject *result = status == HONE_OK ? py_text_string(&text) : py_fail(&context, status);
  py_text_free(&text);
  py_context_close(&context);
  return result;
}

static PyMethodDef methods[] = {
    {"inputs", (PyCFunction)inputs, METH_NOARGS, "inputs() -> [(name, dtype, shape, dims, min, opt, max, ...)]"},
    {"outputs", (PyCFunction)outputs, METH_NOARGS, "outputs() -> [(name, dtype, shape, dims, min, opt, max, ...)]"},
    {"summary", (PyCFunction)summary, METH_NOARGS, "summary() -> dict"},
    {"threads", (PyCFunction)threads, METH_NOARGS, "threads() -> int"},
    {"write", (PyCFunction)write_bytes, METH_NOARGS, "write() -> bytes"},
    {"save", (PyCFunction)save, METH_VARARGS, "save(path)"},
    {"report", PY_NAMED(report), METH_VARARGS | METH_KEYWORDS, "report(what, json, node, ledger, all, width) -> str"},
    {0},
};
static PyType_Slot slots[] = {{Py_tp_dealloc, dealloc}, {Py_tp_methods, methods}, {0}};
PyType_Spec py_engine_spec = {.name = "hone._native.Engine",
                              .basicsize = sizeof(py_engine),
                              .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                              .slots = slots};
