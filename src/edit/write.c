/* SPDX-License-Identifier: Apache-2.0 */
/* write.c - a model's lists as bytes again: what has no place of its own is copied as it stood. */
#include "base/arguments.h"
#include "edit/model.h"
#include "export/wire.h"
#include "ops/onnx_tensor.h"
#include <string.h>

enum { MOST_BYTES = INT32_MAX }; /* of a protobuf message */

/* Copies a message's fields but those of the set (bit n: field n; all numbers of interest are below 32). */
static void copy_without(hn_text *out, hn_proto_bytes message, uint32_t numbers) {
  hn_edit_field field;
  const uint8_t *at = NULL;
  while (hn_edit_next(message, &at, &field))
    if (field.number >= 32 || !(numbers >> field.number & 1))
      hn_text_add_bytes(out, field.begin, (size_t)(field.end - field.begin));
}
#define BIT(number) (1u << (number))

static void add_graph(hn_text *out, const hn_edit_graph *graph);

static void add_attr(hn_text *out, const hn_edit_attr *attr) {
  hn_text message, body;
  hn_text_init(&message, out->allocator);
  if (!attr->body) {
    hn_wire_bytes(out, HN_NODE_ATTR, attr->raw.data, attr->raw.length);
    return;
  }
  hn_text_init(&body, out->allocator);
  copy_without(&message, attr->raw, BIT(HN_ATTR_GRAPH));
  add_graph(&body, attr->body);
  hn_wire_message(&message, HN_ATTR_GRAPH, &body);
  hn_wire_message(out, HN_NODE_ATTR, &message);
  hn_text_deinit(&body);
  hn_text_deinit(&message);
}

void hn_edit_add_node(hn_text *out, const hn_edit_node *node) {
  for (int i = 0; i < node->in_count; ++i) hn_wire_string(out, HN_NODE_INPUT, node->in[i]);
  for (int i = 0; i < node->out_count; ++i) hn_wire_string(out, HN_NODE_OUTPUT, node->out[i]);
  if (*node->name) hn_wire_string(out, HN_NODE_NAME, node->name);
  hn_wire_string(out, HN_NODE_OP, node->op);
  if (*node->domain) hn_wire_string(out, HN_NODE_DOMAIN, node->domain);
  for (int i = 0; i < node->attr_count; ++i) add_attr(out, &node->attrs[i]);
  copy_without(out, node->raw,
               BIT(HN_NODE_INPUT) | BIT(HN_NODE_OUTPUT) | BIT(HN_NODE_NAME) | BIT(HN_NODE_OP) | BIT(HN_NODE_ATTR) |
                   BIT(HN_NODE_DOMAIN));
}

static void add_values(hn_text *out, uint32_t field, const hn_edit_values *values) {
  hn_text message;
  hn_text_init(&message, out->allocator);
  for (int i = 0; i < values->count; ++i) {
    const hn_edit_value *value = &values->items[i];
    hn_wire_string(&message, HN_VALUE_NAME, value->name);
    if (value->type.data) hn_wire_bytes(&message, HN_VALUE_TYPE, value->type.data, value->type.length);
    copy_without(&message, value->raw, BIT(HN_VALUE_NAME) | BIT(HN_VALUE_TYPE));
    hn_wire_message(out, field, &message);
  }
  hn_text_deinit(&message);
}

/* Everything but the initializers. */
static void add_graph_head(hn_text *out, const hn_edit_graph *graph) {
  hn_text message;
  hn_text_init(&message, out->allocator);
  for (int i = 0; i < graph->node_count; ++i) {
    hn_edit_add_node(&message, graph->nodes[i]);
    hn_wire_message(out, HN_GRAPH_NODE, &message);
  }
  hn_text_deinit(&message);
  add_values(out, HN_GRAPH_INPUT, &graph->inputs);
  add_values(out, HN_GRAPH_OUTPUT, &graph->outputs);
  add_values(out, HN_GRAPH_INFO, &graph->infos);
  copy_without(out, graph->raw,
               BIT(HN_GRAPH_NODE) | BIT(HN_GRAPH_TENSOR) | BIT(HN_GRAPH_INPUT) | BIT(HN_GRAPH_OUTPUT) |
                   BIT(HN_GRAPH_INFO));
}

static void add_named_tensor(hn_text *out, const hn_edit_tensor *tensor) {
  copy_without(out, tensor->raw, BIT(HN_TENSOR_NAME));
  hn_wire_string(out, HN_TENSOR_NAME, tensor->name);
}

static void add_graph(hn_text *out, const hn_edit_graph *graph) {
  hn_text message;
  hn_text_init(&message, out->allocator);
  add_graph_head(out, graph);
  for (int i = 0; i < graph->tensor_count; ++i) {
    add_named_tensor(&message, &graph->tensors[i]);
    hn_wire_message(out, HN_GRAPH_TENSOR, &message);
  }
  hn_text_deinit(&message);
}

/* ---- data beside the model ---- */

static hone_status number_of(hone_diagnostics *diag, const char *tensor, const hn_onnx_entry *entry, size_t *out) {
  size_t value = 0;
  for (const char *c = entry->value; *c; ++c) {
    if (*c < '0' || *c > '9' || value > SIZE_MAX / 16)
      return HN_FAIL(diag, HONE_MALFORMED, "initializer %s: %s of its external data is \"%s\", must be a number",
                     tensor, entry->key, entry->value);
    value = value * 10 + (size_t)(*c - '0');
  }
  *out = value;
  return HONE_OK;
}

/* The tensor with the bytes of its file in it. */
static hone_status add_from_beside(hone_model *model, const hn_edit_tensor *tensor, const hn_onnx_tensor *read,
                                   hn_text *out) {
  hone_diagnostics *diag = &model->context->diag;
  const char *location = NULL;
  size_t offset = 0, length = SIZE_MAX;
  const hn_onnx_entry *entries = read->external_data.items;
  for (int64_t i = 0; i < read->external_data.count; ++i) {
    if (strcmp(entries[i].key, "location") == 0) location = entries[i].value;
    if (strcmp(entries[i].key, "offset") == 0) HN_TRY(number_of(diag, tensor->name, &entries[i], &offset));
    if (strcmp(entries[i].key, "length") == 0) HN_TRY(number_of(diag, tensor->name, &entries[i], &length));
  }
  if (!location) return HN_FAIL(diag, HONE_MALFORMED, "initializer %s: external data without a location", tensor->name);
  hn_blob file;
  HN_TRY_NOTE(diag, hn_file_map_beside(diag, model->path, location, model->context->allow_external_links, &file),
              "in initializer %s", tensor->name);
  hone_status status = HONE_OK;
  if (offset > file.bytes || (length != SIZE_MAX && length > file.bytes - offset))
    status = HN_FAIL(diag, HONE_MALFORMED, "initializer %s: its external data lies past the end of %s", tensor->name,
                     location);
  if (length == SIZE_MAX) length = file.bytes - (offset > file.bytes ? file.bytes : offset);
  copy_without(out, tensor->raw,
               BIT(HN_TENSOR_NAME) | BIT(HN_TENSOR_RAW) | BIT(HN_TENSOR_EXTERNAL) | BIT(HN_TENSOR_LOCATION));
  hn_wire_string(out, HN_TENSOR_NAME, tensor->name);
  if (status == HONE_OK && length < MOST_BYTES) hn_wire_bytes(out, HN_TENSOR_RAW, file.data + offset, length);
  if (status == HONE_OK && length >= MOST_BYTES)
    status =
        HN_FAIL(diag, HONE_LIMIT, "initializer %s: %zu bytes; a model in one file holds 2 GiB", tensor->name, length);
  hn_blob_close(&file);
  return status;
}

static hone_status add_tensor(hone_model *model, const hn_edit_tensor *tensor, bool leave_external, hn_text *out) {
  hn_onnx_tensor *read;
  const hn_proto_limits limits = {.text_bytes = model->context->limits.max_string_bytes,
                                  .counts = {{"tensors", 1}, {"tensors", 1}, {"parts of tensors", 64}}};
  const hn_arena_mark mark = hn_arena_here(&model->arena);
  hn_edit_field field;
  const uint8_t *at = NULL;
  bool external = false;
  while (!leave_external && hn_edit_next(tensor->raw, &at, &field))
    external = external || field.number == HN_TENSOR_EXTERNAL;
  if (!external) {
    add_named_tensor(out, tensor);
    return HONE_OK;
  }
  hone_status status = hn_proto_decode(&model->context->diag, &model->arena, &limits, &hn_onnx_tensor_message,
                                       tensor->raw.data, tensor->raw.length, (void **)&read);
  if (status == HONE_OK) status = add_from_beside(model, tensor, read, out);
  hn_arena_back(&model->arena, &mark);
  return status;
}

hone_status hn_edit_write(hone_model *model, const hn_edit_graph *graph, bool leave_external, hn_text *out) {
  hn_text body, message;
  hn_text_init(&body, out->allocator);
  hn_text_init(&message, out->allocator);
  copy_without(out, model->raw, BIT(HN_MODEL_GRAPH));
  hn_text_add_bytes(out, hn_text_string(&model->opsets), model->opsets.length);
  add_graph_head(&body, graph);
  hone_status status = HONE_OK;
  for (int i = 0; i < graph->tensor_count && status == HONE_OK; ++i) {
    status = add_tensor(model, &graph->tensors[i], leave_external, &message);
    hn_wire_message(&body, HN_GRAPH_TENSOR, &message);
    if (status == HONE_OK && body.length >= MOST_BYTES)
      status = HN_FAIL(&model->context->diag, HONE_LIMIT, "the model has more than the 2 GiB that one file holds");
  }
  hn_wire_message(out, HN_MODEL_GRAPH, &body);
  if (status == HONE_OK && out->failed) status = HN_FAIL_MEMORY(&model->context->diag);
  hn_text_deinit(&message);
  hn_text_deinit(&body);
  return status;
}
