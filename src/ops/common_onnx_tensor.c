/* SPDX-License-Identifier: Apache-2.0 */
/* common_onnx_tensor.c - the elements of a TensorProto: raw bytes in little endian, or one of six lists by type. */
#include "ops/onnx_tensor.h"
#include "tensor/shape.h"
#include <string.h>

#define FIELD(at, how, member)                                                                                         \
  .number = (at), .kind = (how), .name = #member, .offset = offsetof(hn_onnx_tensor, member)
static const hn_proto_field tensor_fields[] = {
    {FIELD(1, HN_PROTO_INTS, dims)},
    {FIELD(2, HN_PROTO_INT, data_type)},
    {FIELD(3, HN_PROTO_BYTES, segment), .given_offset = offsetof(hn_onnx_tensor, has_segment)},
    {FIELD(4, HN_PROTO_FLOATS, float_data)},
    {FIELD(5, HN_PROTO_INTS, int32_data)},
    {FIELD(6, HN_PROTO_BYTES_LIST, string_data)},
    {FIELD(7, HN_PROTO_INTS, int64_data)},
    {FIELD(8, HN_PROTO_TEXT, name)},
    {FIELD(9, HN_PROTO_BYTES, raw_data), .given_offset = offsetof(hn_onnx_tensor, has_raw_data)},
    {FIELD(10, HN_PROTO_DOUBLES, double_data)},
    {FIELD(11, HN_PROTO_INTS, uint64_data)},
    {FIELD(13, HN_PROTO_MESSAGES, external_data), .message = &hn_onnx_entry_message},
    {FIELD(14, HN_PROTO_INT, data_location)},
};
static const hn_proto_field entry_fields[] = {
    {.number = 1, .kind = HN_PROTO_TEXT, .name = "key", .offset = offsetof(hn_onnx_entry, key)},
    {.number = 2, .kind = HN_PROTO_TEXT, .name = "value", .offset = offsetof(hn_onnx_entry, value)},
};
const hn_proto_message hn_onnx_entry_message = {
    .name = "entry", .bytes = sizeof(hn_onnx_entry), .field_count = HN_COUNT(entry_fields), .fields = entry_fields};
const hn_proto_message hn_onnx_tensor_message = {.name = "tensor",
                                                 .bytes = sizeof(hn_onnx_tensor),
                                                 .limit = 2, /* limits.counts[1] */
                                                 .field_count = HN_COUNT(tensor_fields),
                                                 .fields = tensor_fields};

/* Which list holds a type's elements when raw_data is not given, and how many bytes an entry of it stands for: the
 * entries of int32_data hold one element, or for types under a byte one packed byte. */
typedef struct list_row {
  size_t offset;
  const char *name;
  size_t entry_bytes; /* 0: one element, or one byte of packed ones */
} list_row;

static const list_row *list_of(hone_dtype dtype) {
  static const list_row floats = {offsetof(hn_onnx_tensor, float_data), "float_data", 4},
                        doubles = {offsetof(hn_onnx_tensor, double_data), "double_data", 8},
                        longs = {offsetof(hn_onnx_tensor, int64_data), "int64_data", 8},
                        unsigneds = {offsetof(hn_onnx_tensor, uint64_data), "uint64_data", 0},
                        ints = {offsetof(hn_onnx_tensor, int32_data), "int32_data", 0},
                        strings = {offsetof(hn_onnx_tensor, string_data), "string_data", sizeof(hone_string)};
  switch (dtype) {
  case HONE_F32:
  case HONE_C64: return &floats;
  case HONE_F64:
  case HONE_C128: return &doubles;
  case HONE_I64: return &longs;
  case HONE_U32:
  case HONE_U64: return &unsigneds;
  case HONE_STRING: return &strings;
  default: return &ints;
  }
}

static size_t entry_bytes(const list_row *row, hone_dtype dtype) {
  const size_t element = hone_dtype_bits(dtype) / 8;
  return row->entry_bytes > 0 ? row->entry_bytes : element > 0 ? element : 1;
}

static const hn_proto_list *list_at(const hn_onnx_tensor *tensor, const list_row *row) {
  return (const hn_proto_list *)(const void *)((const char *)tensor + row->offset);
}

hone_status hn_onnx_tensor_type(hone_diagnostics *diag, const hn_onnx_tensor *tensor, hone_type *out,
                                size_t *out_bytes) {
  const hone_dtype dtype = hn_dtype_of_onnx(tensor->data_type);
  if (dtype == HONE_NONE)
    return HN_FAIL(diag, tensor->data_type == 0 ? HONE_MALFORMED : HONE_UNSUPPORTED,
                   "tensor \"%s\": element type %lld is not known", tensor->name, (long long)tensor->data_type);
  if (tensor->has_segment) return HN_FAIL(diag, HONE_UNSUPPORTED, "tensor \"%s\" is a segment of one", tensor->name);
  if (tensor->dims.count > HONE_MAX_RANK)
    return HN_FAIL(diag, HONE_UNSUPPORTED, "tensor \"%s\" has rank %lld, at most %d is supported", tensor->name,
                   (long long)tensor->dims.count, HONE_MAX_RANK);
  const int64_t *dims = tensor->dims.items;
  for (int64_t i = 0; i < tensor->dims.count; ++i) {
    if (dims[i] < 0)
      return HN_FAIL(diag, HONE_MALFORMED, "tensor \"%s\" has extent %lld", tensor->name, (long long)dims[i]);
  }
  *out = hn_tensor_type(dtype, (int)tensor->dims.count, dims);
  if (!hn_type_bytes(out, out_bytes))
    return HN_FAIL(diag, HONE_MALFORMED, "tensor \"%s\" is too large for any machine", tensor->name);
  return HONE_OK;
}

hone_status hn_onnx_tensor_check(hone_diagnostics *diag, const hn_onnx_tensor *tensor, const hone_type *type) {
  const size_t bytes = hn_bytes(type);
  if (tensor->has_raw_data && type->dtype != HONE_STRING) {
    if (tensor->raw_data.length == bytes) return HONE_OK;
    return HN_FAIL(diag, HONE_MALFORMED, "tensor \"%s\" has %zu bytes in raw_data, its shape needs %zu", tensor->name,
                   tensor->raw_data.length, bytes);
  }
  const list_row *row = list_of(type->dtype);
  const size_t count = (size_t)list_at(tensor, row)->count, needed = bytes / entry_bytes(row, type->dtype);
  if (count == needed) return HONE_OK;
  return HN_FAIL(diag, HONE_MALFORMED, "tensor \"%s\" has %zu entries in %s, its shape needs %zu", tensor->name, count,
                 row->name, needed);
}

static void fill_ints(const hn_proto_list *list, hone_dtype dtype, uint8_t *to, size_t bytes) {
  const int64_t *from = list->items;
  for (int64_t i = 0; i < list->count; ++i) {
    const uint64_t value = dtype == HONE_BOOL ? from[i] != 0 : (uint64_t)from[i];
    for (size_t b = 0; b < bytes; ++b) *to++ = (uint8_t)(value >> (8 * b));
  }
}

static void fill_strings(const hn_proto_list *list, hone_string *to) {
  const hn_proto_bytes *from = list->items;
  for (int64_t i = 0; i < list->count; ++i) {
    to[i].data = from[i].length > 0 ? (const char *)from[i].data : "";
    to[i].length = from[i].length;
  }
}

void hn_onnx_tensor_fill(const hn_onnx_tensor *tensor, const hone_type *type, void *to) {
  const list_row *row = list_of(type->dtype);
  const hn_proto_list *list = list_at(tensor, row);
  const size_t unit = entry_bytes(row, type->dtype);
  if (type->dtype == HONE_STRING) {
    fill_strings(list, to);
  } else if (tensor->has_raw_data) {
    if (tensor->raw_data.length > 0) memcpy(to, tensor->raw_data.data, tensor->raw_data.length);
  } else if (type->dtype == HONE_F32 || type->dtype == HONE_C64 || type->dtype == HONE_F64 ||
             type->dtype == HONE_C128) {
    if (list->count > 0) memcpy(to, list->items, (size_t)list->count * unit);
  } else {
    fill_ints(list, type->dtype, to, unit);
  }
}

hone_dtype hn_dtype_of_onnx(int64_t number) {
  static const uint8_t dtypes[] = {
      [1] = HONE_F32,   [2] = HONE_U8,        [3] = HONE_I8,          [4] = HONE_U16,     [5] = HONE_I16,
      [6] = HONE_I32,   [7] = HONE_I64,       [8] = HONE_STRING,      [9] = HONE_BOOL,    [10] = HONE_F16,
      [11] = HONE_F64,  [12] = HONE_U32,      [13] = HONE_U64,        [14] = HONE_C64,    [15] = HONE_C128,
      [16] = HONE_BF16, [17] = HONE_F8E4M3FN, [18] = HONE_F8E4M3FNUZ, [19] = HONE_F8E5M2, [20] = HONE_F8E5M2FNUZ,
      [21] = HONE_U4,   [22] = HONE_I4,       [23] = HONE_F4E2M1,     [24] = HONE_F8E8M0, [25] = HONE_U2,
      [26] = HONE_I2,
  };
  return number > 0 && number < (int64_t)sizeof(dtypes) ? (hone_dtype)dtypes[number] : HONE_NONE;
}

int64_t hn_onnx_of_dtype(hone_dtype dtype) {
  for (int64_t number = 1; number < HONE_DTYPE_COUNT + 8; ++number)
    if (hn_dtype_of_onnx(number) == dtype) return number;
  return 0;
}
