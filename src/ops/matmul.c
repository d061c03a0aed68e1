/* SPDX-License-Identifier: Apache-2.0 */
/* matmul.c - matrix products over broadcast batch axes, as numpy's matmul. Source: ONNX operator MatMul. */
#include "ops/common_matmul.h"

#define TYPES (HONE_TYPES_FLOAT | HONE_BIT(HONE_I32) | HONE_BIT(HONE_I64) | HONE_BIT(HONE_U32) | HONE_BIT(HONE_U64))

static hone_status infer(hone_infer *infer) { return hn_infer_matmul(infer, 0, 1); }

static hone_status eval(hone_eval *eval, const hone_window *window) {
  HN_TRY(hn_eval_begin(eval));
  const hone_tensor *a = &eval->in[0], *b = &eval->in[1];
  hone_tensor *y = &eval->out[0];
  const bool whole = hn_dtype_is_int(y->type.dtype);
  hn_matmul matmul;
  int64_t first, last, a_at, b_at;
  hn_matmul_make(&a->type.shape, &b->type.shape, &matmul);
  hn_window_range(eval, window, 0, &first, &last);
  for (int64_t flat = first; flat < last; ++flat) {
    hn_matmul_at(&matmul, flat, &a_at, &b_at);
    if (whole) {
      uint64_t total = 0; /* wraps, as the integer types do */
      for (int64_t i = 0; i < matmul.k && !hn_eval_ends(eval, i + 1); ++i)
        total += (uint64_t)hn_int(a, a_at + i) * (uint64_t)hn_int(b, b_at + i * matmul.n);
      hn_store_int(y, flat, (int64_t)total);
    } else {
      hn_store_real(y, flat, hn_eval_dot(eval, a, a_at, 1, b, b_at, matmul.n, matmul.k));
    }
  }
  return HONE_OK;
}

const hone_op hn_op_matmul = {
    .struct_size = sizeof(hone_op),
    .name = "matmul",
    .doc = "matrix product over broadcast batch axes",
    .in = {{"a", 't', TYPES, 0}, {"b", 't', TYPES, 0}},
    .out = {{"y", 't', 0, 0}},
    .traits = HONE_WINDOWED,
    .infer = infer,
    .eval = eval,
    .cost = hn_cost_matmul,
    .report_class = "Matrix product",
    .onnx = {{.name = "MatMul", .first = 1, .last = HONE_LATEST},
             {"FusedMatMul", 1, HONE_LATEST, "com.microsoft", .adapt = "ort_fused_matmul", .alias = true},
             {"MatMulBnb4", 1, HONE_LATEST, "com.microsoft", .adapt = "ort_matmul_bnb4", .alias = true},
             {"TransposeMatMul", 1, HONE_LATEST, "com.microsoft", .adapt = "ort_fused_matmul", .alias = true}},
};
