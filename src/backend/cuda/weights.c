/* SPDX-License-Identifier: Apache-2.0 */
/* weights.c - constants in f32, f16 or bf16 read one by one, and rounded to halves or tf32, ties to even. */
#include "backend/cuda/cuda.h"
#include <math.h>
#include <string.h>

static float float_of(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static float from_f16(uint16_t half) {
  const uint32_t sign = (uint32_t)(half & 0x8000) << 16, magnitude = half & 0x7fff;
  if (magnitude >= 0x7c00) return float_of(sign | 0x7f800000 | magnitude << 13);
  if (magnitude < 0x0400) return float_of(sign | 0x3f800000) * (float)magnitude * 0x1p-24f;
  return float_of(sign | ((magnitude << 13) + 0x38000000));
}

static uint16_t to_f16(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  const uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return (uint16_t)(sign | 0x7e00);
  if (magnitude >= 0x477ff000) return (uint16_t)(sign | 0x7c00); /* 65520 and above */
  if (magnitude < 0x38800000) return (uint16_t)(sign | (uint32_t)lrintf(float_of(magnitude) * 0x1p24f));
  return (uint16_t)(sign | (magnitude + 0xfff + (magnitude >> 13 & 1) - 0x38000000) >> 13);
}

static uint16_t to_bf16(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  if ((bits & 0x7fffffff) > 0x7f800000) return (uint16_t)(bits >> 16 | 0x40);
  return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

uint16_t hn_cuda_half_of(hone_dtype held, float value) { return held == HONE_F16 ? to_f16(value) : to_bf16(value); }

float hn_cuda_tf32_of(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  if ((bits & 0x7fffffff) < 0x7f800000) bits += 0xfff + (bits >> 13 & 1); /* neither infinite nor NaN */
  return float_of(bits & ~0x1fffu);
}

float hn_cuda_weight(const hone_tensor *constant, int64_t i) {
  switch (constant->type.dtype) {
  case HONE_F16: return from_f16(((const uint16_t *)constant->data)[i]);
  case HONE_BF16: return float_of((uint32_t)((const uint16_t *)constant->data)[i] << 16);
  default: return ((const float *)constant->data)[i];
  }
}

bool hn_cuda_is_weight(const hone_query *query, int input) {
  const hone_type *type = &query->in[input].type;
  const uint32_t floats = HONE_BIT(HONE_F32) | HONE_BIT(HONE_F16) | HONE_BIT(HONE_BF16);
  return (query->constant_mask >> input & 1) && type->kind == HONE_TENSOR && type->format == HONE_PLAIN &&
         (HONE_BIT(type->dtype) & floats);
}
