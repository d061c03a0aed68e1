/* SPDX-License-Identifier: Apache-2.0 */
/* session.c - hone._native.Session: runs from any threads. The library's sessions serve one call at a time; those that
 * are free wait in a list, and one is made when the list is empty. The list is guarded by the GIL. */
#include "ext.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- ports ---- */

bool py_ports_read(const hone_engine *engine, int index, void *stream, py_ports *out) {
  out->in_count = hone_engine_input_count(engine);
  out->out_count = hone_engine_output_count(engine);
  out->in = calloc((size_t)(out->in_count + out->out_count + 1), sizeof *out->in);
  if (!out->in) {
    PyErr_NoMemory();
    return false;
  }
  out->out = out->in + out->in_count;
  for (int i = 0; i < out->in_count + out->out_count; ++i) {
    hone_port_info info = HONE_SIZED(hone_port_info);
    const bool is_input = i < out->in_count;
    (void)(is_input ? hone_engine_input(engine, i, &info) : hone_engine_output(engine, i - out->in_count, &info));
    out->in[i] = (py_port){.name = info.name,
                           .dtype = info.type.dtype,
                           .on_device = info.on_device,
                           .device = {.held = info.held, .index = index, .stream = stream}};
    (void)snprintf(out->in[i].what, sizeof out->in[i].what, "%s \"%s\"", is_input ? "input" : "output", info.name);
  }
  return true;
}

void py_ports_free(py_ports *ports) {
  free(ports->in);
  *ports = (py_ports){0};
}

bool py_port_take(py_state *state, const py_port *port, PyObject *object, bool writable, py_array *out) {
  return py_array_take_at(state, object, port->what, port->dtype, writable, port->on_device ? &port->device : NULL,
                          out);
}

/* ---- one session of the library ---- */

static bool allocate(py_native *native, const py_ports *ports) {
  native->in = calloc((size_t)ports->in_count + 1, sizeof *native->in);
  native->out = calloc((size_t)ports->out_count + 1, sizeof *native->out);
  native->copied = calloc((size_t)ports->out_count + 1, sizeof *native->copied);
  native->lent = calloc((size_t)(ports->in_count + ports->out_count) + 1, sizeof *native->lent);
  return native->in && native->out && native->copied && native->lent;
}

py_native *py_native_new(py_engine *engine, const py_ports *ports, const hone_session_options *options) {
  py_context context;
  hone_status status;
  if (!py_engine_here(engine) || !py_context_open(engine->state, NULL, &context)) return NULL;
  py_native *native = calloc(1, sizeof *native);
  if (!native || !allocate(native, ports)) {
    PyErr_NoMemory();
    status = HONE_NO_MEMORY;
  } else {
    hone_session_options own = *options;
    own.cancel = &native->cancel;
    Py_BEGIN_ALLOW_THREADS;
    status = hone_session_create(engine->engine, &own, &native->session, hone_context_diagnostics(context.context));
    Py_END_ALLOW_THREADS;
  }
  if (status != HONE_OK) {
    (void)py_fail(&context, status);
    py_native_free(native, true);
    native = NULL;
  }
  py_context_close(&context);
  return native;
}

void py_native_free(py_native *native, bool here) {
  if (!native) return;
  if (here) { /* it waits for its thread, which may want the GIL once more */
    Py_BEGIN_ALLOW_THREADS;
    hone_session_destroy(native->session);
    Py_END_ALLOW_THREADS;
  }
  free(native->in);
  free(native->out);
  free(native->copied);
  free(native->lent);
  free(native);
}

/* Can the caller's memory take this output? Asked with the session's own. */
static bool can_bind(py_native *native, const char *name, const hone_tensor *tensor) {
  if (tensor->type.kind != HONE_TENSOR || tensor->type.dtype == HONE_STRING || !tensor->data) return false;
  for (int d = 0; d < tensor->type.shape.rank; ++d)
    if (tensor->type.shape.dim[d] < 0) return false;
  if (hone_session_bind(native->session, name, tensor) != HONE_OK) return false;
  const hone_tensor own = {.type = tensor->type};
  return hone_session_bind(native->session, name, &own) == HONE_OK;
}

/* Several inputs' shapes go together: all are set before any of them is prepared. */
static hone_status set_shapes(py_native *native, const py_ports *ports, const py_array *arrays) {
  native->shaped = false;
  for (int i = 0; i < ports->in_count; ++i) {
    const hone_shape *shape = &arrays[i].tensor.type.shape;
    const hone_status status = hone_session_set_shape(native->session, ports->in[i].name, shape->rank, shape->dim);
    if (status != HONE_OK) return status;
    native->in[i] = *shape;
  }
  for (int i = 0; i < ports->out_count; ++i) {
    hone_tensor tensor;
    const hone_status status = hone_session_tensor(native->session, ports->out[i].name, &tensor);
    if (status != HONE_OK) return status;
    native->out[i] = tensor.type;
    native->copied[i] = ports->out[i].on_device || !can_bind(native, ports->out[i].name, &tensor);
  }
  native->shaped = true;
  return HONE_OK;
}

bool py_same_shape(const hone_shape *a, const hone_shape *b) {
  return a->rank == b->rank && memcmp(a->dim, b->dim, (size_t)a->rank * sizeof *a->dim) == 0;
}

static bool same_shapes(const py_native *native, const py_ports *ports, const py_array *arrays) {
  for (int i = 0; i < ports->in_count; ++i)
    if (!py_same_shape(&native->in[i], &arrays[i].tensor.type.shape)) return false;
  return true;
}

/* Memory of the caller's on the device, or the session's own again, filled from the host where it is an input. */
static hone_status set_on_device(py_native *native, const py_port *port, bool *lent, const py_array *array) {
  if (!array->on_device && *lent) {
    const hone_tensor own = {
        .type = {.kind = HONE_TENSOR, .dtype = port->device.held, .shape = array->tensor.type.shape}};
    const hone_status status = hone_session_bind(native->session, port->name, &own);
    if (status != HONE_OK) return status;
  }
  *lent = array->on_device;
  return (array->on_device ? hone_session_bind : hone_session_copy_in)(native->session, port->name, &array->tensor);
}

static hone_status set_input(py_native *native, const py_ports *ports, int i, const py_array *array) {
  return ports->in[i].on_device ? set_on_device(native, &ports->in[i], &native->lent[i], array)
                                : hone_session_bind(native->session, ports->in[i].name, &array->tensor);
}

bool py_native_take_back(py_state *state, py_native *native, const py_ports *ports, int index) {
  bool *lent = &native->lent[ports->in_count + index];
  if (!*lent) return true;
  const hone_tensor own = {.type = native->out[index]};
  const hone_status status = hone_session_bind(native->session, ports->out[index].name, &own);
  *lent = status != HONE_OK;
  if (status != HONE_OK) (void)py_fail_session(state, native->session, status);
  return status == HONE_OK;
}

bool py_native_set_inputs(py_state *state, py_native *native, const py_ports *ports, const py_array *arrays) {
  hone_status status = HONE_OK;
  if (!native->shaped || !same_shapes(native, ports, arrays)) {
    Py_BEGIN_ALLOW_THREADS;
    status = set_shapes(native, ports, arrays);
    Py_END_ALLOW_THREADS;
  }
  for (int i = 0; i < ports->in_count && status == HONE_OK; ++i) status = set_input(native, ports, i, &arrays[i]);
  if (status == HONE_OK) return true;
  (void)py_fail_session(state, native->session, status);
  native->shaped = false;
  return false;
}

bool py_refuse_shape(const py_port *port, const hone_shape *want, const hone_shape *have) {
  PyObject *shape = py_shape_tuple(want), *given = py_shape_tuple(have);
  if (shape && given)
    PyErr_Format(PyExc_ValueError, "%s: its shape is %R for these inputs, and out has %R", port->what, shape, given);
  Py_XDECREF(shape);
  Py_XDECREF(given);
  return false;
}

bool py_native_set_output(py_state *state, py_native *native, const py_ports *ports, int index, const py_array *array) {
  const hone_shape *want = &native->out[index].shape, *have = &array->tensor.type.shape;
  if (!py_same_shape(want, have)) return py_refuse_shape(&ports->out[index], want, have);
  if (ports->out[index].on_device && !array->on_device) {
    (void)py_fail_text(state, HONE_INVALID, "%s lies on a device, and what is to be bound there does not",
                       ports->out[index].what);
    return false;
  }
  const hone_status status = hone_session_bind(native->session, ports->out[index].name, &array->tensor);
  native->lent[ports->in_count + index] = status == HONE_OK && array->on_device;
  if (status == HONE_OK) return true;
  (void)py_fail_session(state, native->session, status);
  return false;
}

bool py_native_run(py_state *state, py_native *native) {
  hone_status status;
  Py_BEGIN_ALLOW_THREADS;
  status = hone_session_run(native->session);
  Py_END_ALLOW_THREADS;
  if (status == HONE_OK) return true;
  (void)py_fail_session(state, native->session, status);
  return false;
}

/* ---- the list of those that are free ---- */

py_native *py_session_take(py_session *self) {
  if (self->process != self->state->process) { /* they belong to the process that forked */
    for (py_native *native = self->free, *next; native; native = next) {
      next = native->next;
      py_native_free(native, false);
    }
    self->free = NULL;
    self->opened = 0;
    self->process = self->state->process;
  }
  py_native *native = self->free;
  if (native) {
    self->free = native->next;
    return native;
  }
  const hone_session_options options = {
      .struct_size = sizeof options, .deadline_ms = self->deadline_ms, .native_stream = self->stream};
  native = py_native_new(self->engine, &self->ports, &options);
  if (native) ++self->opened;
  return native;
}

void py_session_give(py_session *self, py_native *native, uint64_t process) {
  if (process != self->state->process) {
    py_native_free(native, false);
    return;
  }
  native->next = self->free;
  self->free = native;
}

/* ---- the type ---- */

static PyObject *call_session(PyObject *object, PyObject *args, PyObject *kwargs) {
  py_session *self = (py_session *)object;
  PyObject *result = NULL;
  py_call call;
  py_native *native = py_call_begin(self, args, kwargs, &call);
  if (native) {
    const uint64_t process = self->state->process;
    if (py_call_prepare(self, native, &call) && py_native_run(self->state, native))
      result = py_call_results(self, native, &call);
    py_session_give(self, native, process);
  }
  py_call_end(&call);
  return result;
}

PyObject *py_session_new(PyObject *module, PyObject *args, PyObject *kwargs) {
  static char *keys[] = {"type", "engine", "result", "deadline_ms", "stream", NULL};
  py_state *state = py_state_of(module);
  PyObject *type, *engine, *result;
  long long deadline_ms = 0;
  unsigned long long stream = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!O!O|LK", keys, &PyType_Type, &type, state->engine, &engine, &result,
                                   &deadline_ms, &stream))
    return NULL;
  if (!PyType_IsSubtype((PyTypeObject *)type, state->session)) {
    PyErr_SetString(PyExc_TypeError, "type: a subclass of Session is wanted");
    return NULL;
  }
  const allocfunc allocate_object = (allocfunc)PyType_GetSlot((PyTypeObject *)type, Py_tp_alloc);
  py_session *self = (py_session *)allocate_object((PyTypeObject *)type, 0);
  if (!self) return NULL;
  self->state = state;
  self->process = state->process;
  self->engine = (py_engine *)Py_NewRef(engine);
  self->deadline_ms = deadline_ms;
  self->stream = (void *)(uintptr_t)stream;
  self->result = result == Py_None ? NULL : Py_NewRef(result);
  self->names = PyDict_New();
  bool made = self->names && py_ports_read(self->engine->engine, self->engine->index, self->stream, &self->ports);
  for (int i = 0; made && i < self->ports.in_count; ++i) {
    PyObject *at = PyLong_FromLong(i);
    made = at && PyDict_SetItemString(self->names, self->ports.in[i].name, at) == 0;
    Py_XDECREF(at);
  }
  py_native *first = made ? py_session_take(self) : NULL; /* what is wrong with the engine is said here */
  if (first) {
    py_session_give(self, first, state->process);
    return (PyObject *)self;
  }
  Py_DECREF((PyObject *)self);
  return NULL;
}

static void dealloc(py_session *self) {
  PyTypeObject *type = Py_TYPE(&self->ob_base);
  const bool here = self->process == self->state->process;
  for (py_native *native = self->free, *next; native; native = next) {
    next = native->next;
    py_native_free(native, here);
  }
  py_ports_free(&self->ports);
  Py_XDECREF((PyObject *)self->engine);
  Py_XDECREF(self->result);
  Py_XDECREF(self->names);
  const freefunc free_object = (freefunc)PyType_GetSlot(type, Py_tp_free);
  free_object(self);
  Py_DECREF((PyObject *)type);
}

static PyObject *opened(py_session *self, PyObject *none) {
  (void)none;
  return PyLong_FromLong(self->process == self->state->process ? self->opened : 0);
}

static PyMethodDef methods[] = {
    {"bind", PY_NAMED(py_session_bind), METH_VARARGS | METH_KEYWORDS, "bind(*inputs, out=None, **inputs) -> Binding"},
    {"start", (PyCFunction)py_session_start, METH_VARARGS,
     "start(done, args, kwargs) -> Run: a run beside the caller; done(result, error) is called when it is over, in a "
     "thread of the library's"},
    {"opened", (PyCFunction)opened, METH_NOARGS, "opened() -> how many sessions of the library serve this one"},
    {0},
};
static PyType_Slot slots[] = {{Py_tp_dealloc, dealloc}, {Py_tp_methods, methods}, {Py_tp_call, call_session}, {0}};
PyType_Spec py_session_spec = {.name = "hone._native.Session",
                               .basicsize = sizeof(py_session),
                               .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                               .slots = slots};
