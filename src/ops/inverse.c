/* SPDX-License-Identifier: Apache-2.0 */
/* inverse.c - inverses of square matrices, by Gauss-Jordan elimination with row pivots. Source: ONNX Runtime's operator
 * Inverse, which exporters write for torch.inverse. A singular matrix gives infinities and NaN. */
#include "ops/common_nn.h"
#include <math.h>

static hone_status infer(hone_infer *infer) {
  HN_TRY(hn_want_rank(infer, 0, 2, HONE_MAX_RANK));
  const hone_shape *x = hn_in_shape(infer, 0);
  if (x->rank < 0) return HONE_OK;
  HN_TRY(hn_want_dim(infer, 0, -1, x->dim[x->rank - 2], "the number of rows"));
  return hn_infer_same(infer);
}

static void swap_rows(double *a, int64_t width, int64_t i, int64_t k) {
  for (int64_t j = 0; j < width; ++j) {
    const double other = a[i * width + j];
    a[i * width + j] = a[k * width + j], a[k * width + j] = other;
  }
}

/* a: n rows of the matrix and, behind it, of the unit matrix, in whose place the inverse comes. */
static void invert(const hone_eval *eval, double *a, int64_t n) {
  const int64_t width = 2 * n;
  for (int64_t k = 0; k < n && !hn_eval_stopped(eval); ++k) {
    int64_t pivot = k;
    for (int64_t i = k + 1; i < n; ++i)
      if (fabs(a[i * width + k]) > fabs(a[pivot * width + k])) pivot = i;
    if (pivot != k) swap_rows(a, width, pivot, k);
    const double scale = 1 / a[k * width + k];
    for (int64_t j = k; j < width; ++j) a[k * width + j] *= scale;
    for (int64_t i = 0; i < n; ++i) {
      const double factor = a[i * width + k];
      for (int64_t j = k; i != k && j < width; ++j) a[i * width + j] -= factor * a[k * width + j];
    }
  }
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  HN_TRY(hn_eval_begin(eval));
  const int64_t n = hn_eval_dim(&eval->in[0], -1), size = n * n;
  double *work = eval->scratch;
  int64_t first, last;
  hn_window_range(eval, window, 0, &first, &last);
  for (int64_t matrix = size ? first / size : 0; matrix * size < last; ++matrix) {
    for (int64_t i = 0; i < size; ++i) {
      work[i / n * 2 * n + i % n] = hn_real(&eval->in[0], matrix * size + i);
      work[i / n * 2 * n + n + i % n] = i / n == i % n;
    }
    invert(eval, work, n);
    for (int64_t i = 0; i < size; ++i)
      if (matrix * size + i >= first && matrix * size + i < last)
        hn_store_real(&eval->out[0], matrix * size + i, work[i / n * 2 * n + n + i % n]);
  }
  return HONE_OK;
}

static size_t scratch(const hone_attrs *attrs, const hone_fact *in, int in_count, const hone_fact *out, int out_count) {
  const hone_shape *x = &in[0].type.shape;
  (void)attrs, (void)in_count, (void)out, (void)out_count;
  return 2 * sizeof(double) * (size_t)x->dim[x->rank - 1] * (size_t)x->dim[x->rank - 1];
}

static hone_cost cost(const hone_attrs *attrs, const hone_fact *in, int in_count, const hone_fact *out, int out_count) {
  const hone_shape *x = &in[0].type.shape;
  (void)attrs; /* n^3 multiplications and subtractions, of both halves */
  return hn_cost_work(3.0 * (double)hn_elems(x) * (double)x->dim[x->rank - 1], in, in_count, out, out_count);
}

const hone_op hn_op_inverse = {
    .struct_size = sizeof(hone_op),
    .name = "inverse",
    .doc = "inverses of square matrices",
    .in = {{"x", 't', HONE_TYPES_FLOAT, 0}},
    .out = {{"y", 't', 0, 0}},
    .traits = HONE_WINDOWED,
    .infer = infer,
    .eval = eval,
    .eval_scratch = scratch,
    .cost = cost,
    .onnx = {{"Inverse", 1, HONE_LATEST, "com.microsoft"}},
};
