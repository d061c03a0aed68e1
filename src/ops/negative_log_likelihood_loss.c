/* SPDX-License-Identifier: Apache-2.0 */
/* negative_log_likelihood_loss.c - the loss of given log probabilities. Source: ONNX operator
 * NegativeLogLikelihoodLoss. */
#include "ops/common_nn.h"

static double given(const hone_tensor *scores, int64_t first, int64_t step, int64_t classes, int64_t target) {
  (void)classes;
  return hn_real(scores, first + step * target);
}

static hone_cost cost(const hone_attrs *attrs, const hone_fact *in, int in_count, const hone_fact *out, int out_count) {
  (void)attrs;
  return hn_cost_work(2.0 * (double)hn_elems(&in[1].type.shape), in, in_count, out, out_count);
}

const hone_op hn_op_negative_log_likelihood_loss = {
    .struct_size = sizeof(hone_op),
    .name = "negative_log_likelihood_loss",
    .doc = "loss of given log probabilities",
    .in = {{"input", 't', HONE_TYPES_FLOAT, 0},
           {"target", 0, HONE_TYPES_INDEX, 0},
           {"weight", 't', HONE_TYPES_FLOAT, HONE_PORT_OPTIONAL}},
    .out = {{"loss", 't', 0, 0}},
    .attr = {HN_LOSS_ATTRS},
    .infer = hn_infer_loss,
    .eval = hn_eval_loss,
    .cost = cost,
    .details = &(const hn_loss){given},
    .onnx = {{.name = "NegativeLogLikelihoodLoss", .first = 12, .last = HONE_LATEST}},
};
