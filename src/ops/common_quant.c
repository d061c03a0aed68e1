/* SPDX-License-Identifier: Apache-2.0 */
/* common_quant.c - scales, zero points, saturation. Source: ONNX operators QuantizeLinear and DequantizeLinear. */
#include "ops/common_quant.h"
#include <math.h>

/* What a scale's shape must be when x has this shape. */
static hone_status check_scale(hone_infer *infer, int input, const hone_shape *x) {
  if (!hn_in_given(infer, input) || hn_in_rank(infer, input) < 0 || x->rank < 0) return HONE_OK;
  const hone_shape *scale = hn_in_shape(infer, input);
  const int64_t block = hn_attr_int(infer->attrs, "block_size");
  int axis;
  if (block == 0 && (scale->rank == 0 || (scale->rank == 1 && scale->dim[0] == 1))) return HONE_OK;
  HN_TRY(hn_infer_axis(infer, hn_attr_int(infer->attrs, "axis"), x->rank, &axis));
  if (block == 0) {
    HN_TRY(hn_want_rank(infer, input, 0, 1));
    return hn_want_dim(infer, input, 0, x->dim[axis], "the dim of x along axis");
  }
  HN_TRY(hn_want_rank(infer, input, x->rank, x->rank));
  for (int i = 0; i < x->rank; ++i)
    if (i != axis) {
      HN_TRY(hn_want_dim(infer, input, i, x->dim[i], "that of x"));
    } else if (!HONE_SYMBOLIC(x->dim[i])) {
      const int64_t blocks = x->dim[i] / block + (x->dim[i] % block != 0);
      HN_TRY(hn_want_dim(infer, input, i, blocks, "the number of blocks along axis"));
    }
  return HONE_OK;
}

hone_status hn_infer_scales(hone_infer *infer) {
  const hone_shape *x = hn_in_shape(infer, 0);
  HN_TRY(hn_want_int(infer, "block_size", 0, INT64_MAX));
  HN_TRY(check_scale(infer, 1, x));
  HN_TRY(check_scale(infer, 2, x));
  if (hn_in_given(infer, 2) && hn_in_rank(infer, 1) >= 0 && hn_in_rank(infer, 2) >= 0) {
    const hone_shape *scale = hn_in_shape(infer, 1), *zero = hn_in_shape(infer, 2);
    const bool both_one = scale->rank <= 1 && zero->rank <= 1 && (scale->rank == 0 || scale->dim[0] == 1) &&
                          (zero->rank == 0 || zero->dim[0] == 1);
    if (!both_one) HN_TRY(hn_want_rank(infer, 2, scale->rank, scale->rank));
    for (int i = 0; i < scale->rank && !both_one; ++i)
      HN_TRY(hn_want_dim(infer, 2, i, scale->dim[i], "that of the scale"));
  }
  hn_out_shape(infer, 0, x->rank, x->dim);
  return HONE_OK;
}

hn_scale_map hn_scale_map_make(const hone_attrs *attrs, const hone_shape *x, const hone_shape *scale) {
  hn_scale_map map = {.inner = 1, .len = 1, .block = hn_attr_int(attrs, "block_size")};
  map.blocked = map.block > 0;
  if (!map.blocked && hn_elems(scale) == 1) return map;
  int64_t axis = hn_attr_int(attrs, "axis");
  if (axis < 0) axis += x->rank;
  for (int64_t i = axis + 1; i < x->rank; ++i) map.inner *= x->dim[i];
  map.len = x->dim[axis];
  map.blocks = map.blocked ? scale->dim[axis] : map.len;
  if (!map.blocked) map.block = 1;
  return map;
}

int64_t hn_scale_at(const hn_scale_map *map, int64_t flat) {
  if (!map->blocks) return 0;
  const int64_t along = flat / map->inner % map->len / map->block;
  if (!map->blocked) return along;
  return (flat / map->inner / map->len * map->blocks + along) * map->inner + flat % map->inner;
}

double hn_round_to(hone_dtype dtype, double value) {
  if (dtype == HONE_F16) return (double)hn_f16_to_f32(hn_f16_from_f64(value));
  if (dtype == HONE_BF16) return (double)hn_bf16_to_f32(hn_bf16_from_f64(value));
  return dtype == HONE_F64 ? value : (double)(float)value;
}

/* Least and largest value of an integer type. */
static void int_range(hone_dtype dtype, double *low, double *high) {
  const int bits = (int)hone_dtype_bits(dtype);
  const bool is_unsigned = hn_dtype_is_unsigned(dtype);
  *low = is_unsigned ? 0 : -ldexp(1, bits - 1);
  *high = ldexp(1, is_unsigned ? bits : bits - 1) - 1;
}

void hn_store_saturated(hone_tensor *out, int64_t at, double value, bool saturate_floats) {
  const hone_dtype dtype = out->type.dtype;
  double low, high;
  if (hn_dtype_is_int(dtype)) {
    int_range(dtype, &low, &high);
    const double rounded = isnan(value) ? 0 : nearbyint(value); /* default mode: half to even */
    hn_store_int(out, at, (int64_t)(rounded < low ? low : rounded > high ? high : rounded));
  } else if (HONE_BIT(dtype) & HONE_TYPES_F8) {
    ((uint8_t *)out->data)[at] = hn_f8_from_f64(dtype, value, saturate_floats);
  } else {
    hn_store_real(out, at, value);
  }
}

hone_status hn_want_scalar_or(hone_infer *infer, int input, int64_t count, const char *what) {
  if (!hn_in_given(infer, input) || hn_in_rank(infer, input) < 0) return HONE_OK;
  const hone_shape *shape = hn_in_shape(infer, input);
  if (shape->rank == 0 || (shape->rank == 1 && shape->dim[0] == 1)) return HONE_OK;
  HN_TRY(hn_want_rank(infer, input, 0, 1));
  return hn_want_dim(infer, input, 0, count, what);
}

int64_t hn_zero_point(const hone_eval *eval, int input, int64_t at) {
  if (!hn_eval_given(eval, input)) return 0;
  return hn_int(&eval->in[input], hn_elems(&eval->in[input].type.shape) == 1 ? 0 : at);
}

double hn_scale_of(const hone_eval *eval, int input, int64_t at) {
  return hn_real(&eval->in[input], hn_elems(&eval->in[input].type.shape) == 1 ? 0 : at);
}

float hn_requant_scale(double a, double b, double y) {
  const float product = (float)a * (float)b;
  return product / (float)y;
}

double hn_requantised(int64_t sum, float scale, int64_t zero) {
  const float scaled = (float)(int32_t)(uint32_t)(uint64_t)sum * scale;
  return nearbyint((double)scaled) + (double)zero;
}

hone_status hn_infer_bounds(hone_infer *infer) {
  const int64_t low = hn_attr_int(infer->attrs, "low"), high = hn_attr_int(infer->attrs, "high");
  const hone_dtype dtype = infer->out[0].type.dtype;
  double least, most;
  if (low > high) return HN_INFER_FAIL(infer, "low is %lld, high only %lld", (long long)low, (long long)high);
  if (!hn_dtype_is_int(dtype)) return HONE_OK;
  int_range(dtype, &least, &most);
  if ((double)low > most || (double)high < least)
    return HN_INFER_FAIL(infer, "no %s lies between low %lld and high %lld", hone_dtype_name(dtype), (long long)low,
                         (long long)high);
  return HONE_OK;
}

double hn_bounded(const hone_eval *eval, double value) {
  const double low = (double)hn_attr_int(eval->attrs, "low"), high = (double)hn_attr_int(eval->attrs, "high");
  double least, most;
  if (isnan(value)) value = 0;
  int_range(eval->out[0].type.dtype, &least, &most);
  return fmin(fmax(value, fmax(low, least)), fmin(high, most));
}

void hn_store_bounded(const hone_eval *eval, int64_t at, double value) {
  const double low = (double)hn_attr_int(eval->attrs, "low"), high = (double)hn_attr_int(eval->attrs, "high");
  /* The type's range and [low, high] meet, so that the order of the two does not matter. */
  hn_store_saturated(&eval->out[0], at, value < low ? low : value > high ? high : value, true);
}

enum { A, A_SCALE, A_ZERO, B, B_SCALE, B_ZERO, Y_SCALE, Y_ZERO };

hone_status hn_infer_byte_pairs(hone_infer *infer) {
  static const int single[] = {A_SCALE, A_ZERO, B_SCALE, B_ZERO, Y_SCALE, Y_ZERO};
  for (size_t i = 0; i < HN_COUNT(single); ++i) HN_TRY(hn_want_scalar_or(infer, single[i], 1, "one"));
  HN_TRY(hn_infer_bounds(infer));
  if (hn_in_rank(infer, A) < 0 || hn_in_rank(infer, B) < 0) return HONE_OK;
  const hone_shape *const both[2] = {hn_in_shape(infer, A), hn_in_shape(infer, B)};
  hone_shape joined;
  HN_TRY(hn_infer_broadcast_shapes(infer, 2, both, &joined));
  hn_out_shape(infer, 0, joined.rank, joined.dim);
  return HONE_OK;
}

hone_status hn_byte_pairs_make(hone_eval *eval, const hone_window *window, hn_byte_pairs *out) {
  HN_TRY(hn_eval_begin(eval));
  out->a = &eval->in[A], out->b = &eval->in[B], out->out = &eval->out[0].type.shape;
  hn_broadcast_strides(&out->a->type.shape, out->out, out->a_stride);
  hn_broadcast_strides(&out->b->type.shape, out->out, out->b_stride);
  out->a_scale = (float)hn_scale_of(eval, A_SCALE, 0), out->a_zero = hn_zero_point(eval, A_ZERO, 0);
  out->b_scale = (float)hn_scale_of(eval, B_SCALE, 0), out->b_zero = hn_zero_point(eval, B_ZERO, 0);
  out->y_scale = (float)hn_scale_of(eval, Y_SCALE, 0), out->y_zero = hn_zero_point(eval, Y_ZERO, 0);
  hn_window_range(eval, window, 0, &out->first, &out->last);
  return HONE_OK;
}

void hn_byte_pairs_at(const hn_byte_pairs *pairs, int64_t flat, int64_t *out_a, int64_t *out_b) {
  int64_t at[HONE_MAX_RANK];
  hn_unflatten(pairs->out, flat, at);
  *out_a = hn_int(pairs->a, hn_flatten(pairs->out->rank, at, pairs->a_stride));
  *out_b = hn_int(pairs->b, hn_flatten(pairs->out->rank, at, pairs->b_stride));
}

hone_status hn_conv_integer_make(const hone_eval *eval, int x, int w, hn_conv_integer *out) {
  out->x = &eval->in[x], out->w = &eval->in[w];
  HN_TRY(hn_eval_sliding(eval, out->x, &out->w->type.shape, &out->sliding));
  out->taps = hn_sliding_taps(&out->sliding);
  out->plane = hn_sliding_in_size(&out->sliding);
  out->channels = hn_eval_dim(out->x, 1);
  out->in_group = hn_eval_dim(out->w, 1);
  out->outs_a_group = hn_eval_dim(out->w, 0) / hn_attr_int(eval->attrs, "group");
  return HONE_OK;
}

int64_t hn_conv_integer_at(const hn_conv_integer *conv, const int64_t *out_at, int64_t x_zero, int64_t w_zero) {
  const int64_t x0 = (out_at[0] * conv->channels + out_at[1] / conv->outs_a_group * conv->in_group) * conv->plane;
  const int64_t w0 = out_at[1] * conv->in_group * conv->taps;
  int64_t sum = 0, offset;
  for (int64_t tap = 0; tap < conv->taps; ++tap) {
    if (hn_sliding_tap(&conv->sliding, out_at + 2, tap, &offset) != HN_TAP_INSIDE) continue;
    for (int64_t c = 0; c < conv->in_group; ++c)
      sum += (hn_int(conv->x, x0 + c * conv->plane + offset) - x_zero) *
             (hn_int(conv->w, w0 + c * conv->taps + tap) - w_zero);
  }
  return sum;
}
