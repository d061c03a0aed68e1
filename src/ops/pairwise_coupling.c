/* SPDX-License-Identifier: Apache-2.0 */
/* pairwise_coupling.c - probabilities of classes out of those of their pairs: what class i of (i, j) has when it is one
 * of the two. Source: Wu, Lin and Weng 2004, "Probability estimates for multi-class classification by pairwise
 * coupling", second method, by the iteration of its algorithm 2: ended where all classes agree within 0.005 / classes,
 * or after 100 turns (as many as classes, of more), as libsvm does, which SVMClassifier of ai.onnx.ml follows. */
#include "ops/common_nn.h"
#include <math.h>

static hone_status infer(hone_infer *infer) {
  const int64_t classes = hn_attr_int(infer->attrs, "classes");
  HN_TRY(hn_want_int(infer, "classes", 2, 1 << 15));
  HN_TRY(hn_want_rank(infer, 0, 2, 2));
  HN_TRY(hn_want_dim(infer, 0, 1, classes * (classes - 1) / 2, "the number of pairs"));
  if (hn_in_rank(infer, 0) == 2) hn_out_shape(infer, 0, 2, (int64_t[]){hn_in_shape(infer, 0)->dim[0], classes});
  return HONE_OK;
}

/* The quadratic form that is least at the probabilities: q [classes, classes]. */
static void make_form(const hone_tensor *x, int64_t row, int64_t classes, double *q) {
  const int64_t pairs = classes * (classes - 1) / 2;
  for (int64_t i = 0; i < classes * classes; ++i) q[i] = 0;
  for (int64_t i = 0, pair = row * pairs; i < classes; ++i)
    for (int64_t j = i + 1; j < classes; ++j, ++pair) {
      const double first = hn_real(x, pair), second = 1 - first;
      q[i * classes + i] += second * second;
      q[j * classes + j] += first * first;
      q[i * classes + j] = q[j * classes + i] = -first * second;
    }
}

/* p starts equal; qp: room. */
static void solve(const double *q, int64_t classes, double *p, double *qp) {
  const double enough = 0.005 / (double)classes;
  const int64_t turns = classes > 100 ? classes : 100;
  for (int64_t turn = 0; turn < turns; ++turn) {
    double pqp = 0, error = 0;
    for (int64_t i = 0; i < classes; ++i) {
      qp[i] = 0;
      for (int64_t j = 0; j < classes; ++j) qp[i] += q[i * classes + j] * p[j];
      pqp += p[i] * qp[i];
    }
    for (int64_t i = 0; i < classes; ++i) error = fmax(error, fabs(qp[i] - pqp));
    if (error < enough) return;
    for (int64_t i = 0; i < classes; ++i) {
      const double step = (pqp - qp[i]) / q[i * classes + i], whole = 1 + step;
      p[i] += step;
      pqp = (pqp + step * (step * q[i * classes + i] + 2 * qp[i])) / whole / whole;
      for (int64_t j = 0; j < classes; ++j) {
        qp[j] = (qp[j] + step * q[i * classes + j]) / whole;
        p[j] /= whole;
      }
    }
  }
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  int64_t first, last;
  HN_TRY(hn_eval_begin(eval));
  const hn_rows rows = hn_rows_along(&eval->out[0].type.shape, 1);
  double *p = eval->scratch, *qp = p + rows.len, *q = qp + rows.len;
  hn_rows_window(eval, window, &rows, &first, &last);
  for (int64_t row = first; row < last && !hn_eval_ends(eval, row); ++row) {
    for (int64_t i = 0; i < rows.len; ++i) p[i] = 1 / (double)rows.len;
    make_form(&eval->in[0], row, rows.len, q);
    solve(q, rows.len, p, qp);
    for (int64_t i = 0; i < rows.len; ++i) hn_store_real(&eval->out[0], row * rows.len + i, p[i]);
  }
  return HONE_OK;
}

static size_t scratch(const hone_attrs *attrs, const hone_fact *in, int in_count, const hone_fact *out, int out_count) {
  (void)in, (void)in_count, (void)out, (void)out_count;
  const size_t classes = (size_t)hn_attr_int(attrs, "classes");
  return (classes + 2) * classes * sizeof(double);
}

/* Some ten turns. */
static hone_cost cost(const hone_attrs *attrs, const hone_fact *in, int in_count, const hone_fact *out, int out_count) {
  const double classes = (double)hn_attr_int(attrs, "classes"), turns = 10;
  return hn_cost_work(turns * 6 * classes * (double)hn_elems(&out[0].type.shape), in, in_count, out, out_count);
}

const hone_op hn_op_pairwise_coupling = {
    .struct_size = sizeof(hone_op),
    .name = "pairwise_coupling",
    .doc = "probabilities of classes out of those of their pairs",
    .in = {{"pairs", 't', HONE_TYPES_FLOAT, 0}},
    .out = {{"y", 't', 0, 0}},
    .attr = {HONE_NEEDED_ATTR("classes", HONE_ATTR_INT)},
    .traits = HONE_WINDOWED,
    .infer = infer,
    .eval = eval,
    .eval_scratch = scratch,
    .cost = cost,
};
