/* SPDX-License-Identifier: Apache-2.0 */
/* tensor.c - tensors and types as ONNX messages. Field numbers: onnx.proto, TensorProto, ValueInfoProto, TypeProto. */
#include "export/writer.h"
#include "ops/onnx_tensor.h"
#include "tensor/dims.h"
#include "tensor/shape.h"

size_t hn_export_raw_bytes(const hone_tensor *tensor) {
  return tensor->type.dtype == HONE_STRING ? 0 : hn_bytes(&tensor->type);
}

void hn_export_tensor_head(hn_text *out, const char *name, const hone_tensor *tensor, size_t pad) {
  enum { DIMS = 1, DATA_TYPE = 2, STRING_DATA = 6, NAME = 8, RAW_DATA = 9, DOC = 12 };
  const hone_shape *shape = &tensor->type.shape;
  for (int i = 0; i < shape->rank; ++i) hn_wire_int(out, DIMS, shape->dim[i]);
  hn_wire_int(out, DATA_TYPE, hn_onnx_of_dtype(tensor->type.dtype));
  hn_wire_string(out, NAME, name);
  if (tensor->type.dtype == HONE_STRING) {
    const hone_string *strings = tensor->data;
    const int64_t count = hn_elems(shape);
    for (int64_t i = 0; i < count; ++i) hn_wire_bytes(out, STRING_DATA, strings[i].data, strings[i].length);
    return;
  }
  if (pad >= 2) {
    hn_wire_length(out, DOC, pad - 2);
    for (size_t i = 2; i < pad; ++i) hn_text_add(out, " ");
  }
  hn_wire_length(out, RAW_DATA, hn_export_raw_bytes(tensor));
}

void hn_export_tensor(hn_text *out, const char *name, const hone_tensor *tensor) {
  hn_export_tensor_head(out, name, tensor, 0);
  const size_t bytes = hn_export_raw_bytes(tensor);
  if (bytes > 0) hn_text_add_bytes(out, tensor->data, bytes);
}

static void add_shape(const hn_exporter *exporter, hn_text *out, const hone_shape *shape) {
  enum { DIM = 1, DIM_VALUE = 1, DIM_PARAM = 2 };
  hn_text dim, words;
  hn_text_init(&dim, out->allocator);
  hn_text_init(&words, out->allocator);
  for (int i = 0; i < shape->rank; ++i) {
    if (!HONE_SYMBOLIC(shape->dim[i])) {
      hn_wire_int(&dim, DIM_VALUE, shape->dim[i]);
    } else if (!hn_dim_is_after_run(&exporter->graph->dims, shape->dim[i])) {
      hn_text_clear(&words);
      hn_text_dim(&words, shape->dim[i], &exporter->graph->dims);
      hn_wire_string(&dim, DIM_PARAM, hn_text_string(&words));
    }
    hn_wire_message(out, DIM, &dim);
  }
  out->failed |= words.failed;
  hn_text_deinit(&words);
  hn_text_deinit(&dim);
}

/* A sequence's or optional's element type is one level further in. */
static void add_type(const hn_exporter *exporter, hn_text *out, const hone_type *type) {
  enum { TENSOR = 1, SEQUENCE = 4, OPTIONAL = 9, ELEM_TYPE = 1, SHAPE = 2 };
  hn_text tensor, inner;
  hn_text_init(&tensor, out->allocator);
  hn_text_init(&inner, out->allocator);
  hn_wire_int(&tensor, ELEM_TYPE, hn_onnx_of_dtype(type->dtype));
  if (type->shape.rank >= 0) {
    add_shape(exporter, &inner, &type->shape);
    hn_wire_message(&tensor, SHAPE, &inner);
  }
  if (type->kind == HONE_TENSOR) {
    hn_wire_message(out, TENSOR, &tensor);
  } else {
    hn_text_clear(&inner);
    hn_wire_message(&inner, TENSOR, &tensor); /* the element's type */
    hn_text_clear(&tensor);
    hn_wire_message(&tensor, ELEM_TYPE, &inner);
    if (type->kind == HONE_OPTIONAL_SEQUENCE) {
      hn_text_clear(&inner);
      hn_wire_message(&inner, SEQUENCE, &tensor);
      hn_text_clear(&tensor);
      hn_wire_message(&tensor, ELEM_TYPE, &inner);
    }
    hn_wire_message(out, type->kind == HONE_SEQUENCE ? SEQUENCE : OPTIONAL, &tensor);
  }
  hn_text_deinit(&inner);
  hn_text_deinit(&tensor);
}

void hn_export_value_info(const hn_exporter *exporter, hn_text *out, const char *name, const hone_type *type) {
  enum { NAME = 1, TYPE = 2 };
  hn_text message;
  hn_text_init(&message, out->allocator);
  hn_wire_string(out, NAME, name);
  if (type->dtype != HONE_NONE) {
    add_type(exporter, &message, type);
    hn_wire_message(out, TYPE, &message);
  }
  hn_text_deinit(&message);
}
