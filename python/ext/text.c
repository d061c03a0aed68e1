/* SPDX-License-Identifier: Apache-2.0 */
/* text.c - what writers of the library write, as a str or bytes. Written without the GIL. */
#include "ext.h"
#include <stdlib.h>
#include <string.h>

bool py_text_write(void *user, const char *text, size_t length) {
  py_text *to = user;
  if (to->room - to->length < length) {
    size_t room = to->room * 2;
    if (room < to->length + length) room = to->length + length;
    char *data = realloc(to->data, room);
    if (!data) return false;
    to->data = data;
    to->room = room;
  }
  memcpy(to->data + to->length, text, length);
  to->length += length;
  return true;
}

PyObject *py_text_string(py_text *text) {
  PyObject *string = PyUnicode_DecodeUTF8(text->data ? text->data : "", (Py_ssize_t)text->length, "replace");
  py_text_free(text);
  return string;
}

PyObject *py_text_bytes(py_text *text) {
  PyObject *bytes = PyBytes_FromStringAndSize(text->data, (Py_ssize_t)text->length);
  py_text_free(text);
  return bytes;
}

PyObject *py_string(const char *text) {
  return text ? PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace") : Py_NewRef(Py_None);
}

void py_text_free(py_text *text) {
  free(text->data);
  *text = (py_text){0};
}
