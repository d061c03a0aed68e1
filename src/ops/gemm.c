/* SPDX-License-Identifier: Apache-2.0 */
/* gemm.c - alpha * op(a) . op(b) + beta * c, op being the transpose where asked. c broadcasts to the result.
 * Source: ONNX operator Gemm. */
#include "ops/common_nn.h"

#define TYPES (HONE_TYPES_FLOAT | HONE_BIT(HONE_I32) | HONE_BIT(HONE_I64) | HONE_BIT(HONE_U32) | HONE_BIT(HONE_U64))

static hone_status infer(hone_infer *infer) {
  HN_TRY(hn_want_rank(infer, 0, 2, 2));
  HN_TRY(hn_want_rank(infer, 1, 2, 2));
  HN_TRY(hn_want_rank(infer, 2, 0, 2));
  const hone_shape *a = hn_in_shape(infer, 0), *b = hn_in_shape(infer, 1);
  if (a->rank < 0 || b->rank < 0) return hn_out_after_run(infer, 0, 2, INT64_MAX);
  const int ta = hn_attr_int(infer->attrs, "transA") != 0, tb = hn_attr_int(infer->attrs, "transB") != 0;
  HN_TRY(hn_want_dim(infer, 1, tb, a->dim[!ta], "the inner dim of a"));
  const int64_t dim[2] = {a->dim[ta], b->dim[!tb]};
  if (hn_in_given(infer, 2) && hn_in_rank(infer, 2) > 0) {
    const hone_shape *c = hn_in_shape(infer, 2);
    for (int i = 0; i < c->rank; ++i)
      if (c->dim[i] != 1) HN_TRY(hn_want_dim(infer, 2, i, dim[2 - c->rank + i], "that of the product"));
  }
  hn_out_shape(infer, 0, 2, dim);
  return HONE_OK;
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  HN_TRY(hn_eval_begin(eval));
  const hone_tensor *a = &eval->in[0], *b = &eval->in[1], *c = hn_eval_given(eval, 2) ? &eval->in[2] : NULL;
  hone_tensor *y = &eval->out[0];
  const int ta = hn_attr_int(eval->attrs, "transA") != 0, tb = hn_attr_int(eval->attrs, "transB") != 0;
  const double alpha = hn_attr_float(eval->attrs, "alpha"), beta = hn_attr_float(eval->attrs, "beta");
  const bool whole = hn_dtype_is_int(y->type.dtype) && alpha == 1 && beta == 1; /* exact in 64 bits */
  const int64_t k = hn_eval_dim(a, !ta), n = hn_eval_dim(b, !tb);
  const int64_t a_row = ta ? 1 : k, a_step = ta ? hn_eval_dim(a, 1) : 1, b_row = tb ? 1 : n, b_column = tb ? k : 1;
  int64_t first, last, c_stride[HONE_MAX_RANK] = {0};
  if (c) hn_broadcast_strides(&c->type.shape, &y->type.shape, c_stride);
  hn_window_range(eval, window, 0, &first, &last);
  for (int64_t flat = first; flat < last; ++flat) {
    const int64_t row = flat / n, column = flat % n, c_at = row * c_stride[0] + column * c_stride[1];
    double sum = 0;
    uint64_t total = 0;
    for (int64_t i = 0; i < k && !hn_eval_ends(eval, i + 1); ++i) {
      const int64_t ai = row * a_row + i * a_step, bi = i * b_row + column * b_column;
      if (whole)
        total += (uint64_t)hn_int(a, ai) * (uint64_t)hn_int(b, bi);
      else
        sum += hn_real(a, ai) * hn_real(b, bi);
    }
    if (whole)
      hn_store_int(y, flat, (int64_t)(total + (c ? (uint64_t)hn_int(c, c_at) : 0)));
    else
      hn_store_real(y, flat, alpha * sum + (c ? beta * hn_real(c, c_at) : 0));
  }
  return HONE_OK;
}

static hone_cost cost(const hone_attrs *attrs, const hone_fact *in, int in_count, const hone_fact *out, int out_count) {
  const int64_t k = in[0].type.shape.dim[!hn_attr_int(attrs, "transA")];
  return hn_cost_work(2.0 * (double)hn_elems(&out[0].type.shape) * (double)k, in, in_count, out, out_count);
}

const hone_op hn_op_gemm = {
    .struct_size = sizeof(hone_op),
    .name = "gemm",
    .doc = "matrix product with scales, transposes and an addend",
    .in = {{"a", 't', TYPES, 0}, {"b", 't', TYPES, 0}, {"c", 't', TYPES, HONE_PORT_OPTIONAL}},
    .out = {{"y", 't', 0, 0}},
    .attr = {HONE_FLOAT_ATTR("alpha", 1.0), HONE_FLOAT_ATTR("beta", 1.0), HONE_INT_ATTR("transA", 0),
             HONE_INT_ATTR("transB", 0)},
    .traits = HONE_WINDOWED,
    .infer = infer,
    .eval = eval,
    .cost = cost,
    .report_class = "Matrix product",
    .onnx = {{.name = "Gemm", .first = 7, .last = HONE_LATEST},
             {.name = "Gemm", .first = 1, .last = 6, .drop = "broadcast"},
             {"FusedGemm", 1, HONE_LATEST, "com.microsoft", .adapt = "ort_fused_gemm", .alias = true},
             {"LinearClassifier", 1, HONE_LATEST, "ai.onnx.ml", .adapt = "ml_linear_classifier", .alias = true},
             {"LinearRegressor", 1, HONE_LATEST, "ai.onnx.ml", .adapt = "ml_linear_regressor", .alias = true},
             {"SVMClassifier", 1, HONE_LATEST, "ai.onnx.ml", .adapt = "ml_svm_classifier", .alias = true},
             {"SVMRegressor", 1, HONE_LATEST, "ai.onnx.ml", .adapt = "ml_svm_regressor", .alias = true}},
};
