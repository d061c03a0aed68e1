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

const hone_tactic hn_tactics_cpu_gru[] = {
#ifndef HONE_NO_AVX
    {sizeof(hone_tactic), .name = "cpu.gru.f32.14x32.avx512", .version = 1, .op = "gru", .isa = HONE_ISA_AVX512,
     .flags = HONE_TACTIC_REPEATABLE, .pack_mask = HN_RNN_PACKED, .plan = hn_cpu_rnn_plan, .pack = hn_cpu_rnn_pack,
     .launch = hn_cpu_rnn_launch,
     .kernel = &(const hn_cpu_rnn_cell){HN_RNN_GRU, &hn_cpu_gemm_avx512, .gru = hn_gru_cell_f32_avx512,
                                        .gru_gates = hn_gru_gates_f32_avx512, .gru_output = hn_gru_output_f32_avx512,
                                        .step = step}},
    {sizeof(hone_tactic), .name = "cpu.gru.f32.6x16.avx2", .version = 1, .op = "gru", .isa = HONE_ISA_AVX2,
     .flags = HONE_TACTIC_REPEATABLE, .pack_mask = HN_RNN_PACKED, .plan = hn_cpu_rnn_plan, .pack = hn_cpu_rnn_pack,
     .launch = hn_cpu_rnn_launch,
     .kernel = &(const hn_cpu_rnn_cell){HN_RNN_GRU, &hn_cpu_gemm_avx2, .gru = hn_gru_cell_f32_avx2,
                                        .gru_gates = hn_gru_gates_f32_avx2, .gru_output = hn_gru_output_f32_avx2,
                                        .step = step}},
#endif
    {sizeof(hone_tactic), .name = "cpu.gru.f32.4x8.c", .version = 1, .op = "gru", .isa = HONE_ISA_C,
     .flags = HONE_TACTIC_REPEATABLE, .pack_mask = HN_RNN_PACKED, .plan = hn_cpu_rnn_plan, .pack = hn_cpu_rnn_pack,
     .launch = hn_cpu_rnn_launch,
     .kernel =
         &(const hn_cpu_rnn_cell){HN_RNN_GRU, &hn_cpu_gemm_c, .gru = hn_gru_cell_f32_c, .gru_gates = hn_gru_gates_f32_c,
                                  .gru_output = hn_gru_output_f32_c, .step = step}},
    {0}};
