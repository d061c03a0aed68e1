/* SPDX-License-Identifier: Apache-2.0 */
/* gru.c - gated recurrent units (Cho et al. 2014). Source: ONNX operator GRU.
 * Rows of w and r: update gate z, reset gate r, candidate h. */
#include "ops/common_rnn.h"

enum { ACTS = 2 };

static void cell(const hn_rnn *rnn, const hone_eval *eval, int direction, int64_t at, double *h, double *c,
                 double *work) {
  const int64_t n = rnn->hidden;
  const bool linear_first = hn_attr_int(eval->attrs, "linear_before_reset") != 0;
  double *gates = work, *reset_h = work + 2 * n, *candidate = work + 3 * n;
  (void)c;
  for (int64_t row = 0; row < 2 * n; ++row)
    gates[row] = hn_rnn_apply(rnn, direction * ACTS,
                              hn_rnn_input_dot(rnn, direction, row, at) + hn_rnn_state_dot(rnn, direction, row, h) +
                                  hn_rnn_bias(rnn, direction, row, 0) + hn_rnn_bias(rnn, direction, row, 1));
  for (int64_t i = 0; i < n; ++i) reset_h[i] = gates[n + i] * h[i];
  for (int64_t i = 0; i < n; ++i) {
    const int64_t row = 2 * n + i;
    double state = hn_rnn_state_dot(rnn, direction, row, linear_first ? h : reset_h);
    state += hn_rnn_bias(rnn, direction, row, 1);
    if (linear_first) state *= gates[n + i];
    candidate[i] =
        hn_rnn_apply(rnn, direction * ACTS + 1,
                     hn_rnn_input_dot(rnn, direction, row, at) + hn_rnn_bias(rnn, direction, row, 0) + state);
  }
  for (int64_t i = 0; i < n; ++i) h[i] = (1 - gates[i]) * candidate[i] + gates[i] * h[i];
}

const hone_op hn_op_gru = {
    .struct_size = sizeof(hone_op),
    .name = "gru",
    .doc = "gated recurrent units over a sequence",
    .in = {{"x", 't', HONE_TYPES_FLOAT, 0},
           {"w", 't', HONE_TYPES_FLOAT, HONE_PORT_PARAM},
           {"r", 't', HONE_TYPES_FLOAT, HONE_PORT_PARAM},
           {"b", 't', HONE_TYPES_FLOAT, HONE_PORT_OPTIONAL | HONE_PORT_PARAM},
           {"sequence_lens", 0, HONE_BIT(HONE_I32), HONE_PORT_OPTIONAL | HONE_PORT_LENGTHS},
           {"initial_h", 't', HONE_TYPES_FLOAT, HONE_PORT_OPTIONAL}},
    .out = {{"y", 't', 0, HONE_PORT_OPTIONAL}, {"y_h", 't', 0, HONE_PORT_OPTIONAL}},
    .attr = {HN_RNN_ATTRS, HONE_INT_ATTR("linear_before_reset", 0)},
    .traits = HONE_WHOLE,
    .infer = hn_infer_rnn,
    .eval = hn_eval_rnn,
    .eval_scratch = hn_rnn_scratch,
    .cost = hn_cost_rnn,
    .details = &(const hn_rnn_layer){.gates = 3, .acts = ACTS, .act_defaults = {"Sigmoid", "Tanh"}, .cell = cell},
    .report_class = "Recurrent",
    .onnx = {{.name = "GRU", .first = 1, .last = HONE_LATEST, .drop = "output_sequence"}},
};
