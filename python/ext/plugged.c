/* SPDX-License-Identifier: Apache-2.0 */
/* plugged.c - plug-ins and operators of the program. The library has them by context, and Python by process: a list
 * that hone._plugged keeps, and that every context is given when it is opened. */
#include "ext.h"

/* (path,): a shared object. */
static hone_status load(hone_context *context, PyObject *row) {
  const char *path;
  return PyArg_ParseTuple(row, "s", &path) ? hone_plugin_load(context, path) : HONE_INVALID;
}

/* (name, expression, inputs, attributes, ONNX's name, its domain, doc): an operator that is its expression. */
static hone_status define(hone_context *context, PyObject *row) {
  hone_op_definition d = {.struct_size = sizeof d};
  PyObject *inputs, *attrs;
  py_pool pool = {0};
  if (!PyArg_ParseTuple(row, "ssOOzzz", &d.name, &d.expression, &inputs, &attrs, &d.onnx_name, &d.onnx_domain, &d.doc))
    return HONE_INVALID;
  const bool taken = py_names_take(&pool, inputs, "inputs", &d.inputs, &d.input_count) &&
                     py_attrs_take(&pool, attrs, &d.attrs, &d.attr_count);
  const hone_status status = taken ? hone_op_define(context, &d) : HONE_INVALID;
  py_pool_free(&pool);
  return status;
}

bool py_plugged_apply(py_context *context) {
  for (Py_ssize_t i = 0; i < PyList_Size(context->state->plugged); ++i) {
    PyObject *row = PyList_GetItem(context->state->plugged, i); /* borrowed; the list may change in a log line */
    Py_INCREF(row);
    const hone_status status = (PyTuple_Size(row) == 1 ? load : define)(context->context, row);
    Py_DECREF(row);
    if (status != HONE_OK) {
      (void)py_fail(context, status);
      return false;
    }
  }
  return true;
}

PyObject *py_plugged(PyObject *module, PyObject *none) {
  (void)none;
  return Py_NewRef(py_state_of(module)->plugged);
}

/* Only here does the library log what they replace: not with every context that comes after. */
PyObject *py_try_plugged(PyObject *module, PyObject *none) {
  py_state *state = py_state_of(module);
  py_context context;
  (void)none;
  state->tells_plugged = true;
  const bool opened = py_context_open(state, NULL, &context);
  state->tells_plugged = false;
  if (!opened) return NULL;
  py_context_close(&context);
  return Py_NewRef(Py_None);
}
