/* SPDX-License-Identifier: Apache-2.0 */
/* lstm.c - long short-term memory: one product with the state a step, then the cell. */
#include "backend/cpu/rnn/rnn_common.h"

static void step(const hn_cpu_rnn_unit *u, const float *x_gates) {
  const hn_cpu_rnn *r = u->rnn;
  const int64_t n = 4 * r->hidden;
  hn_cpu_rnn_recur(u, u->h, u->packed + r->r_at, n, NULL, x_gates, hn_cpu_rnn_x_stride(r), u->gates, n);
  const hn_lstm_cell_args args = {.gates = u->gates,
                                  .c_prev = u->c,
                                  .peephole = u->peephole,
                                  .c = u->c,
                                  .h = u->h,
                                  .hidden = r->hidden,
                                  .gates_stride = n,
                                  .c_prev_stride = r->hidden,
                                  .c_stride = r->hidden,
                                  .h_stride = r->hidden,
                                  .input_forget = r->is_coupled};
  r->cell->lstm(&args, 0, u->rows);
}

#define ROW(suffix, ISA)                                                                                               \
  static const hn_cpu_rnn_cell cell_##suffix = {.kind = HN_RNN_LSTM,                                                   \
                                                .activations = 3,                                                      \
                                                .gemm = &hn_cpu_gemm_##suffix,                                         \
                                                .gates = 4,                                                            \
                                                .joins_biases = true,                                                  \
                                                .lstm = hn_lstm_cell_f32_##suffix,                                     \
                                                .step = step};                                                         \
  HN_CPU_RNN_ROW(lstm, suffix, ISA)
HN_EACH_ISA(ROW)
