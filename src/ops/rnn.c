/* SPDX-License-Identifier: Apache-2.0 */
/* rnn.c - simple recurrent layer: h = f(w . x + r . h + b). Source: ONNX operator RNN. */
#include "ops/common_rnn.h"

enum { GATES = 1, ACTS = 1 };
static const char *const act_defaults[ACTS] = {"Tanh"};

static void cell(const hn_rnn *rnn, const hone_eval *eval, int direction, int64_t at, double *h, double *c,
                 double *work) {
  (void)eval, (void)c;
  for (int64_t i = 0; i < rnn->hidden; ++i)
    work[i] = hn_rnn_apply(rnn, direction,
                           hn_rnn_input_dot(rnn, direction, i, at) + hn_rnn_state_dot(rnn, direction, i, h) +
                               hn_rnn_bias(rnn, direction, i, 0) + hn_rnn_bias(rnn, direction, i, 1));
  for (int64_t i = 0; i < rnn->hidden; ++i) h[i] = work[i];
}

static hone_status infer(hone_infer *infer) { return hn_infer_rnn(infer, GATES, ACTS, act_defaults); }

static hone_status eval(hone_eval *eval, const hone_window *window) {
  (void)window; /* every step needs those before it */
  return hn_eval_rnn(eval, GATES, ACTS, act_defaults, cell);
}

const hone_op hn_op_rnn = {
    .struct_size = sizeof(hone_op),
    .name = "rnn",
    .doc = "simple recurrent layer over a sequence",
    .in = {HN_RNN_INPUTS},
    .out = {{"y", 't', 0, HONE_PORT_OPTIONAL}, {"y_h", 't', 0, HONE_PORT_OPTIONAL}},
    .attr = {HN_RNN_ATTRS},
    .traits = HONE_WHOLE,
    .infer = infer,
    .eval = eval,
    .eval_scratch = hn_rnn_scratch,
    .cost = hn_cost_rnn,
    .report_class = "Recurrent",
    .onnx = {{.name = "RNN", .first = 1, .last = HONE_LATEST, .drop = "output_sequence"}},
};
