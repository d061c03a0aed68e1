/* SPDX-License-Identifier: Apache-2.0 */
/* progress.c - long calls and Python: progress, Ctrl-C, and exceptions that callbacks raise.
 * The library's callbacks of a build come from the thread that called it, so it takes back its own thread state. */
#include "ext.h"
#include <time.h>

enum { TELL_EVERY_NS = 30000000 }; /* often enough for the eye, and for Ctrl-C */

static int64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

void py_progress_begin(py_progress *progress, py_context *context, PyObject *callback) {
  *progress = (py_progress){.context = context, .callback = callback == Py_None ? NULL : callback};
  atomic_init(&progress->stop_timing, false);
  atomic_store(&context->cancel, false);
  hone_context_clear_messages(context->context);
  progress->thread = PyEval_SaveThread();
}

/* What is raised now ends the call; the first one counts. */
static void keep_error(py_progress *progress) {
  if (progress->error_type) {
    PyErr_Clear();
    return;
  }
  PyErr_Fetch(&progress->error_type, &progress->error_value, &progress->error_trace);
  atomic_store(&progress->context->cancel, true);
}

/* What a callback or a signal raised. The first Ctrl-C ends the timing: what was measured so far is the plan. */
static void judge_error(py_progress *progress) {
  if (!progress->interrupted && PyErr_ExceptionMatches(PyExc_KeyboardInterrupt)) {
    PyErr_Clear();
    progress->interrupted = true;
    atomic_store(&progress->stop_timing, true);
  } else
    keep_error(progress);
}

void py_progress_hold(py_progress *progress) { PyEval_RestoreThread(progress->thread); }

void py_progress_go_on(py_progress *progress) {
  if (PyErr_Occurred()) judge_error(progress);
  progress->thread = PyEval_SaveThread();
}

void py_progress_tell(void *user, const char *what, int64_t done, int64_t total) {
  py_progress *progress = user;
  const int64_t now = now_ns();
  if (now - progress->told_at_ns < TELL_EVERY_NS && done != total) return;
  progress->told_at_ns = now;
  py_progress_hold(progress);
  if (PyErr_CheckSignals() < 0) judge_error(progress);
  if (progress->callback && !progress->error_type) {
    PyObject *answer =
        PyObject_CallFunction(progress->callback, "NLL", py_string(what), (long long)done, (long long)total);
    Py_XDECREF(answer);
  }
  py_progress_go_on(progress);
}

bool py_progress_end(py_progress *progress) {
  PyEval_RestoreThread(progress->thread);
  if (!progress->error_type) return true;
  PyErr_Restore(progress->error_type, progress->error_value, progress->error_trace);
  return false;
}
