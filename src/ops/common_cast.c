/* SPDX-License-Identifier: Apache-2.0 */
/* common_cast.c - conversion between element types. Source: ONNX's Cast: float to integer truncates, integers wrap,
 * floats become infinite out of range, f8 saturates unless told otherwise, f4 always saturates. */
#include "ops/common_elementwise.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER_TEXT_BYTES = 128 };

static bool is_f8(hone_dtype dtype) { return (HONE_BIT(dtype) & HONE_TYPES_F8) != 0; }

/* May the fact's small value be carried over: every element is the same number in the new type. */
static bool holds(hone_dtype dtype, int64_t value) {
  switch (dtype) {
  case HONE_I64: return true;
  case HONE_I32: return HONE_SYMBOLIC(value) || (value >= INT32_MIN && value <= INT32_MAX);
  case HONE_BOOL: return value == 0 || value == 1;
  default: return value >= 0 && value <= 127;
  }
}

static void carry_value(hone_infer *infer, hone_dtype dtype) {
  int64_t count;
  const int64_t *value = hn_in_value(infer, 0, &count);
  if (!value || !(hn_dtype_is_int(dtype) || dtype == HONE_BOOL) || hone_dtype_bits(dtype) < 8) return;
  for (int64_t i = 0; i < count; ++i)
    if (!holds(dtype, value[i]) && (dtype != HONE_BOOL || HONE_SYMBOLIC(value[i]))) return;
  int64_t *to = hn_infer_value(infer, 0, count);
  for (int64_t i = 0; to && i < count; ++i) to[i] = dtype == HONE_BOOL ? value[i] != 0 : value[i];
}

hone_status hn_infer_cast(hone_infer *infer, hone_dtype dtype) {
  if (dtype == HONE_C64 || dtype == HONE_C128 || dtype == HONE_STRING || dtype == HONE_NONE)
    return HN_INFER_UNSUPPORTED(infer, "a cast from %s to %s", hone_dtype_name(infer->in[0].type.dtype),
                                dtype == HONE_NONE ? "an unknown type" : hone_dtype_name(dtype));
  HN_TRY(hn_infer_same(infer));
  hn_out_dtype(infer, 0, dtype);
  carry_value(infer, dtype);
  return HONE_OK;
}

/* "3.14", "1e-5", "INF", "-inf", "NaN"; what is no number gives NaN. */
static double real_of_text(const hone_string *text) {
  char copy[NUMBER_TEXT_BYTES];
  if (text->length == 0 || text->length >= sizeof copy) return NAN;
  memcpy(copy, text->data, text->length);
  copy[text->length] = 0;
  char *end;
  const double value = strtod(copy, &end);
  return end == copy ? (double)NAN : value;
}

static int64_t int_of_text(const hone_string *text) {
  char copy[NUMBER_TEXT_BYTES];
  if (text->length == 0 || text->length >= sizeof copy) return 0;
  memcpy(copy, text->data, text->length);
  copy[text->length] = 0;
  char *end;
  const long long value = strtoll(copy, &end, 10);
  if (*end == 0) return value;
  const double real = real_of_text(text);
  return real > -0x1p63 && real < 0x1p63 ? (int64_t)real : 0;
}

/* A power of two at least, at most, or nearest to the value (ties up), as an exponent's code. */
static double e8m0_rounded(double value, const char *mode) {
  if (!(value > 0) || isinf(value)) return value;
  int exponent;
  const double fraction = frexp(value, &exponent); /* value = fraction * 2^exponent, fraction in [0.5, 1) */
  bool up = fraction > 0.5;
  if (hn_name_equal(mode, "down"))
    up = false;
  else if (hn_name_equal(mode, "nearest"))
    up = fraction >= 0.75;
  return ldexp(up ? 1.0 : 0.5, exponent);
}

static void store_f8(hone_tensor *to, int64_t at, double value, bool saturate, const char *round_mode) {
  const hone_dtype dtype = to->type.dtype;
  if (dtype == HONE_F8E8M0) value = e8m0_rounded(value, round_mode);
  ((uint8_t *)to->data)[at] = hn_f8_from_f64(dtype, value, saturate);
}

/* What no integer stands for is undefined in ONNX. Here it is the least i64 for i64, and for types of at most 32 bits
 * what is left of the least i32: what processors make of it. */
static double fitting(double value, hone_dtype dtype) {
  if (dtype == HONE_I64 && !(value >= -0x1p63 && value < 0x1p63)) return -0x1p63;
  const bool through_i32 = hn_dtype_is_int(dtype) && hone_dtype_bits(dtype) <= 32 && dtype != HONE_U32;
  return through_i32 && !(value > -0x1p31 - 1 && value < 0x1p31) ? -0x1p31 : value;
}

hone_status hn_eval_cast(hone_eval *eval, const hone_window *window) {
  const hone_tensor *from = &eval->in[0];
  hone_tensor *to = &eval->out[0];
  const hone_dtype source = from->type.dtype, target = to->type.dtype;
  const bool saturate = hn_attr_int(eval->attrs, "saturate") != 0;
  const char *round_mode = hn_attr_text(eval->attrs, "round_mode");
  const bool real = hn_dtype_is_float(source) || source == HONE_U64; /* u64 above 2^63 is no int64 */
  const hone_string *texts = source == HONE_STRING ? from->data : NULL;
  int64_t first, last;
  hn_window_range(eval, window, 0, &first, &last);
  for (int64_t at = first; at < last; ++at) {
    if (source == target)
      hn_copy_element(to, at, from, at);
    else if (is_f8(target))
      store_f8(to, at, texts ? real_of_text(&texts[at]) : hn_real(from, at), saturate, round_mode);
    else if (texts && hn_dtype_is_float(target))
      hn_store_real(to, at, real_of_text(&texts[at]));
    else if (texts)
      hn_store_int(to, at, int_of_text(&texts[at]));
    else if (real && (hn_dtype_is_float(source) || hn_dtype_is_float(target)))
      hn_store_real(to, at, fitting(hn_real(from, at), target));
    else
      hn_store_int(to, at, hn_int(from, at));
  }
  return HONE_OK;
}
