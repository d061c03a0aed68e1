/* SPDX-License-Identifier: Apache-2.0 */
/* types.c - element types: ONNX's TensorProto.DataType is the runtime's ONNXTensorElementDataType. */
#include "ep.h"

static const hone_dtype dtypes[] = {
    [1] = HONE_F32,     [2] = HONE_U8,          [3] = HONE_I8,    [4] = HONE_U16,       [5] = HONE_I16,
    [6] = HONE_I32,     [7] = HONE_I64,         [9] = HONE_BOOL,  [10] = HONE_F16,      [11] = HONE_F64,
    [12] = HONE_U32,    [13] = HONE_U64,        [16] = HONE_BF16, [17] = HONE_F8E4M3FN, [18] = HONE_F8E4M3FNUZ,
    [19] = HONE_F8E5M2, [20] = HONE_F8E5M2FNUZ, [21] = HONE_U4,   [22] = HONE_I4,
};

/* Strings and complex numbers are left to the runtime. */
hone_dtype ep_dtype_of(int onnx_type) {
  const int count = (int)(sizeof dtypes / sizeof dtypes[0]);
  return onnx_type >= 0 && onnx_type < count ? dtypes[onnx_type] : HONE_NONE;
}
