/* SPDX-License-Identifier: Apache-2.0 */
/* element.h - one element of a tensor of any dtype, as a real or an integer. Slow and right: the base of ref.
 * Reals are double; narrow floats round to nearest even on store (OCP OFP8 and MX specs, ONNX's saturating Cast rules
 * are the caller's); integers are int64_t (u64 keeps its bits) and wrap on store. Flat index in row-major order. */
#ifndef HN_TENSOR_ELEMENT_H
#define HN_TENSOR_ELEMENT_H

#include <hone/types.h>

/* Types in which a build may be allowed to hold or multiply what is f32. */
#define HN_TYPES_NARROW (HONE_BIT(HONE_F16) | HONE_BIT(HONE_BF16) | HONE_BIT(HONE_TF32))
bool hn_dtype_is_float(hone_dtype dtype); /* any float, narrow ones included */
bool hn_dtype_is_int(hone_dtype dtype);   /* signed and unsigned, i4, u4, i2, u2; not bool */
bool hn_dtype_is_unsigned(hone_dtype dtype);

double hn_real(const hone_tensor *tensor, int64_t at); /* ints and bools are converted */
/* sum + a[a_at] b[b_at] + ..., count products in order, steps between the elements; hn_real, but in a loop of its own.
 */
double hn_dot(double sum, const hone_tensor *a, int64_t a_at, int64_t a_step, const hone_tensor *b, int64_t b_at,
              int64_t b_step, int64_t count);
static inline bool hn_int_less(int64_t a, int64_t b, bool is_unsigned) { /* is_unsigned: they are u64's bits */
  return is_unsigned ? (uint64_t)a < (uint64_t)b : a < b;
}
int64_t hn_int(const hone_tensor *tensor, int64_t at);             /* floats truncate toward zero; NaN gives 0 */
void hn_store_real(hone_tensor *tensor, int64_t at, double value); /* into ints: truncates, wraps; bool: != 0 */
void hn_store_int(hone_tensor *tensor, int64_t at, int64_t value); /* into floats: rounds */
void hn_copy_element(hone_tensor *to, int64_t to_at, const hone_tensor *from,
                     int64_t from_at); /* same dtype, any, strings too */

void hn_clear_tail(hone_tensor *tensor); /* zeroes the bits behind the last element of a packed type */

/* Raw conversions; saturate: out of range gives the largest finite value instead of infinity or NaN. */
float hn_f16_to_f32(uint16_t bits);
uint16_t hn_f16_from_f64(double value);
uint16_t hn_f16_from_f32(float value); /* the same, several times as fast: large tensors are made of these */
float hn_bf16_to_f32(uint16_t bits);
uint16_t hn_bf16_from_f64(double value);
double hn_f8_to_f64(hone_dtype dtype, uint8_t bits);
uint8_t hn_f8_from_f64(hone_dtype dtype, double value, bool saturate);
double hn_f4_to_f64(uint8_t bits);
uint8_t hn_f4_from_f64(double value);

/* Errors between two tensors of the same shape: what tests, tuning and verify report. */
typedef struct hn_error {
  double max_abs, max_rel, rel_l2; /* rel_l2 = |a - b| / |b|, 0 when both are zero */
  int64_t worst;                   /* flat index of max_abs; -1 when equal */
  int64_t mismatches;              /* |a-b| > atol + rtol |b|, or NaN against a number, or unequal non-floats */
  int64_t compared;
} hn_error;
/* NaN equals NaN. Only elements [first, last) (last -1: all). */
hn_error hn_compare(const hone_tensor *got, const hone_tensor *want, double atol, double rtol, int64_t first,
                    int64_t last);

#endif
