/* SPDX-License-Identifier: Apache-2.0 */
/* profiler.c - hone._native.Profiler: a session whose runs are measured step by step, and the reports on it. */
#include "ext.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { KEPT_RUNS = 15 }; /* whose spans are kept: the page shows the one in the middle by its time */

typedef struct run_spans {
  hone_span *spans;
  int64_t count, room;
} run_spans;

typedef struct py_profiler {
  PyObject ob_base;
  py_state *state;
  py_engine *engine;
  py_ports ports;
  py_native *native;
  uint64_t process;
  py_array *in;
  run_spans kept[KEPT_RUNS];
  int64_t runs;
  bool busy;
} py_profiler;

/* A run comes before its steps. */
static void keep_span(void *user, const hone_span *span) {
  py_profiler *self = user;
  if (span->kind == HONE_SPAN_RUN) self->kept[++self->runs % KEPT_RUNS].count = 0;
  run_spans *run = &self->kept[self->runs % KEPT_RUNS];
  if (run->count == run->room) {
    const int64_t room = run->room ? 2 * run->room : 64;
    hone_span *spans = realloc(run->spans, (size_t)room * sizeof *spans);
    if (!spans) return; /* the page then has fewer */
    run->spans = spans;
    run->room = room;
  }
  run->spans[run->count++] = *span;
}

static int compare_runs(const void *a, const void *b) {
  const hone_span *x = (*(const run_spans *const *)a)->spans, *y = (*(const run_spans *const *)b)->spans;
  const int64_t x_ns = x->end_ns - x->begin_ns, y_ns = y->end_ns - y->begin_ns;
  return (x_ns > y_ns) - (x_ns < y_ns);
}

static const run_spans *typical_run(const py_profiler *self) {
  const run_spans *runs[KEPT_RUNS];
  int count = 0;
  for (int r = 0; r < KEPT_RUNS; ++r)
    if (self->kept[r].count > 0 && self->kept[r].spans[0].kind == HONE_SPAN_RUN) runs[count++] = &self->kept[r];
  if (count == 0) return NULL;
  qsort(runs, (size_t)count, sizeof *runs, compare_runs);
  return runs[count / 2];
}

static void dealloc(py_profiler *self) {
  PyTypeObject *type = Py_TYPE(&self->ob_base);
  py_native_free(self->native, self->process == self->state->process);
  for (int i = 0; self->in && i < self->ports.in_count; ++i) py_array_drop(&self->in[i]);
  free(self->in);
  py_ports_free(&self->ports);
  for (int r = 0; r < KEPT_RUNS; ++r) free(self->kept[r].spans);
  Py_XDECREF((PyObject *)self->engine);
  PyObject_Free(self);
  Py_DECREF((PyObject *)type);
}

static bool open_session(py_profiler *self, PyObject *inputs) {
  const hone_session_options options = {.struct_size = sizeof options, .on_span = keep_span, .on_span_user = self};
  if (!py_ports_read(self->engine->engine, self->engine->index, NULL, &self->ports)) return false;
  self->in = calloc((size_t)self->ports.in_count + 1, sizeof *self->in);
  if (!self->in || PyTuple_Size(inputs) != self->ports.in_count) {
    if (!self->in)
      PyErr_NoMemory();
    else
      PyErr_Format(PyExc_TypeError, "inputs: %d arrays are wanted", self->ports.in_count);
    return false;
  }
  for (int i = 0; i < self->ports.in_count; ++i)
    if (!py_array_take(self->state, PyTuple_GetItem(inputs, i), self->ports.in[i].what, self->ports.in[i].dtype, false,
                       &self->in[i]))
      return false;
  self->native = py_native_new(self->engine, &self->ports, &options);
  return self->native && py_native_set_inputs(self->state, self->native, &self->ports, self->in);
}

PyObject *py_profiler_new(PyObject *module, PyObject *args, PyObject *kwargs) {
  static char *names[] = {"engine", "inputs", NULL};
  py_state *state = py_state_of(module);
  PyObject *engine, *inputs;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!O!", names, state->engine, &engine, &PyTuple_Type, &inputs))
    return NULL;
  py_profiler *self = (py_profiler *)PyType_GenericAlloc(state->profiler, 0);
  if (!self) return NULL;
  self->state = state;
  self->process = state->process;
  self->engine = (py_engine *)Py_NewRef(engine);
  if (open_session(self, inputs)) return (PyObject *)self;
  Py_DECREF((PyObject *)self);
  return NULL;
}

static bool enter(py_profiler *self) {
  if (self->process != self->state->process)
    PyErr_SetString(PyExc_RuntimeError, "the profile was made by the process that forked");
  else if (self->busy)
    PyErr_SetString(PyExc_RuntimeError, "the profile is used by another thread");
  else
    return true;
  return false;
}

/* ---- running ---- */

static double now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

/* At least so many runs and milliseconds, and no more than there is room for times; Ctrl-C ends them. */
static PyObject *run(py_profiler *self, PyObject *args) {
  int profiled, least_runs;
  double least_ms, spent_ms = 0;
  if (!PyArg_ParseTuple(args, "pid", &profiled, &least_runs, &least_ms) || !enter(self)) return NULL;
  PyObject *times = PyList_New(0);
  self->busy = true;
  hone_session_set_profile(self->native->session, profiled);
  for (int runs = 0; times && (runs < least_runs || spent_ms < least_ms); ++runs) {
    const double begin_ms = now_ms();
    const bool done = py_native_run(self->state, self->native);
    const double run_ms = now_ms() - begin_ms;
    PyObject *time_ms = done && PyErr_CheckSignals() == 0 ? PyFloat_FromDouble(run_ms) : NULL;
    if (!time_ms || PyList_Append(times, time_ms) < 0) Py_CLEAR(times);
    Py_XDECREF(time_ms);
    spent_ms += run_ms;
  }
  self->busy = false;
  return times;
}

/* ---- reports ---- */

typedef struct request {
  const char *what, *path, *ledger, *command, *before;
  double unprofiled_ns;
  hone_report_options options;
  hone_roofline_options roofline;
} request;

static hone_status write_advice(const py_profiler *self, const request *r, bool json, py_text *text,
                                hone_diagnostics *diag) {
  const hone_advise_options options = {
      .struct_size = sizeof options, .ledger_path = r->ledger, .unprofiled_ns = r->unprofiled_ns};
  hone_report_options report = r->options;
  hone_advice *advice;
  report.json = json;
  hone_status status = hone_advise(self->native->session, NULL, &options, &advice, diag);
  if (status == HONE_OK) status = hone_report_advice(advice, &report, py_text_write, text, diag);
  hone_advice_destroy(advice);
  return status;
}

static hone_status write_page(const py_profiler *self, const request *r, py_text *text, hone_diagnostics *diag) {
  const run_spans *run_of = typical_run(self);
  hone_status status = write_advice(self, r, true, text, diag);
  if (status == HONE_OK && !py_text_write(text, "", 1)) status = HONE_NO_MEMORY;
  const hone_html_options options = {.struct_size = sizeof options,
                                     .ledger_path = r->ledger,
                                     .spans = run_of ? run_of->spans : NULL,
                                     .span_count = run_of ? run_of->count : 0,
                                     .before_path = r->before,
                                     .advice = text->data,
                                     .command = r->command,
                                     .unprofiled_ns = r->unprofiled_ns};
  return status == HONE_OK ? hone_report_html(self->native->session, r->path, &options, diag) : status;
}

static hone_status write_report(const py_profiler *self, const request *r, py_text *text, hone_diagnostics *diag) {
  const hone_session *session = self->native->session;
  const hone_status status = hone_device_measure(self->engine->device, diag);
  if (status != HONE_OK) return status;
  if (strcmp(r->what, "profile") == 0) return hone_report_profile(session, &r->options, py_text_write, text, diag);
  if (strcmp(r->what, "roofline") == 0)
    return hone_report_roofline(self->engine->engine, session, &r->roofline, py_text_write, text, diag);
  if (strcmp(r->what, "advice") == 0) return write_advice(self, r, r->options.json, text, diag);
  if (strcmp(r->what, "page") == 0) return write_page(self, r, text, diag);
  return hone_fail(diag, HONE_INVALID, "there is no report %s; allowed: profile, roofline, advice, page", r->what);
}

static bool read_by(const char *by, hone_profile_by *out) {
  static const char *const names[HONE_BY_COUNT] = {"layer", "type", "onnx-node", "module"};
  for (int i = 0; i < HONE_BY_COUNT; ++i)
    if (strcmp(names[i], by) == 0) {
      *out = (hone_profile_by)i;
      return true;
    }
  PyErr_Format(PyExc_ValueError, "by is \"%s\"; it may be layer, type, onnx-node or module", by);
  return false;
}

static PyObject *report(py_profiler *self, PyObject *args, PyObject *kwargs) {
  static char *names[] = {"what",          "json", "csv",    "by",      "top",    "width",
                          "unprofiled_ns", "path", "ledger", "command", "before", NULL};
  request r = {.options = {.struct_size = sizeof r.options}, .roofline = {.struct_size = sizeof r.roofline}};
  const char *by = "layer";
  int json = 0, csv = 0;
  py_context context;
  py_text text = {0};
  hone_status status;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "s|ppsiidzzzz", names, &r.what, &json, &csv, &by, &r.options.top,
                                   &r.options.width, &r.unprofiled_ns, &r.path, &r.ledger, &r.command, &r.before) ||
      !read_by(by, &r.options.by) || !enter(self))
    return NULL;
  r.options.json = r.roofline.json = json;
  r.options.csv = csv;
  r.roofline.width = r.options.width;
  r.options.unprofiled_ns = r.unprofiled_ns;
  if (!py_context_open(self->state, NULL, &context)) return NULL;
  self->busy = true;
  Py_BEGIN_ALLOW_THREADS;
  status = write_report(self, &r, &text, hone_context_diagnostics(context.context));
  Py_END_ALLOW_THREADS;
  self->busy = false;
  PyObject *result = status == HONE_OK ? py_text_string(&text) : py_fail(&context, status);
  py_text_free(&text);
  py_context_close(&context);
  return result;
}

/* ---- two engines beside each other ---- */

enum { MOST_SESSIONS = 16 };

static bool take_sessions(py_state *state, PyObject *list, int count, const hone_session **out) {
  for (int i = 0; i < count; ++i) {
    PyObject *profiler = PyList_GetItem(list, i);
    if (!PyObject_TypeCheck(profiler, state->profiler)) {
      PyErr_SetString(PyExc_TypeError, "profilers are wanted");
      return false;
    }
    if (!enter((py_profiler *)profiler)) return false;
    out[i] = ((py_profiler *)profiler)->native->session;
  }
  return true;
}

/* (text, regressed) */
PyObject *py_report_diff(PyObject *module, PyObject *args, PyObject *kwargs) {
  static char *names[] = {"a", "b", "json", "runs_of_a_block", "name_a", "name_b", "max_regression", "width", NULL};
  py_state *state = py_state_of(module);
  const hone_session *a[MOST_SESSIONS], *b[MOST_SESSIONS];
  PyObject *list_a, *list_b;
  int json = 0;
  hone_diff_options options = {.struct_size = sizeof options, .max_regression = -1};
  py_context context;
  py_text text = {0};
  bool regressed;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!O!|pizzdi", names, &PyList_Type, &list_a, &PyList_Type, &list_b,
                                   &json, &options.runs_of_a_block, &options.name_a, &options.name_b,
                                   &options.max_regression, &options.width))
    return NULL;
  const Py_ssize_t count = PyList_Size(list_a);
  if (count < 1 || count > MOST_SESSIONS || PyList_Size(list_b) != count) {
    PyErr_Format(PyExc_ValueError, "as many profilers of each engine are wanted, 1 to %d", MOST_SESSIONS);
    return NULL;
  }
  options.json = json;
  if (!take_sessions(state, list_a, (int)count, a) || !take_sessions(state, list_b, (int)count, b) ||
      !py_context_open(state, NULL, &context))
    return NULL;
  const hone_status status = hone_report_diff(a, b, (int)count, &options, py_text_write, &text, &regressed,
                                              hone_context_diagnostics(context.context));
  PyObject *result = status == HONE_OK ? Py_BuildValue("(NO)", py_text_string(&text), regressed ? Py_True : Py_False)
                                       : py_fail(&context, status);
  py_text_free(&text);
  py_context_close(&context);
  return result;
}

static PyMethodDef methods[] = {
    {"run", (PyCFunction)run, METH_VARARGS, "run(profiled, least_runs, least_ms) -> times in ms"},
    {"report", PY_NAMED(report), METH_VARARGS | METH_KEYWORDS, "report(what, ...) -> str"},
    {0},
};
static PyType_Slot slots[] = {{Py_tp_dealloc, dealloc}, {Py_tp_methods, methods}, {0}};
PyType_Spec py_profiler_spec = {.name = "hone._native.Profiler",
                                .basicsize = sizeof(py_profiler),
                                .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                .slots = slots};
