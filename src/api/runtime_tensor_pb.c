/* SPDX-License-Identifier: Apache-2.0 */
/* runtime_tensor_pb.c - a file that is one ONNX TensorProto, as test data comes. */
#include "api/tensor_files.h"
#include "base/context.h"
#include "base/looks.h"
#include "ops/onnx_tensor.h"
#include "tensor/shape.h"
#include <string.h>

/* Strings and their text in one block, so that one free returns both: tensor->bytes counts both. */
static hone_status read_strings(hone_context *context, const hn_onnx_tensor *message, const hone_type *type,
                                hone_tensor *out) {
  const hn_proto_bytes *from = message->string_data.items;
  const size_t count = (size_t)message->string_data.count;
  size_t bytes = count * sizeof(hone_string);
  for (size_t i = 0; i < count; ++i) bytes += from[i].length + 1; /* at most a few times the file */
  hone_string *strings = hn_alloc_zero(&context->allocator, bytes);
  if (!strings) return HN_FAIL_MEMORY(&context->diag);
  char *text = (char *)(strings + count);
  for (size_t i = 0; i < count; ++i) {
    if (from[i].length > 0) memcpy(text, from[i].data, from[i].length);
    strings[i] = (hone_string){text, from[i].length};
    text += from[i].length + 1;
  }
  *out = (hone_tensor){.type = *type, .data = strings, .bytes = bytes};
  return HONE_OK;
}

static hone_status decode(hone_context *context, hn_arena *arena, const hn_blob *file, const hn_onnx_tensor **out,
                          hone_type *out_type) {
  const hn_proto_limits limits = {
      .text_bytes = context->limits.max_string_bytes,
      .counts = {{"nodes", context->limits.max_nodes}, {"tensors", context->limits.max_tensors}}};
  void *decoded;
  size_t bytes;
  HN_TRY(hn_proto_decode(&context->diag, arena, &limits, &hn_onnx_tensor_message, file->data, file->bytes, &decoded));
  *out = decoded;
  return hn_onnx_tensor_type(&context->diag, *out, out_type, &bytes);
}

static hone_status fill(hone_context *context, const hn_onnx_tensor *message, const hone_type *type, hone_tensor *out) {
  hone_diagnostics *diag = &context->diag;
  if (message->data_location == HN_ONNX_EXTERNAL)
    return HN_FAIL(diag, HONE_UNSUPPORTED, "its elements are in another file");
  HN_TRY(hn_onnx_tensor_check(diag, message, type));
  if (type->dtype == HONE_STRING) return read_strings(context, message, type, out);
  HN_TRY(hone_tensor_alloc(context, type, out));
  hn_onnx_tensor_fill(message, type, out->data);
  return HONE_OK;
}

hone_status hn_tensor_pb_read(hone_context *context, const char *path, const hn_blob *file, hone_tensor *out) {
  const int from = context->diag.count;
  const hn_onnx_tensor *message;
  hone_type type;
  hn_arena arena;
  hn_arena_init(&arena, context->allocator);
  hone_status status = decode(context, &arena, file, &message, &type);
  const bool foreign = status == HONE_MALFORMED &&
                       hn_say_looks(&context->diag, from, status, HN_WANTED_TENSOR, path, file->data, file->bytes);
  if (status == HONE_OK) status = fill(context, message, &type, out);
  hn_arena_deinit(&arena);
  if (status == HONE_OK || foreign) return status;
  return hone_note(&context->diag, status, "in %s, read as an ONNX tensor (.pb)", path);
}
