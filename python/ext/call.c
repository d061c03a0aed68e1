/* SPDX-License-Identifier: Apache-2.0 */
/* call.c - one call of a session: its arguments as arrays, its outputs as memory that is given or new, its results. */
#include "ext.h"
#include <stdlib.h>
#include <string.h>

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

static bool begin(const py_session *self, py_call *c) {
  const size_t count = (size_t)(self->ports.in_count + self->ports.out_count);
  const bool few = count <= 2 * PY_FEW_PORTS;
  c->in_count = self->ports.in_count;
  c->out_count = self->ports.out_count;
  c->feeds = few ? c->few_objects : malloc(count * sizeof *c->feeds);
  c->in = few ? c->few_arrays : malloc(count * sizeof *c->in);
  c->results = c->feeds ? c->feeds + c->in_count : NULL;
  c->out = c->in ? c->in + c->in_count : NULL;
  for (size_t i = 0; i < count; ++i) { /* those that are used alone: the whole is some kilobytes */
    if (c->feeds) c->feeds[i] = NULL;
    if (c->in) c->in[i] = (py_array){0};
  }
  if (!c->feeds || !c->in) PyErr_NoMemory();
  return c->feeds && c->in;
}

void py_call_end(py_call *c) {
  for (int i = 0; c->in && i < c->in_count + c->out_count; ++i) py_array_drop(&c->in[i]);
  for (int i = 0; c->results && i < c->out_count; ++i) Py_XDECREF(c->results[i]);
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

static bool take_given(const py_session *self, PyObject *given, py_call *c) {
  for (int i = 0; i < c->out_count; ++i)
    if (!py_session_given(self, given, i, &c->results[i])) return false;
  return true;
}

/* The output's memory: what was given, or a new array; of what cannot be bound it comes after the run. */
static bool place_output(const py_session *self, py_native *native, int i, py_call *c) {
  const py_port *port = &self->ports.out[i];
  if (port->on_device) { /* what is given may lie there; else the result is copied behind the run */
    if (c->results[i] && !py_port_take(self->state, port, c->results[i], true, &c->out[i])) return false;
    if (c->out[i].on_device) return py_native_set_output(self->state, native, &self->ports, i, &c->out[i]);
    py_array_drop(&c->out[i]);
    return py_native_take_back(self->state, native, &self->ports, i);
  }
  if (native->copied[i]) return true;
  if (!c->results[i]) c->results[i] = py_array_new(self->state, port->what, &native->out[i]);
  return c->results[i] && py_port_take(self->state, port, c->results[i], true, &c->out[i]) &&
         py_native_set_output(self->state, native, &self->ports, i, &c->out[i]);
}

/* Of an output that could not be bound: a copy of what the session has. */
static bool copy_output(const py_session *self, py_native *native, int i, py_call *c) {
  const py_port *port = &self->ports.out[i];
  hone_tensor tensor;
  if (!native->copied[i] || c->out[i].on_device) return true;
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
  if (!py_same_shape(&tensor.type.shape, &c->out[i].tensor.type.shape))
    return py_refuse_shape(port, &tensor.type.shape, &c->out[i].tensor.type.shape);
  memcpy(c->out[i].tensor.data, tensor.data, tensor.bytes);
  return true;
}

py_native *py_call_begin(py_session *self, PyObject *args, PyObject *kwargs, py_call *c) {
  PyObject *given = NULL;
  if (kwargs && PyDict_Size(kwargs) > 0) {
    given = PyDict_GetItemString(kwargs, "out");
    if (given && PyDict_GetItemString(self->names, "out")) given = NULL; /* an input of that name */
  }
  if (!begin(self, c) || !py_session_feeds(self, args, kwargs, c->feeds) || !take_given(self, given, c)) return NULL;
  for (int i = 0; i < c->in_count; ++i)
    if (!py_port_take(self->state, &self->ports.in[i], c->feeds[i], false, &c->in[i])) return NULL;
  return py_session_take(self);
}

bool py_call_prepare(const py_session *self, py_native *native, py_call *c) {
  if (!py_native_set_inputs(self->state, native, &self->ports, c->in)) return false;
  for (int i = 0; i < c->out_count; ++i)
    if (!place_output(self, native, i, c)) return false;
  return true;
}

PyObject *py_call_results(const py_session *self, py_native *native, py_call *c) {
  for (int i = 0; i < c->out_count; ++i)
    if (!copy_output(self, native, i, c)) return NULL;
  if (!self->result) return Py_NewRef(c->results[0]);
  PyObject *tuple = PyTuple_New(c->out_count);
  for (int i = 0; tuple && i < c->out_count; ++i)
    if (PyTuple_SetItem(tuple, i, Py_NewRef(c->results[i])) < 0) Py_CLEAR(tuple);
  PyObject *named = tuple ? PyObject_CallObject(self->result, tuple) : NULL;
  Py_XDECREF(tuple);
  return named;
}
