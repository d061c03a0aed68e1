/* SPDX-License-Identifier: Apache-2.0 */
/* qlinear_matmul.c - matrix product of quantised tensors, requantised. Source: ONNX operator QLinearMatMul. */
#include "ops/common_matmul.h"
#include "ops/common_quant.h"
#include <math.h>

enum { A, A_SCALE, A_ZERO, B, B_SCALE, B_ZERO, Y_SCALE, Y_ZERO };
#define TYPES (HN_TYPES_BYTE | (HONE_TYPES_F8 & ~HONE_BIT(HONE_F8E8M0)))

static hone_status infer(hone_infer *infer) {
  for (int i = A_SCALE; i <= A_ZERO; ++i) HN_TRY(hn_infer_side(infer, A, i, true));
  for (int i = B_SCALE; i <= B_ZERO; ++i) HN_TRY(hn_infer_side(infer, B, i, false));
  HN_TRY(hn_want_scalar_or(infer, Y_SCALE, 1, "one"));
  HN_TRY(hn_want_scalar_or(infer, Y_ZERO, 1, "one"));
  return hn_infer_matmul(infer, A, B);
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  HN_TRY(hn_eval_begin(eval));
  const hone_tensor *a = &eval->in[A], *b = &eval->in[B];
  const double y_scale = hn_scale_of(eval, Y_SCALE, 0), y_zero = hn_real(&eval->in[Y_ZERO], 0);
  const bool whole = hn_dtype_is_int(eval->out[0].type.dtype);
  hn_matmul matmul;
  int64_t first, last, a_at, b_at;
  hn_matmul_make(&a->type.shape, &b->type.shape, &matmul);
  hn_window_range(eval, window, 0, &first, &last);
  for (int64_t flat = first; flat < last; ++flat) {
    hn_matmul_at(&matmul, flat, &a_at, &b_at);
    const double a_zero = hn_scale_of(eval, A_ZERO, hn_side_at(&matmul, eval, A_ZERO, a_at, true));
    const double b_zero = hn_scale_of(eval, B_ZERO, hn_side_at(&matmul, eval, B_ZERO, b_at, false));
    double sum = 0; /* of integers, exact below 2^53 */
    for (int64_t i = 0; i < matmul.k; ++i)
      sum += (hn_real(a, a_at + i) - a_zero) * (hn_real(b, b_at + i * matmul.n) - b_zero);
    sum *= hn_scale_of(eval, A_SCALE, hn_side_at(&matmul, eval, A_SCALE, a_at, true));
    sum *= hn_scale_of(eval, B_SCALE, hn_side_at(&matmul, eval, B_SCALE, b_at, false));
    const double y = sum / y_scale;
    hn_store_saturated(&eval->out[0], flat, (whole ? nearbyint(y) : y) + y_zero, true);
  }
  return HONE_OK;
}

const hone_op hn_op_qlinear_matmul = {
    .struct_size = sizeof(hone_op),
    .name = "qlinear_matmul",
    .doc = "matrix product of quantised tensors",
    .in = {{"a", 'a', TYPES, 0},
           {"a_scale", 's', HN_TYPES_SCALE, 0},
           {"a_zero_point", 'a', TYPES, 0},
           {"b", 'b', TYPES, 0},
           {"b_scale", 's', HN_TYPES_SCALE, 0},
           {"b_zero_point", 'b', TYPES, 0},
           {"y_scale", 's', HN_TYPES_SCALE, 0},
           {"y_zero_point", 'y', TYPES, 0}},
    .out = {{"y", 'y', 0, 0}},
    .traits = HONE_WINDOWED,
    .infer = infer,
    .eval = eval,
    .cost = hn_cost_matmul,
    .report_class = "Matrix product",
    .onnx = {{.name = "QLinearMatMul", .first = 10, .last = HONE_LATEST}},
};
