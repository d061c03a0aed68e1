/* SPDX-License-Identifier: Apache-2.0 */
/* conv_integer.c - convolution of 8-bit integers into i32. Source: ONNX operator ConvInteger. */
#include "ops/common_quant.h"

static hone_status infer(hone_infer *infer) {
  HN_TRY(hn_want_scalar_or(infer, 2, 1, "one"));
  if (hn_in_rank(infer, 1) > 0)
    HN_TRY(hn_want_scalar_or(infer, 3, hn_in_shape(infer, 1)->dim[0], "the number of output channels"));
  return hn_infer_conv(infer, 0, 1, -1);
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  HN_TRY(hn_eval_begin(eval));
  hn_conv_integer conv;
  HN_TRY(hn_conv_integer_make(eval, 0, 1, &conv));
  int64_t first, last, at[HONE_MAX_RANK];
  hn_window_range(eval, window, 0, &first, &last);
  for (int64_t flat = first; flat < last; ++flat) {
    hn_unflatten(&eval->out[0].type.shape, flat, at);
    hn_store_int(&eval->out[0], flat,
                 hn_conv_integer_at(&conv, at, hn_zero_point(eval, 2, 0), hn_zero_point(eval, 3, at[1])));
  }
  return HONE_OK;
}

const hone_op hn_op_conv_integer = {
    .struct_size = sizeof(hone_op),
    .name = "conv_integer",
    .doc = "convolution of 8-bit integers into i32",
    .in = {{"x", 'x', HN_TYPES_BYTE, 0},
           {"w", 'w', HN_TYPES_BYTE, HONE_PORT_PARAM},
           {"x_zero_point", 'x', HN_TYPES_BYTE, HONE_PORT_OPTIONAL},
           {"w_zero_point", 'w', HN_TYPES_BYTE, HONE_PORT_OPTIONAL}},
    .out = {{"y", 0, HONE_BIT(HONE_I32), 0}},
    .attr = {HN_SLIDING_ATTRS, HONE_INT_ATTR("group", 1), HONE_OPTIONAL_ATTR("kernel_shape", HONE_ATTR_INTS)},
    .traits = HONE_WINDOWED,
    .infer = infer,
    .eval = eval,
    .cost = hn_cost_conv,
    .report_class = "Convolution",
    .onnx = {{.name = "ConvInteger", .first = 10, .last = HONE_LATEST}},
};
