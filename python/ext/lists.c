/* SPDX-License-Identifier: Apache-2.0 */
/* lists.c - Python's sequences and dicts as the arrays that the library's options point to. */
#include "ext.h"
#include <stdlib.h>
#include <string.h>

/* Before each block stands the address of the one that was taken before. */
typedef union header {
  void *previous;
  max_align_t aligned;
} header;

void *py_pool_take(py_pool *pool, Py_ssize_t count, size_t bytes) {
  header *block = calloc(1, sizeof *block + (size_t)count * bytes);
  if (!block) return PyErr_NoMemory();
  block->previous = pool->latest;
  pool->latest = block;
  return block + 1;
}

void py_pool_free(py_pool *pool) {
  while (pool->latest) {
    header *block = pool->latest;
    pool->latest = block->previous;
    free(block);
  }
}

const char *py_text_of(PyObject *object, const char *what) {
  if (PyUnicode_Check(object)) return PyUnicode_AsUTF8AndSize(object, NULL);
  PyErr_Format(PyExc_TypeError, "%s: a str is wanted", what);
  return NULL;
}

/* The sequence's length; -1: an exception is set. None has none. */
static Py_ssize_t length_of(PyObject *object, const char *what) {
  if (!object || object == Py_None) return 0;
  if (PyUnicode_Check(object) || !(PyList_Check(object) || PyTuple_Check(object))) {
    PyErr_Format(PyExc_TypeError, "%s: a list or tuple is wanted", what);
    return -1;
  }
  return PySequence_Size(object);
}

/* Borrowed: the caller's list or tuple holds it. */
static PyObject *item_of(PyObject *object, Py_ssize_t index) {
  return PyTuple_Check(object) ? PyTuple_GetItem(object, index) : PyList_GetItem(object, index);
}

bool py_names_take(py_pool *pool, PyObject *object, const char *what, const char *const **out, int *out_count) {
  *out = NULL;
  *out_count = 0;
  const Py_ssize_t count = length_of(object, what);
  if (count <= 0) return count == 0;
  const char **names = py_pool_take(pool, count, sizeof *names);
  if (!names) return false;
  for (Py_ssize_t i = 0; i < count; ++i)
    if (!(names[i] = py_text_of(item_of(object, i), what))) return false;
  *out = names;
  *out_count = (int)count;
  return true;
}

bool py_shapes_take(py_pool *pool, PyObject *object, const hone_profile_shape **out, int *out_count) {
  *out = NULL;
  *out_count = 0;
  const Py_ssize_t count = length_of(object, "shapes");
  if (count <= 0) return count == 0;
  hone_profile_shape *shapes = py_pool_take(pool, count, sizeof *shapes);
  if (!shapes) return false;
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject *row = item_of(object, i), *range[3];
    if (!PyTuple_Check(row) ||
        !PyArg_ParseTuple(row, "sOOOi", &shapes[i].input, &range[0], &range[1], &range[2], &shapes[i].profile)) {
      if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "shapes: tuples are wanted");
      return false;
    }
    if (!py_shape_take(range[0], shapes[i].input, &shapes[i].min) ||
        !py_shape_take(range[1], shapes[i].input, &shapes[i].opt) ||
        !py_shape_take(range[2], shapes[i].input, &shapes[i].max))
      return false;
  }
  *out = shapes;
  *out_count = (int)count;
  return true;
}

/* tf32 is no element type, but one to compute in. */
static bool dtype_take(const char *name, hone_dtype *out) {
  *out = !name ? HONE_NONE : strcmp(name, hone_dtype_name(HONE_TF32)) == 0 ? HONE_TF32 : py_dtype_find(name);
  if (!name || *out != HONE_NONE) return true;
  PyErr_Format(PyExc_ValueError, "layer_types: there is no element type \"%s\"", name);
  return false;
}

bool py_layers_take(py_pool *pool, PyObject *object, const hone_layer_type **out, int *out_count) {
  *out = NULL;
  *out_count = 0;
  const Py_ssize_t count = length_of(object, "layer_types");
  if (count <= 0) return count == 0;
  hone_layer_type *layers = py_pool_take(pool, count, sizeof *layers);
  if (!layers) return false;
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject *row = item_of(object, i);
    const char *compute, *output;
    int preferred;
    if (!PyTuple_Check(row) || !PyArg_ParseTuple(row, "szzp", &layers[i].node, &compute, &output, &preferred)) {
      if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "layer_types: tuples are wanted");
      return false;
    }
    layers[i].preferred = preferred;
    if (!dtype_take(compute, &layers[i].compute) || !dtype_take(output, &layers[i].output)) return false;
  }
  *out = layers;
  *out_count = (int)count;
  return true;
}

/* ---- attributes ---- */

static bool take_list(py_pool *pool, PyObject *list, hone_attr *attr) {
  const Py_ssize_t count = PySequence_Size(list);
  bool text = count > 0, real = false;
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject *item = item_of(list, i);
    text = text && PyUnicode_Check(item);
    real = real || PyFloat_Check(item);
  }
  attr->count = count;
  if (text) {
    int names;
    attr->kind = HONE_ATTR_STRINGS;
    return py_names_take(pool, list, attr->name, &attr->strings, &names);
  }
  void *numbers = py_pool_take(pool, count, 8);
  for (Py_ssize_t i = 0; numbers && i < count; ++i) {
    if (real)
      ((double *)numbers)[i] = PyFloat_AsDouble(item_of(list, i));
    else
      ((int64_t *)numbers)[i] = PyLong_AsLongLong(item_of(list, i));
    if (PyErr_Occurred()) return false;
  }
  attr->kind = real ? HONE_ATTR_FLOATS : HONE_ATTR_INTS;
  if (real)
    attr->floats = numbers;
  else
    attr->ints = numbers;
  return numbers != NULL;
}

static bool take_attr(py_pool *pool, PyObject *value, hone_attr *attr) {
  if (PyUnicode_Check(value)) {
    Py_ssize_t length;
    attr->kind = HONE_ATTR_STRING;
    attr->s = PyUnicode_AsUTF8AndSize(value, &length);
    attr->count = length;
    return attr->s != NULL;
  }
  if (PyFloat_Check(value)) {
    attr->kind = HONE_ATTR_FLOAT;
    attr->f = PyFloat_AsDouble(value);
    return true;
  }
  if (PyList_Check(value) || PyTuple_Check(value)) return take_list(pool, value, attr);
  attr->kind = HONE_ATTR_INT; /* and bool, and whatever has __index__ */
  PyObject *number = PyNumber_Index(value);
  attr->i = number ? PyLong_AsLongLong(number) : 0;
  Py_XDECREF(number);
  if (!PyErr_Occurred()) return true;
  if (PyErr_ExceptionMatches(PyExc_TypeError))
    PyErr_Format(PyExc_TypeError, "attribute %s: an int, float, str, or a list or tuple of them is wanted", attr->name);
  return false;
}

bool py_attrs_take(py_pool *pool, PyObject *object, const hone_attr **out, int *out_count) {
  *out = NULL;
  *out_count = 0;
  if (!object || object == Py_None) return true;
  const Py_ssize_t count = PyDict_Size(object);
  if (count < 0) return false;
  hone_attr *attrs = py_pool_take(pool, count, sizeof *attrs);
  PyObject *name, *value;
  Py_ssize_t at = 0;
  for (int i = 0; attrs && PyDict_Next(object, &at, &name, &value); ++i)
    if (!(attrs[i].name = py_text_of(name, "an attribute's name")) || !take_attr(pool, value, &attrs[i])) return false;
  *out = attrs;
  *out_count = (int)count;
  return attrs != NULL;
}

/* ---- arrays by name ---- */

bool py_named_take(py_state *state, py_pool *pool, PyObject *dict, py_named_arrays *out) {
  *out = (py_named_arrays){0};
  if (!dict || dict == Py_None) return true;
  if (!PyDict_Check(dict)) {
    PyErr_SetString(PyExc_TypeError, "inputs: a dict of names and arrays is wanted");
    return false;
  }
  const Py_ssize_t count = PyDict_Size(dict);
  out->arrays = py_pool_take(pool, count, sizeof *out->arrays);
  out->tensors = out->arrays ? py_pool_take(pool, count, sizeof *out->tensors) : NULL;
  PyObject *name, *value;
  Py_ssize_t at = 0;
  while (out->tensors && PyDict_Next(dict, &at, &name, &value)) {
    const char *text = py_text_of(name, "an input's name");
    if (!text || !py_array_take(state, value, text, HONE_NONE, false, &out->arrays[out->count])) break;
    out->tensors[out->count] = (hone_named_tensor){text, out->arrays[out->count].tensor};
    ++out->count;
  }
  if (out->tensors && out->count == (int)count) return true;
  py_named_drop(out);
  return false;
}

void py_named_drop(py_named_arrays *arrays) {
  for (int i = 0; i < arrays->count; ++i) py_array_drop(&arrays->arrays[i]);
  arrays->count = 0;
}
