/* SPDX-License-Identifier: Apache-2.0 */
/* onnx_tree.c - protobuf's wire format by a table of ONNX's messages (onnx.proto, ONNX 1.22). */
#include "onnx_tree.h"
#include <stdlib.h>
#include <string.h>

typedef struct row {
  uint8_t owner, number, form, message;
} row;

static const row rows[] = {
    {M_MODEL, 1, F_NUMBER, 0},
    {M_MODEL, 7, F_MESSAGE, M_GRAPH},
    {M_MODEL, 8, F_MESSAGE, M_OPSET},
    {M_MODEL, 25, F_MESSAGE, M_FUNCTION},
    {M_GRAPH, 1, F_MESSAGE, M_NODE},
    {M_GRAPH, 2, F_TEXT, 0},
    {M_GRAPH, 5, F_MESSAGE, M_TENSOR},
    {M_GRAPH, 11, F_MESSAGE, M_VALUE},
    {M_GRAPH, 12, F_MESSAGE, M_VALUE},
    {M_GRAPH, 13, F_MESSAGE, M_VALUE},
    {M_GRAPH, 15, F_MESSAGE, M_SPARSE},
    {M_NODE, 1, F_TEXT, 0},
    {M_NODE, 2, F_TEXT, 0},
    {M_NODE, 3, F_TEXT, 0},
    {M_NODE, 4, F_TEXT, 0},
    {M_NODE, 5, F_MESSAGE, M_ATTRIBUTE},
    {M_NODE, 7, F_TEXT, 0},
    {M_NODE, 8, F_TEXT, 0},
    {M_ATTRIBUTE, 1, F_TEXT, 0},
    {M_ATTRIBUTE, 2, F_FIXED, 0},
    {M_ATTRIBUTE, 3, F_NUMBER, 0},
    {M_ATTRIBUTE, 4, F_TEXT, 0},
    {M_ATTRIBUTE, 5, F_MESSAGE, M_TENSOR},
    {M_ATTRIBUTE, 6, F_MESSAGE, M_GRAPH},
    {M_ATTRIBUTE, 7, F_FIXED, 0},
    {M_ATTRIBUTE, 8, F_NUMBER, 0},
    {M_ATTRIBUTE, 9, F_TEXT, 0},
    {M_ATTRIBUTE, 14, F_MESSAGE, M_TYPE},
    {M_ATTRIBUTE, 20, F_NUMBER, 0},
    {M_ATTRIBUTE, 21, F_TEXT, 0},
    {M_ATTRIBUTE, 22, F_MESSAGE, M_SPARSE},
    {M_TENSOR, 1, F_NUMBER, 0},
    {M_TENSOR, 2, F_NUMBER, 0},
    {M_TENSOR, 5, F_NUMBER, 0},
    {M_TENSOR, 7, F_NUMBER, 0},
    {M_TENSOR, 8, F_TEXT, 0},
    {M_TENSOR, 6, F_TEXT, 0},
    {M_TENSOR, 13, F_MESSAGE, M_ENTRY},
    {M_TENSOR, 14, F_NUMBER, 0},
    {M_VALUE, 1, F_TEXT, 0},
    {M_VALUE, 2, F_MESSAGE, M_TYPE},
    {M_TYPE, 1, F_MESSAGE, M_TENSOR_TYPE},
    {M_TYPE, 4, F_MESSAGE, M_ELEMENT},
    {M_TYPE, 8, F_MESSAGE, M_TENSOR_TYPE},
    {M_TYPE, 9, F_MESSAGE, M_ELEMENT},
    {M_TENSOR_TYPE, 1, F_NUMBER, 0},
    {M_TENSOR_TYPE, 2, F_MESSAGE, M_SHAPE},
    {M_ELEMENT, 1, F_MESSAGE, M_TYPE},
    {M_SHAPE, 1, F_MESSAGE, M_DIM},
    {M_DIM, 1, F_NUMBER, 0},
    {M_DIM, 2, F_TEXT, 0},
    {M_OPSET, 1, F_TEXT, 0},
    {M_OPSET, 2, F_NUMBER, 0},
    {M_FUNCTION, 1, F_TEXT, 0},
    {M_FUNCTION, 4, F_TEXT, 0},
    {M_FUNCTION, 5, F_TEXT, 0},
    {M_FUNCTION, 6, F_TEXT, 0},
    {M_FUNCTION, 7, F_MESSAGE, M_NODE},
    {M_FUNCTION, 9, F_MESSAGE, M_OPSET},
    {M_FUNCTION, 10, F_TEXT, 0},
    {M_FUNCTION, 11, F_MESSAGE, M_ATTRIBUTE},
    {M_SPARSE, 1, F_MESSAGE, M_TENSOR},
    {M_SPARSE, 2, F_MESSAGE, M_TENSOR},
    {M_SPARSE, 3, F_NUMBER, 0},
    {M_ENTRY, 1, F_TEXT, 0},
    {M_ENTRY, 2, F_TEXT, 0},
};

static const row *find_row(onnx_message owner, uint32_t number) {
  for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i)
    if (rows[i].owner == owner && rows[i].number == number) return &rows[i];
  return NULL;
}

int onnx_tree_add(onnx_tree *tree, onnx_field field) {
  if (tree->count == ONNX_MOST_FIELDS) return -1;
  if (tree->count == tree->room) {
    tree->room = tree->room ? 2 * tree->room : 256;
    onnx_field *fields = realloc(tree->fields, (size_t)tree->room * sizeof *fields);
    if (!fields) abort();
    tree->fields = fields;
  }
  field.next = 0;
  tree->fields[tree->count] = field;
  return tree->count++;
}

static bool read_number(const uint8_t **at, const uint8_t *end, uint64_t *out) {
  *out = 0;
  for (int shift = 0; shift < 64 && *at < end; shift += 7) {
    const uint8_t byte = *(*at)++;
    *out |= (uint64_t)(byte & 127) << shift;
    if (byte < 128) return true;
  }
  return false;
}

static bool append(onnx_tree *tree, int parent, int *last, onnx_field field) {
  const int at = onnx_tree_add(tree, field);
  if (at < 0) return false;
  if (*last)
    tree->fields[*last].next = at;
  else
    tree->fields[parent].first = at;
  *last = at;
  return true;
}

static bool read_message(onnx_tree *tree, int parent, const uint8_t *bytes, size_t count, int depth);

static bool append_bytes(onnx_tree *tree, int parent, int *last, onnx_field field, int depth) {
  if (field.form == F_NUMBER || field.form == F_FIXED) { /* packed */
    const uint8_t *at = field.bytes, *end = at + field.count;
    while (at < end) {
      onnx_field one = {.owner = field.owner, .number = field.number, .form = field.form};
      if (field.form == F_NUMBER) {
        if (!read_number(&at, end, &one.value)) return false;
      } else {
        if (end - at < 4) return false;
        one.bytes = at;
        one.count = 4;
        at += 4;
      }
      if (!append(tree, parent, last, one)) return false;
    }
    return true;
  }
  if (!append(tree, parent, last, field)) return false;
  return field.form != F_MESSAGE || read_message(tree, *last, field.bytes, field.count, depth + 1);
}

static bool read_message(onnx_tree *tree, int parent, const uint8_t *bytes, size_t count, int depth) {
  const uint8_t *at = bytes, *end = bytes + count;
  int last = 0;
  if (depth > 40) return false;
  while (at < end) {
    uint64_t tag, length = 0;
    if (!read_number(&at, end, &tag) || tag >> 3 > UINT32_MAX) return false;
    const onnx_message owner = tree->fields[parent].message;
    const row *r = find_row(owner, (uint32_t)(tag >> 3));
    onnx_field field = {.owner = owner,
                        .number = (uint32_t)(tag >> 3),
                        .form = r ? (onnx_form)r->form : F_BYTES,
                        .message = r ? (onnx_message)r->message : M_NONE};
    switch (tag & 7) {
    case 0:
      field.form = F_NUMBER;
      if (!read_number(&at, end, &field.value) || !append(tree, parent, &last, field)) return false;
      continue;
    case 2:
      if (!read_number(&at, end, &length) || length > (uint64_t)(end - at)) return false;
      field.bytes = at;
      field.count = (size_t)length;
      at += length;
      if (!append_bytes(tree, parent, &last, field, depth)) return false;
      continue;
    case 1: length = 8; break;
    case 5: length = 4; break;
    default: return false;
    }
    if (length > (uint64_t)(end - at)) return false;
    field.form = F_FIXED;
    field.bytes = at;
    field.count = (size_t)length;
    at += length;
    if (!append(tree, parent, &last, field)) return false;
  }
  return true;
}

bool onnx_tree_read(onnx_tree *tree, const uint8_t *bytes, size_t count) {
  *tree = (onnx_tree){0};
  onnx_tree_add(tree, (onnx_field){.form = F_MESSAGE, .message = M_MODEL});
  if (read_message(tree, 0, bytes, count, 0)) return true;
  onnx_tree_free(tree);
  return false;
}

void onnx_tree_free(onnx_tree *tree) {
  free(tree->fields);
  *tree = (onnx_tree){0};
}

int onnx_tree_copy(onnx_tree *tree, const onnx_tree *from, int field) {
  onnx_field copy = from->fields[field];
  int child = copy.first, last = 0;
  copy.first = 0;
  const int at = onnx_tree_add(tree, copy);
  if (at < 0) return -1;
  while (child) {
    const int next = from->fields[child].next; /* from may be the tree itself, which moves as it grows */
    const int inner = onnx_tree_copy(tree, from, child);
    if (inner < 0) return -1;
    if (last)
      tree->fields[last].next = inner;
    else
      tree->fields[at].first = inner;
    last = inner;
    child = next;
  }
  return at;
}

static size_t number_bytes(uint64_t value) {
  size_t count = 1;
  while (value >>= 7) ++count;
  return count;
}

static size_t body_bytes(const onnx_tree *tree, int field);
static size_t field_bytes(const onnx_tree *tree, int field) {
  const onnx_field *f = &tree->fields[field];
  const size_t body = body_bytes(tree, field), tag = number_bytes((uint64_t)f->number << 3);
  return tag + body + (f->form == F_NUMBER || f->form == F_FIXED ? 0 : number_bytes(body));
}
static size_t body_bytes(const onnx_tree *tree, int field) {
  const onnx_field *f = &tree->fields[field];
  if (f->form == F_NUMBER) return number_bytes(f->value);
  if (f->form != F_MESSAGE) return f->count;
  size_t sum = 0;
  for (int child = f->first; child; child = tree->fields[child].next) sum += field_bytes(tree, child);
  return sum;
}

static uint8_t *put_number(uint8_t *to, uint64_t value) {
  for (; value > 127; value >>= 7) *to++ = (uint8_t)(value | 128);
  *to++ = (uint8_t)value;
  return to;
}

static uint8_t *put_body(const onnx_tree *tree, int field, uint8_t *to) {
  const onnx_field *f = &tree->fields[field];
  if (f->form == F_NUMBER) return put_number(to, f->value);
  if (f->form != F_MESSAGE) {
    if (f->count) memcpy(to, f->bytes, f->count);
    return to + f->count;
  }
  for (int child = f->first; child; child = tree->fields[child].next) {
    const onnx_field *c = &tree->fields[child];
    const unsigned wire = c->form == F_NUMBER ? 0 : c->form != F_FIXED ? 2 : c->count == 4 ? 5 : 1;
    to = put_number(to, (uint64_t)c->number << 3 | wire);
    if (wire == 2) to = put_number(to, body_bytes(tree, child));
    to = put_body(tree, child, to);
  }
  return to;
}

uint8_t *onnx_tree_write(const onnx_tree *tree, size_t *out_count) {
  *out_count = body_bytes(tree, 0);
  uint8_t *bytes = malloc(*out_count + 1);
  if (!bytes) abort();
  put_body(tree, 0, bytes);
  return bytes;
}
