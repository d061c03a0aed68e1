/* SPDX-License-Identifier: Apache-2.0 */
/* common_onnx_dtype.c - ONNX's numbers of element types. Source: onnx.proto, TensorProto.DataType. */
#include "ops/onnx_dtype.h"

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
