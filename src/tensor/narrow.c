/* SPDX-License-Identifier: Apache-2.0 */
/* narrow.c - floats of 16, 8 and 4 bits, one description each. Sources: IEEE 754-2019, the OCP 8-bit floating point
 * and microscaling (MX) specifications, and ONNX's definition of the FNUZ types.
 *
 * Rounding is done once, on the double's own bits: to nearest, ties to the even code. A carry out of the fraction
 * walks into the exponent by itself, since codes of one sign are ordered as their values are. */
#include "tensor/element.h"
#include <math.h>
#include <string.h>

typedef struct narrow {
  int fraction_bits, bias;
  uint32_t sign;     /* the sign's bit; 0: no negative values */
  uint32_t largest;  /* code of the largest finite value */
  uint32_t infinity; /* its code; 0: there is none */
  uint32_t nan;      /* the code that is written for NaN; 0: there is none */
  bool one_zero;     /* the code of -0 is NaN */
} narrow;

static const narrow f16_form = {10, 15, 0x8000, 0x7bff, 0x7c00, 0x7e00, false};
static const narrow bf16_form = {7, 127, 0x8000, 0x7f7f, 0x7f80, 0x7fc0, false};
static const narrow e4m3fn_form = {3, 7, 0x80, 0x7e, 0, 0x7f, false};
static const narrow e4m3fnuz_form = {3, 8, 0x80, 0x7f, 0, 0x80, true};
static const narrow e5m2_form = {2, 15, 0x80, 0x7b, 0x7c, 0x7e, false};
static const narrow e5m2fnuz_form = {2, 16, 0x80, 0x7f, 0, 0x80, true};
static const narrow f4_form = {1, 1, 0x8, 0x7, 0, 0, false};

/* The code of |value| without a sign, which may lie beyond form->largest. value is finite. */
static uint32_t round_magnitude(const narrow *form, double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  const int exponent = (int)(bits >> 52 & 0x7ff) - 1023;
  const uint64_t significand = (bits & 0xfffffffffffffu) | (exponent > -1023 ? (uint64_t)1 << 52 : 0);
  const int lowest = 1 - form->bias; /* below it values are subnormal and keep this exponent */
  int drop = 52 - form->fraction_bits;
  if (exponent > form->bias + 2) return UINT32_MAX;
  if (exponent < lowest) drop += lowest - exponent;
  if (drop > 53) return 0; /* below half of the smallest value */
  const uint64_t rest = significand & (((uint64_t)1 << drop) - 1), half = (uint64_t)1 << (drop - 1);
  uint64_t kept = significand >> drop;
  kept += rest > half || (rest == half && (kept & 1));
  if (exponent > lowest) kept += (uint64_t)(exponent - lowest) << form->fraction_bits;
  return (uint32_t)kept;
}

static uint32_t encode(const narrow *form, double value, bool saturate) {
  const uint32_t sign = signbit(value) ? form->sign : 0;
  if (isnan(value)) return form->one_zero ? form->nan : form->nan | sign;
  const uint32_t code = isinf(value) ? UINT32_MAX : round_magnitude(form, value);
  if (code > form->largest) {
    if (saturate) return form->largest | sign;
    if (form->infinity) return form->infinity | sign;
    return form->one_zero ? form->nan : form->nan | sign;
  }
  return code == 0 && form->one_zero ? 0 : code | sign;
}

static double decode(const narrow *form, uint32_t code) {
  const uint32_t magnitude = code & (form->sign - 1);
  double value;
  if (form->one_zero && code == form->sign) return NAN;
  if (form->infinity && magnitude == form->infinity)
    value = INFINITY;
  else if (magnitude > form->largest)
    value = NAN;
  else {
    const int exponent = (int)(magnitude >> form->fraction_bits);
    const uint32_t hidden = exponent ? 1u << form->fraction_bits : 0;
    const uint32_t fraction = (magnitude & ((1u << form->fraction_bits) - 1)) | hidden;
    value = ldexp((double)fraction, (exponent ? exponent : 1) - form->bias - form->fraction_bits);
  }
  return code & form->sign ? copysign(value, -1) : value;
}

/* E8M0 is a power of two and nothing else: no sign, no zero. Its significand is always the odd number 1, so a tie goes
 * up, to the next power's even 2. What is too small is NaN, or the smallest power when saturating. */
static uint8_t encode_e8m0(double value, bool saturate) {
  if (isnan(value) || value < 0) return 0xff;
  if (isinf(value)) return saturate ? 0xfe : 0xff;
  if (value == 0) return saturate ? 0 : 0xff;
  int exponent;
  const double fraction = frexp(value, &exponent); /* in [0.5, 1): value = 2 fraction * 2^(exponent - 1) */
  const int code = exponent - 1 + 127 + (fraction >= 0.75);
  if (code < 0) return saturate ? 0 : 0xff;
  if (code > 254) return saturate ? 0xfe : 0xff;
  return (uint8_t)code;
}

float hn_f16_to_f32(uint16_t bits) {
  const uint32_t sign = (uint32_t)(bits & 0x8000) << 16, rest = bits & 0x7fff;
  float value;
  if (rest < 0x400) {
    value = (float)rest * 0x1p-24f;
    return sign ? -value : value;
  }
  const uint32_t wide = sign | ((rest << 13) + (rest >= 0x7c00 ? 0x70000000u : 0x38000000u));
  memcpy(&value, &wide, sizeof value);
  return value;
}

uint16_t hn_f16_from_f64(double value) { return (uint16_t)encode(&f16_form, value, false); }

uint16_t hn_f16_from_f32(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  const uint32_t size = bits & 0x7fffffff;
  if (size < 0x38800000 || size >= 0x47800000) return hn_f16_from_f64(value); /* below 2^-14, or 2^16 and above */
  const uint32_t rounded = size - 0x38000000 + 0xfff + (size >> 13 & 1);
  return (uint16_t)((bits >> 16 & 0x8000) | rounded >> 13);
}

float hn_bf16_to_f32(uint16_t bits) {
  const uint32_t wide = (uint32_t)bits << 16;
  float value;
  memcpy(&value, &wide, sizeof value);
  return value;
}

uint16_t hn_bf16_from_f64(double value) { return (uint16_t)encode(&bf16_form, value, false); }

static const narrow *f8_form(hone_dtype dtype) {
  switch (dtype) {
  case HONE_F8E4M3FN: return &e4m3fn_form;
  case HONE_F8E4M3FNUZ: return &e4m3fnuz_form;
  case HONE_F8E5M2: return &e5m2_form;
  case HONE_F8E5M2FNUZ: return &e5m2fnuz_form;
  default: return NULL;
  }
}

double hn_f8_to_f64(hone_dtype dtype, uint8_t bits) {
  const narrow *form = f8_form(dtype);
  if (form) return decode(form, bits);
  return dtype == HONE_F8E8M0 && bits != 0xff ? ldexp(1, bits - 127) : (double)NAN;
}

uint8_t hn_f8_from_f64(hone_dtype dtype, double value, bool saturate) {
  const narrow *form = f8_form(dtype);
  return form ? (uint8_t)encode(form, value, saturate) : encode_e8m0(value, saturate);
}

double hn_f4_to_f64(uint8_t bits) { return decode(&f4_form, bits & 0xf); }

/* There is no NaN to give back: ONNX's test data store it as -0. */
uint8_t hn_f4_from_f64(double value) {
  return isnan(value) ? (uint8_t)f4_form.sign : (uint8_t)encode(&f4_form, value, true);
}
