/* SPDX-License-Identifier: Apache-2.0 */
/* softmax_cross_entropy_loss.c - the loss of scores that softmax turns into probabilities, and their logarithms.
 * Source: ONNX operator SoftmaxCrossEntropyLoss. */
#include "ops/common_nn.h"
#include <math.h>

/* log(sum of exp), the maximum taken out. */
static double log_sum(const hone_tensor *scores, int64_t first, int64_t step, int64_t classes) {
  double top = -(double)INFINITY, sum = 0;
  for (int64_t i = 0; i < classes; ++i) top = fmax(top, hn_real(scores, first + step * i));
  for (int64_t i = 0; i < classes; ++i) sum += exp(hn_real(scores, first + step * i) - top);
  return top + log(sum);
}

static double log_softmax(const hone_tensor *scores, int64_t first, int64_t step, int64_t classes, int64_t target) {
  return hn_real(scores, first + step * target) - log_sum(scores, first, step, classes);
}

static hone_status eval(hone_eval *eval, const hone_window *window) {
  HN_TRY(hn_eval_loss(eval, window));
  if (!hn_eval_wanted(eval, 1)) return HONE_OK;
  const hn_rows rows = hn_rows_along(&eval->in[0].type.shape, 1);
  for (int64_t row = 0; row < rows.outer * rows.inner; ++row) {
    const double sum = log_sum(&eval->in[0], hn_row_at(&rows, row, 0), rows.inner, rows.len);
    for (int64_t i = 0; i < rows.len; ++i) {
      const int64_t at = hn_row_at(&rows, row, i);
      hn_store_real(&eval->out[1], at, hn_real(&eval->in[0], at) - sum);
    }
  }
  return HONE_OK;
}

const hone_op hn_op_softmax_cross_entropy_loss = {
    .struct_size = sizeof(hone_op),
    .name = "softmax_cross_entropy_loss",
    .doc = "loss of scores under softmax",
    .in = {{"scores", 't', HONE_TYPES_FLOAT, 0},
           {"labels", 0, HONE_TYPES_INDEX, 0},
           {"weights", 't', HONE_TYPES_FLOAT, HONE_PORT_OPTIONAL}},
    .out = {{"output", 't', 0, 0}, {"log_prob", 't', 0, HONE_PORT_OPTIONAL}},
    .attr = {HN_LOSS_ATTRS},
    .infer = hn_infer_loss,
    .eval = eval,
    .cost = hn_cost_softmax,
    .details = &(const hn_loss){log_softmax},
    .onnx = {{.name = "SoftmaxCrossEntropyLoss", .first = 12, .last = HONE_LATEST}},
};
