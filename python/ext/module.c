/* SPDX-License-Identifier: Apache-2.0 */
/* module.c - hone._native: its functions, types and state. */
#include "ext.h"

py_state *py_state_of(PyObject *module) { return PyModule_GetState(module); }

/* In the child of a fork: what was opened before has no threads behind it. */
static PyObject *forked(PyObject *module, PyObject *none) {
  (void)none;
  ++py_state_of(module)->process;
  return Py_NewRef(Py_None);
}

static PyObject *version(PyObject *module, PyObject *none) {
  (void)module, (void)none;
  return PyUnicode_FromString(hone_version());
}

static PyMethodDef functions[] = {
    {"create", PY_NAMED(py_graph_create), METH_VARARGS | METH_KEYWORDS, "create(name) -> Graph"},
    {"load_model", PY_NAMED(py_graph_load), METH_VARARGS | METH_KEYWORDS, "load_model(path, data, ...) -> Graph"},
    {"zoo", PY_NAMED(py_graph_zoo), METH_VARARGS | METH_KEYWORDS, "zoo(name, batch, dynamic, seed) -> Graph"},
    {"zoo_list", py_zoo_list, METH_NOARGS, "zoo_list() -> [(name, what, inputs)]"},
    {"load_engine", PY_NAMED(py_engine_load), METH_VARARGS | METH_KEYWORDS, "load_engine(path, data, ...) -> Engine"},
    {"new_session", PY_NAMED(py_session_new), METH_VARARGS | METH_KEYWORDS, "new_session(type, engine, result)"},
    {"new_batcher", PY_NAMED(py_batcher_new), METH_VARARGS | METH_KEYWORDS, "new_batcher(session, ...) -> Batcher"},
    {"new_profiler", PY_NAMED(py_profiler_new), METH_VARARGS | METH_KEYWORDS, "new_profiler(engine, inputs)"},
    {"report_diff", PY_NAMED(py_report_diff), METH_VARARGS | METH_KEYWORDS, "report_diff(a, b, ...) -> (str, bool)"},
    {"plugged", py_plugged, METH_NOARGS, "plugged() -> the list of plug-ins and definitions"},
    {"try_plugged", py_try_plugged, METH_NOARGS, "try_plugged(): refuses what contexts would refuse"},
    {"forked", forked, METH_NOARGS, "forked(): called in the child of a fork"},
    {"version", version, METH_NOARGS, "version() -> str"},
    {0},
};

static bool add_type(PyObject *module, PyType_Spec *spec, PyTypeObject **out) {
  *out = (PyTypeObject *)PyType_FromModuleAndSpec(module, spec, NULL);
  return *out && PyModule_AddType(module, *out) == 0;
}

/* The package's own Python, and where it lies: backends of their own stand beside it. */
static bool load_helpers(py_state *state) {
  PyObject *errors = PyImport_ImportModule("hone._errors");
  if (!errors) return false;
  state->make_error = PyObject_GetAttrString(errors, "make");
  state->on_log = PyObject_GetAttrString(errors, "log");
  state->library_path = PyObject_GetAttrString(errors, "LIBRARY_PATH");
  Py_DECREF(errors);
  state->plugged = PyList_New(0);
  return state->make_error && state->on_log && state->library_path && state->plugged;
}

static int execute(PyObject *module) {
  py_state *state = py_state_of(module);
  const bool ready =
      load_helpers(state) && py_dtypes_load(state) && add_type(module, &py_graph_spec, &state->graph) &&
      add_type(module, &py_engine_spec, &state->engine) && add_type(module, &py_session_spec, &state->session) &&
      add_type(module, &py_binding_spec, &state->binding) && add_type(module, &py_run_spec, &state->run) &&
      add_type(module, &py_profiler_spec, &state->profiler) && add_type(module, &py_batcher_spec, &state->batcher);
  return ready ? 0 : -1;
}

static int traverse(PyObject *module, visitproc visit, void *arg) {
  py_state *state = py_state_of(module);
  Py_VISIT(state->graph);
  Py_VISIT(state->engine);
  Py_VISIT(state->session);
  Py_VISIT(state->binding);
  Py_VISIT(state->run);
  Py_VISIT(state->profiler);
  Py_VISIT(state->batcher);
  Py_VISIT(state->make_error);
  Py_VISIT(state->on_log);
  Py_VISIT(state->plugged);
  return 0;
}

static int clear(PyObject *module) {
  py_state *state = py_state_of(module);
  py_dtypes_clear(state);
  Py_CLEAR(state->graph);
  Py_CLEAR(state->engine);
  Py_CLEAR(state->session);
  Py_CLEAR(state->binding);
  Py_CLEAR(state->run);
  Py_CLEAR(state->profiler);
  Py_CLEAR(state->batcher);
  Py_CLEAR(state->make_error);
  Py_CLEAR(state->on_log);
  Py_CLEAR(state->plugged);
  Py_CLEAR(state->library_path);
  return 0;
}

static void free_module(void *module) { (void)clear(module); }

static PyModuleDef_Slot slots[] = {{Py_mod_exec, execute}, {0}};
static PyModuleDef definition = {.m_base = PyModuleDef_HEAD_INIT,
                                 .m_name = "hone._native",
                                 .m_doc = "The C API of hone.",
                                 .m_size = sizeof(py_state),
                                 .m_methods = functions,
                                 .m_slots = slots,
                                 .m_traverse = traverse,
                                 .m_clear = clear,
                                 .m_free = free_module};

PyMODINIT_FUNC PyInit__native(void);
PyMODINIT_FUNC PyInit__native(void) { return PyModuleDef_Init(&definition); }
