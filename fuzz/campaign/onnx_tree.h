/* SPDX-License-Identifier: Apache-2.0 */
/* onnx_tree.h - an ONNX model as a tree of fields, to change and to write again. Lists of whole numbers are read packed
 * or not and written unpacked; what is not in the table stays as bytes. */
#ifndef FUZZ_ONNX_TREE_H
#define FUZZ_ONNX_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum onnx_message {
  M_NONE,
  M_MODEL,
  M_GRAPH,
  M_NODE,
  M_ATTRIBUTE,
  M_TENSOR,
  M_VALUE,
  M_TYPE,
  M_TENSOR_TYPE,
  M_ELEMENT, /* of a sequence or an optional */
  M_SHAPE,
  M_DIM,
  M_OPSET,
  M_FUNCTION,
  M_SPARSE,
  M_ENTRY
} onnx_message;

typedef enum onnx_form { F_BYTES, F_TEXT, F_NUMBER, F_FIXED, F_MESSAGE } onnx_form;

/* One field of one message. Children, of F_MESSAGE, are a list by index; 0 ends it. */
typedef struct onnx_field {
  onnx_message owner, message; /* whose field it is; what F_MESSAGE holds */
  uint32_t number;
  onnx_form form;
  int first, next;
  uint64_t value;       /* F_NUMBER; of F_FIXED the bits */
  const uint8_t *bytes; /* F_BYTES, F_TEXT: borrowed; and F_FIXED: count is 4 or 8 */
  size_t count;
} onnx_field;

/* Field 0 is the model. */
typedef struct onnx_tree {
  onnx_field *fields;
  int count, room;
} onnx_tree;

enum { ONNX_MOST_FIELDS = 1 << 16 };

/* false: the bytes are no protobuf message. They must outlive the tree. */
bool onnx_tree_read(onnx_tree *tree, const uint8_t *bytes, size_t count);
void onnx_tree_free(onnx_tree *tree);
/* malloc'ed; only what can be reached from the model is written. */
uint8_t *onnx_tree_write(const onnx_tree *tree, size_t *out_count);
/* A copy of another tree's field with all that is in it, which nothing refers to yet; -1: the tree is full. */
int onnx_tree_copy(onnx_tree *tree, const onnx_tree *from, int field);
int onnx_tree_add(onnx_tree *tree, onnx_field field); /* likewise */

#endif
