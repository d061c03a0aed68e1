/* SPDX-License-Identifier: Apache-2.0 */
/* dtype.c - names and widths of element types and formats. The names are part of every text format. */
#include "tensor/element.h"
#include <string.h>

typedef struct dtype_row {
  const char *name;
  size_t bits;
} dtype_row;

static const dtype_row dtypes[HONE_DTYPE_COUNT] = {
    [HONE_NONE] = {"none", 0},
    [HONE_F32] = {"f32", 32},
    [HONE_F16] = {"f16", 16},
    [HONE_BF16] = {"bf16", 16},
    [HONE_F64] = {"f64", 64},
    [HONE_I8] = {"i8", 8},
    [HONE_I16] = {"i16", 16},
    [HONE_I32] = {"i32", 32},
    [HONE_I64] = {"i64", 64},
    [HONE_U8] = {"u8", 8},
    [HONE_U16] = {"u16", 16},
    [HONE_U32] = {"u32", 32},
    [HONE_U64] = {"u64", 64},
    [HONE_BOOL] = {"bool", 8},
    [HONE_STRING] = {"string", 8 * sizeof(hone_string)},
    [HONE_F8E4M3FN] = {"f8e4m3fn", 8},
    [HONE_F8E4M3FNUZ] = {"f8e4m3fnuz", 8},
    [HONE_F8E5M2] = {"f8e5m2", 8},
    [HONE_F8E5M2FNUZ] = {"f8e5m2fnuz", 8},
    [HONE_F8E8M0] = {"f8e8m0", 8},
    [HONE_F4E2M1] = {"f4e2m1", 4},
    [HONE_I4] = {"i4", 4},
    [HONE_U4] = {"u4", 4},
    [HONE_I2] = {"i2", 2},
    [HONE_U2] = {"u2", 2},
    [HONE_C64] = {"c64", 64},
    [HONE_C128] = {"c128", 128},
};

static const char *const formats[HONE_FORMAT_COUNT] = {
    [HONE_PLAIN] = "plain",     [HONE_NCHW16C] = "nchw16c", [HONE_NCHW8C] = "nchw8c",
    [HONE_NCHW32C] = "nchw32c", [HONE_NCHW64C] = "nchw64c", [HONE_NHWC] = "nhwc"};

static bool in_set(uint32_t set, hone_dtype dtype) {
  return (unsigned)dtype < HONE_DTYPE_COUNT && (set & HONE_BIT(dtype));
}

bool hn_dtype_is_float(hone_dtype dtype) {
  return in_set(HONE_TYPES_FLOAT | HONE_TYPES_F8 | HONE_BIT(HONE_F4E2M1), dtype);
}

bool hn_dtype_is_int(hone_dtype dtype) {
  return in_set(HONE_TYPES_INT | HONE_BIT(HONE_I4) | HONE_BIT(HONE_U4) | HONE_BIT(HONE_I2) | HONE_BIT(HONE_U2), dtype);
}

bool hn_dtype_is_unsigned(hone_dtype dtype) {
  return in_set(HONE_TYPES_UNSIGNED | HONE_BIT(HONE_U4) | HONE_BIT(HONE_U2), dtype);
}

const char *hone_dtype_name(hone_dtype dtype) {
  if (dtype == HONE_TF32) return "tf32";
  return (unsigned)dtype < HONE_DTYPE_COUNT ? dtypes[dtype].name : "none";
}

hone_dtype hone_dtype_find(const char *name) {
  if (!name) return HONE_NONE;
  for (int i = 1; i < HONE_DTYPE_COUNT; ++i)
    if (strcmp(dtypes[i].name, name) == 0) return (hone_dtype)i;
  return HONE_NONE;
}

size_t hone_dtype_bits(hone_dtype dtype) { return (unsigned)dtype < HONE_DTYPE_COUNT ? dtypes[dtype].bits : 0; }

const char *hone_format_name(hone_format format) {
  return (unsigned)format < HONE_FORMAT_COUNT ? formats[format] : "plain";
}
