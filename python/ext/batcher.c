/* SPDX-License-Identifier: Apache-2.0 */
/* batcher.c - hone._native.Batcher: a batching queue of one engine. A request holds its arrays until it is over;
 * workers of the library's make its results and tell them. */
#include "ext.h"
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef struct py_batcher {
  PyObject ob_base;
  py_session *session; /* ports, names and the type of results; it runs nothing */
  hone_batcher *batcher;
  hone_queue *queue;
  hone_diagnostics *diag; /* of submitting, which the GIL guards */
  uint64_t process;
} py_batcher;

typedef struct job {
  py_session *session;
  hone_request *request;
  PyObject *done;
  py_array *in;
  hone_tensor tensors[];
} job;

static _Thread_local int telling; /* a worker of some batcher: it must not wait for itself */

/* ---- the end ---- */

static void *destroy(void *batcher) {
  hone_batcher_destroy(batcher);
  return NULL;
}

/* Without the GIL, which workers want for what they finish. */
static void end_batcher(hone_batcher *batcher) {
  pthread_t thread;
  if (!telling)
    hone_batcher_destroy(batcher);
  else if (pthread_create(&thread, NULL, destroy, batcher) == 0)
    pthread_detach(thread);
}

static void dealloc(py_batcher *self) {
  PyTypeObject *type = Py_TYPE(&self->ob_base);
  if (self->session && self->process == self->session->state->process) {
    Py_BEGIN_ALLOW_THREADS;
    hone_queue_close(self->queue);
    end_batcher(self->batcher);
    Py_END_ALLOW_THREADS;
    hone_diagnostics_destroy(self->diag);
  } /* else: the parent's, whose threads are not here */
  Py_XDECREF((PyObject *)self->session);
  PyObject_Free(self);
  Py_DECREF((PyObject *)type);
}

/* ---- a request ---- */

static void free_job(job *j) {
  hone_request_destroy(j->request);
  for (int i = 0; j->in && i < j->session->ports.in_count; ++i) py_array_drop(&j->in[i]);
  free(j->in);
  Py_XDECREF(j->done);
  Py_DECREF((PyObject *)j->session);
  free(j);
}

static PyObject *copy_output(const job *j, int i) {
  const py_session *session = j->session;
  const py_port *port = &session->ports.out[i];
  hone_tensor from;
  py_array to = {0};
  if (hone_request_output(j->request, i, &from) != HONE_OK)
    return py_fail_text(session->state, HONE_INTERNAL, "%s cannot be read", port->what);
  PyObject *array = py_array_new(session->state, port->what, &from.type);
  if (array && py_array_take(session->state, array, port->what, port->dtype, true, &to)) {
    if (from.bytes > 0) memcpy(to.tensor.data, from.data, from.bytes);
  } else {
    Py_CLEAR(array);
  }
  py_array_drop(&to);
  return array;
}

static PyObject *results_of(const job *j) {
  const py_session *session = j->session;
  if (!session->result) return copy_output(j, 0);
  PyObject *tuple = PyTuple_New(session->ports.out_count);
  for (int i = 0; tuple && i < session->ports.out_count; ++i) {
    PyObject *one = copy_output(j, i);
    if (!one || PyTuple_SetItem(tuple, i, one) < 0) Py_CLEAR(tuple);
  }
  PyObject *named = tuple ? PyObject_CallObject(session->result, tuple) : NULL;
  Py_XDECREF(tuple);
  return named;
}

/* By a worker, or whoever ends the batcher. */
static void over(void *user, hone_request *request, hone_status status) {
  job *j = user;
  const PyGILState_STATE gil = PyGILState_Ensure();
  PyObject *result = NULL, *error = NULL;
  ++telling;
  if (status == HONE_OK)
    result = results_of(j);
  else
    (void)py_fail_text(j->session->state, status, "%s", hone_request_message(request));
  if (!result) error = py_take_error();
  PyObject *done = Py_NewRef(j->done);
  free_job(j);
  PyObject *said = PyObject_CallFunctionObjArgs(done, result ? result : Py_None, error ? error : Py_None, NULL);
  if (!said) PyErr_WriteUnraisable(done);
  Py_XDECREF(said);
  Py_XDECREF(result);
  Py_XDECREF(error);
  Py_DECREF(done);
  --telling;
  PyGILState_Release(gil);
}

static bool take_inputs(job *j, PyObject *args, PyObject *kwargs) {
  py_session *session = j->session;
  const int count = session->ports.in_count;
  PyObject **feeds = calloc((size_t)count + 1, sizeof *feeds);
  j->in = calloc((size_t)count + 1, sizeof *j->in);
  bool taken = feeds && j->in;
  if (!taken) PyErr_NoMemory();
  taken = taken && py_session_feeds(session, args, kwargs, feeds);
  for (int i = 0; taken && i < count; ++i) {
    taken = py_port_take(session->state, &session->ports.in[i], feeds[i], false, &j->in[i]);
    j->tensors[i] = j->in[i].tensor;
  }
  free(feeds);
  return taken;
}

static bool submit(py_batcher *self, job *j, long long priority) {
  hone_call call = {.struct_size = sizeof call,
                    .inputs = j->tensors,
                    .input_count = j->session->ports.in_count,
                    .priority = priority,
                    .done = over,
                    .user = j};
  hone_diagnostics_clear(self->diag);
  hone_status status = hone_request_create(self->queue, &j->request, self->diag);
  if (status == HONE_OK) status = hone_request_submit(j->request, &call, self->diag);
  if (status == HONE_OK) return true; /* over() frees it, once we let go of the GIL */
  const char *why = hone_diagnostics_message(self->diag, 0, NULL);
  (void)py_fail_text(j->session->state, status, "%s", why ? why : hone_status_name(status));
  return false;
}

static bool is_here(const py_batcher *self) {
  if (self->process == self->session->state->process) return true;
  (void)py_fail_text(self->session->state, HONE_INVALID, "the batcher was made before a fork: make one here");
  return false;
}

static PyObject *start(py_batcher *self, PyObject *args) {
  PyObject *done, *positional, *named;
  long long priority;
  if (!PyArg_ParseTuple(args, "OO!O!L", &done, &PyTuple_Type, &positional, &PyDict_Type, &named, &priority))
    return NULL;
  if (!is_here(self)) return NULL;
  job *j = calloc(1, sizeof *j + (size_t)self->session->ports.in_count * sizeof *j->tensors);
  if (!j) return PyErr_NoMemory();
  j->session = (py_session *)Py_NewRef((PyObject *)self->session);
  j->done = Py_NewRef(done);
  if (take_inputs(j, positional, named) && submit(self, j, priority)) return Py_NewRef(Py_None);
  free_job(j);
  return NULL;
}

static PyObject *end(py_batcher *self, PyObject *wait_ms) {
  const long long ms = PyLong_AsLongLong(wait_ms);
  hone_status status;
  if ((ms == -1 && PyErr_Occurred()) || !is_here(self)) return NULL;
  if (telling)
    return py_fail_text(self->session->state, HONE_INVALID, "a batcher cannot be closed by one of its own callbacks");
  Py_BEGIN_ALLOW_THREADS;
  status = hone_batcher_end(self->batcher, ms);
  Py_END_ALLOW_THREADS;
  return PyBool_FromLong(status == HONE_OK);
}

static PyObject *stats(py_batcher *self, PyObject *none) {
  hone_queue_stats s = HONE_SIZED(hone_queue_stats);
  (void)none;
  if (!is_here(self)) return NULL;
  (void)hone_queue_get_stats(self->queue, &s);
  return Py_BuildValue("{s:i,s:L,s:L,s:L,s:L,s:L,s:i,s:i,s:i}", "waiting", s.waiting, "taken", (long long)s.taken,
                       "refused", (long long)s.refused, "failed", (long long)s.failed, "runs", (long long)s.runs,
                       "rows", (long long)s.rows, "max_batch", s.max_batch, "preferred", s.preferred, "workers",
                       hone_batcher_workers(self->batcher));
}

/* ---- the type ---- */

static hone_status open_queue(py_batcher *self, hone_context *context, const hone_batcher_options *workers,
                              const hone_queue_options *options) {
  hone_status status;
  Py_BEGIN_ALLOW_THREADS;
  status = hone_diagnostics_create(&self->diag);
  if (status == HONE_OK) status = hone_batcher_create(context, workers, &self->batcher);
  if (status == HONE_OK)
    status = hone_queue_open(self->batcher, self->session->engine->engine, options, &self->queue,
                             hone_context_diagnostics(context));
  Py_END_ALLOW_THREADS;
  return status;
}

PyObject *py_batcher_new(PyObject *module, PyObject *args, PyObject *kwargs) {
  static char *keys[] = {"session",      "workers",  "threads",       "max_batch",   "max_waiting",
                         "max_delay_us", "max_rate", "wait_limit_ms", "fixed_batch", NULL};
  py_state *state = py_state_of(module);
  hone_batcher_options workers = {.struct_size = sizeof workers};
  hone_queue_options options = {.struct_size = sizeof options};
  PyObject *session;
  py_context context;
  long long delay_us = 0, wait_ms = 0;
  int fixed = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!iiiiLdLp", keys, state->session, &session, &workers.workers,
                                   &workers.threads, &options.max_batch, &options.max_waiting, &delay_us,
                                   &options.max_rate, &wait_ms, &fixed))
    return NULL;
  options.max_delay_us = delay_us;
  options.wait_limit_ms = wait_ms;
  options.fixed_batch = fixed;
  if (!py_engine_here(((py_session *)session)->engine) || !py_context_open(state, NULL, &context)) return NULL;
  py_batcher *self = (py_batcher *)PyType_GenericAlloc(state->batcher, 0);
  if (self) {
    self->session = (py_session *)Py_NewRef(session);
    self->process = state->process;
    const hone_status status = open_queue(self, context.context, &workers, &options);
    if (status != HONE_OK) {
      (void)py_fail(&context, status);
      Py_DECREF((PyObject *)self);
      self = NULL;
    }
  }
  py_context_close(&context);
  return (PyObject *)self;
}

static PyMethodDef methods[] = {
    {"start", (PyCFunction)start, METH_VARARGS, "start(done, args, kwargs, priority): done(result, error) is called"},
    {"end", (PyCFunction)end, METH_O, "end(wait_ms) -> bool: all that was taken was finished"},
    {"stats", (PyCFunction)stats, METH_NOARGS, "stats() -> dict"},
    {0},
};
static PyType_Slot slots[] = {{Py_tp_dealloc, dealloc}, {Py_tp_methods, methods}, {0}};
PyType_Spec py_batcher_spec = {.name = "hone._native.Batcher",
                               .basicsize = sizeof(py_batcher),
                               .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                               .slots = slots};
