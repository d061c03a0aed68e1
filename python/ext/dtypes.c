/* SPDX-License-Identifier: Apache-2.0 */
/* dtypes.c - element types as NumPy names them, and as the buffer protocol writes them. */
#include "ext.h"
#include <string.h>

typedef struct dtype_row {
  hone_dtype dtype;
  const char *name;   /* of the attribute of `module` */
  const char *module; /* NULL: the library alone knows it, so it is no array's */
  char kind;          /* of buffer formats: i, u, f, ?, c; 0: they have none */
  Py_ssize_t bytes;
} dtype_row;

static const dtype_row rows[] = {
    {HONE_F32, "float32", "numpy", 'f', 4},
    {HONE_F16, "float16", "numpy", 'f', 2},
    {HONE_BF16, "bfloat16", "ml_dtypes", 0, 2},
    {HONE_F64, "float64", "numpy", 'f', 8},
    {HONE_I8, "int8", "numpy", 'i', 1},
    {HONE_I16, "int16", "numpy", 'i', 2},
    {HONE_I32, "int32", "numpy", 'i', 4},
    {HONE_I64, "int64", "numpy", 'i', 8},
    {HONE_U8, "uint8", "numpy", 'u', 1},
    {HONE_U16, "uint16", "numpy", 'u', 2},
    {HONE_U32, "uint32", "numpy", 'u', 4},
    {HONE_U64, "uint64", "numpy", 'u', 8},
    {HONE_BOOL, "bool", "numpy", '?', 1},
    {HONE_F8E4M3FN, "float8_e4m3fn", "ml_dtypes", 0, 1},
    {HONE_F8E4M3FNUZ, "float8_e4m3fnuz", "ml_dtypes", 0, 1},
    {HONE_F8E5M2, "float8_e5m2", "ml_dtypes", 0, 1},
    {HONE_F8E5M2FNUZ, "float8_e5m2fnuz", "ml_dtypes", 0, 1},
    {HONE_F8E8M0, "float8_e8m0fnu", "ml_dtypes", 0, 1},
    {HONE_C64, "complex64", "numpy", 'c', 8},
    {HONE_C128, "complex128", "numpy", 'c', 16},
};
enum { ROWS = sizeof rows / sizeof *rows };

const char *py_dtype_name(hone_dtype dtype) {
  for (int i = 0; i < ROWS; ++i)
    if (rows[i].dtype == dtype) return rows[i].name;
  return NULL;
}

hone_dtype py_dtype_find(const char *name) {
  for (int i = 0; i < ROWS; ++i)
    if (strcmp(rows[i].name, name) == 0) return rows[i].dtype;
  return hone_dtype_find(name);
}

/* What a letter of a format is; 0: no number. Its size comes with the buffer. */
static char kind_of(const char *letter) {
  if (*letter == 'Z') return letter[1] && strchr("fd", letter[1]) ? 'c' : 0;
  if (!*letter || letter[1]) return 0;
  if (strchr("bhilqn", *letter)) return 'i';
  if (strchr("BHILQN", *letter)) return 'u';
  if (strchr("efd", *letter)) return 'f';
  return *letter == '?' ? '?' : 0;
}

hone_dtype py_dtype_of_format(const char *format, Py_ssize_t bytes, bool *out_swapped) {
  *out_swapped = false;
  if (!format) format = "B";
  if (*format && strchr("@=<>!^", *format)) {
    *out_swapped = (*format == '>' || *format == '!') && bytes > 1;
    ++format;
  }
  const char kind = kind_of(format);
  for (int i = 0; kind && i < ROWS; ++i)
    if (rows[i].kind == kind && rows[i].bytes == bytes) return rows[i].dtype;
  return HONE_NONE;
}

/* numpy.dtype(module.name); NULL without an exception where the module or the name is not there. NumPy's own are asked
 * for by name: numpy.bool is no attribute of versions from 1.24 to 2.0. */
static PyObject *load_dtype(PyObject *numpy, const dtype_row *row) {
  if (strcmp(row->module, "numpy") == 0) return PyObject_CallMethod(numpy, "dtype", "s", row->name);
  PyObject *module = PyImport_ImportModule(row->module), *dtype = NULL;
  PyObject *type = module ? PyObject_GetAttrString(module, row->name) : NULL;
  if (type) dtype = PyObject_CallMethod(numpy, "dtype", "O", type);
  Py_XDECREF((PyObject *)type);
  Py_XDECREF(module);
  if (!dtype) PyErr_Clear();
  return dtype;
}

bool py_dtypes_load(py_state *state) {
  PyObject *numpy = PyImport_ImportModule("numpy");
  if (!numpy) return false;
  state->empty = PyObject_GetAttrString(numpy, "empty");
  for (int i = 0; i < ROWS && state->empty; ++i) {
    state->dtypes[rows[i].dtype] = load_dtype(numpy, &rows[i]);
    if (PyErr_Occurred()) break;
  }
  Py_DECREF(numpy);
  return !PyErr_Occurred();
}

void py_dtypes_clear(py_state *state) {
  Py_CLEAR(state->empty);
  for (int i = 0; i < HONE_DTYPE_COUNT; ++i) Py_CLEAR(state->dtypes[i]);
}
