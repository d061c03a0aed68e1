/* SPDX-License-Identifier: Apache-2.0 */
/* qlinear_matmul.c - matrix product of quantised tensors, requantised by the f32 rule; bias is i32 in units of
 * a_scale * b_scale, one for each column. Source: ONNX operator QLinearMatMul; the bias is that of ONNX Runtime's
 * QGemm. Products of 8-bit floats have sums without that rule. */
#include "ops/common_matmul.h"
#include "ops/common_quant.h"
#include <math.h>

enum { A, A_SCALE, A_ZERO, B, B_SCALE, B_ZERO, Y_SCALE, Y_ZERO, BIAS };
#define TYPES (HN_TYPES_BYTE | (HONE_TYPES_F8 & ~HONE_BIT(HONE_F8E8M0)))

static hone_status infer(hone_infer *infer) {
  for (int i = A_SCALE; i <= A_ZERO; ++i) HN_TRY(hn_infer_side(infer, A, i, true));
  for (int i = B_SCALE; i <= B_ZERO; ++i) HN_TRY(hn_infer_side(infer, B, i, false));
  HN_TRY(hn_want_scalar_or(infer, Y_SCALE, 1, "one"));
  HN_TRY(hn_want_scalar_or(infer, Y_ZERO, 1, "one"));
  HN_TRY(hn_infer_side(infer, B, BIAS, false));
  HN_TRY(hn_infer_bounds(infer));
  return hn_infer_matmul(infer, A, B);
}

/* Element a_at of a and b_at of b begin a dot product: the scale of that row times that of the column. */
static void scales_at(const hone_eval *eval, const hn_matmul *matmul, int64_t a_at, int64_t b_at, double *out_a,
                      double *out_b) {
  *out_a = hn_scale_of(eval, A_SCALE, hn_side_at(matmul, eval, A_SCALE, a_at, true));
  *out_b = hn_scale_of(eval, B_SCALE, hn_side_at(matmul, eval, B_SCALE, b_at, false));
}

static double integer_at(const hone_eval *eval, const hn_matmul *matmul, int64_t a_at, int64_t b_at) {
  const hone_tensor *a = &eval->in[A], *b = &eval->in[B];
  const int64_t a_zero = hn_zero_point(eval, A_ZERO, hn_side_at(matmul, eval, A_ZERO, a_at, true));
  const int64_t b_zero = hn_zero_point(eval, B_ZERO, hn_side_at(matmul, eval, B_ZERO, b_at, false));
  int64_t sum = hn_zero_point(eval, BIAS, hn_side_at(matmul, eval, BIAS, b_at, false));
  double a_scale, b_scale;
  for (int64_t i = 0; i < matmul->k; ++i)
    sum += (hn_int(a, a_at + i) - a_zero) * (hn_int(b, b_at + i * matmul->n) - b_zero);
  scales_at(eval, matmul, a_at, b_at, &a_scale, &b_scale);
  const float scale = hn_requant_scale(a_scale, b_scale, hn_scale_of(eval, Y_SCALE, 0));
  return hn_requantised(sum, scale, hn_zero_point(eval, Y_ZERO, 0));
}

static double real_at(const hone_eval *eval, const hn_matmul *matmul, int64_t a_at, int64_t b_at) {
  const hone_tensor *a = &eval->in[A], *b = &eval->in[B];
  const double a_zero = hn_scale_of(eval, A_ZERO, hn_side_at(matmul, eval, A_ZERO, a_at, true));
  const double b_zero = hn_scale_of(eval, B_ZERO, hn_side_at(matmul, eval, B_ZERO, b_at, false));
  const bool whole = hn_dtype_is_int(eval->out[0].type.dtype);
  double sum = 0, a_scale, b_scale;
  for (int64_t i = 0; i < matmul->k; ++i)
    sum += (hn_real(a, a_at + i) - a_zero) * (hn_real(b, b_at + i * matmul->n) - b_zero);
  scales_at(eval, matmul, a_at, b_at, &a_scale, &b_scale);
  const double y = sum * a_scale * b_scale / hn_scale_of(eval, Y_SCALE, 0);
  return (whole ? nearbyint(y) : y) + hn_real(&eval->in[Y_ZERO], 0);
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  HN_TRY(hn_eval_begin(eval));
  const hone_tensor *a = &eval->in[A], *b = &eval->in[B];
  const hone_dtype dtypes[3] = {a->type.dtype, b->type.dtype, eval->out[0].type.dtype};
  const bool whole = hn_dtype_is_int(dtypes[0]) && hn_dtype_is_int(dtypes[1]) && hn_dtype_is_int(dtypes[2]);
  hn_matmul matmul;
  int64_t first, last, a_at, b_at;
  hn_matmul_make(&a->type.shape, &b->type.shape, &matmul);
  hn_window_range(eval, window, 0, &first, &last);
  for (int64_t flat = first; flat < last; ++flat) {
    hn_matmul_at(&matmul, flat, &a_at, &b_at);
    hn_store_bounded(eval, flat, whole ? integer_at(eval, &matmul, a_at, b_at) : real_at(eval, &matmul, a_at, b_at));
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
           {"y_zero_point", 'y', TYPES, 0},
           {"bias", 0, HONE_BIT(HONE_I32), HONE_PORT_OPTIONAL | HONE_PORT_PARAM}},
    .out = {{"y", 'y', 0, 0}},
    .attr = {HN_BOUND_ATTRS},
    .traits = HONE_WINDOWED,
    .infer = infer,
    .eval = eval,
    .cost = hn_cost_matmul,
    .report_class = "Matrix product",
    .onnx = {{.name = "QLinearMatMul", .first = 10, .last = HONE_LATEST},
             {"QGemm", 1, HONE_LATEST, "com.microsoft", .adapt = "ort_qgemm", .alias = true}},
};
