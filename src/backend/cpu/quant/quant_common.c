/* SPDX-License-Identifier: Apache-2.0 */
/* quant_common.c - what the tactics on bytes share. */
#include "backend/cpu/quant/quant.h"

int32_t hn_cpu_byte(const hone_tensor *tensor) {
  return tensor->type.dtype == HONE_I8 ? *(const int8_t *)tensor->data : *(const uint8_t *)tensor->data;
}

const char *hn_cpu_check_scale(const hone_query *query, int scale, hone_dtype dtype) {
  const hone_type *s = &query->in[scale].type, *zero = &query->in[scale + 1].type;
  if (s->dtype != HONE_F32 || s->shape.rank > 1 || hn_elems(&s->shape) != 1) return "a scale is not one f32";
  if (zero->dtype != dtype || zero->shape.rank > 1 || hn_elems(&zero->shape) != 1)
    return "a zero point is not one of its tensor's type";
  return NULL;
}

void hn_cpu_byte_bounds(const hone_query *query, float *low, float *high) {
  const bool is_signed = query->out[0].type.dtype == HONE_I8;
  const int64_t least = is_signed ? -128 : 0, most = least + 255;
  const int64_t from = hn_attr_int(query->attrs, "low"), to = hn_attr_int(query->attrs, "high");
  *low = (float)hn_cpu_lesser(hn_cpu_greater(from, least), most);
  *high = (float)hn_cpu_greater(hn_cpu_lesser(to, most), least);
}

bool hn_cpu_broadcast(const hone_shape *a, const hone_shape *b, hone_shape *out) {
  const hone_shape *longer = a->rank >= b->rank ? a : b, *other = longer == a ? b : a;
  *out = *longer;
  for (int i = 0; i < other->rank; ++i) {
    int64_t *dim = &out->dim[longer->rank - other->rank + i];
    if (*dim != other->dim[i] && *dim != 1 && other->dim[i] != 1) return false;
    if (*dim == 1) *dim = other->dim[i];
  }
  return true;
}
