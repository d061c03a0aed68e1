/* SPDX-License-Identifier: Apache-2.0 */
/* common_quant.h - scales and zero points: which one belongs to an element, and rounding with saturation. */
#ifndef HN_OPS_COMMON_QUANT_H
#define HN_OPS_COMMON_QUANT_H

#include "ops/common_nn.h"

#define HN_TYPES_QUANT                                                                                                 \
  (HONE_BIT(HONE_I8) | HONE_BIT(HONE_U8) | HONE_BIT(HONE_I16) | HONE_BIT(HONE_U16) |                                   \
   (HONE_TYPES_NARROW & ~HONE_BIT(HONE_F8E8M0)))
#define HN_TYPES_SCALE (HONE_BIT(HONE_F32) | HONE_BIT(HONE_F16) | HONE_BIT(HONE_BF16))
#define HN_TYPES_BYTE (HONE_BIT(HONE_I8) | HONE_BIT(HONE_U8))

/* Checks scale (input 1) and zero point (input 2) of quantize_linear and dequantize_linear against x (input 0): one
 * element, one for each index of `axis`, or one for each block of block_size along it. */
hone_status hn_infer_scales(hone_infer *infer);
/* Which element of scale and zero point belongs to x's element `flat`. */
typedef struct hn_scale_map {
  int64_t inner, len, block, blocks; /* blocks: scales along the axis; 0 when one scale serves all */
  bool blocked;
} hn_scale_map;
hn_scale_map hn_scale_map_make(const hone_attrs *attrs, const hone_shape *x, const hone_shape *scale);
int64_t hn_scale_at(const hn_scale_map *map, int64_t flat);

double hn_round_to(hone_dtype dtype, double value); /* a float type's precision */
void hn_store_saturated(hone_tensor *out, int64_t at, double value, bool saturate_floats); /* rounds half to even */

/* Scales or zero points of qlinear_* and *_integer: one element, or one along an axis. input may be absent (0). */
hone_status hn_want_scalar_or(hone_infer *infer, int input, int64_t count, const char *what);
int64_t hn_zero_point(const hone_eval *eval, int input, int64_t at); /* of one element, or element at */
double hn_scale_of(const hone_eval *eval, int input, int64_t at);

/* ---- requantisation by the f32 rule (docs/NUMERICS.md): each step is rounded to f32, as ONNX Runtime's on x86 is ----
 */
float hn_requant_scale(double a, double b, double y); /* (a * b) / y */
/* rne(f32(i32(sum)) * scale) + zero: the sum wraps as the i32 that kernels add up in. */
double hn_requantised(int64_t sum, float scale, int64_t zero);
/* Bounds of the output: what a relu or clip before the rounding is afterwards. The defaults hold nothing back. */
#define HN_BOUND_ATTRS HONE_INT_ATTR("low", INT32_MIN), HONE_INT_ATTR("high", INT32_MAX)
hone_status hn_infer_bounds(hone_infer *infer); /* of output 0 */
/* Saturated to the output's type, then held within low and high. */
double hn_bounded(const hone_eval *eval, double value);
void hn_store_bounded(const hone_eval *eval, int64_t at, double value);

/* Two byte tensors that are broadcast to output 0 and requantised: ports, infer, and what eval reads. */
hone_status hn_infer_byte_pairs(hone_infer *infer);
typedef struct hn_byte_pairs {
  const hone_tensor *a, *b;
  const hone_shape *out;
  int64_t a_stride[HONE_MAX_RANK], b_stride[HONE_MAX_RANK];
  float a_scale, b_scale, y_scale;
  int64_t a_zero, b_zero, y_zero;
  int64_t first, last; /* of the window */
} hn_byte_pairs;
hone_status hn_byte_pairs_make(hone_eval *eval, const hone_window *window, hn_byte_pairs *out);
void hn_byte_pairs_at(const hn_byte_pairs *pairs, int64_t flat, int64_t *out_a, int64_t *out_b);

/* acc = sum over the window of (x - x_zero) * (w - w_zero); pads add nothing. */
typedef struct hn_conv_integer {
  const hone_tensor *x, *w;
  hn_sliding sliding;
  int64_t taps, plane, channels, in_group, outs_a_group;
} hn_conv_integer;
hone_status hn_conv_integer_make(const hone_eval *eval, int x, int w, hn_conv_integer *out);
int64_t hn_conv_integer_at(const hn_conv_integer *conv, const int64_t *out_at, int64_t x_zero, int64_t w_zero);

#endif
