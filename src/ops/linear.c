/* SPDX-License-Identifier: Apache-2.0 */
/* linear.c - a matrix of weights applied to the last axis, with epilogue: act(x . w + b + residual).
 * No ONNX operator: passes make it from matmul and gemm, so that one family of kernels serves all. */
#include "ops/common_nn.h"

static hone_status infer(hone_infer *infer) {
  HN_TRY(hn_epilogue_infer(infer, 4));
  HN_TRY(hn_want_rank(infer, 0, 1, HONE_MAX_RANK));
  HN_TRY(hn_want_rank(infer, 1, 2, 2));
  HN_TRY(hn_want_rank(infer, 2, 1, 1));
  const hone_shape *x = hn_in_shape(infer, 0), *w = hn_in_shape(infer, 1);
  if (x->rank < 0) return HONE_OK;
  if (w->rank < 0) return hn_out_after_run(infer, 0, x->rank, INT64_MAX);
  const int transposed = hn_attr_int(infer->attrs, "transpose_w") != 0;
  HN_TRY(hn_want_dim(infer, 1, transposed, x->dim[x->rank - 1], "x's last dim"));
  hone_shape y = *x;
  y.dim[y.rank - 1] = w->dim[!transposed];
  HN_TRY(hn_want_dim(infer, 2, 0, w->dim[!transposed], "the output's last dim"));
  HN_TRY(hn_want_dim(infer, 4, 0, w->dim[!transposed], "the output's last dim"));
  if (hn_in_given(infer, 3) && hn_in_rank(infer, 3) >= 0) {
    HN_TRY(hn_want_rank(infer, 3, y.rank, y.rank));
    for (int i = 0; i < y.rank; ++i) HN_TRY(hn_want_dim(infer, 3, i, y.dim[i], "that of the output"));
  }
  hn_out_shape(infer, 0, y.rank, y.dim);
  return HONE_OK;
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  HN_TRY(hn_eval_begin(eval));
  const hone_tensor *x = &eval->in[0], *w = &eval->in[1];
  hn_epilogue epilogue;
  HN_TRY(hn_epilogue_read(eval, 4, &epilogue));
  const bool transposed = hn_attr_int(eval->attrs, "transpose_w") != 0;
  const bool has_bias = hn_eval_given(eval, 2), has_residual = hn_eval_given(eval, 3);
  const int64_t k = hn_eval_dim(x, -1), n = hn_eval_dim(w, !transposed);
  const int64_t step = transposed ? 1 : n;
  int64_t first, last;
  hn_window_range(eval, window, 0, &first, &last);
  for (int64_t flat = first; flat < last; ++flat) {
    const int64_t row = flat / n, column = flat % n, w0 = transposed ? column * k : column;
    double sum = hn_eval_dot(eval, x, row * k, 1, w, w0, step, k);
    if (has_bias) sum += hn_real(&eval->in[2], column);
    if (has_residual) sum += hn_real(&eval->in[3], flat);
    hn_store_real(&eval->out[0], flat, hn_epilogue_apply(&epilogue, sum, column));
  }
  return HONE_OK;
}

static hone_cost cost(const hone_attrs *attrs, const hone_fact *in, int in_count, const hone_fact *out, int out_count) {
  (void)attrs;
  const hone_shape *x = &in[0].type.shape;
  return hn_cost_work(2.0 * (double)hn_elems(&out[0].type.shape) * (double)x->dim[x->rank - 1], in, in_count, out,
                      out_count);
}

const hone_op hn_op_linear = {
    .struct_size = sizeof(hone_op),
    .name = "linear",
    .doc = "x[..., K] times a matrix of weights, with bias, residual and activation",
    .in = {{"x", 't', HONE_TYPES_FLOAT, 0},
           {"w", 't', HONE_TYPES_FLOAT, HONE_PORT_PARAM},
           {"b", 't', HONE_TYPES_FLOAT, HONE_PORT_OPTIONAL | HONE_PORT_PARAM},
           {"residual", 't', HONE_TYPES_FLOAT, HONE_PORT_OPTIONAL},
           {"slope", 't', HONE_TYPES_FLOAT, HONE_PORT_OPTIONAL | HONE_PORT_PARAM}},
    .out = {{"y", 't', 0, 0}},
    .attr = {HONE_INT_ATTR("transpose_w", 0), HN_EPILOGUE_ATTRS},
    .traits = HONE_WINDOWED,
    .infer = infer,
    .eval = eval,
    .cost = cost,
    .report_class = "Matrix product",
};
