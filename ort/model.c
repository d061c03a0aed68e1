/* SPDX-License-Identifier: Apache-2.0 */
/* model.c - nodes of a graph as an ONNX model in memory. Larger constants stay where they are: the model has their
 * names and types, and hone is given their addresses (hone_onnx_source).
 * Field numbers: onnx.proto of ONNX. */
#include "ep.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

enum { INLINE_BYTES = 1024 };                 /* constants up to here are written into the model */
enum { VARINT = 0, FIXED32 = 5, LENGTH = 2 }; /* wire types of protobuf */
enum { LENGTH_BYTES = 5 };                    /* lengths are written as varints of five bytes, when they are known */
enum { IR_VERSION = 10, LEAST_ROOM = 64 };

typedef struct writer {
  const ort_calls *ort;
  const ep_graph *graph;
  const ep_cut *cut;
  ep_model *model;
  ep_bytes *out;
  ep_bytes attribute; /* room for one that is read */
  bool *written;      /* constants */
} writer;

/* ---- protobuf ---- */

static void put_varint(ep_bytes *out, uint64_t value) {
  uint8_t bytes[10];
  size_t count = 0;
  do {
    bytes[count++] = (uint8_t)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
    value >>= 7;
  } while (value > 0);
  ep_bytes_add(out, bytes, count);
}

static void put_int(ep_bytes *out, int field, int64_t value) {
  put_varint(out, (uint64_t)field << 3 | VARINT);
  put_varint(out, (uint64_t)value);
}

static void put_float(ep_bytes *out, int field, float value) {
  put_varint(out, (uint64_t)field << 3 | FIXED32);
  ep_bytes_add(out, &value, sizeof value);
}

static void put_bytes(ep_bytes *out, int field, const void *data, size_t count) {
  put_varint(out, (uint64_t)field << 3 | LENGTH);
  put_varint(out, count);
  ep_bytes_add(out, data, count);
}

static void put_text(ep_bytes *out, int field, const char *text) { put_bytes(out, field, text, strlen(text)); }

/* A message begins; the result is for close_message(). */
static size_t open_message(ep_bytes *out, int field) {
  static const uint8_t unknown[LENGTH_BYTES];
  put_varint(out, (uint64_t)field << 3 | LENGTH);
  ep_bytes_add(out, unknown, LENGTH_BYTES);
  return out->count;
}

static void close_message(ep_bytes *out, size_t begin) {
  if (out->failed) return;
  uint64_t length = out->count - begin;
  uint8_t *at = out->data + begin - LENGTH_BYTES;
  for (int i = 0; i < LENGTH_BYTES; ++i, length >>= 7)
    at[i] = (uint8_t)((length & 0x7f) | (i + 1 < LENGTH_BYTES ? 0x80 : 0));
  out->failed = length > 0; /* 32 GiB and more */
}

/* ---- tensors ---- */

static void put_tensor_type(ep_bytes *out, const char *name, int onnx_type, int rank, const int64_t *dims) {
  for (int i = 0; i < rank; ++i) put_int(out, 1, dims[i]);
  put_int(out, 2, onnx_type);
  put_text(out, 8, name);
}

static OrtStatus *add_tensor(writer *w, const ep_value *value) {
  ep_model *model = w->model;
  if (model->tensor_count == model->tensor_room) {
    const int room = model->tensor_room > 0 ? model->tensor_room * 2 : 64;
    hone_named_tensor *grown = EP_NEW(&model->arena, hone_named_tensor, room);
    if (!grown) return ep_fail_memory(w->ort);
    if (model->tensor_count > 0) memcpy(grown, model->tensors, (size_t)model->tensor_count * sizeof *grown);
    model->tensors = grown;
    model->tensor_room = room;
  }
  hone_named_tensor *named = &model->tensors[model->tensor_count++];
  named->name = ep_copy_text(&model->arena, value->name);
  named->tensor.type.kind = HONE_TENSOR;
  named->tensor.type.dtype = ep_dtype_of(value->onnx_type);
  named->tensor.type.shape.rank = value->rank;
  for (int i = 0; i < value->rank; ++i) named->tensor.type.shape.dim[i] = value->dims[i];
  memcpy(&named->tensor.data, &value->data, sizeof value->data); /* hone writes to no constant */
  named->tensor.bytes = value->bytes;
  return named->name ? NULL : ep_fail_memory(w->ort);
}

static OrtStatus *put_constant(writer *w, const ep_value *value) {
  const size_t message = open_message(w->out, 5);
  put_tensor_type(w->out, value->name, value->onnx_type, value->rank, value->dims);
  if (value->bytes <= INLINE_BYTES) put_bytes(w->out, 9, value->data, value->bytes);
  close_message(w->out, message);
  return value->bytes <= INLINE_BYTES ? NULL : add_tensor(w, value);
}

static OrtStatus *put_constants(writer *w) {
  const ep_graph *g = w->graph;
  for (int i = 0; i < w->cut->node_count; ++i) {
    const ep_node *node = &g->nodes[w->cut->nodes[i]];
    for (int k = 0; k < node->in_count; ++k) {
      const int v = node->in[k];
      if (v < 0 || !g->values[v].constant || w->written[v]) continue;
      w->written[v] = true;
      EP_TRY(put_constant(w, &g->values[v]));
    }
  }
  return NULL;
}

/* ---- values and attributes ---- */

static void put_port(ep_bytes *out, int field, const ep_value *value) {
  const size_t port = open_message(out, field);
  put_text(out, 1, value->name);
  const size_t type = open_message(out, 2), tensor = open_message(out, 1);
  put_int(out, 1, value->onnx_type);
  if (value->rank >= 0) {
    const size_t shape = open_message(out, 2);
    for (int i = 0; i < value->rank; ++i) {
      const size_t dim = open_message(out, 1);
      if (value->dims[i] >= 0)
        put_int(out, 1, value->dims[i]);
      else if (*value->symbols[i])
        put_text(out, 2, value->symbols[i]);
      close_message(out, dim);
    }
    close_message(out, shape);
  }
  close_message(out, tensor);
  close_message(out, type);
  close_message(out, port);
}

/* A tensor of its own: an attribute's. */
static OrtStatus *put_tensor_of(writer *w, int field, const OrtValue *value) {
  OrtTensorTypeAndShapeInfo *info = NULL;
  int64_t dims[HONE_MAX_RANK];
  size_t rank = 0, bytes = 0;
  int onnx_type = 0;
  const void *data = NULL;
  EP_TRY(w->ort->GetTensorTypeAndShape(value, &info));
  OrtStatus *status = w->ort->GetTensorElementType(info, &onnx_type);
  if (!status) status = w->ort->GetDimensionsCount(info, &rank);
  if (!status && rank > HONE_MAX_RANK)
    status = ep_fail(w->ort, ORT_ERROR_NOT_IMPLEMENTED, "hone: a tensor of rank %zu", rank);
  if (!status) status = w->ort->GetDimensions(info, dims, rank);
  w->ort->ReleaseTensorTypeAndShapeInfo(info);
  if (!status && ep_dtype_of(onnx_type) == HONE_NONE)
    status = ep_fail(w->ort, ORT_ERROR_NOT_IMPLEMENTED, "hone: a tensor of element type %d", onnx_type);
  if (!status) status = w->ort->GetTensorSizeInBytes(value, &bytes);
  if (!status && bytes > 0) status = w->ort->GetTensorData(value, &data);
  if (status) return status;
  const size_t tensor = open_message(w->out, field);
  put_tensor_type(w->out, "", onnx_type, (int)rank, dims);
  put_bytes(w->out, 9, data, bytes);
  close_message(w->out, tensor);
  return NULL;
}

static bool make_room(writer *w, size_t bytes) {
  uint8_t *data = realloc(w->attribute.data, bytes);
  if (!data) return false;
  w->attribute.data = data;
  w->attribute.room = bytes;
  return true;
}

/* The attribute's bytes as the runtime gives them, in w->attribute. Where there is room for 4 bytes it writes an
 * integer's 8, so there is never that little. */
static OrtStatus *read_attribute(writer *w, const OrtOpAttr *attribute, int type, size_t *out_bytes) {
  size_t needed = 0;
  if (w->attribute.room < LEAST_ROOM && !make_room(w, LEAST_ROOM)) return ep_fail_memory(w->ort);
  OrtStatus *status = w->ort->ReadOpAttr(attribute, type, w->attribute.data, w->attribute.room, &needed);
  if (status && needed > w->attribute.room) { /* too little room: that is how it tells the size */
    w->ort->ReleaseStatus(status);
    if (!make_room(w, needed)) return ep_fail_memory(w->ort);
    status = w->ort->ReadOpAttr(attribute, type, w->attribute.data, needed, &needed);
  }
  *out_bytes = needed;
  return status;
}

/* ONNX's AttributeProto: its type, and the field that holds one element. */
typedef struct attribute_row {
  int runtime, onnx, field;
} attribute_row;
static const attribute_row attribute_rows[] = {
    {ORT_ATTR_INT, 2, 3},    {ORT_ATTR_INTS, 7, 8},    {ORT_ATTR_FLOAT, 1, 2},  {ORT_ATTR_FLOATS, 6, 7},
    {ORT_ATTR_STRING, 3, 4}, {ORT_ATTR_STRINGS, 8, 9}, {ORT_ATTR_TENSOR, 4, 5},
};

static void put_elements(writer *w, const attribute_row *row, size_t bytes) {
  const uint8_t *data = w->attribute.data;
  int64_t integer;
  float real;
  if (row->runtime == ORT_ATTR_INT || row->runtime == ORT_ATTR_INTS) {
    for (size_t i = 0; i + sizeof integer <= bytes; i += sizeof integer) {
      memcpy(&integer, data + i, sizeof integer);
      put_int(w->out, row->field, integer);
    }
  } else if (row->runtime == ORT_ATTR_FLOAT || row->runtime == ORT_ATTR_FLOATS) {
    for (size_t i = 0; i + sizeof real <= bytes; i += sizeof real) {
      memcpy(&real, data + i, sizeof real);
      put_float(w->out, row->field, real);
    }
  } else if (row->runtime == ORT_ATTR_STRING) { /* without a zero behind it, */
    put_bytes(w->out, row->field, data, bytes);
  } else { /* each with one */
    for (size_t i = 0; i < bytes; i += strnlen((const char *)data + i, bytes - i) + 1)
      put_bytes(w->out, row->field, data + i, strnlen((const char *)data + i, bytes - i));
  }
}

static OrtStatus *put_attribute(writer *w, const OrtOpAttr *attribute) {
  const attribute_row *row = NULL;
  const char *name = NULL;
  int type = 0;
  size_t bytes = 0;
  EP_TRY(w->ort->OpAttr_GetName(attribute, &name));
  EP_TRY(w->ort->OpAttr_GetType(attribute, &type));
  for (size_t i = 0; i < sizeof attribute_rows / sizeof attribute_rows[0]; ++i)
    if (attribute_rows[i].runtime == type) row = &attribute_rows[i];
  if (!row || !name) return ep_fail(w->ort, ORT_ERROR_NOT_IMPLEMENTED, "hone: attribute %s has type %d", name, type);
  if (type != ORT_ATTR_TENSOR) EP_TRY(read_attribute(w, attribute, type, &bytes));
  const size_t message = open_message(w->out, 5);
  put_text(w->out, 1, name);
  put_int(w->out, 20, row->onnx);
  OrtStatus *status = NULL;
  if (type == ORT_ATTR_TENSOR) {
    OrtValue *value = NULL;
    EP_TRY(w->ort->OpAttr_GetTensorAttributeAsOrtValue(attribute, &value));
    status = put_tensor_of(w, row->field, value);
    w->ort->ReleaseValue(value);
  } else {
    put_elements(w, row, bytes);
  }
  close_message(w->out, message);
  return status;
}

/* ---- nodes ---- */

static const char *name_of(const ep_graph *graph, int value) { return value < 0 ? "" : graph->values[value].name; }

static OrtStatus *put_node(writer *w, int number) {
  const ep_node *node = &w->graph->nodes[number];
  size_t count = 0;
  const size_t message = open_message(w->out, 1);
  for (int i = 0; i < node->in_count; ++i) put_text(w->out, 1, name_of(w->graph, node->in[i]));
  for (int i = 0; i < node->out_count; ++i) put_text(w->out, 2, name_of(w->graph, node->out[i]));
  if (w->cut->number_names) {
    char name[256];
    (void)snprintf(name, sizeof name, "%d:%s", number, node->name);
    put_text(w->out, 3, name);
  } else {
    put_text(w->out, 3, node->name);
  }
  put_text(w->out, 4, node->op);
  put_text(w->out, 7, node->domain);
  EP_TRY(w->ort->Node_GetNumAttributes(node->node, &count));
  const OrtOpAttr **attributes = count > 0 ? EP_NEW(&w->model->arena, const OrtOpAttr *, count) : NULL;
  if (count > 0 && !attributes) return ep_fail_memory(w->ort);
  if (count > 0) EP_TRY(w->ort->Node_GetAttributes(node->node, attributes, count));
  for (size_t i = 0; i < count; ++i)
    if (attributes[i]) EP_TRY(put_attribute(w, attributes[i]));
  close_message(w->out, message);
  return NULL;
}

bool ep_node_is_writable(const ort_calls *ort, const ep_graph *graph, int node) {
  ep_model scratch = {0};
  const ep_cut cut = {.nodes = &node, .node_count = 1};
  writer w = {.ort = ort, .graph = graph, .cut = &cut, .model = &scratch, .out = &scratch.bytes};
  OrtStatus *status = put_node(&w, node);
  const bool good = !status && !scratch.bytes.failed;
  if (status) ort->ReleaseStatus(status);
  free(w.attribute.data);
  ep_model_free(&scratch);
  return good;
}

static OrtStatus *put_model(writer *w) {
  const ep_graph *g = w->graph;
  put_int(w->out, 1, IR_VERSION);
  put_text(w->out, 2, "onnxruntime");
  for (int i = 0; i < g->opset_count; ++i) {
    const size_t opset = open_message(w->out, 8);
    put_text(w->out, 1, g->domains[i] && strcmp(g->domains[i], "ai.onnx") != 0 ? g->domains[i] : "");
    put_int(w->out, 2, g->versions[i]);
    close_message(w->out, opset);
  }
  const size_t graph = open_message(w->out, 7);
  put_text(w->out, 2, "partition");
  for (int i = 0; i < w->cut->node_count; ++i) EP_TRY(put_node(w, w->cut->nodes[i]));
  EP_TRY(put_constants(w));
  for (int i = 0; i < w->cut->input_count; ++i) put_port(w->out, 11, &g->values[w->cut->inputs[i]]);
  for (int i = 0; i < w->cut->output_count; ++i) put_port(w->out, 12, &g->values[w->cut->outputs[i]]);
  close_message(w->out, graph);
  return w->out->failed ? ep_fail_memory(w->ort) : NULL;
}

OrtStatus *ep_model_write(const ort_calls *ort, const ep_graph *graph, const ep_cut *cut, ep_model *out) {
  *out = (ep_model){0};
  writer w = {.ort = ort, .graph = graph, .cut = cut, .model = out, .out = &out->bytes};
  w.written = EP_NEW(&out->arena, bool, graph->value_count);
  OrtStatus *status = w.written ? put_model(&w) : ep_fail_memory(ort);
  free(w.attribute.data);
  if (status) ep_model_free(out);
  return status;
}

OrtStatus *ep_model_own(const ort_calls *ort, ep_model *model) {
  for (int i = 0; i < model->tensor_count; ++i) {
    hone_tensor *tensor = &model->tensors[i].tensor;
    void *copy = ep_alloc(&model->arena, tensor->bytes, 1);
    if (!copy) return ep_fail_memory(ort);
    tensor->data = memcpy(copy, tensor->data, tensor->bytes);
  }
  return NULL;
}

void ep_model_hash(const ep_model *model, bool with_tensors, const char *salt, char out[33]) {
  XXH3_state_t state;
  XXH3_128bits_reset(&state);
  XXH3_128bits_update(&state, salt, strlen(salt) + 1);
  XXH3_128bits_update(&state, model->bytes.data, model->bytes.count);
  for (int i = 0; with_tensors && i < model->tensor_count; ++i)
    XXH3_128bits_update(&state, model->tensors[i].tensor.data, model->tensors[i].tensor.bytes);
  const XXH128_hash_t hash = XXH3_128bits_digest(&state);
  (void)snprintf(out, 33, "%016llx%016llx", (unsigned long long)hash.high64, (unsigned long long)hash.low64);
}

void ep_model_free(ep_model *model) {
  free(model->bytes.data);
  ep_arena_free(&model->arena);
  *model = (ep_model){0};
}
