/* SPDX-License-Identifier: Apache-2.0 */
/* dequantize_linear.c - y = (x - x_zero_point) * x_scale. Source: ONNX operator DequantizeLinear. */
#include "ops/common_quant.h"
#include "ops/onnx_tensor.h"

static hone_status infer(hone_infer *infer) {
  const int64_t number = hn_attr_int(infer->attrs, "output_dtype");
  hone_dtype dtype = number ? hn_dtype_of_onnx(number) : infer->in[1].type.dtype;
  if (number && !(HONE_BIT(dtype) & HN_TYPES_SCALE))
    return HN_INFER_FAIL(infer, "output_dtype is %lld, expected 1 (float), 10 (float16) or 16 (bfloat16)",
                         (long long)number);
  if (dtype == HONE_F8E8M0) dtype = HONE_F32;
  hn_out_dtype(infer, 0, dtype);
  return hn_infer_scales(infer);
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  HN_TRY(hn_eval_begin(eval));
  const hone_tensor *x = &eval->in[0], *scale = &eval->in[1], *zero = hn_eval_given(eval, 2) ? &eval->in[2] : NULL;
  const hn_scale_map map = hn_scale_map_make(eval->attrs, &x->type.shape, &scale->type.shape);
  int64_t first, last;
  hn_window_range(eval, window, 0, &first, &last);
  for (int64_t flat = first; flat < last; ++flat) {
    const int64_t at = hn_scale_at(&map, flat);
    hn_store_real(&eval->out[0], flat, (hn_real(x, flat) - (zero ? hn_real(zero, at) : 0)) * hn_real(scale, at));
  }
  return HONE_OK;
}

static hone_cost cost(const hone_attrs *attrs, const hone_fact *in, int in_count, const hone_fact *out, int out_count) {
  (void)attrs;
  return hn_cost_work(2.0 * (double)hn_elems(&in[0].type.shape), in, in_count, out, out_count);
}

const hone_op hn_op_dequantize_linear = {
    .struct_size = sizeof(hone_op),
    .name = "dequantize_linear",
    .doc = "(x - zero point) * scale",
    .in = {{"x", 't', HN_TYPES_QUANT | HONE_BIT(HONE_I32), 0},
           {"x_scale", 0, HN_TYPES_SCALE | HONE_BIT(HONE_F8E8M0), 0},
           {"x_zero_point", 't', HN_TYPES_QUANT | HONE_BIT(HONE_I32), HONE_PORT_OPTIONAL}},
    .out = {{"y", 0, HN_TYPES_SCALE, 0}},
    .attr = {HONE_INT_ATTR("axis", 1), HONE_INT_ATTR("block_size", 0), HONE_INT_ATTR("output_dtype", 0)},
    .traits = HONE_WINDOWED,
    .infer = infer,
    .eval = eval,
    .cost = cost,
    .report_class = "Quantization",
    .onnx = {{.name = "DequantizeLinear", .first = 10, .last = HONE_LATEST},
             {"DequantizeLinear", 1, HONE_LATEST, "com.microsoft", .alias = true}},
};
