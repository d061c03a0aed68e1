/* SPDX-License-Identifier: Apache-2.0 */
/* onnx_tensor.h - ONNX's TensorProto as a struct, and its elements as plain memory. The importer and the reader of .pb
 * files share it. Source: onnx.proto, message TensorProto. */
#ifndef HN_OPS_ONNX_TENSOR_H
#define HN_OPS_ONNX_TENSOR_H

#include "base/proto.h"
#include <hone/types.h>

typedef struct hn_onnx_entry { /* StringStringEntryProto */
  const char *key, *value;
} hn_onnx_entry;

typedef struct hn_onnx_tensor {
  hn_proto_list dims; /* int64_t */
  int64_t data_type, data_location;
  const char *name;
  hn_proto_bytes segment, raw_data;
  bool has_segment, has_raw_data;
  hn_proto_list float_data, int32_data, int64_data, double_data, uint64_data, string_data;
  hn_proto_list external_data; /* hn_onnx_entry */
} hn_onnx_tensor;

enum { HN_ONNX_EXTERNAL = 1 }; /* data_location: the elements are in another file */

extern const hn_proto_message hn_onnx_tensor_message, hn_onnx_entry_message;

/* The element type, the shape and the bytes of all elements. Errors: MALFORMED, UNSUPPORTED. */
hone_status hn_onnx_tensor_type(hone_diagnostics *diag, const hn_onnx_tensor *tensor, hone_type *out,
                                size_t *out_bytes);
/* Does the tensor hold exactly its elements, in raw_data or a list? */
hone_status hn_onnx_tensor_check(hone_diagnostics *diag, const hn_onnx_tensor *tensor, const hone_type *type);
/* Writes the elements of a checked tensor to memory of out_bytes; strings as hone_string views of the file. */
void hn_onnx_tensor_fill(const hn_onnx_tensor *tensor, const hone_type *type, void *to);

/* ONNX's number of an element type (TensorProto.DataType), which attributes such as `to` hold, too. */
hone_dtype hn_dtype_of_onnx(int64_t number); /* HONE_NONE when there is no such type here */
int64_t hn_onnx_of_dtype(hone_dtype dtype);  /* 0 when ONNX has no such type */

#endif
