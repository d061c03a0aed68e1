/* SPDX-License-Identifier: Apache-2.0 */
/* matmul_integer.c - matrix product of 8-bit integers into i32. Source: ONNX operator MatMulInteger. */
#include "ops/common_matmul.h"
#include "ops/common_quant.h"

static hone_status infer(hone_infer *infer) {
  HN_TRY(hn_infer_side(infer, 0, 2, true));
  HN_TRY(hn_infer_side(infer, 1, 3, false));
  return hn_infer_matmul(infer, 0, 1);
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  HN_TRY(hn_eval_begin(eval));
  const hone_tensor *a = &eval->in[0], *b = &eval->in[1];
  hn_matmul matmul;
  int64_t first, last, a_at, b_at;
  hn_matmul_make(&a->type.shape, &b->type.shape, &matmul);
  hn_window_range(eval, window, 0, &first, &last);
  for (int64_t flat = first; flat < last; ++flat) {
    hn_matmul_at(&matmul, flat, &a_at, &b_at);
    const int64_t a_zero = hn_zero_point(eval, 2, hn_side_at(&matmul, eval, 2, a_at, true));
    const int64_t b_zero = hn_zero_point(eval, 3, hn_side_at(&matmul, eval, 3, b_at, false));
    int64_t sum = 0;
    for (int64_t i = 0; i < matmul.k; ++i)
      sum += (hn_int(a, a_at + i) - a_zero) * (hn_int(b, b_at + i * matmul.n) - b_zero);
    hn_store_int(&eval->out[0], flat, sum);
  }
  return HONE_OK;
}

const hone_op hn_op_matmul_integer = {
    .struct_size = sizeof(hone_op),
    .name = "matmul_integer",
    .doc = "matrix product of 8-bit integers into i32",
    .in = {{"a", 'a', HN_TYPES_BYTE, 0},
           {"b", 'b', HN_TYPES_BYTE, 0},
           {"a_zero_point", 'a', HN_TYPES_BYTE, HONE_PORT_OPTIONAL},
           {"b_zero_point", 'b', HN_TYPES_BYTE, HONE_PORT_OPTIONAL}},
    .out = {{"y", 0, HONE_BIT(HONE_I32), 0}},
    .traits = HONE_WINDOWED,
    .infer = infer,
    .eval = eval,
    .cost = hn_cost_matmul,
    .report_class = "Matrix product",
    .onnx = {{.name = "MatMulInteger", .first = 10, .last = HONE_LATEST},
             {"DynamicQuantizeMatMul", 1, HONE_LATEST, "com.microsoft", .adapt = "ort_dynamic_matmul", .alias = true},
             {"MatMulIntegerToFloat", 1, HONE_LATEST, "com.microsoft", .adapt = "ort_matmul_to_float", .alias = true}},
};
