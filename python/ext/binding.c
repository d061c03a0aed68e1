/* SPDX-License-Identifier: Apache-2.0 */
/* binding.c - hone._native.Binding: a session of its own with buffers that stay, for calls that only run. */
#include "ext.h"
#include <stdlib.h>
#include <string.h>

typedef struct py_binding {
  PyObject ob_base;
  py_session *session;
  py_native *native;
  uint64_t process;
  py_array *in, *out;
  PyObject *outputs; /* what a call returns */
  bool busy;
} py_binding;

static void dealloc(py_binding *self) {
  PyTypeObject *type = Py_TYPE(&self->ob_base);
  if (self->session) {
    const py_ports *ports = &self->session->ports;
    if (self->native) py_session_give(self->session, self->native, self->process);
    for (int i = 0; self->in && i < ports->in_count + ports->out_count; ++i) py_array_drop(&self->in[i]);
    free(self->in);
    Py_DECREF((PyObject *)self->session);
  }
  Py_XDECREF(self->outputs);
  PyObject_Free(self);
  Py_DECREF((PyObject *)type);
}

/* Gives a session the buffers; also the one that stands in for it after a fork. */
static bool attach(py_binding *self) {
  py_session *session = self->session;
  py_state *state = session->state;
  self->native = py_session_take(session);
  self->process = state->process;
  if (!self->native || !py_native_set_inputs(state, self->native, &session->ports, self->in)) return false;
  for (int i = 0; self->outputs && i < session->ports.out_count; ++i)
    if (!py_native_set_output(state, self->native, &session->ports, i, &self->out[i])) return false;
  return true;
}

/* The output that was given, else a new array of the shape that these inputs make. */
static PyObject *output_array(const py_binding *self, PyObject *given, int i) {
  const py_session *session = self->session;
  const py_port *port = &session->ports.out[i];
  if (self->native->copied[i] && !port->on_device)
    return py_fail_text(session->state, HONE_INVALID,
                        "%s cannot be bound: its shape depends on data; call the session instead", port->what);
  PyObject *array;
  if (!py_session_given(session, given, i, &array)) return NULL;
  if (!array && port->on_device)
    return py_fail_text(session->state, HONE_INVALID, "%s lies on a device: pass out=, a tensor that lies there",
                        port->what);
  return array ? array : py_array_new(session->state, port->what, &self->native->out[i]);
}

static bool bind_outputs(py_binding *self, PyObject *given) {
  const py_session *session = self->session;
  const int count = session->ports.out_count;
  PyObject *tuple = PyTuple_New(count);
  for (int i = 0; tuple && i < count; ++i) {
    PyObject *array = output_array(self, given, i);
    if (!array || PyTuple_SetItem(tuple, i, array) < 0 ||
        !py_port_take(session->state, &session->ports.out[i], array, true, &self->out[i]) ||
        !py_native_set_output(session->state, self->native, &session->ports, i, &self->out[i]))
      Py_CLEAR(tuple);
  }
  if (!tuple) return false;
  self->outputs = session->result ? PyObject_CallObject(session->result, tuple) : Py_NewRef(PyTuple_GetItem(tuple, 0));
  Py_DECREF(tuple);
  return self->outputs != NULL;
}

static bool take_inputs(py_binding *self, PyObject *args, PyObject *kwargs) {
  const py_session *session = self->session;
  const int count = session->ports.in_count;
  PyObject **feeds = calloc((size_t)count + 1, sizeof *feeds);
  if (!feeds) {
    PyErr_NoMemory();
    return false;
  }
  bool taken = py_session_feeds(session, args, kwargs, feeds);
  for (int i = 0; taken && i < count; ++i)
    taken = py_port_take(session->state, &session->ports.in[i], feeds[i], false, &self->in[i]);
  free(feeds);
  return taken;
}

PyObject *py_session_bind(py_session *session, PyObject *args, PyObject *kwargs) {
  py_binding *self = (py_binding *)PyType_GenericAlloc(session->state->binding, 0);
  if (!self) return NULL;
  self->session = (py_session *)Py_NewRef(&session->ob_base);
  self->in = calloc((size_t)(session->ports.in_count + session->ports.out_count) + 1, sizeof *self->in);
  if (!self->in) {
    Py_DECREF((PyObject *)self);
    return PyErr_NoMemory();
  }
  self->out = self->in + session->ports.in_count;
  PyObject *given = kwargs ? PyDict_GetItemString(kwargs, "out") : NULL;
  if (given && PyDict_GetItemString(session->names, "out")) given = NULL; /* an input of that name */
  if (take_inputs(self, args, kwargs) && attach(self) && bind_outputs(self, given)) return (PyObject *)self;
  Py_DECREF((PyObject *)self);
  return NULL;
}

static PyObject *run(PyObject *object, PyObject *args, PyObject *kwargs) {
  py_binding *self = (py_binding *)object;
  if (PyTuple_Size(args) > 0 || (kwargs && PyDict_Size(kwargs) > 0)) {
    PyErr_SetString(PyExc_TypeError, "a binding is called without arguments: it has its buffers");
    return NULL;
  }
  if (self->busy) {
    PyErr_SetString(PyExc_RuntimeError, "the binding runs in another thread: each thread wants one of its own");
    return NULL;
  }
  if (self->process != self->session->state->process) {
    py_native_free(self->native, false);
    if (!attach(self)) return NULL;
  }
  self->busy = true;
  const bool done = py_native_run(self->session->state, self->native);
  self->busy = false;
  return done ? Py_NewRef(self->outputs) : NULL;
}

static PyObject *run_method(py_binding *self, PyObject *none) {
  PyObject *empty = PyTuple_New(0);
  (void)none;
  PyObject *result = empty ? run((PyObject *)self, empty, NULL) : NULL;
  Py_XDECREF(empty);
  return result;
}

static PyObject *outputs(py_binding *self, void *closure) {
  (void)closure;
  return Py_NewRef(self->outputs);
}

static PyMethodDef methods[] = {
    {"run", (PyCFunction)run_method, METH_NOARGS, "run() -> the outputs, in the buffers that are bound"},
    {0},
};
static PyGetSetDef getters[] = {
    {"outputs", (getter)outputs, NULL, "the bound outputs: an array, or a named tuple of several", NULL},
    {0},
};
static PyType_Slot slots[] = {
    {Py_tp_dealloc, dealloc}, {Py_tp_methods, methods}, {Py_tp_getset, getters}, {Py_tp_call, run}, {0}};
PyType_Spec py_binding_spec = {.name = "hone._native.Binding",
                               .basicsize = sizeof(py_binding),
                               .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                               .slots = slots};
