/* SPDX-License-Identifier: Apache-2.0 */
/* matmul_nbits.c - a product whose weights are integers of few bits with a scale for each block of a row:
 * y[.., n] = sum over k of x[.., k] * (b[n, k] - zero[n, k / block]) * scale[n, k / block] + bias[n]. Source: ONNX
 * Runtime's operator MatMulNBits; b may have more columns than x up to the end of the last block. */
#include "ops/common_nn.h"

enum { X, B, SCALES, ZEROS, BIAS };
#define TYPES                                                                                                          \
  (HONE_BIT(HONE_U8) | HONE_BIT(HONE_I8) | HONE_BIT(HONE_U4) | HONE_BIT(HONE_I4) | HONE_BIT(HONE_U2) |                 \
   HONE_BIT(HONE_I2))

/* [n, blocks], or for zeros one for all. */
static hone_status want_blocks(hone_infer *infer, int input, int64_t n, int64_t blocks) {
  if (!hn_in_given(infer, input) || hn_in_rank(infer, input) < 0) return HONE_OK;
  const hone_shape *shape = hn_in_shape(infer, input);
  if (input == ZEROS && shape->rank <= 1 && hn_shape_known(shape) && hn_elems(shape) == 1) return HONE_OK;
  HN_TRY(hn_want_rank(infer, input, 2, 2));
  HN_TRY(hn_want_dim(infer, input, 0, n, "b's rows"));
  return hn_want_dim(infer, input, 1, blocks, "the blocks of a row");
}

static hone_status infer(hone_infer *infer) {
  HN_TRY(hn_want_rank(infer, X, 1, HONE_MAX_RANK));
  HN_TRY(hn_want_rank(infer, B, 2, 2));
  HN_TRY(hn_want_rank(infer, BIAS, 1, 1));
  const int64_t block = hn_attr_int(infer->attrs, "block_size");
  if (block < 1) return HN_INFER_FAIL(infer, "block_size is %lld; it must be at least 1", (long long)block);
  const hone_shape *x = hn_in_shape(infer, X), *b = hn_in_shape(infer, B);
  if (x->rank < 0) return HONE_OK;
  if (b->rank < 0) return hn_out_after_run(infer, 0, x->rank, INT64_MAX);
  const int64_t n = b->dim[0], k = x->dim[x->rank - 1];
  if (hn_shape_known(b) && !HONE_SYMBOLIC(k)) {
    const int64_t blocks = k / block + (k % block != 0);
    if (b->dim[1] < k || b->dim[1] / block > blocks || (b->dim[1] / block == blocks && b->dim[1] % block != 0))
      return HN_INFER_FAIL(infer, "b has %lld columns, and x %lld in blocks of %lld", (long long)b->dim[1],
                           (long long)k, (long long)block);
    HN_TRY(want_blocks(infer, SCALES, n, blocks));
    HN_TRY(want_blocks(infer, ZEROS, n, blocks));
  }
  HN_TRY(hn_want_dim(infer, BIAS, 0, n, "b's rows"));
  hone_shape y = *x;
  y.dim[y.rank - 1] = n;
  hn_out_shape(infer, 0, y.rank, y.dim);
  return HONE_OK;
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  HN_TRY(hn_eval_begin(eval));
  const hone_tensor *x = &eval->in[X], *b = &eval->in[B], *scales = &eval->in[SCALES];
  const hone_tensor *zeros = hn_eval_given(eval, ZEROS) ? &eval->in[ZEROS] : NULL;
  const int64_t k = hn_eval_dim(x, -1), n = b->type.shape.dim[0], row = b->type.shape.dim[1];
  const int64_t block = hn_attr_int(eval->attrs, "block_size"), blocks = k / block + (k % block != 0);
  const bool one_zero = zeros && hn_elems(&zeros->type.shape) == 1;
  int64_t first, last;
  hn_window_range(eval, window, 0, &first, &last);
  for (int64_t flat = first; flat < last; ++flat) {
    const int64_t column = flat % n, x_at = flat / n * k;
    double sum = hn_eval_given(eval, BIAS) ? hn_real(&eval->in[BIAS], column) : 0;
    for (int64_t g = 0; g < blocks; ++g) {
      const int64_t at = column * blocks + g, end = (g + 1) * block < k ? (g + 1) * block : k;
      const double zero = zeros ? hn_real(zeros, one_zero ? 0 : at) : 0;
      double part = 0;
      for (int64_t i = g * block; i < end; ++i) part += hn_real(x, x_at + i) * (hn_real(b, column * row + i) - zero);
      sum += part * hn_real(scales, at);
    }
    hn_store_real(&eval->out[0], flat, sum);
  }
  return HONE_OK;
}

static hone_cost cost(const hone_attrs *attrs, const hone_fact *in, int in_count, const hone_fact *out, int out_count) {
  (void)attrs;
  const hone_shape *x = &in[X].type.shape;
  return hn_cost_work(2.0 * (double)hn_elems(&out[0].type.shape) * (double)x->dim[x->rank - 1], in, in_count, out,
                      out_count);
}

const hone_op hn_op_matmul_nbits = {
    .struct_size = sizeof(hone_op),
    .name = "matmul_nbits",
    .doc = "product with weights of few bits, scaled by blocks",
    .in = {{"x", 't', HONE_TYPES_FLOAT, 0},
           {"b", 'b', TYPES, 0},
           {"scales", 't', HONE_TYPES_FLOAT, 0},
           {"zero_points", 'b', TYPES, HONE_PORT_OPTIONAL},
           {"bias", 't', HONE_TYPES_FLOAT, HONE_PORT_OPTIONAL | HONE_PORT_PARAM}},
    .out = {{"y", 't', 0, 0}},
    .attr = {HONE_INT_ATTR("block_size", 32)},
    .traits = HONE_WINDOWED,
    .infer = infer,
    .eval = eval,
    .cost = cost,
    .report_class = "Matrix product",
    .onnx = {{"MatMulNBits", 1, HONE_LATEST, "com.microsoft", .adapt = "ort_matmul_nbits"}},
};
