/* SPDX-License-Identifier: Apache-2.0 */
/* arrays.c - arrays of others as tensors, without a copy and without a cast: what does not fit is refused with what to
 * write instead. Buffer protocol first; __array_interface__ for types that it has no letter for; DLPack for the rest.
 */
#include "ext.h"
#include <string.h>

/* ---- DLPack: the layout of its unversioned capsule (dlpack.h 0.8; capsule "dltensor") ---- */
typedef struct dl_tensor {
  void *data;
  struct {
    int32_t type, index;
  } device;
  int32_t rank;
  struct {
    uint8_t code, bits;
    uint16_t lanes;
  } dtype;
  int64_t *shape, *strides; /* strides NULL: row-major; in elements */
  uint64_t byte_offset;
} dl_tensor;
struct py_managed {
  dl_tensor tensor;
  void *manager;
  void (*deleter)(struct py_managed *self);
};
enum { DL_CPU = 1, DL_CUDA = 2, DL_CUDA_HOST = 3 };

typedef struct dl_row {
  uint8_t code, bits;
  hone_dtype dtype;
} dl_row;
static const dl_row dl_rows[] = {
    {0, 8, HONE_I8},          {0, 16, HONE_I16},    {0, 32, HONE_I32},        {0, 64, HONE_I64},
    {1, 8, HONE_U8},          {1, 16, HONE_U16},    {1, 32, HONE_U32},        {1, 64, HONE_U64},
    {2, 16, HONE_F16},        {2, 32, HONE_F32},    {2, 64, HONE_F64},        {4, 16, HONE_BF16},
    {5, 64, HONE_C64},        {5, 128, HONE_C128},  {6, 8, HONE_BOOL},        {10, 8, HONE_F8E4M3FN},
    {11, 8, HONE_F8E4M3FNUZ}, {12, 8, HONE_F8E5M2}, {13, 8, HONE_F8E5M2FNUZ}, {14, 8, HONE_F8E8M0},
};

/* ---- what is said when one does not fit ---- */
static bool is_row_major(const hone_shape *shape, const int64_t *strides, int64_t unit) {
  if (!strides) return true;
  int64_t want = unit;
  for (int i = shape->rank - 1; i >= 0; --i) {
    if (shape->dim[i] == 0) return true;
    if (shape->dim[i] != 1 && strides[i] != want) return false;
    want *= shape->dim[i];
  }
  return true;
}

static bool check_dtype(py_state *state, const char *what, hone_dtype got, hone_dtype want) {
  if (got == want || want == HONE_NONE) return true;
  const char *name = py_dtype_name(want), *given = py_dtype_name(got);
  (void)py_fail_text(state, HONE_INVALID, "%s: its elements are %s; the model has %s: pass x.astype(%s%s)", what,
                     given ? given : hone_dtype_name(got), name ? name : hone_dtype_name(want),
                     state->dtypes[want] && want != HONE_BF16 ? "numpy." : "", name ? name : hone_dtype_name(want));
  return false;
}

static bool refuse_layout(py_state *state, const char *what) {
  (void)py_fail_text(state, HONE_INVALID,
                     "%s: its elements do not lie in row-major order: pass numpy.ascontiguousarray(x)", what);
  return false;
}

static bool refuse_rank(py_state *state, const char *what, int64_t rank) {
  (void)py_fail_text(state, HONE_INVALID, "%s: it has %lld dims; at most %d are possible", what, (long long)rank,
                     HONE_MAX_RANK);
  return false;
}

static bool refuse_read_only(py_state *state, const char *what) {
  (void)py_fail_text(state, HONE_INVALID, "%s: it is read-only, and results are to be written there", what);
  return false;
}

/* ---- the three ways ---- */
static void set_tensor(py_array *out, hone_dtype dtype, const hone_shape *shape, void *data, size_t bytes) {
  static double nothing; /* arrays without elements may have no address */
  out->tensor = (hone_tensor){.type = {.kind = HONE_TENSOR, .dtype = dtype, .shape = *shape},
                              .data = data || bytes ? data : &nothing,
                              .bytes = bytes};
}

static bool take_buffer(py_state *state, const char *what, hone_dtype want, bool writable, py_array *out) {
  const Py_buffer *buffer = &out->buffer;
  bool swapped;
  const hone_dtype dtype = py_dtype_of_format(buffer->format, buffer->itemsize, &swapped);
  if (dtype == HONE_NONE || swapped) {
    (void)py_fail_text(state, HONE_INVALID, "%s: elements of format \"%s\" are none that a model has%s", what,
                       buffer->format ? buffer->format : "B",
                       swapped ? ": pass x.astype(x.dtype.newbyteorder(\"=\"))" : "");
    return false;
  }
  if (!check_dtype(state, what, dtype, want)) return false;
  if (buffer->ndim > HONE_MAX_RANK) return refuse_rank(state, what, buffer->ndim);
  if (!PyBuffer_IsContiguous(buffer, 'C')) return refuse_layout(state, what);
  if (writable && buffer->readonly) return refuse_read_only(state, what);
  hone_shape shape = {.rank = buffer->ndim};
  for (int i = 0; i < buffer->ndim; ++i) shape.dim[i] = buffer->shape[i];
  set_tensor(out, dtype, &shape, buffer->buf, (size_t)buffer->len);
  return true;
}

/* ints of a tuple; false: an exception is set. */
static bool read_ints(PyObject *tuple, int64_t *out, int count) {
  for (int i = 0; i < count; ++i) {
    PyObject *item = PySequence_GetItem(tuple, i);
    out[i] = item ? PyLong_AsLongLong(item) : -1;
    Py_XDECREF(item);
    if (PyErr_Occurred()) return false;
  }
  return true;
}

static hone_dtype dtype_of_object(PyObject *object) {
  PyObject *dtype = PyObject_GetAttrString(object, "dtype");
  PyObject *name = dtype ? PyObject_GetAttrString(dtype, "name") : NULL;
  const char *text = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8AndSize(name, NULL) : NULL;
  const hone_dtype found = text ? py_dtype_find(text) : HONE_NONE;
  Py_XDECREF(name);
  Py_XDECREF(dtype);
  PyErr_Clear();
  return found;
}

static size_t bytes_of(hone_dtype dtype, const hone_shape *shape) {
  size_t bytes = hone_dtype_bits(dtype) / 8;
  for (int i = 0; i < shape->rank; ++i) bytes *= (size_t)shape->dim[i];
  return bytes;
}

static bool take_interface(py_state *state, PyObject *object, PyObject *facts, const char *what, hone_dtype want,
                           bool writable, py_array *out) {
  PyObject *data = PyDict_GetItemString(facts, "data"), *shape_of = PyDict_GetItemString(facts, "shape");
  PyObject *strides_of = PyDict_GetItemString(facts, "strides");
  const hone_dtype dtype = dtype_of_object(object);
  PyObject *address;
  int read_only;
  hone_shape shape;
  int64_t strides[HONE_MAX_RANK];
  if (dtype == HONE_NONE) {
    (void)py_fail_text(state, HONE_INVALID, "%s: its elements are of no type that a model has", what);
    return false;
  }
  if (!check_dtype(state, what, dtype, want)) return false;
  if (!data || !shape_of || !PyTuple_Check(data) || !PyArg_ParseTuple(data, "Op", &address, &read_only)) {
    if (!PyErr_Occurred()) PyErr_Format(PyExc_TypeError, "%s: its __array_interface__ has no address", what);
    return false;
  }
  const Py_ssize_t rank = PySequence_Size(shape_of);
  if (rank < 0) return false;
  if (rank > HONE_MAX_RANK) return refuse_rank(state, what, rank);
  shape = (hone_shape){.rank = (int32_t)rank};
  if (!read_ints(shape_of, shape.dim, shape.rank)) return false;
  const bool strided = strides_of && strides_of != Py_None;
  if (strided && !read_ints(strides_of, strides, shape.rank)) return false;
  if (strided && !is_row_major(&shape, strides, (int64_t)hone_dtype_bits(dtype) / 8)) return refuse_layout(state, what);
  if (writable && read_only) return refuse_read_only(state, what);
  void *at = PyLong_AsVoidPtr(address);
  if (!at && PyErr_Occurred()) return false;
  set_tensor(out, dtype, &shape, at, bytes_of(dtype, &shape));
  out->owner = Py_NewRef(object);
  return true;
}

static hone_dtype dtype_of_dlpack(const dl_tensor *tensor) {
  for (size_t i = 0; i < sizeof dl_rows / sizeof *dl_rows && tensor->dtype.lanes == 1; ++i)
    if (dl_rows[i].code == tensor->dtype.code && dl_rows[i].bits == tensor->dtype.bits) return dl_rows[i].dtype;
  return HONE_NONE;
}

/* Where the tensor may be: in the host's memory, or on the port's device. */
static bool check_place(py_state *state, const dl_tensor *tensor, const char *what, const py_device_port *port) {
  if (tensor->device.type == DL_CPU || tensor->device.type == DL_CUDA_HOST) return true;
  if (!port || tensor->device.type != DL_CUDA)
    (void)py_fail_text(state, HONE_INVALID, "%s: it lies in a device's memory: pass x.cpu()%s", what,
                       port ? "" : ", or build the engine with device=\"gpu\", device_io=True");
  else if (tensor->device.index != port->index)
    (void)py_fail_text(state, HONE_INVALID, "%s: it lies on GPU %d, and the engine is on GPU %d", what,
                       (int)tensor->device.index, port->index);
  else
    return true;
  return false;
}

static bool read_dlpack(py_state *state, const dl_tensor *tensor, const char *what, hone_dtype want,
                        const py_device_port *port, py_array *out) {
  const hone_dtype dtype = dtype_of_dlpack(tensor);
  if (!check_place(state, tensor, what, port)) return false;
  const bool on_device = tensor->device.type == DL_CUDA;
  if (dtype == HONE_NONE) {
    (void)py_fail_text(state, HONE_INVALID, "%s: its elements are of no type that a model has", what);
    return false;
  }
  if (!check_dtype(state, what, dtype, on_device ? port->held : want)) return false;
  if (tensor->rank > HONE_MAX_RANK) return refuse_rank(state, what, tensor->rank);
  hone_shape shape = {.rank = tensor->rank};
  for (int i = 0; i < shape.rank; ++i) shape.dim[i] = tensor->shape[i];
  if (!is_row_major(&shape, tensor->strides, 1)) return refuse_layout(state, what);
  set_tensor(out, dtype, &shape, (char *)tensor->data + tensor->byte_offset, bytes_of(dtype, &shape));
  out->on_device = on_device;
  return true;
}

/* Is it in a GPU's memory, as it says itself? False too where it cannot be asked. */
static bool says_cuda(PyObject *object) {
  PyObject *place = PyObject_CallMethod(object, "__dlpack_device__", NULL);
  int kind = 0, index = 0;
  const bool told = place && PyTuple_Check(place) && PyArg_ParseTuple(place, "ii", &kind, &index);
  Py_XDECREF(place);
  PyErr_Clear();
  return told && kind == DL_CUDA;
}

/* Of a tensor on a GPU the producer is told our stream, which then waits for what made it. */
static PyObject *ask_dlpack(py_state *state, PyObject *object, const char *what, const py_device_port *port) {
  if (!port || !says_cuda(object)) return PyObject_CallMethod(object, "__dlpack__", NULL);
  if (!port->stream)
    return py_fail_text(state, HONE_INVALID,
                        "%s: it lies on a GPU, and the session has no stream to wait in for what made it: pass "
                        "hone.Session(engine, stream=torch.cuda.Stream().cuda_stream)",
                        what);
  PyObject *method = PyObject_GetAttrString(object, "__dlpack__"), *none = PyTuple_New(0);
  PyObject *named = Py_BuildValue("{s:K}", "stream", (unsigned long long)(uintptr_t)port->stream);
  PyObject *capsule = method && none && named ? PyObject_Call(method, none, named) : NULL;
  Py_XDECREF(method);
  Py_XDECREF(none);
  Py_XDECREF(named);
  return capsule;
}

static bool take_dlpack(py_state *state, PyObject *object, const char *what, hone_dtype want,
                        const py_device_port *port, py_array *out) {
  PyObject *capsule = ask_dlpack(state, object, what, port);
  if (!capsule) return false;
  struct py_managed *managed = PyCapsule_GetPointer(capsule, "dltensor");
  if (!managed || !read_dlpack(state, &managed->tensor, what, want, port, out)) {
    Py_DECREF(capsule); /* which then deletes it */
    return false;
  }
  (void)PyCapsule_SetName(capsule, "used_dltensor"); /* ours to delete from now on */
  Py_DECREF(capsule);
  out->managed = managed;
  return true;
}

static bool refuse_object(py_state *state, PyObject *object, const char *what, hone_dtype want) {
  PyObject *name = PyObject_GetAttrString((PyObject *)Py_TYPE(object), "__name__");
  const char *type = name ? PyUnicode_AsUTF8AndSize(name, NULL) : NULL, *dtype = py_dtype_name(want);
  PyErr_Clear();
  (void)state;
  if (want == HONE_NONE)
    PyErr_Format(PyExc_TypeError, "%s: a %s is no array: pass numpy.asarray(x)", what, type ? type : "thing");
  else
    PyErr_Format(PyExc_TypeError, "%s: a %s is no array: pass numpy.asarray(x, \"%s\")", what, type ? type : "thing",
                 dtype ? dtype : hone_dtype_name(want));
  Py_XDECREF(name);
  return false;
}

bool py_array_take(py_state *state, PyObject *object, const char *what, hone_dtype want, bool writable, py_array *out) {
  return py_array_take_at(state, object, what, want, writable, NULL, out);
}

bool py_array_take_at(py_state *state, PyObject *object, const char *what, hone_dtype want, bool writable,
                      const py_device_port *port, py_array *out) {
  *out = (py_array){0};
  bool taken = false;
  if (PyObject_CheckBuffer(object)) {
    if (PyObject_GetBuffer(object, &out->buffer, PyBUF_FULL_RO) == 0) {
      taken = take_buffer(state, what, want, writable, out);
      if (!taken) py_array_drop(out);
      return taken;
    }
    PyErr_Clear(); /* the protocol has no letter for its elements */
    out->buffer.obj = NULL;
  }
  PyObject *facts = PyObject_GetAttrString(object, "__array_interface__");
  if (facts && PyDict_Check(facts))
    taken = take_interface(state, object, facts, what, want, writable, out);
  else {
    PyErr_Clear();
    taken = PyObject_HasAttrString(object, "__dlpack__") ? take_dlpack(state, object, what, want, port, out)
                                                         : refuse_object(state, object, what, want);
  }
  Py_XDECREF(facts);
  if (!taken) py_array_drop(out);
  return taken;
}

/* What gives memory back may be Python: an error that is being raised must not be there while it runs. */
void py_array_drop(py_array *array) {
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  if (array->buffer.obj) PyBuffer_Release(&array->buffer);
  Py_XDECREF(array->owner);
  if (array->managed && array->managed->deleter) array->managed->deleter(array->managed);
  PyErr_Restore(type, value, trace);
  *array = (py_array){0};
}

PyObject *py_array_new(py_state *state, const char *what, const hone_type *type) {
  if (!state->dtypes[type->dtype]) {
    const bool narrow = py_dtype_name(type->dtype) != NULL;
    return py_fail_text(state, HONE_UNSUPPORTED, "%s is %s, which NumPy has no type for%s", what,
                        hone_dtype_name(type->dtype), narrow ? "; pip install ml_dtypes brings one" : "");
  }
  PyObject *shape = py_shape_tuple(&type->shape);
  if (!shape) return NULL;
  PyObject *array = PyObject_CallFunctionObjArgs(state->empty, shape, state->dtypes[type->dtype], NULL);
  Py_DECREF(shape);
  return array;
}

PyObject *py_shape_tuple(const hone_shape *shape) {
  if (shape->rank < 0) return Py_NewRef(Py_None);
  PyObject *tuple = PyTuple_New(shape->rank);
  for (int i = 0; tuple && i < shape->rank; ++i) {
    PyObject *dim = PyLong_FromLongLong(shape->dim[i] < 0 ? -1 : shape->dim[i]);
    if (!dim || PyTuple_SetItem(tuple, i, dim) < 0) Py_CLEAR(tuple);
  }
  return tuple;
}

bool py_shape_take(PyObject *object, const char *what, hone_shape *out) {
  const Py_ssize_t rank = PySequence_Check(object) ? PySequence_Size(object) : -1;
  if (rank < 0 || rank > HONE_MAX_RANK) {
    PyErr_Format(PyExc_ValueError, "%s: a shape is a sequence of at most %d ints", what, HONE_MAX_RANK);
    return false;
  }
  *out = (hone_shape){.rank = (int32_t)rank};
  return read_ints(object, out->dim, out->rank);
}
