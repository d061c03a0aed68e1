/* SPDX-License-Identifier: Apache-2.0 */
/* onnx_dtype.h - ONNX's numbers of element types (TensorProto.DataType), which attributes such as `to` hold. */
#ifndef HN_OPS_ONNX_DTYPE_H
#define HN_OPS_ONNX_DTYPE_H

#include <hone/types.h>

hone_dtype hn_dtype_of_onnx(int64_t number); /* HONE_NONE when there is no such type here */

#endif
