/* SPDX-License-Identifier: Apache-2.0 */
/* rnn.c - simple recurrent layer: h = f(w . x + r . h + b). Source: ONNX operator RNN. */
#include "ops/common_rnn.h"

static void cell(const hn_rnn *rnn, const hone_eval *eval, int direction, int64_t at, double *h, double *c,
                 double *work) {
  (void)eval, (void)c;
  for (int64_t i = 0; i < rnn->hidden; ++i)
    work[i] = hn_rnn_apply(rnn, direction,
                           hn_rnn_input_dot(rnn, direction, i, at) + hn_rnn_state_dot(rnn, direction, i, h) +
                               hn_rnn_bias(rnn, direction, i, 0) + hn_rnn_bias(rnn, direction, i, 1));
  for (int64_t i = 0; i < rnn->hidden; ++i) h[i] = work[i];
}

const hone_op hn_op_rnn = {
    .struct_size = sizeof(hone_op),
    .name = "rnn",
    .doc = "simple recurrent layer over a sequence",
    .in = {{"x", 't', HONE_TYPES_FLOAT, 0},
           {"w", 't', HONE_TYPES_FLOAT, HONE_PORT_PARAM},
           {"r", 't', HONE_TYPES_FLOAT, HONE_PORT_PARAM},
           {"b", 't', HONE_TYPES_FLOAT, HONE_PORT_OPTIONAL | HONE_PORT_PARAM},
           {"sequence_lens", 0, HONE_BIT(HONE_I32), HONE_PORT_OPTIONAL | HONE_PORT_LENGTHS},
           {"initial_h", 't', HONE_TYPES_FLOAT, HONE_PORT_OPTIONAL}},
    .out = {{"y", 't', 0, HONE_PORT_OPTIONAL}, {"y_h", 't', 0, HONE_PORT_OPTIONAL}},
    .attr = {HN_RNN_ATTRS},
    .traits = HONE_WHOLE,
    .infer = hn_infer_rnn,
    .eval = hn_eval_rnn,
    .eval_scratch = hn_rnn_scratch,
    .cost = hn_cost_rnn,
    .details = &(const hn_rnn_layer){.gates = 1, .acts = 1, .act_defaults = {"Tanh"}, .cell = cell},
    .report_class = "Recurrent",
    .onnx = {{.name = "RNN", .first = 1, .last = HONE_LATEST, .drop = "output_sequence"}},
};
