/* SPDX-License-Identifier: Apache-2.0 */
/* gru.c - gated recurrent units: the candidate's product waits for the reset gate, unless linear_before_reset lets all
 * three gates be one product. */
#include "backend/cpu/rnn/rnn_common.h"

static void step(const hn_cpu_rnn_unit *u, const float *x_gates) {
  const hn_cpu_rnn *r = u->rnn;
  const int64_t h = r->hidden, n = 3 * h;
  const float *bias = u->packed + r->h_bias_at;
  float *reset = u->c; /* GRU has no other use for it */
  const hn_gru_cell_args args = {.x_gates = x_gates,
                                 .h_gates = u->gates,
                                 .h_prev = u->h,
                                 .h = u->h,
                                 .z = u->z,
                                 .reset = reset,
                                 .hidden = h,
                                 .x_gates_stride = hn_cpu_rnn_x_stride(r),
                                 .h_gates_stride = n,
                                 .h_prev_stride = h,
                                 .h_stride = h,
                                 .z_stride = h,
                                 .reset_stride = h,
                                 .clip = r->clip};
  if (r->is_linear_first) {
    hn_cpu_rnn_recur(u, u->h, u->packed + r->r_at, n, bias, NULL, 0, u->gates, n);
    r->cell->gru(&args, 0, u->rows);
    return;
  }
  hn_cpu_rnn_recur(u, u->h, u->packed + r->r_at, 2 * h, bias, NULL, 0, u->gates, n);
  r->cell->gru_gates(&args, 0, u->rows);
  hn_cpu_rnn_recur(u, reset, u->packed + r->candidate_at, h, bias + 2 * h, NULL, 0, u->gates + 2 * h, n);
  r->cell->gru_output(&args, 0, u->rows);
}

#define ROW(suffix, ISA)                                                                                               \
  static const hn_cpu_rnn_cell cell_##suffix = {.kind = HN_RNN_GRU,                                                    \
                                                .activations = 2,                                                      \
                                                .gemm = &hn_cpu_gemm_##suffix,                                         \
                                                .gates = 3,                                                            \
                                                .gru = hn_gru_cell_f32_##suffix,                                       \
                                                .gru_gates = hn_gru_gates_f32_##suffix,                                \
                                                .gru_output = hn_gru_output_f32_##suffix,                              \
                                                .step = step};                                                         \
  HN_CPU_RNN_ROW(gru, suffix, ISA)
HN_EACH_ISA(ROW)
