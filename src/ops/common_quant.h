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
/* acc = sum over the window of (x - x_zero) * (w - w_zero); pads add nothing. */
typedef struct hn_conv_integer {
  const hone_tensor *x, *w;
  hn_sliding sliding;
  int64_t taps, plane, channels, in_group, outs_a_group;
} hn_conv_integer;
hone_status hn_conv_integer_make(const hone_eval *eval, int x, int w, hn_conv_integer *out);
int64_t hn_conv_integer_at(const hn_conv_integer *conv, const int64_t *out_at, int64_t x_zero, int64_t w_zero);

#endif
