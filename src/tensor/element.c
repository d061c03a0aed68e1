/* SPDX-License-Identifier: Apache-2.0 */
/* element.c - loads and stores of one element. memcpy keeps them right for any alignment, since views of model files
 * are aligned to nothing. */
#include "tensor/element.h"
#include "tensor/shape.h"
#include <math.h>
#include <string.h>

static const uint8_t *byte_at(const hone_tensor *tensor, int64_t at, size_t bytes) {
  return (const uint8_t *)tensor->data + (size_t)at * bytes;
}

/* The raw bits of an element of at most 8 bytes, zero-extended. */
static inline uint64_t load_bits(const hone_tensor *tensor, int64_t at, size_t bits) {
  if (bits < 8) {
    const int64_t per_byte = (int64_t)(8 / bits);
    const uint8_t packed = ((const uint8_t *)tensor->data)[at / per_byte];
    return (uint64_t)(packed >> ((size_t)(at % per_byte) * bits)) & ((1u << bits) - 1);
  }
  switch (bits) {
  case 8: return *byte_at(tensor, at, 1);
  case 16: {
    uint16_t value;
    memcpy(&value, byte_at(tensor, at, 2), sizeof value);
    return value;
  }
  case 32: {
    uint32_t value;
    memcpy(&value, byte_at(tensor, at, 4), sizeof value);
    return value;
  }
  case 64: {
    uint64_t value;
    memcpy(&value, byte_at(tensor, at, 8), sizeof value);
    return value;
  }
  default: return 0;
  }
}

static void store_bits(hone_tensor *tensor, int64_t at, size_t bits, uint64_t value) {
  if (bits < 8) {
    const int64_t per_byte = (int64_t)(8 / bits);
    uint8_t *packed = (uint8_t *)tensor->data + at / per_byte;
    const size_t shift = (size_t)(at % per_byte) * bits;
    const unsigned mask = ((1u << bits) - 1) << shift;
    *packed = (uint8_t)((*packed & ~mask) | (((unsigned)value << shift) & mask));
    return;
  }
  uint8_t *to = (uint8_t *)tensor->data + (size_t)at * (bits / 8);
  const uint8_t byte = (uint8_t)value;
  const uint16_t half = (uint16_t)value;
  const uint32_t word = (uint32_t)value;
  switch (bits) {
  case 8: memcpy(to, &byte, sizeof byte); break;
  case 16: memcpy(to, &half, sizeof half); break;
  case 32: memcpy(to, &word, sizeof word); break;
  case 64: memcpy(to, &value, sizeof value); break;
  default: break;
  }
}

void hn_clear_tail(hone_tensor *tensor) {
  const size_t bits = hone_dtype_bits(tensor->type.dtype), used = bits * (size_t)hn_elems(&tensor->type.shape) % 8;
  if (bits >= 8 || used == 0 || !tensor->data) return;
  uint8_t *last = (uint8_t *)tensor->data + bits * (size_t)hn_elems(&tensor->type.shape) / 8;
  *last = (uint8_t)(*last & ((1u << used) - 1));
}

static double f64_of(uint64_t bits) {
  double value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static float f32_of(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* Raw bits of a float dtype as a number; complex numbers give their real part. */
static double real_of_bits(hone_dtype dtype, uint64_t bits) {
  switch (dtype) {
  case HONE_F32: return (double)f32_of((uint32_t)bits);
  case HONE_F64: return f64_of(bits);
  case HONE_F16: return (double)hn_f16_to_f32((uint16_t)bits);
  case HONE_BF16: return (double)hn_bf16_to_f32((uint16_t)bits);
  case HONE_F4E2M1: return hn_f4_to_f64((uint8_t)bits);
  case HONE_C64: return (double)f32_of((uint32_t)bits);
  case HONE_C128: return f64_of(bits);
  default: return hn_f8_to_f64(dtype, (uint8_t)bits);
  }
}

static uint64_t bits_of_real(hone_dtype dtype, double value) {
  uint64_t bits = 0;
  switch (dtype) {
  case HONE_F32:
  case HONE_C64: {
    const float single = (float)value;
    memcpy(&bits, &single, sizeof single); /* low bytes: little-endian, and C64's imaginary part is zero */
    return bits;
  }
  case HONE_F64:
  case HONE_C128: memcpy(&bits, &value, sizeof value); return bits;
  case HONE_F16: return hn_f16_from_f64(value);
  case HONE_BF16: return hn_bf16_from_f64(value);
  case HONE_F4E2M1: return hn_f4_from_f64(value);
  default: return hn_f8_from_f64(dtype, value, false);
  }
}

/* Sign-extends the low bits of signed types; unsigned ones are extended with zeros already. */
static int64_t int_of_bits(hone_dtype dtype, uint64_t bits, size_t width) {
  if (width == 64 || hn_dtype_is_unsigned(dtype)) return (int64_t)bits;
  const uint64_t sign = (uint64_t)1 << (width - 1);
  return (int64_t)((bits ^ sign) - sign);
}

/* Toward zero, modulo 2^64; NaN and infinities give 0. */
static int64_t int_of_real(double value) {
  if (!isfinite(value)) return 0;
  if (value >= -0x1p63 && value < 0x1p63) return (int64_t)value;
  const double rest = fmod(value, 0x1p64); /* a whole number: the fraction of such values is zero */
  return rest < 0 ? (int64_t)(0 - (uint64_t)-rest) : (int64_t)(uint64_t)rest;
}

static bool is_real_like(hone_dtype dtype) {
  return hn_dtype_is_float(dtype) || dtype == HONE_C64 || dtype == HONE_C128;
}

/* C128 is read and written as pairs of doubles, its real part first. */
static size_t lane_bits(hone_dtype dtype) { return dtype == HONE_C128 ? 64 : hone_dtype_bits(dtype); }
static int64_t lane_at(hone_dtype dtype, int64_t at) { return dtype == HONE_C128 ? 2 * at : at; }

double hn_real(const hone_tensor *tensor, int64_t at) {
  const hone_dtype dtype = tensor->type.dtype;
  switch (dtype) { /* what most tensors are: ref on bytes takes a fifth less so */
  case HONE_F32: return (double)f32_of((uint32_t)load_bits(tensor, at, 32));
  case HONE_I8: return (int8_t)load_bits(tensor, at, 8);
  case HONE_U8: return (uint8_t)load_bits(tensor, at, 8);
  case HONE_F16: return (double)hn_f16_to_f32((uint16_t)load_bits(tensor, at, 16));
  case HONE_BF16: return (double)hn_bf16_to_f32((uint16_t)load_bits(tensor, at, 16));
  default: break;
  }
  const uint64_t bits = load_bits(tensor, lane_at(dtype, at), lane_bits(dtype));
  if (is_real_like(dtype)) return real_of_bits(dtype, bits);
  if (dtype == HONE_BOOL) return bits != 0;
  if (!hn_dtype_is_int(dtype)) return 0;
  const int64_t value = int_of_bits(dtype, bits, hone_dtype_bits(dtype));
  return dtype == HONE_U64 ? (double)(uint64_t)value : (double)value;
}

double hn_dot(double sum, const hone_tensor *a, int64_t a_at, int64_t a_step, const hone_tensor *b, int64_t b_at,
              int64_t b_step, int64_t count) {
  if (a->type.dtype == HONE_F32 && b->type.dtype == HONE_F32) {
    const float *p = (const float *)a->data + a_at, *q = (const float *)b->data + b_at;
    for (int64_t i = 0; i < count; ++i) sum += (double)p[i * a_step] * (double)q[i * b_step];
    return sum;
  }
  for (int64_t i = 0; i < count; ++i) sum += hn_real(a, a_at + i * a_step) * hn_real(b, b_at + i * b_step);
  return sum;
}

int64_t hn_int(const hone_tensor *tensor, int64_t at) {
  const hone_dtype dtype = tensor->type.dtype;
  switch (dtype) {
  case HONE_I8: return (int8_t)load_bits(tensor, at, 8);
  case HONE_U8: return (int64_t)load_bits(tensor, at, 8);
  case HONE_I32: return (int32_t)load_bits(tensor, at, 32);
  case HONE_I64: return (int64_t)load_bits(tensor, at, 64);
  default: break;
  }
  if (is_real_like(dtype)) return int_of_real(hn_real(tensor, at));
  const uint64_t bits = load_bits(tensor, at, hone_dtype_bits(dtype));
  if (dtype == HONE_BOOL) return bits != 0;
  return hn_dtype_is_int(dtype) ? int_of_bits(dtype, bits, hone_dtype_bits(dtype)) : 0;
}

void hn_store_real(hone_tensor *tensor, int64_t at, double value) {
  const hone_dtype dtype = tensor->type.dtype;
  if (dtype == HONE_F32) {
    const float single = (float)value;
    memcpy((uint8_t *)tensor->data + (size_t)at * sizeof single, &single, sizeof single);
  } else if (is_real_like(dtype)) {
    store_bits(tensor, lane_at(dtype, at), lane_bits(dtype), bits_of_real(dtype, value));
    if (dtype == HONE_C128) store_bits(tensor, 2 * at + 1, 64, 0);
  } else if (dtype == HONE_BOOL) {
    store_bits(tensor, at, 8, value != 0); /* NaN is not zero */
  } else if (hn_dtype_is_int(dtype)) {
    store_bits(tensor, at, hone_dtype_bits(dtype), (uint64_t)int_of_real(value));
  }
}

/* An integer as a double that rounds to any narrower float as the integer itself would: what the double cannot hold
 * is kept as one odd last bit. */
static double sticky_real(int64_t value) {
  const uint64_t magnitude = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
  if (magnitude < (uint64_t)1 << 53) return (double)value;
  const uint64_t kept = (magnitude & ~(uint64_t)0x7ff) | ((magnitude & 0x7ff) ? 0x800 : 0);
  return value < 0 ? -(double)kept : (double)kept;
}

void hn_store_int(hone_tensor *tensor, int64_t at, int64_t value) {
  const hone_dtype dtype = tensor->type.dtype;
  if (dtype == HONE_F32) { /* not through a double, which would round twice */
    const float single = (float)value;
    memcpy((uint8_t *)tensor->data + (size_t)at * sizeof single, &single, sizeof single);
  } else if (is_real_like(dtype)) {
    hn_store_real(tensor, at, dtype == HONE_F64 ? (double)value : sticky_real(value));
  } else if (dtype == HONE_BOOL) {
    store_bits(tensor, at, 8, value != 0);
  } else if (hn_dtype_is_int(dtype)) {
    store_bits(tensor, at, hone_dtype_bits(dtype), (uint64_t)value);
  }
}

void hn_copy_element(hone_tensor *to, int64_t to_at, const hone_tensor *from, int64_t from_at) {
  const size_t bits = hone_dtype_bits(to->type.dtype);
  if (bits <= 64 && bits != 0) {
    store_bits(to, to_at, bits, load_bits(from, from_at, bits));
    return;
  }
  const size_t bytes = bits / 8;
  memmove((uint8_t *)to->data + (size_t)to_at * bytes, (const uint8_t *)from->data + (size_t)from_at * bytes, bytes);
}
