/* SPDX-License-Identifier: Apache-2.0 */
/* constants.c - weights and biases of any float type, read on the host to be packed. */
#include "backend/cuda/region/region.h"
#include <string.h>

/* IEEE 754 binary16 and bfloat16, to nearest, ties to even; what is too large becomes infinity. */
static uint16_t half_of(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  const uint32_t sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return (uint16_t)(sign | 0x7e00);
  if (magnitude >= 0x477ff000) return (uint16_t)(sign | 0x7c00); /* 65520 */
  if (magnitude < 0x33000001) return (uint16_t)sign;             /* half of the least subnormal rounds to zero */
  const uint32_t exponent = magnitude >> 23, whole = (magnitude & 0x7fffff) | 0x800000;
  const uint32_t shift = exponent < 113 ? 126 - exponent : 13; /* subnormal below 2^-14 */
  const uint32_t kept = whole >> shift, rest = whole & ((1u << shift) - 1), middle = 1u << (shift - 1);
  const uint32_t rounded = kept + (rest > middle || (rest == middle && (kept & 1)));
  return (uint16_t)(sign | (exponent < 113 ? rounded : rounded + ((exponent - 113) << 10)));
}

static uint16_t bfloat_of(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  if ((bits & 0x7fffffff) > 0x7f800000) return (uint16_t)(bits >> 16 | 0x40);
  return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

static float float_of_half(uint16_t half) {
  const uint32_t sign = (uint32_t)(half & 0x8000) << 16, exponent = half >> 10 & 31, mantissa = half & 0x3ff;
  uint32_t bits = sign | (exponent + 112) << 23 | mantissa << 13;
  float value;
  if (exponent == 0) {
    value = (float)mantissa * 0x1p-24f;
    return sign ? -value : value;
  }
  if (exponent == 31) bits = sign | 0x7f800000 | mantissa << 13;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* Element i of a constant; 0 of one that is not given. */
float hn_region_constant(const hone_query *query, int port, int64_t i) {
  if (!hn_cuda_given(query, port)) return 0;
  const hone_tensor *t = query->in[port].constant;
  if (t->type.dtype == HONE_F32) return ((const float *)t->data)[i];
  const uint16_t half = ((const uint16_t *)t->data)[i];
  if (t->type.dtype == HONE_F16) return float_of_half(half);
  const uint32_t bits = (uint32_t)half << 16;
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

uint16_t hn_region_narrow(hone_dtype held, float value) { return held == HONE_F16 ? half_of(value) : bfloat_of(value); }
