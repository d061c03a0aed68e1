/* SPDX-License-Identifier: Apache-2.0 */
/* errors.c - contexts, and their messages as exceptions and log lines. */
#include "ext.h"
#include <stdarg.h>
#include <stdio.h>

/* From any thread that the library logs in. */
static void log_line(void *user, hone_log_level level, const char *line) {
  const py_context *context = user;
  if (!context->is_open && !context->state->tells_plugged) return;
  const PyGILState_STATE held = PyGILState_Ensure();
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace); /* of whoever is unwinding: a log line is no reason to lose it */
  PyObject *done = PyObject_CallFunction(context->state->on_log, "iN", (int)level, py_string(line));
  if (!done) PyErr_WriteUnraisable(context->state->on_log);
  Py_XDECREF(done);
  PyErr_Restore(type, value, trace);
  PyGILState_Release(held);
}

bool py_context_open(py_state *state, const py_limits *limits, py_context *out) {
  static const py_limits none;
  if (!limits) limits = &none;
  out->state = state;
  out->is_open = false;
  atomic_init(&out->cancel, false);
  const char *library_path = PyUnicode_AsUTF8AndSize(state->library_path, NULL);
  if (!library_path) return false;
  const hone_context_options options = {.struct_size = sizeof options,
                                        .log = log_line,
                                        .log_user = out,
                                        .log_level = HONE_LOG_WARN,
                                        .cache_dir = limits->cache_dir,
                                        .deadline_ms = limits->deadline_ms,
                                        .cancel = &out->cancel,
                                        .library_path = library_path,
                                        .allow_external_links = limits->external_links,
                                        .memory_limit_bytes = limits->memory_bytes};
  const hone_status status = hone_context_create(&options, &out->context);
  if (status == HONE_OK) {
    out->is_open = py_plugged_apply(out);
    if (!out->is_open) py_context_close(out);
    return out->is_open;
  }
  (void)py_fail_text(state, status, "a context with these limits cannot be made");
  return false;
}

void py_context_close(py_context *context) {
  hone_context_destroy(context->context);
  context->context = NULL;
}

/* Takes the list. */
static PyObject *set_error(py_state *state, hone_status status, PyObject *messages) {
  if (!messages) return NULL;
  PyObject *error = PyObject_CallFunction(state->make_error, "iO", (int)status, messages);
  Py_DECREF(messages);
  if (!error) return NULL;
  PyErr_SetObject((PyObject *)Py_TYPE(error), error);
  Py_DECREF(error);
  return NULL;
}

static bool add_message(PyObject *list, const char *text) {
  PyObject *message = py_string(text);
  const bool added = message && PyList_Append(list, message) == 0;
  Py_XDECREF(message);
  return added;
}

PyObject *py_fail(const py_context *context, hone_status status) {
  if (PyErr_Occurred()) return NULL;
  PyObject *list = PyList_New(0);
  for (int i = 0; list && i < hone_context_message_count(context->context); ++i)
    if (!add_message(list, hone_context_message(context->context, i, NULL))) Py_CLEAR(list);
  return set_error(context->state, status, list);
}

PyObject *py_fail_session(py_state *state, const hone_session *session, hone_status status) {
  if (PyErr_Occurred()) return NULL;
  PyObject *list = PyList_New(0);
  for (int i = 0; list && i < hone_session_message_count(session); ++i)
    if (!add_message(list, hone_session_message(session, i, NULL))) Py_CLEAR(list);
  return set_error(state, status, list);
}

PyObject *py_fail_text(py_state *state, hone_status status, const char *format, ...) {
  char text[512];
  va_list arguments;
  if (PyErr_Occurred()) return NULL;
  va_start(arguments, format);
  (void)vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  PyObject *list = PyList_New(0);
  if (list && !add_message(list, text)) Py_CLEAR(list);
  return set_error(state, status, list);
}

PyObject *py_take_error(void) {
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  Py_XDECREF(type);
  Py_XDECREF(trace);
  return value;
}
