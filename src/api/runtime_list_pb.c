/* SPDX-License-Identifier: Apache-2.0 */
/* runtime_list_pb.c - a file that is one ONNX SequenceProto or OptionalProto, as test data comes. Source:
 * onnx-data.proto, messages of these names; of their elements, tensors and sequences of tensors. */
#include "api/tensor_files.h"
#include "base/arguments.h"
#include "base/context.h"
#include "ops/onnx_tensor.h"
#include "tensor/list.h"
#include "tensor/shape.h"

typedef struct sequence_message {
  int64_t elem_type;
  hn_proto_list tensors; /* hn_onnx_tensor */
} sequence_message;
static const hn_proto_field sequence_fields[] = {
    {.number = 2, .kind = HN_PROTO_INT, .name = "elem_type", .offset = offsetof(sequence_message, elem_type)},
    {.number = 3,
     .kind = HN_PROTO_MESSAGES,
     .name = "tensor_values",
     .offset = offsetof(sequence_message, tensors),
     .message = &hn_onnx_tensor_message},
};
static const hn_proto_message sequence_proto = {.name = "sequence",
                                                .bytes = sizeof(sequence_message),
                                                .field_count = HN_COUNT(sequence_fields),
                                                .fields = sequence_fields};
typedef struct optional_message {
  int64_t elem_type;
  const hn_onnx_tensor *tensor;
  const sequence_message *sequence;
} optional_message;
static const hn_proto_field optional_fields[] = {
    {.number = 2, .kind = HN_PROTO_INT, .name = "elem_type", .offset = offsetof(optional_message, elem_type)},
    {.number = 3,
     .kind = HN_PROTO_MESSAGE,
     .name = "tensor_value",
     .offset = offsetof(optional_message, tensor),
     .message = &hn_onnx_tensor_message},
    {.number = 5,
     .kind = HN_PROTO_MESSAGE,
     .name = "sequence_value",
     .offset = offsetof(optional_message, sequence),
     .message = &sequence_proto},
};
static const hn_proto_message optional_proto = {.name = "optional",
                                                .bytes = sizeof(optional_message),
                                                .field_count = HN_COUNT(optional_fields),
                                                .fields = optional_fields};

static hone_status take_tensor(hone_context *context, hn_arena *arena, const hn_onnx_tensor *message,
                               hone_tensor *out) {
  size_t bytes;
  *out = (hone_tensor){0};
  HN_TRY(hn_onnx_tensor_type(&context->diag, message, &out->type, &bytes));
  if (message->data_location == HN_ONNX_EXTERNAL)
    return HN_FAIL(&context->diag, HONE_UNSUPPORTED, "its elements are in another file");
  HN_TRY(hn_onnx_tensor_check(&context->diag, message, &out->type));
  out->data = hn_arena_alloc(arena, bytes ? bytes : 1, 64);
  if (!out->data) return HN_FAIL_MEMORY(&context->diag);
  hn_onnx_tensor_fill(message, &out->type, out->data);
  out->bytes = bytes;
  return HONE_OK;
}

static hone_tensor list_of(hone_kind kind, hone_dtype dtype, int64_t count, hone_tensor *items) {
  const hone_type type = {.kind = kind, .dtype = dtype, .shape = hn_shape(1, &count)};
  return (hone_tensor){.type = type, .data = items, .bytes = (size_t)count * sizeof *items};
}

static hone_status take_sequence(hone_context *context, hn_arena *arena, const sequence_message *message,
                                 hone_dtype dtype, hone_tensor *out) {
  const hn_onnx_tensor *tensors = message->tensors.items;
  hone_tensor *items = HN_NEW(arena, hone_tensor, message->tensors.count + 1);
  if (!items) return HN_FAIL_MEMORY(&context->diag);
  for (int64_t i = 0; i < message->tensors.count; ++i) HN_TRY(take_tensor(context, arena, &tensors[i], &items[i]));
  *out = list_of(HONE_SEQUENCE, dtype, message->tensors.count, items);
  return HONE_OK;
}

static hone_status take_optional(hone_context *context, hn_arena *arena, const optional_message *message,
                                 const hone_type *type, hone_tensor *out) {
  hone_tensor *item = HN_NEW(arena, hone_tensor, 1);
  if (!item) return HN_FAIL_MEMORY(&context->diag);
  const bool is_given = type->kind == HONE_OPTIONAL ? message->tensor != NULL : message->sequence != NULL;
  if (is_given && type->kind == HONE_OPTIONAL) HN_TRY(take_tensor(context, arena, message->tensor, item));
  if (is_given && type->kind == HONE_OPTIONAL_SEQUENCE)
    HN_TRY(take_sequence(context, arena, message->sequence, type->dtype, item));
  *out = list_of(type->kind, type->dtype, is_given, item);
  return HONE_OK;
}

static hone_status read_list(hone_context *context, hn_arena *arena, const hn_blob *file, const hone_type *type,
                             hone_tensor *out) {
  const hn_proto_limits limits = {
      .text_bytes = context->limits.max_string_bytes,
      .counts = {{"nodes", context->limits.max_nodes}, {"tensors", context->limits.max_tensors}}};
  const hn_proto_message *message = type->kind == HONE_SEQUENCE ? &sequence_proto : &optional_proto;
  void *decoded;
  hone_tensor list;
  size_t bytes;
  HN_TRY(hn_proto_decode(&context->diag, arena, &limits, message, file->data, file->bytes, &decoded));
  if (type->kind == HONE_SEQUENCE)
    HN_TRY(take_sequence(context, arena, decoded, type->dtype, &list));
  else
    HN_TRY(take_optional(context, arena, decoded, type, &list));
  if (!hn_value_copy_bytes(&list, &bytes)) return HN_FAIL(&context->diag, HONE_LIMIT, "it is too large");
  void *block = hn_alloc(&context->allocator, bytes ? bytes : 1);
  if (!block) return HN_FAIL_MEMORY(&context->diag);
  hn_value_copy(&list, block, out);
  out->bytes = bytes ? bytes : 1;
  return HONE_OK;
}

hone_status hone_value_read(hone_context *context, const char *path, const hone_type *type, hone_tensor *out_value) {
  if (out_value) *out_value = (hone_tensor){0};
  HN_GIVEN(NULL, context);
  HN_GIVEN(&context->diag, path);
  HN_GIVEN(&context->diag, type);
  HN_GIVEN(&context->diag, out_value);
  if (type->kind == HONE_TENSOR) return hone_tensor_read(context, path, out_value);
  hn_blob file;
  HN_TRY(hn_file_map(&context->diag, path, &file));
  hn_arena arena;
  hn_arena_init(&arena, context->allocator);
  const hone_status status = read_list(context, &arena, &file, type, out_value);
  hn_arena_deinit(&arena);
  hn_blob_close(&file);
  if (status == HONE_OK) return HONE_OK;
  return hone_note(&context->diag, status, "in %s, read as an ONNX sequence or optional (.pb)", path);
}
