/* SPDX-License-Identifier: Apache-2.0 */
/* det.c - determinants of square matrices, by elimination with row pivots. Source: ONNX operator Det. */
#include "ops/common_nn.h"
#include <math.h>

static hone_status infer(hone_infer *infer) {
  HN_TRY(hn_want_rank(infer, 0, 2, HONE_MAX_RANK));
  const hone_shape *x = hn_in_shape(infer, 0);
  if (x->rank < 0) return HONE_OK;
  HN_TRY(hn_want_dim(infer, 0, -1, x->dim[x->rank - 2], "the number of rows"));
  hn_out_shape(infer, 0, x->rank - 2, x->dim);
  return HONE_OK;
}

static double determinant(const hone_eval *eval, double *a, int64_t n) {
  double result = 1;
  for (int64_t k = 0; k < n && !hn_eval_stopped(eval); ++k) {
    int64_t pivot = k;
    for (int64_t i = k + 1; i < n; ++i)
      if (fabs(a[i * n + k]) > fabs(a[pivot * n + k])) pivot = i;
    if (a[pivot * n + k] == 0) return 0;
    for (int64_t j = 0; pivot != k && j < n; ++j) {
      const double other = a[k * n + j];
      a[k * n + j] = a[pivot * n + j], a[pivot * n + j] = other;
    }
    result *= pivot != k ? -a[k * n + k] : a[k * n + k];
    for (int64_t i = k + 1; i < n; ++i) {
      const double factor = a[i * n + k] / a[k * n + k];
      for (int64_t j = k; j < n; ++j) a[i * n + j] -= factor * a[k * n + j];
    }
  }
  return result;
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  HN_TRY(hn_eval_begin(eval));
  const int64_t n = hn_eval_dim(&eval->in[0], -1);
  double *work = eval->scratch;
  int64_t first, last;
  hn_window_range(eval, window, 0, &first, &last);
  for (int64_t flat = first; flat < last; ++flat) {
    for (int64_t i = 0; i < n * n; ++i) work[i] = hn_real(&eval->in[0], flat * n * n + i);
    hn_store_real(&eval->out[0], flat, determinant(eval, work, n));
  }
  return HONE_OK;
}

static size_t scratch(const hone_attrs *attrs, const hone_fact *in, int in_count, const hone_fact *out, int out_count) {
  const hone_shape *x = &in[0].type.shape;
  (void)attrs, (void)in_count, (void)out, (void)out_count;
  return sizeof(double) * (size_t)x->dim[x->rank - 1] * (size_t)x->dim[x->rank - 1];
}

static hone_cost cost(const hone_attrs *attrs, const hone_fact *in, int in_count, const hone_fact *out, int out_count) {
  const hone_shape *x = &in[0].type.shape;
  (void)attrs; /* two thirds of n^3 for each matrix */
  return hn_cost_work(0.67 * (double)hn_elems(x) * (double)x->dim[x->rank - 1], in, in_count, out, out_count);
}

const hone_op hn_op_det = {
    .struct_size = sizeof(hone_op),
    .name = "det",
    .doc = "determinants of square matrices",
    .in = {{"x", 't', HONE_TYPES_FLOAT, 0}},
    .out = {{"y", 't', 0, 0}},
    .traits = HONE_WINDOWED,
    .infer = infer,
    .eval = eval,
    .eval_scratch = scratch,
    .cost = cost,
    .onnx = {{.name = "Det", .first = 11, .last = HONE_LATEST}},
};
