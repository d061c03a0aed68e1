/* SPDX-License-Identifier: Apache-2.0 */
/* conv_dynamic.c - convolution of 8-bit integers whose scales a run finds, in f32: what conv_integer, cast, mul and add
 * make one after the other, each rounded to f32: act((f32(sum) * (x_scale * w_scale) + b) + residual).
 * No ONNX operator: passes make it of those. */
#include "ops/common_quant.h"

enum { X, W, X_ZERO, W_ZERO, X_SCALE, W_SCALE, B, RESIDUAL };

static hone_status infer(hone_infer *infer) {
  HN_TRY(hn_epilogue_infer(infer, -1));
  if (*hn_attr_text(infer->attrs, "act")) HN_TRY(hn_want_text(infer, "act", "relu clip"));
  HN_TRY(hn_want_scalar_or(infer, X_ZERO, 1, "one"));
  HN_TRY(hn_want_scalar_or(infer, X_SCALE, 1, "one"));
  if (hn_in_rank(infer, W) > 0) {
    HN_TRY(hn_want_scalar_or(infer, W_ZERO, hn_in_shape(infer, W)->dim[0], "the number of output channels"));
    HN_TRY(hn_want_scalar_or(infer, W_SCALE, hn_in_shape(infer, W)->dim[0], "the number of output channels"));
  }
  HN_TRY(hn_infer_conv(infer, X, W, hn_in_given(infer, B) ? B : -1));
  const hone_shape *y = &infer->out[0].type.shape;
  if (!hn_in_given(infer, RESIDUAL) || y->rank < 0 || hn_in_rank(infer, RESIDUAL) < 0) return HONE_OK;
  HN_TRY(hn_want_rank(infer, RESIDUAL, y->rank, y->rank));
  for (int i = 0; i < y->rank; ++i) HN_TRY(hn_want_dim(infer, RESIDUAL, i, y->dim[i], "that of the output"));
  return HONE_OK;
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  HN_TRY(hn_eval_begin(eval));
  hn_conv_integer conv;
  hn_epilogue epilogue;
  HN_TRY(hn_conv_integer_make(eval, X, W, &conv));
  HN_TRY(hn_epilogue_read(eval, -1, &epilogue));
  const float x_scale = (float)hn_scale_of(eval, X_SCALE, 0);
  int64_t first, last, at[HONE_MAX_RANK];
  hn_window_range(eval, window, 0, &first, &last);
  for (int64_t flat = first; flat < last; ++flat) {
    hn_unflatten(&eval->out[0].type.shape, flat, at);
    const int64_t sum =
        hn_conv_integer_at(&conv, at, hn_zero_point(eval, X_ZERO, 0), hn_zero_point(eval, W_ZERO, at[1]));
    const float scale = x_scale * (float)hn_scale_of(eval, W_SCALE, at[1]);
    float y = (float)(int32_t)(uint32_t)(uint64_t)sum * scale;
    if (hn_eval_given(eval, B)) y = y + (float)hn_real(&eval->in[B], at[1]);
    if (hn_eval_given(eval, RESIDUAL)) y = y + (float)hn_real(&eval->in[RESIDUAL], flat);
    hn_store_real(&eval->out[0], flat, hn_epilogue_apply(&epilogue, (double)y, at[1]));
  }
  return HONE_OK;
}

const hone_op hn_op_conv_dynamic = {
    .struct_size = sizeof(hone_op),
    .name = "conv_dynamic",
    .doc = "convolution of 8-bit integers in f32, scales being found by each run, with bias, residual and activation",
    .in = {{"x", 'x', HN_TYPES_BYTE, 0},
           {"w", 'w', HN_TYPES_BYTE, HONE_PORT_PARAM},
           {"x_zero_point", 'x', HN_TYPES_BYTE, 0},
           {"w_zero_point", 'w', HN_TYPES_BYTE, 0},
           {"x_scale", 0, HONE_BIT(HONE_F32), 0},
           {"w_scale", 0, HONE_BIT(HONE_F32), 0},
           {"b", 0, HONE_BIT(HONE_F32), HONE_PORT_OPTIONAL | HONE_PORT_PARAM},
           {"residual", 0, HONE_BIT(HONE_F32), HONE_PORT_OPTIONAL | HONE_PORT_AS_OUT}},
    .out = {{"y", 0, HONE_BIT(HONE_F32), 0}},
    .attr = {HN_SLIDING_ATTRS, HONE_INT_ATTR("group", 1), HONE_OPTIONAL_ATTR("kernel_shape", HONE_ATTR_INTS),
             HN_EPILOGUE_ATTRS},
    .traits = HONE_WINDOWED,
    .infer = infer,
    .eval = eval,
    .cost = hn_cost_conv,
    .report_class = "Convolution",
};
