/* SPDX-License-Identifier: Apache-2.0 */
/* types.c - element types by the protocol's names, and their numbers in JSON. */
#include "server/ports.h"
#include <inttypes.h>
#include <string.h>

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
  for (size_t i = 0; i < HN_COUNT(types); ++i)
    if (types[i].dtype == dtype) return &types[i];
  return NULL;
}

static bool is_integer(const srv_type *type) { return type->low < type->high; }

static hone_tensor one(const srv_type *type, const void *data) {
  return (hone_tensor){.type = {.kind = HONE_TENSOR, .dtype = type->dtype, .shape = {.rank = 0}},
                       .data = (void *)data,
                       .bytes = type->bytes};
}

bool srv_type_store(const srv_type *type, void *to, const hn_json *number) {
  if (is_integer(type)) {
    const bool is_flag = number->kind == HN_JSON_BOOL && type->dtype == HONE_BOOL;
    if (number->kind != HN_JSON_INT && !is_flag) return false;
    const bool any = type->dtype == HONE_I64 || (type->dtype == HONE_U64 && number->i >= 0);
    if (!any && ((double)number->i < type->low || (double)number->i > type->high)) return false;
    memcpy(to, &number->i, type->bytes); /* little-endian, two's complement */
    return true;
  }
  if (number->kind != HN_JSON_INT && number->kind != HN_JSON_REAL) return false;
  hone_tensor element = one(type, to);
  hone_tensor_set_real(&element, 0, number->real);
  return true;
}

void srv_type_print(const srv_type *type, const void *from, hn_text *out) {
  int64_t i = 0;
  uint64_t u = 0;
  float f;
  if (type->dtype == HONE_F32) {
    memcpy(&f, from, sizeof f);
    if (f - f == 0)
      hn_text_float(out, f);
    else
      hn_text_add(out, "null"); /* JSON has no such number */
  } else if (!is_integer(type)) {
    const hone_tensor element = one(type, from);
    const double real = hone_tensor_real(&element, 0);
    if (real - real == 0)
      hn_text_double(out, real);
    else
      hn_text_add(out, "null");
  } else if (type->dtype == HONE_BOOL) {
    hn_text_add(out, *(const uint8_t *)from ? "true" : "false");
  } else if (type->low < 0) {
    memcpy(&i, from, type->bytes);
    const int unused = 64 - 8 * (int)type->bytes;
    hn_text_printf(out, "%" PRId64, (int64_t)((uint64_t)i << unused) >> unused);
  } else {
    memcpy(&u, from, type->bytes);
    hn_text_printf(out, "%" PRIu64, u);
  }
}
