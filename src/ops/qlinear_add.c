/* SPDX-License-Identifier: Apache-2.0 */
/* qlinear_add.c - sum of two quantised tensors, broadcast and requantised: rne(fma(a, ra, fma(b, rb, k))).
 * Source: ONNX Runtime's operator QLinearAdd; the zero point of y is inside
 * the rounding, unlike that of products. */
#include "ops/common_quant.h"
#include <math.h>

static hone_status eval(hone_eval *eval, const hone_window *window) {
  hn_byte_pairs p;
  int64_t a, b;
  HN_TRY(hn_byte_pairs_make(eval, window, &p));
  const float a_ratio = p.a_scale / p.y_scale, b_ratio = p.b_scale / p.y_scale;
  const float shift = (float)p.y_zero - (a_ratio * (float)p.a_zero + b_ratio * (float)p.b_zero);
  for (int64_t flat = p.first; flat < p.last; ++flat) {
    hn_byte_pairs_at(&p, flat, &a, &b);
    const float inner = fmaf((float)b, b_ratio, shift);
    hn_store_bounded(eval, flat, (double)fmaf((float)a, a_ratio, inner));
  }
  return HONE_OK;
}

const hone_op hn_op_qlinear_add = {
    .struct_size = sizeof(hone_op),
    .name = "qlinear_add",
    .doc = "sum of quantised tensors, requantised",
    .in = {{"a", 'a', HN_TYPES_BYTE, 0},
           {"a_scale", 0, HONE_BIT(HONE_F32), 0},
           {"a_zero_point", 'a', HN_TYPES_BYTE, 0},
           {"b", 'b', HN_TYPES_BYTE, 0},
           {"b_scale", 0, HONE_BIT(HONE_F32), 0},
           {"b_zero_point", 'b', HN_TYPES_BYTE, 0},
           {"y_scale", 0, HONE_BIT(HONE_F32), 0},
           {"y_zero_point", 'y', HN_TYPES_BYTE, 0}},
    .out = {{"y", 'y', 0, 0}},
    .attr = {HN_BOUND_ATTRS},
    .traits = HONE_WINDOWED,
    .infer = hn_infer_byte_pairs,
    .eval = eval,
    .cost = hn_cost_elementwise,
    .report_class = "Elementwise",
    .onnx = {{"QLinearAdd", 1, HONE_LATEST, "com.microsoft", .adapt = "ort_qlinear_pair", .alias = true}},
};
