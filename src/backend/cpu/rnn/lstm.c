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

const hone_tactic hn_tactics_cpu_lstm[] = {
#ifndef HONE_NO_AVX
    {sizeof(hone_tactic), .name = "cpu.lstm.f32.14x32.avx512", .version = 1, .op = "lstm", .isa = HONE_ISA_AVX512,
     .flags = HONE_TACTIC_REPEATABLE, .pack_mask = HN_RNN_PACKED, .plan = hn_cpu_rnn_plan, .pack = hn_cpu_rnn_pack,
     .launch = hn_cpu_rnn_launch,
     .kernel =
         &(const hn_cpu_rnn_cell){HN_RNN_LSTM, &hn_cpu_gemm_avx512, .lstm = hn_lstm_cell_f32_avx512, .step = step}},
    {sizeof(hone_tactic), .name = "cpu.lstm.f32.6x16.avx2", .version = 1, .op = "lstm", .isa = HONE_ISA_AVX2,
     .flags = HONE_TACTIC_REPEATABLE, .pack_mask = HN_RNN_PACKED, .plan = hn_cpu_rnn_plan, .pack = hn_cpu_rnn_pack,
     .launch = hn_cpu_rnn_launch,
     .kernel = &(const hn_cpu_rnn_cell){HN_RNN_LSTM, &hn_cpu_gemm_avx2, .lstm = hn_lstm_cell_f32_avx2, .step = step}},
#endif
    {sizeof(hone_tactic), .name = "cpu.lstm.f32.4x8.c", .version = 1, .op = "lstm", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE, .pack_mask = HN_RNN_PACKED, .plan = hn_cpu_rnn_plan, .pack = hn_cpu_rnn_pack,
     .launch = hn_cpu_rnn_launch,
     .kernel = &(const hn_cpu_rnn_cell){HN_RNN_LSTM, &hn_cpu_gemm_c, .lstm = hn_lstm_cell_f32_c, .step = step}},
    {0}};
