/* SPDX-License-Identifier: Apache-2.0 */
/* lstm.c - long short-term memory (Hochreiter, Schmidhuber 1997) with peepholes. Source: ONNX operator LSTM.
 * Rows of w and r: input gate i, output gate o, forget gate f, candidate c; peepholes: i, o, f. */
#include "ops/common_rnn.h"

enum { ACTS = 3 };

static double peephole(const hn_rnn *rnn, const hone_eval *eval, int direction, int64_t row) {
  return hn_eval_given(eval, 7) ? hn_real(&eval->in[7], direction * 3 * rnn->hidden + row) : 0;
}

static void cell(const hn_rnn *rnn, const hone_eval *eval, int direction, int64_t at, double *h, double *c,
                 double *work) {
  const int64_t n = rnn->hidden;
  const bool coupled = hn_attr_int(eval->attrs, "input_forget") != 0;
  const int f = direction * ACTS, g = f + 1, last = f + 2;
  for (int64_t row = 0; row < 4 * n; ++row)
    work[row] = hn_rnn_input_dot(rnn, direction, row, at) + hn_rnn_state_dot(rnn, direction, row, h) +
                hn_rnn_bias(rnn, direction, row, 0) + hn_rnn_bias(rnn, direction, row, 1);
  for (int64_t i = 0; i < n; ++i) {
    const double in = hn_rnn_apply(rnn, f, work[i] + peephole(rnn, eval, direction, i) * c[i]);
    const double kept = work[2 * n + i] + peephole(rnn, eval, direction, 2 * n + i) * c[i];
    const double forget = coupled ? 1 - in : hn_rnn_apply(rnn, f, kept);
    c[i] = forget * c[i] + in * hn_rnn_apply(rnn, g, work[3 * n + i]);
    const double out = hn_rnn_apply(rnn, f, work[n + i] + peephole(rnn, eval, direction, n + i) * c[i]);
    h[i] = out * hn_rnn_apply(rnn, last, c[i]);
  }
}

const hone_op hn_op_lstm = {
    .struct_size = sizeof(hone_op),
    .name = "lstm",
    .doc = "long short-term memory over a sequence",
    .in = {{"x", 't', HONE_TYPES_FLOAT, 0},
           {"w", 't', HONE_TYPES_FLOAT, HONE_PORT_PARAM},
           {"r", 't', HONE_TYPES_FLOAT, HONE_PORT_PARAM},
           {"b", 't', HONE_TYPES_FLOAT, HONE_PORT_OPTIONAL | HONE_PORT_PARAM},
           {"sequence_lens", 0, HONE_BIT(HONE_I32), HONE_PORT_OPTIONAL | HONE_PORT_LENGTHS},
           {"initial_h", 't', HONE_TYPES_FLOAT, HONE_PORT_OPTIONAL},
           {"initial_c", 't', HONE_TYPES_FLOAT, HONE_PORT_OPTIONAL},
           {"p", 't', HONE_TYPES_FLOAT, HONE_PORT_OPTIONAL | HONE_PORT_PARAM}},
    .out = {{"y", 't', 0, HONE_PORT_OPTIONAL},
            {"y_h", 't', 0, HONE_PORT_OPTIONAL},
            {"y_c", 't', 0, HONE_PORT_OPTIONAL}},
    .attr = {HN_RNN_ATTRS, HONE_INT_ATTR("input_forget", 0)},
    .traits = HONE_WHOLE,
    .infer = hn_infer_rnn,
    .eval = hn_eval_rnn,
    .eval_scratch = hn_rnn_scratch,
    .cost = hn_cost_rnn,
    .details =
        &(const hn_rnn_layer){.gates = 4, .acts = ACTS, .act_defaults = {"Sigmoid", "Tanh", "Tanh"}, .cell = cell},
    .report_class = "Recurrent",
    .onnx = {{.name = "LSTM", .first = 1, .last = HONE_LATEST, .drop = "output_sequence"},
             {"DynamicQuantizeLSTM", 1, HONE_LATEST, "com.microsoft", .adapt = "ort_dynamic_lstm", .alias = true}},
};
