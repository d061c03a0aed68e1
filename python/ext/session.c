/* SPDX-License-Identifier: Apache-2.0 */
/* session.c - hone._native.Session: runs from any threads. The library's sessions serve one call at a time; those that
 * are free wait in a list, and one is made when the list is empty. The list is guarded by the GIL. */
#include "ext.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- ports ---- */

bool py_ports_read(const hone_engine *engine, py_ports *out) {
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
    out->in[i] = (py_port){.name = info.name, .dtype = info.type.dtype, .on_device = info.on_device};
    (void)snprintf(out->in[i].what, sizeof out->in[i].what, "%s \"%s\"", is_input ? "input" : "output", info.name);
  }
  return true;
}

void py_ports_free(py_ports *ports) {
  free(ports->in);
  *ports = (py_ports){0};
}

/* ---- one session of the library ---- */

static bool allocate(py_native *native, const py_ports *ports) {
  native->in = calloc((size_t)ports->in_count + 1, sizeof *native->in);
  native->out = calloc((size_t)ports->out_count + 1, sizeof *native->out);
  native->copied = calloc((size_t)ports->out_count + 1, sizeof *native->copied);
  return native->in && native->out && native->copied;
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
    Py_BEGIN_ALLOW_THREADS;
    status = hone_session_create(engine->engine, options, &native->session, hone_context_diagnostics(context.context));
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
  if (here) hone_session_destroy(native->session);
  free(native->in);
  free(native->out);
  free(native->copied);
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

static bool same_shape(const hone_shape *a, const hone_shape *b) {
  return a->rank == b->rank && memcmp(a->dim, b->dim, (size_t)a->rank * sizeof *a->dim) == 0;
}

static bool same_shapes(const py_native *native, const py_ports *ports, const py_array *arrays) {
  for (int i = 0; i < ports->in_count; ++i)
    if (!same_shape(&native->in[i], &arrays[i].tensor.type.shape)) return false;
  return true;
}

bool py_native_set_inputs(py_state *state, py_native *native, const py_ports *ports, const py_array *arrays) {
  hone_status status = HONE_OK;
  if (!native->shaped || !same_shapes(native, ports, arrays)) {
    Py_BEGIN_ALLOW_THREADS;
    status = set_shapes(native, ports, arrays);
    Py_END_ALLOW_THREADS;
  }
  for (int i = 0; i < ports->in_count && status == HONE_OK; ++i)
    status = (ports->in[i].on_device ? hone_session_copy_in : hone_session_bind)(native->session, ports->in[i].name,
                                                                                 &arrays[i].tensor);
  if (status == HONE_OK) return true;
  (void)py_fail_session(state, native->session, status);
  native->shaped = false;
  return false;
}

static bool refuse_shape(const py_port *port, const hone_shape *want, const hone_shape *have) {
  PyObject *shape = py_shape_tuple(want), *given = py_shape_tuple(have);
  if (shape && given)
    PyErr_Format(PyExc_ValueError, "%s: its shape is %R for these inputs, and out has %R", port->what, shape, given);
  Py_XDECREF(shape);
  Py_XDECREF(given);
  return false;
}

bool py_native_set_output(py_state *state, py_native *native, const py_ports *ports, int index, const py_array *array) {
  const hone_shape *want = &native->out[index].shape, *have = &array->tensor.type.shape;
  if (!same_shape(want, have)) return refuse_shape(&ports->out[index], want, have);
  const hone_status status = hone_session_bind(native->session, ports->out[index].name, &array->tensor);
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
  const hone_session_options options = {.struct_size = sizeof options, .deadline_ms = self->deadline_ms};
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

/* ---- arguments ---- */

static bool set_feed(const py_session *self, PyObject *name, PyObject *value, PyObject **out) {
  PyObject *at = PyDict_GetItemWithError(self->names, name);
  const long index = at ? PyLong_AsLong(at) : -1;
  if (index < 0) {
    if (!PyErr_Occurred()) {
      PyObject *known = PyDict_Keys(self->names);
      if (known) PyErr_Format(PyExc_TypeError, "the engine has no input %R; its inputs are %R", name, known);
      Py_XDECREF(known);
    }
    return false;
  }
  if (out[index]) {
    PyErr_Format(PyExc_TypeError, "input %R is given twice", name);
    return false;
  }
  out[index] = value;
  return true;
}

/* A name that is no input and not `out`; `out` where the engine has no such input. */
static bool is_option(const py_session *self, PyObject *name) {
  return PyUnicode_CompareWithASCIIString(name, "out") == 0 && !PyDict_GetItemWithError(self->names, name);
}

static bool set_feeds(const py_session *self, PyObject *dict, PyObject **out) {
  PyObject *name, *value;
  Py_ssize_t at = 0;
  while (PyDict_Next(dict, &at, &name, &value))
    if (!is_option(self, name) && !set_feed(self, name, value, out)) return false;
  return true;
}

bool py_session_feeds(const py_session *self, PyObject *args, PyObject *kwargs, PyObject **out) {
  const int count = (int)PyTuple_Size(args);
  memset(out, 0, (size_t)self->ports.in_count * sizeof *out);
  if (count == 1 && PyDict_Check(PyTuple_GetItem(args, 0))) {
    if (!set_feeds(self, PyTuple_GetItem(args, 0), out)) return false;
  } else {
    if (count > self->ports.in_count) {
      PyErr_Format(PyExc_TypeError, "%d inputs are given; the engine has %d", count, self->ports.in_count);
      return false;
    }
    for (int i = 0; i < count; ++i) out[i] = PyTuple_GetItem(args, i);
  }
  if (kwargs && !set_feeds(self, kwargs, out)) return false;
  for (int i = 0; i < self->ports.in_count; ++i) {
    if (out[i]) continue;
    PyErr_Format(PyExc_TypeError, "%s is not given", self->ports.in[i].what);
    return false;
  }
  return true;
}

/* ---- a call ---- */

enum { FEW = 8 }; /* ports whose arrays stand on the stack */
typedef struct call {
  int in_count, out_count;
  PyObject **feeds, **results; /* results: owned, one an output */
  py_array *in, *out;
  PyObject *few_objects[2 * FEW];
  py_array few_arrays[2 * FEW];
} call;

static bool call_begin(const py_session *self, call *c) {
  const size_t count = (size_t)(self->ports.in_count + self->ports.out_count);
  c->in_count = self->ports.in_count;
  c->out_count = self->ports.out_count;
  const bool few = count <= 2 * FEW;
  c->feeds = few ? c->few_objects : malloc(count * sizeof *c->feeds);
  c->in = few ? c->few_arrays : malloc(count * sizeof *c->in);
  if (!c->feeds || !c->in) {
    PyErr_NoMemory();
    return false;
  }
  c->results = c->feeds + c->in_count;
  c->out = c->in + c->in_count;
  for (size_t i = 0; i < count; ++i) {
    c->feeds[i] = NULL;
    c->in[i] = (py_array){0};
  }
  return true;
}

static void call_end(call *c) {
  for (int i = 0; c->in && i < c->in_count + c->out_count; ++i) py_array_drop(&c->in[i]);
  for (int i = 0; c->feeds && i < c->out_count; ++i) Py_XDECREF(c->results[i]);
  if (c->feeds != c->few_objects) free(c->feeds);
  if (c->in != c->few_arrays) free(c->in);
}

bool py_session_given(const py_session *self, PyObject *given, int index, PyObject **out) {
  *out = NULL;
  if (!given || given == Py_None) return true;
  if (PyDict_Check(given)) {
    *out = PyDict_GetItemString(given, self->ports.out[index].name);
    Py_XINCREF(*out);
    return true;
  }
  const bool is_list = PyTuple_Check(given) || PyList_Check(given);
  if (is_list && PySequence_Size(given) == self->ports.out_count)
    *out = PySequence_GetItem(given, index);
  else if (!is_list && self->ports.out_count == 1)
    *out = Py_NewRef(given);
  else
    PyErr_Format(PyExc_TypeError, "out: %d arrays are wanted, in a list or tuple, or a dict by name",
                 self->ports.out_count);
  return *out != NULL;
}

static bool take_given(const py_session *self, PyObject *given, call *c) {
  for (int i = 0; i < c->out_count; ++i)
    if (!py_session_given(self, given, i, &c->results[i])) return false;
  return true;
}

/* The output's memory: what was given, or a new array; of what depends on data it comes after the run. */
static bool place_output(const py_session *self, py_native *native, int i, call *c) {
  const py_port *port = &self->ports.out[i];
  if (native->copied[i]) return true;
  if (!c->results[i]) c->results[i] = py_array_new(self->state, port->what, &native->out[i]);
  return c->results[i] && py_array_take(self->state, c->results[i], port->what, port->dtype, true, &c->out[i]) &&
         py_native_set_output(self->state, native, &self->ports, i, &c->out[i]);
}

/* Of an output that could not be bound: a copy of what the session has. */
static bool copy_output(const py_session *self, py_native *native, int i, call *c) {
  const py_port *port = &self->ports.out[i];
  hone_tensor tensor;
  if (!native->copied[i]) return true;
  const hone_status status = hone_session_tensor(native->session, port->name, &tensor);
  if (status != HONE_OK) {
    (void)py_fail_session(self->state, native->session, status);
    return false;
  }
  if (tensor.type.kind != HONE_TENSOR) {
    (void)py_fail_text(self->state, HONE_UNSUPPORTED, "%s is a sequence or an optional, not an array", port->what);
    return false;
  }
  if (!c->results[i]) c->results[i] = py_array_new(self->state, port->what, &tensor.type);
  if (!c->results[i] || !py_array_take(self->state, c->results[i], port->what, port->dtype, true, &c->out[i]))
    return false;
  if (!same_shape(&tensor.type.shape, &c->out[i].tensor.type.shape))
    return refuse_shape(port, &tensor.type.shape, &c->out[i].tensor.type.shape);
  memcpy(c->out[i].tensor.data, tensor.data, tensor.bytes);
  return true;
}

static bool run(py_session *self, py_native *native, call *c) {
  if (!py_native_set_inputs(self->state, native, &self->ports, c->in)) return false;
  for (int i = 0; i < c->out_count; ++i)
    if (!place_output(self, native, i, c)) return false;
  if (!py_native_run(self->state, native)) return false;
  for (int i = 0; i < c->out_count; ++i)
    if (!copy_output(self, native, i, c)) return false;
  return true;
}

static PyObject *results_of(const py_session *self, call *c) {
  if (!self->result) return Py_NewRef(c->results[0]);
  PyObject *tuple = PyTuple_New(c->out_count);
  for (int i = 0; tuple && i < c->out_count; ++i)
    if (PyTuple_SetItem(tuple, i, Py_NewRef(c->results[i])) < 0) Py_CLEAR(tuple);
  PyObject *named = tuple ? PyObject_CallObject(self->result, tuple) : NULL;
  Py_XDECREF(tuple);
  return named;
}

static PyObject *call_session(PyObject *object, PyObject *args, PyObject *kwargs) {
  py_session *self = (py_session *)object;
  PyObject *given = NULL, *result = NULL;
  call c;
  if (kwargs && PyDict_Size(kwargs) > 0) {
    given = PyDict_GetItemString(kwargs, "out");
    if (given && PyDict_GetItemString(self->names, "out")) given = NULL; /* an input of that name */
  }
  py_native *native = NULL;
  const bool begun = call_begin(self, &c);
  if (begun && py_session_feeds(self, args, kwargs, c.feeds) && take_given(self, given, &c)) {
    bool taken = true;
    for (int i = 0; taken && i < c.in_count; ++i)
      taken = py_array_take(self->state, c.feeds[i], self->ports.in[i].what, self->ports.in[i].dtype, false, &c.in[i]);
    if (taken) native = py_session_take(self);
  }
  if (native) {
    const uint64_t process = self->state->process;
    if (run(self, native, &c)) result = results_of(self, &c);
    py_session_give(self, native, process);
  }
  call_end(&c);
  return result;
}

/* ---- the type ---- */

PyObject *py_session_new(PyObject *module, PyObject *args, PyObject *kwargs) {
  static char *keys[] = {"type", "engine", "result", "deadline_ms", NULL};
  py_state *state = py_state_of(module);
  PyObject *type, *engine, *result;
  long long deadline_ms = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!O!O|L", keys, &PyType_Type, &type, state->engine, &engine, &result,
                                   &deadline_ms))
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
  self->result = result == Py_None ? NULL : Py_NewRef(result);
  self->names = PyDict_New();
  bool made = self->names && py_ports_read(self->engine->engine, &self->ports);
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
    {"opened", (PyCFunction)opened, METH_NOARGS, "opened() -> how many sessions of the library serve this one"},
    {0},
};
static PyType_Slot slots[] = {{Py_tp_dealloc, dealloc}, {Py_tp_methods, methods}, {Py_tp_call, call_session}, {0}};
PyType_Spec py_session_spec = {.name = "hone._native.Session",
                               .basicsize = sizeof(py_session),
                               .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                               .slots = slots};
