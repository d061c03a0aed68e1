/* SPDX-License-Identifier: Apache-2.0 */
/* numbers.c - elements of tensors as numbers in JSON. */
#include "server.h"
#include <inttypes.h>
#include <string.h>

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
