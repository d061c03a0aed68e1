/* SPDX-License-Identifier: Apache-2.0 */
/* quantize_linear.c - y = saturate(round(x / y_scale) + y_zero_point), half to even. Source: ONNX operator
 * QuantizeLinear. The quotient has the precision that the operator asks for (by default the scale's), since that
 * decides ties. */
#include "ops/common_quant.h"
#include "ops/onnx_tensor.h"
#include <math.h>

static hone_status infer(hone_infer *infer) {
  const int64_t number = hn_attr_int(infer->attrs, "output_dtype"), precision = hn_attr_int(infer->attrs, "precision");
  const hone_dtype asked = number ? hn_dtype_of_onnx(number) : HONE_NONE;
  const bool has_zero = hn_in_given(infer, 2);
  const hone_dtype dtype = has_zero ? infer->in[2].type.dtype : asked != HONE_NONE ? asked : HONE_U8;
  if (number && !(HONE_BIT(asked) & HN_TYPES_QUANT))
    return HN_INFER_FAIL(infer, "output_dtype is %lld, which is not a quantised type", (long long)number);
  if (number && has_zero && asked != dtype)
    return HN_INFER_FAIL(infer, "output_dtype is %s, but y_zero_point is %s", hone_dtype_name(asked),
                         hone_dtype_name(dtype));
  if (precision && !(HONE_BIT(hn_dtype_of_onnx(precision)) & HONE_TYPES_FLOAT))
    return HN_INFER_FAIL(infer, "precision is %lld, which is not a float type", (long long)precision);
  hn_out_dtype(infer, 0, dtype);
  return hn_infer_scales(infer);
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  HN_TRY(hn_eval_begin(eval));
  const hone_tensor *x = &eval->in[0], *scale = &eval->in[1], *zero = hn_eval_given(eval, 2) ? &eval->in[2] : NULL;
  const int64_t asked = hn_attr_int(eval->attrs, "precision");
  const bool saturate = hn_attr_int(eval->attrs, "saturate") != 0;
  hone_dtype precision = asked ? hn_dtype_of_onnx(asked) : scale->type.dtype;
  if (!(HONE_BIT(precision) & HONE_TYPES_FLOAT)) precision = HONE_F32; /* scales of i32 or f8e8m0 */
  const hn_scale_map map = hn_scale_map_make(eval->attrs, &x->type.shape, &scale->type.shape);
  const bool whole = hn_dtype_is_int(eval->out[0].type.dtype);
  int64_t first, last;
  hn_window_range(eval, window, 0, &first, &last);
  for (int64_t flat = first; flat < last; ++flat) {
    const int64_t at = hn_scale_at(&map, flat);
    const double quotient = hn_round_to(precision, hn_real(x, flat) / hn_real(scale, at));
    const double offset = zero ? hn_real(zero, at) : 0;
    hn_store_saturated(&eval->out[0], flat, (whole ? nearbyint(quotient) : quotient) + offset, saturate);
  }
  return HONE_OK;
}

static hone_cost cost(const hone_attrs *attrs, const hone_fact *in, int in_count, const hone_fact *out, int out_count) {
  (void)attrs;
  return hn_cost_work(4.0 * (double)hn_elems(&in[0].type.shape), in, in_count, out, out_count);
}

const hone_op hn_op_quantize_linear = {
    .struct_size = sizeof(hone_op),
    .name = "quantize_linear",
    .doc = "round(x / scale) + zero point, saturated",
    .in = {{"x", 0, HONE_TYPES_FLOAT | HONE_BIT(HONE_I32), 0},
           {"y_scale", 0, HN_TYPES_SCALE | HONE_BIT(HONE_I32) | HONE_BIT(HONE_F8E8M0), 0},
           {"y_zero_point", 0, HN_TYPES_QUANT, HONE_PORT_OPTIONAL}},
    .out = {{"y", 0, HN_TYPES_QUANT, 0}},
    .attr = {HONE_INT_ATTR("axis", 1), HONE_INT_ATTR("block_size", 0), HONE_INT_ATTR("output_dtype", 0),
             HONE_INT_ATTR("precision", 0), HONE_INT_ATTR("saturate", 1)},
    .traits = HONE_WINDOWED,
    .infer = infer,
    .eval = eval,
    .cost = cost,
    .report_class = "Quantization",
    .onnx = {{.name = "QuantizeLinear", .first = 10, .last = HONE_LATEST},
             {"QuantizeLinear", 1, HONE_LATEST, "com.microsoft", .alias = true}},
};
