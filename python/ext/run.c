/* SPDX-License-Identifier: Apache-2.0 */
/* run.c - hone._native.Run: a run beside the caller. It holds its session, arrays and results until it is over, also
 * when it was cancelled, since the library reads and writes them until then. */
#include "ext.h"

typedef struct py_run {
  PyObject ob_base;
  py_session *session;
  py_native *native; /* NULL: it is over */
  uint64_t process;
  PyObject *done;
  py_call call;
} py_run;

static void dealloc(py_run *self) {
  PyTypeObject *type = Py_TYPE(&self->ob_base);
  PyObject_Free(self);
  Py_DECREF((PyObject *)type);
}

/* Everything that it holds; a native session goes back into the list. */
static void let_go(py_run *self) {
  if (self->native) {
    atomic_store(&self->native->cancel, false); /* for the next one */
    py_session_give(self->session, self->native, self->process);
  }
  self->native = NULL;
  py_call_end(&self->call);
  Py_CLEAR(self->done);
  Py_DECREF((PyObject *)self->session);
  self->session = NULL;
}

/* By the session's thread. */
static void over(void *user, hone_status status) {
  py_run *self = user;
  const PyGILState_STATE gil = PyGILState_Ensure();
  PyObject *result = NULL, *error = NULL;
  if (status == HONE_OK)
    result = py_call_results(self->session, self->native, &self->call);
  else
    (void)py_fail_session(self->session->state, self->native->session, status);
  if (!result) error = py_take_error();
  PyObject *done = Py_NewRef(self->done);
  let_go(self); /* before done(), which may begin the next run in the same session */
  PyObject *said = PyObject_CallFunctionObjArgs(done, result ? result : Py_None, error ? error : Py_None, NULL);
  if (!said) PyErr_WriteUnraisable(done);
  Py_XDECREF(said);
  Py_DECREF(done);
  Py_XDECREF(result);
  Py_XDECREF(error);
  Py_DECREF((PyObject *)self);
  PyGILState_Release(gil);
}

PyObject *py_session_start(py_session *session, PyObject *args) {
  PyObject *done, *positional, *named;
  if (!PyArg_ParseTuple(args, "OO!O!", &done, &PyTuple_Type, &positional, &PyDict_Type, &named)) return NULL;
  py_run *self = (py_run *)PyType_GenericAlloc(session->state->run, 0);
  if (!self) return NULL;
  self->session = (py_session *)Py_NewRef((PyObject *)session);
  self->process = session->state->process;
  self->done = Py_NewRef(done);
  self->native = py_call_begin(session, positional, named, &self->call);
  bool begun = self->native && py_call_prepare(session, self->native, &self->call);
  if (begun) {
    Py_INCREF((PyObject *)self); /* over() drops it */
    const hone_status status = hone_session_run_async(self->native->session, over, self);
    if (status != HONE_OK) {
      (void)py_fail_session(session->state, self->native->session, status);
      Py_DECREF((PyObject *)self);
      begun = false;
    }
  }
  if (begun) return (PyObject *)self;
  let_go(self);
  Py_DECREF((PyObject *)self);
  return NULL;
}

static PyObject *cancel(py_run *self, PyObject *none) {
  (void)none;
  if (self->native) atomic_store(&self->native->cancel, true);
  return Py_NewRef(Py_None);
}

static PyMethodDef methods[] = {
    {"cancel", (PyCFunction)cancel, METH_NOARGS, "cancel(): the run ends soon with CancelledError"},
    {0},
};
static PyType_Slot slots[] = {{Py_tp_dealloc, dealloc}, {Py_tp_methods, methods}, {0}};
PyType_Spec py_run_spec = {.name = "hone._native.Run",
                           .basicsize = sizeof(py_run),
                           .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                           .slots = slots};
