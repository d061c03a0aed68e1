/* SPDX-License-Identifier: Apache-2.0 */
/* model.h - small ONNX models as bytes, written field by field, so that tests can say wrong things too. */
#ifndef TEST_IMPORT_MODEL_H
#define TEST_IMPORT_MODEL_H

#include "base/memory.h"
#include "export/wire.h"
#include <string.h>

enum { ATTR_FLOAT_TYPE = 1, ATTR_INT_TYPE = 2, ATTR_STRING_TYPE = 3, ATTR_GRAPH_TYPE = 5, ATTR_INTS_TYPE = 7 };

/* Words between spaces as a repeated field of texts; "-" stands for an empty one. */
static inline void add_words(hn_text *out, uint32_t field, const char *words) {
  char word[64];
  while (*words) {
    const size_t length = strcspn(words, " ");
    memcpy(word, words, length);
    word[length] = 0;
    hn_wire_string(out, field, strcmp(word, "-") == 0 ? "" : word);
    words += length + (words[length] == ' ');
  }
}

static inline void add_int_attr(hn_text *node, const char *name, int64_t value) {
  hn_text attr;
  hn_text_init(&attr, node->allocator);
  hn_wire_string(&attr, 1, name);
  hn_wire_int(&attr, 3, value);
  hn_wire_int(&attr, 20, ATTR_INT_TYPE);
  hn_wire_message(node, 5, &attr);
  hn_text_deinit(&attr);
}

static inline void add_graph_attr(hn_text *node, const char *name, hn_text *graph) {
  hn_text attr;
  hn_text_init(&attr, node->allocator);
  hn_wire_string(&attr, 1, name);
  hn_wire_message(&attr, 6, graph);
  hn_wire_int(&attr, 20, ATTR_GRAPH_TYPE);
  hn_wire_message(node, 5, &attr);
  hn_text_deinit(&attr);
}

/* A node without attributes; the caller may add some before hn_wire_message(graph, 1, node). */
static inline void start_node(hn_text *node, const char *op, const char *name, const char *inputs,
                              const char *outputs) {
  add_words(node, 1, inputs);
  add_words(node, 2, outputs);
  hn_wire_string(node, 3, name);
  hn_wire_string(node, 4, op);
}

static inline void add_node(hn_text *graph, const char *op, const char *name, const char *inputs, const char *outputs) {
  hn_text node;
  hn_text_init(&node, graph->allocator);
  start_node(&node, op, name, inputs, outputs);
  hn_wire_message(graph, 1, &node);
  hn_text_deinit(&node);
}

/* A graph's input (field 11) or output (12) of f32 or another ONNX type; dims as words, numbers or names. */
static inline void add_value(hn_text *graph, uint32_t field, const char *name, int64_t type, const char *dims) {
  hn_text value, inner, dim, outer;
  hn_text *const all[] = {&value, &inner, &dim, &outer};
  for (size_t i = 0; i < 4; ++i) hn_text_init(all[i], graph->allocator);
  for (const char *at = dims; *at;) {
    const size_t length = strcspn(at, " ");
    if (*at >= '0' && *at <= '9') {
      int64_t number = 0;
      for (size_t i = 0; i < length; ++i) number = number * 10 + (at[i] - '0');
      hn_wire_int(&dim, 1, number);
    } else {
      hn_wire_bytes(&dim, 2, at, length);
    }
    hn_wire_message(&inner, 1, &dim);
    at += length + (at[length] == ' ');
  }
  hn_wire_int(&outer, 1, type);
  hn_wire_message(&outer, 2, &inner); /* Tensor: elem_type, shape */
  hn_wire_message(&inner, 1, &outer); /* TypeProto: tensor_type */
  hn_wire_string(&value, 1, name);
  hn_wire_message(&value, 2, &inner);
  hn_wire_message(graph, field, &value);
  for (size_t i = 0; i < 4; ++i) hn_text_deinit(all[i]);
}

static inline void add_floats(hn_text *graph, const char *name, int64_t extent, const void *raw, size_t bytes) {
  hn_text tensor;
  hn_text_init(&tensor, graph->allocator);
  hn_wire_int(&tensor, 1, extent);
  hn_wire_int(&tensor, 2, 1);
  hn_wire_string(&tensor, 8, name);
  hn_wire_bytes(&tensor, 9, raw, bytes);
  hn_wire_message(graph, 5, &tensor);
  hn_text_deinit(&tensor);
}

/* Wraps the graph; opset 0: no import. */
static inline void finish_model(hn_text *model, hn_text *graph, int64_t opset) {
  hn_text import;
  hn_text_init(&import, model->allocator);
  hn_wire_int(model, 1, 8);
  if (opset > 0) {
    hn_wire_string(&import, 1, "");
    hn_wire_int(&import, 2, opset);
    hn_wire_message(model, 8, &import);
  }
  hn_wire_message(model, 7, graph);
  hn_text_deinit(&import);
}

#endif
