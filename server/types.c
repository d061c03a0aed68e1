/* SPDX-License-Identifier: Apache-2.0 */
/* types.c - element types by the protocol's names. */
#include "server/ports.h"

static const srv_type types[] = {
    {"BOOL", HONE_BOOL, 1, 0, 1, 1},
    {"UINT8", HONE_U8, 1, 0, UINT8_MAX, 2},
    {"UINT16", HONE_U16, 2, 0, UINT16_MAX, 3},
    {"UINT32", HONE_U32, 4, 0, UINT32_MAX, 4},
    {"UINT64", HONE_U64, 8, 0, 9223372036854775807.0, 5}, /* larger ones have no exact form here: send them as binary */
    {"INT8", HONE_I8, 1, INT8_MIN, INT8_MAX, 6},
    {"INT16", HONE_I16, 2, INT16_MIN, INT16_MAX, 7},
    {"INT32", HONE_I32, 4, INT32_MIN, INT32_MAX, 8},
    {"INT64", HONE_I64, 8, -9223372036854775808.0, 9223372036854775807.0, 9},
    {"FP16", HONE_F16, 2, 0, 0, 10},
    {"BF16", HONE_BF16, 2, 0, 0, 14},
    {"FP32", HONE_F32, 4, 0, 0, 11},
    {"FP64", HONE_F64, 8, 0, 0, 12},
};

const srv_type *srv_type_of(hone_dtype dtype) {
  for (size_t i = 0; i < sizeof types / sizeof types[0]; ++i)
    if (types[i].dtype == dtype) return &types[i];
  return NULL;
}
