/* SPDX-License-Identifier: Apache-2.0 */
/* graph.c - hone._native.Graph: a model that was read, or one that is built node by node. Python holds values by
 * number, since they live as long as their graph. */
#include "ext.h"
#include "zoo/zoo.h"
#include <stdlib.h>
#include <string.h>

py_graph *py_graph_new(py_state *state, const py_limits *limits) {
  py_graph *self = (py_graph *)PyType_GenericAlloc(state->graph, 0);
  if (!self) return NULL;
  self->state = state;
  self->context = &self->own_context;
  if (py_context_open(state, limits, self->context)) return self;
  Py_DECREF((PyObject *)self);
  return NULL;
}

static void dealloc(py_graph *self) {
  PyTypeObject *type = Py_TYPE(&self->ob_base);
  hone_graph_destroy(self->graph);
  py_context_close(&self->own_context);
  if (self->bytes.obj) PyBuffer_Release(&self->bytes);
  Py_XDECREF(self->source);
  free(self->values);
  PyObject_Free(self);
  Py_DECREF((PyObject *)type);
}

bool py_graph_enter(py_graph *graph) {
  if (!graph->context->busy) return true;
  PyErr_SetString(PyExc_RuntimeError, "another thread works with this model now");
  return false;
}

/* ---- making ---- */

PyObject *py_graph_create(PyObject *module, PyObject *args, PyObject *kwargs) {
  static char *names[] = {"name", NULL};
  const char *name = NULL;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|z", names, &name)) return NULL;
  py_graph *self = py_graph_new(py_state_of(module), NULL);
  if (!self) return NULL;
  const hone_status status = hone_graph_create(self->context->context, name, &self->graph);
  if (status == HONE_OK) return (PyObject *)self;
  (void)py_fail(self->context, status);
  Py_DECREF((PyObject *)self);
  return NULL;
}

static hone_status load(py_graph *self, const char *path) {
  hone_status status;
  Py_BEGIN_ALLOW_THREADS;
  if (self->bytes.obj)
    status = hone_graph_load_onnx_memory(self->context->context, self->bytes.buf, (size_t)self->bytes.len, path,
                                         &self->graph);
  else
    status = hone_graph_load_onnx(self->context->context, path, &self->graph);
  Py_END_ALLOW_THREADS;
  return status;
}

PyObject *py_graph_load(PyObject *module, PyObject *args, PyObject *kwargs) {
  static char *names[] = {"path", "data", "cache_dir", "memory_limit", "deadline_ms", "allow_external_links", NULL};
  const char *path = NULL;
  PyObject *data = NULL;
  py_limits limits = {0};
  unsigned long long memory_bytes = 0;
  long long deadline_ms = 0;
  int links = 0;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "z|OzKLp", names, &path, &data, &limits.cache_dir, &memory_bytes,
                                   &deadline_ms, &links))
    return NULL;
  limits.memory_bytes = memory_bytes;
  limits.deadline_ms = deadline_ms;
  limits.external_links = links;
  py_graph *self = py_graph_new(py_state_of(module), &limits);
  if (!self) return NULL;
  if (data && data != Py_None && PyObject_GetBuffer(data, &self->bytes, PyBUF_SIMPLE) < 0) {
    self->bytes.obj = NULL;
    Py_DECREF((PyObject *)self);
    return NULL;
  }
  const hone_status status = load(self, path);
  if (status == HONE_OK) return (PyObject *)self;
  (void)py_fail(self->context, status);
  Py_DECREF((PyObject *)self);
  return NULL;
}

PyObject *py_graph_zoo(PyObject *module, PyObject *args, PyObject *kwargs) {
  static char *names[] = {"name", "batch", "dynamic", "seed", NULL};
  const char *name, *near = NULL;
  long long batch = 1;
  int dynamic = 0;
  unsigned long long seed = 0;
  py_state *state = py_state_of(module);
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "s|LpK", names, &name, &batch, &dynamic, &seed)) return NULL;
  if (batch < 1 || batch > 65536) return py_fail_text(state, HONE_INVALID, "batch is %lld; allowed: 1 to 65536", batch);
  const zoo_options options = {.batch = batch, .dynamic = dynamic, .seed = seed};
  const zoo_row *row = cli_zoo_rows;
  for (; row->name && strcmp(row->name, name) != 0; ++row) near = hone_nearest_name(name, near, row->name);
  if (!row->name)
    return py_fail_text(state, HONE_INVALID, "the zoo has no %s%s%s", name, near ? "; did you mean " : "",
                        near ? near : "");
  py_graph *self = py_graph_new(state, NULL);
  if (!self) return NULL;
  hone_status status;
  Py_BEGIN_ALLOW_THREADS;
  status = cli_zoo_build(self->context->context, row, &options, &self->graph);
  Py_END_ALLOW_THREADS;
  if (status == HONE_OK) return (PyObject *)self;
  (void)py_fail(self->context, status);
  Py_DECREF((PyObject *)self);
  return NULL;
}

PyObject *py_zoo_list(PyObject *module, PyObject *none) {
  (void)module, (void)none;
  PyObject *list = PyList_New(0);
  for (const zoo_row *row = cli_zoo_rows; list && row->name; ++row) {
    PyObject *entry = Py_BuildValue("(sss)", row->name, row->doc, row->inputs);
    if (!entry || PyList_Append(list, entry) < 0) Py_CLEAR(list);
    Py_XDECREF(entry);
  }
  return list;
}

/* ---- values by number ---- */

static PyObject *number_of(py_graph *self, hone_value *value) {
  if (self->value_count == self->value_room) {
    const int room = self->value_room ? 2 * self->value_room : 64;
    hone_value **values = realloc(self->values, (size_t)room * sizeof(hone_value *));
    if (!values) return PyErr_NoMemory();
    self->values = values;
    self->value_room = room;
  }
  self->values[self->value_count] = value;
  return PyLong_FromLong(self->value_count++);
}

/* None is an absent one. */
static bool value_of(const py_graph *self, PyObject *number, hone_value **out) {
  *out = NULL;
  if (number == Py_None) return true;
  const long at = PyLong_AsLong(number);
  if (at >= 0 && at < self->value_count) {
    *out = self->values[at];
    return true;
  }
  if (!PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "a value of another network");
  return false;
}

/* Free dims are strings, or None. */
static bool dims_take(PyObject *shape, const char *name, int64_t *dims, const char **names, int *out_rank) {
  const Py_ssize_t rank = PySequence_Check(shape) ? PySequence_Size(shape) : -1;
  if (rank < 0 || rank > HONE_MAX_RANK) {
    PyErr_Format(PyExc_ValueError, "input %s: a shape is a sequence of at most %d dims", name, HONE_MAX_RANK);
    return false;
  }
  *out_rank = (int)rank;
  for (int i = 0; i < (int)rank; ++i) {
    PyObject *dim = PySequence_GetItem(shape, i); /* held by the sequence, too */
    if (!dim) return false;
    names[i] = PyUnicode_Check(dim) ? PyUnicode_AsUTF8AndSize(dim, NULL) : NULL;
    dims[i] = names[i] || dim == Py_None ? -1 : PyLong_AsLongLong(dim);
    Py_DECREF(dim);
    if (PyErr_Occurred()) return false;
  }
  return true;
}

static PyObject *add_input(py_graph *self, PyObject *args) {
  const char *name, *dtype, *names[HONE_MAX_RANK];
  PyObject *shape;
  int64_t dims[HONE_MAX_RANK];
  int rank;
  hone_value *value;
  if (!PyArg_ParseTuple(args, "ssO", &name, &dtype, &shape) || !py_graph_enter(self) ||
      !dims_take(shape, name, dims, names, &rank))
    return NULL;
  const hone_dtype type = py_dtype_find(dtype);
  if (type == HONE_NONE)
    return py_fail_text(self->state, HONE_INVALID, "input %s: there is no element type %s", name, dtype);
  hone_context_clear_messages(self->context->context);
  const hone_status status = hone_graph_add_input(self->graph, name, type, rank, dims, names, &value);
  return status == HONE_OK ? number_of(self, value) : py_fail(self->context, status);
}

static PyObject *add_constant(py_graph *self, PyObject *args) {
  const char *name;
  PyObject *object;
  py_array array;
  hone_value *value;
  if (!PyArg_ParseTuple(args, "zO", &name, &object) || !py_graph_enter(self) ||
      !py_array_take(self->state, object, name ? name : "a constant", HONE_NONE, false, &array))
    return NULL;
  hone_context_clear_messages(self->context->context);
  const hone_status status = hone_graph_add_constant(self->graph, name, &array.tensor, &value);
  py_array_drop(&array);
  return status == HONE_OK ? number_of(self, value) : py_fail(self->context, status);
}

static PyObject *add_node_with(py_graph *self, const char *op, const char *name, PyObject *inputs, PyObject *attributes,
                               int out_count, py_pool *pool) {
  const hone_attr *attrs;
  int attr_count;
  const Py_ssize_t in_count = PyList_Size(inputs);
  hone_value **in = in_count < 0 ? NULL : py_pool_take(pool, in_count, sizeof(hone_value *));
  hone_value **out = in ? py_pool_take(pool, out_count, sizeof(hone_value *)) : NULL;
  if (!out || !py_attrs_take(pool, attributes, &attrs, &attr_count)) return NULL;
  for (Py_ssize_t i = 0; i < in_count; ++i)
    if (!value_of(self, PyList_GetItem(inputs, i), &in[i])) return NULL;
  hone_context_clear_messages(self->context->context);
  const hone_status status =
      hone_graph_add_node(self->graph, op, name, in, (int)in_count, attrs, attr_count, out, out_count);
  if (status != HONE_OK) return py_fail(self->context, status);
  PyObject *list = PyList_New(0);
  for (int i = 0; list && i < out_count; ++i) {
    PyObject *number = number_of(self, out[i]);
    if (!number || PyList_Append(list, number) < 0) Py_CLEAR(list);
    Py_XDECREF(number);
  }
  return list;
}

static PyObject *add_node(py_graph *self, PyObject *args) {
  const char *op, *name;
  PyObject *inputs, *attributes;
  int out_count;
  py_pool pool = {0};
  if (!PyArg_ParseTuple(args, "szO!O!i", &op, &name, &PyList_Type, &inputs, &PyDict_Type, &attributes, &out_count) ||
      !py_graph_enter(self))
    return NULL;
  if (out_count < 1 || out_count > 1024) {
    PyErr_SetString(PyExc_ValueError, "outputs: 1 to 1024 are possible");
    return NULL;
  }
  PyObject *numbers = add_node_with(self, op, name, inputs, attributes, out_count, &pool);
  py_pool_free(&pool);
  return numbers;
}

static PyObject *add_output(py_graph *self, PyObject *args) {
  const char *name;
  PyObject *number;
  hone_value *value;
  if (!PyArg_ParseTuple(args, "sO", &name, &number) || !py_graph_enter(self) || !value_of(self, number, &value))
    return NULL;
  hone_context_clear_messages(self->context->context);
  const hone_status status = hone_graph_add_output(self->graph, name, value);
  return status == HONE_OK ? Py_NewRef(Py_None) : py_fail(self->context, status);
}

/* (name, dtype, shape) */
static PyObject *describe(const char *name, const hone_value *value) {
  hone_type type;
  hone_value_type(value, &type);
  const char *dtype = py_dtype_name(type.dtype);
  PyObject *shape = py_shape_tuple(&type.shape);
  return shape ? Py_BuildValue("(NsN)", py_string(name), dtype ? dtype : hone_dtype_name(type.dtype), shape) : NULL;
}

static PyObject *value_info(py_graph *self, PyObject *number) {
  hone_value *value;
  if (!py_graph_enter(self) || !value_of(self, number, &value)) return NULL;
  if (!value) return Py_NewRef(Py_None);
  return describe(hone_value_name(value), value);
}

static PyObject *ports(py_graph *self, bool inputs) {
  if (!py_graph_enter(self)) return NULL;
  PyObject *list = PyList_New(0);
  const int count = inputs ? hone_graph_input_count(self->graph) : hone_graph_output_count(self->graph);
  for (int i = 0; list && i < count; ++i) {
    const hone_value *value = inputs ? hone_graph_input(self->graph, i) : hone_graph_output(self->graph, i);
    PyObject *port = describe(inputs ? hone_value_name(value) : hone_graph_output_name(self->graph, i), value);
    if (!port || PyList_Append(list, port) < 0) Py_CLEAR(list);
    Py_XDECREF(port);
  }
  return list;
}

static PyObject *inputs(py_graph *self, PyObject *none) {
  (void)none;
  return ports(self, true);
}

static PyObject *outputs(py_graph *self, PyObject *none) {
  (void)none;
  return ports(self, false);
}

static PyObject *node_count(py_graph *self, PyObject *none) {
  (void)none;
  return py_graph_enter(self) ? PyLong_FromLong(hone_graph_node_count(self->graph)) : NULL;
}

static PyObject *save_onnx(py_graph *self, PyObject *args) {
  const char *path;
  hone_status status;
  if (!PyArg_ParseTuple(args, "s", &path) || !py_graph_enter(self)) return NULL;
  self->context->busy = true;
  hone_context_clear_messages(self->context->context);
  Py_BEGIN_ALLOW_THREADS;
  status = hone_graph_save_onnx(self->graph, path);
  Py_END_ALLOW_THREADS;
  self->context->busy = false;
  return status == HONE_OK ? Py_NewRef(Py_None) : py_fail(self->context, status);
}

static PyObject *text(py_graph *self, PyObject *none) {
  (void)none;
  py_text to = {0};
  const hone_print_options options = {.struct_size = sizeof options, .with_types = true};
  if (!py_graph_enter(self)) return NULL;
  hone_context_clear_messages(self->context->context);
  const hone_status status = hone_graph_print(self->graph, &options, py_text_write, &to);
  if (status == HONE_OK) return py_text_string(&to);
  py_text_free(&to);
  return py_fail(self->context, status);
}

static PyMethodDef methods[] = {
    {"add_input", (PyCFunction)add_input, METH_VARARGS, "add_input(name, dtype, shape) -> value"},
    {"add_constant", (PyCFunction)add_constant, METH_VARARGS, "add_constant(name, array) -> value"},
    {"add_node", (PyCFunction)add_node, METH_VARARGS, "add_node(op, name, inputs, attributes, outputs) -> values"},
    {"add_output", (PyCFunction)add_output, METH_VARARGS, "add_output(name, value)"},
    {"value_info", (PyCFunction)value_info, METH_O, "value_info(value) -> (name, dtype, shape)"},
    {"inputs", (PyCFunction)inputs, METH_NOARGS, "inputs() -> [(name, dtype, shape)]"},
    {"outputs", (PyCFunction)outputs, METH_NOARGS, "outputs() -> [(name, dtype, shape)]"},
    {"node_count", (PyCFunction)node_count, METH_NOARGS, "node_count() -> int"},
    {"save_onnx", (PyCFunction)save_onnx, METH_VARARGS, "save_onnx(path)"},
    {"text", (PyCFunction)text, METH_NOARGS, "text() -> str"},
    {"build", PY_NAMED(py_graph_build), METH_VARARGS | METH_KEYWORDS, "build(...) -> Engine"},
    {"quantize", PY_NAMED(py_graph_quantize), METH_VARARGS | METH_KEYWORDS, "quantize(...) -> Graph"},
    {0},
};
static PyType_Slot slots[] = {{Py_tp_dealloc, dealloc}, {Py_tp_methods, methods}, {0}};
PyType_Spec py_graph_spec = {.name = "hone._native.Graph",
                             .basicsize = sizeof(py_graph),
                             .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
                             .slots = slots};
