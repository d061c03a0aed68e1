/* SPDX-License-Identifier: Apache-2.0 */
/* rnn_f64.c - LSTM and GRU in doubles, as lstm.c and gru.c have them in f32: one product of all inputs, then a product
 * with the state and the cell for each step. A unit is one direction. */
#include "backend/cpu/gemm/product_f64.h"
#include "backend/cpu/rnn/rnn_common.h"
#include <string.h>

/* A row's kernel; the cell stands first, for readers that know rows of f32 alone. */
typedef struct row_kernel {
  hn_cpu_rnn_cell cell;
  const hn_cpu_gemm_f64 *gemm;
} row_kernel;

typedef struct state {
  const row_kernel *row;
  hn_cpu_rnn rnn; /* extents and attributes alone */
  double clip;
  hn_gemm_f64 project, recur;                                          /* no pointers */
  int64_t r_at, candidate_at, x_bias_at, h_bias_at, direction_doubles; /* packed, as hn_cpu_rnn has them */
  int64_t chunk, chunks, project_grain, grain;                         /* rows of the inputs' product */
  int64_t gates_doubles, unit_doubles, worker_doubles, kept_doubles;
} state;

static int64_t packed_doubles(const state *s, int64_t k, int64_t n) {
  return hn_cpu_whole_lines_f64(hn_gemm_f64_packed(k, n, s->row->gemm->panel));
}

static const char *read(const hone_query *query, state *s) {
  hn_cpu_asked asked;
  hn_cpu_rnn *r = &s->rnn;
  *s = (state){.row = query->tactic->kernel};
  HN_TRY_REASON(hn_cpu_ask_f32(query, &asked));
  HN_TRY_REASON(hn_cpu_rnn_read(&asked.query, r));
  if (hn_attr_has(query->attrs, "clip")) s->clip = hn_attr_float(query->attrs, "clip");
  const int64_t h = r->hidden, n = r->gates * h, first = r->waits ? 2 * h : n;
  s->r_at = packed_doubles(s, r->input, n);
  s->candidate_at = s->r_at + packed_doubles(s, h, first);
  s->x_bias_at = s->candidate_at + (r->waits ? packed_doubles(s, h, h) : 0);
  s->h_bias_at = s->x_bias_at + hn_cpu_whole_lines_f64(n);
  s->direction_doubles = s->h_bias_at + hn_cpu_whole_lines_f64(n);
  return NULL;
}

static const char *plan(const hone_query *query, void *memory, hone_needs *needs) {
  state room, *s = memory ? memory : &room;
  HN_TRY_REASON(read(query, s));
  const hn_cpu_rnn *r = &s->rnn;
  const hn_cpu_gemm_f64 *kernel = s->row->gemm;
  const int64_t threads = hn_cpu_threads(query->facts), h = r->hidden, n = r->gates * h, rows = r->time * r->batch;
  const size_t l2 = hn_cpu_l2_bytes(query->facts);
  s->project = (hn_gemm_f64){.m = rows, .n = n, .k = r->input, .a_row_stride = r->input, .a_column_stride = 1};
  s->project.c_row_stride = n;
  s->chunk = hn_cpu_greater(4 * kernel->rows, hn_ceil_div(rows, threads * HN_CPU_UNITS_PER_THREAD));
  s->chunks = hn_ceil_div(rows, s->chunk);
  s->project.block_rows = hn_cpu_gemm_f64_block(kernel, hn_cpu_lesser(rows, s->chunk), r->input, l2);
  s->recur = (hn_gemm_f64){.m = r->batch, .n = n, .k = h, .a_row_stride = h, .a_column_stride = 1, .c_row_stride = n};
  s->recur.block_rows = hn_cpu_gemm_f64_block(kernel, r->batch, h, l2);
  const double project_ns = 2 * (double)rows * (double)n * (double)r->input / kernel->flops_per_ns;
  s->project_grain = hn_cpu_grain(s->chunks, project_ns);
  s->grain = hn_cpu_grain(r->directions, (double)r->directions * 2 * (double)rows * (double)n * (double)h);
  s->gates_doubles = hn_cpu_whole_lines_f64(rows * n);
  s->worker_doubles = hn_cpu_whole_lines_f64(s->project.block_rows * r->input);
  s->kept_doubles = r->given[HN_RNN_LENGTHS] ? 2 * r->batch * h : 0;
  s->unit_doubles = hn_cpu_whole_lines_f64(r->batch * h * (r->gates + 3) + s->recur.block_rows * h + s->kept_doubles);
  needs->state = sizeof *s;
  needs->packed = (size_t)(r->directions * s->direction_doubles) * sizeof(double);
  needs->scratch =
      (size_t)(r->directions * (s->gates_doubles + s->unit_doubles) + threads * s->worker_doubles) * sizeof(double);
  needs->efficiency = 0.2; /* steps of few rows */
  return NULL;
}

static void pack_matrix(const state *s, const double *from, int64_t k, int64_t n, double *to) {
  const int panel = s->row->gemm->panel;
  hn_gemm_f64_pack_b_c(from, 1, k, k, n, panel, 0, hn_gemm_f64_panels(n, panel), to);
}

static hone_status pack(const hone_query *query, void *memory) {
  state s;
  if (read(query, &s)) return HONE_INTERNAL;
  const hn_cpu_rnn *r = &s.rnn;
  const int64_t h = r->hidden, n = r->gates * h, first = r->waits ? 2 * h : n;
  const double *w = query->in[HN_RNN_W].constant->data, *u = query->in[HN_RNN_R].constant->data;
  const double *b = r->given[HN_RNN_B] ? query->in[HN_RNN_B].constant->data : NULL;
  const bool joins = s.row->cell.kind == HN_RNN_LSTM;
  memset(memory, 0, (size_t)(r->directions * s.direction_doubles) * sizeof(double));
  for (int64_t d = 0; d < r->directions; ++d, w += n * r->input, u += n * h) {
    double *to = (double *)memory + d * s.direction_doubles;
    pack_matrix(&s, w, r->input, n, to);
    pack_matrix(&s, u, h, first, to + s.r_at);
    if (r->waits) pack_matrix(&s, u + first * h, h, h, to + s.candidate_at);
    for (int64_t i = 0; b && i < n; ++i) {
      const double of_x = b[d * 2 * n + i], of_h = b[d * 2 * n + n + i];
      to[s.x_bias_at + i] = joins ? of_x + of_h : of_x;
      to[s.h_bias_at + i] = joins ? 0 : of_h;
    }
  }
  return HONE_OK;
}

/* One direction at work; buffers have a row for each of the batch. */
typedef struct unit {
  const state *s;
  const double *packed, *peephole;
  double *h, *c, *z, *gates, *scratch, *kept;
} unit;

/* gates' columns [column, column + n) = a times packed columns, plus bias, plus residual where given. */
static void recur(const unit *u, const double *a, const double *b, int64_t column, int64_t n, const double *bias,
                  const double *residual, int64_t stride) {
  hn_gemm_f64 g = u->s->recur;
  const hn_cpu_gemm_f64 *kernel = u->s->row->gemm;
  g.n = n;
  g.a = a;
  g.b_packed = b;
  g.c = u->gates + column;
  g.epilogue = (hn_epilogue_f64){.bias = bias, .residual = residual, .residual_stride = stride};
  kernel->run(&g, 0, g.m, 0, hn_gemm_f64_panels(n, kernel->panel), u->scratch);
}

static void step_lstm(const unit *u, const double *x_gates, int64_t x_stride) {
  const state *s = u->s;
  const int64_t h = s->rnn.hidden, n = 4 * h;
  recur(u, u->h, u->packed + s->r_at, 0, n, NULL, x_gates, x_stride);
  const hn_lstm_cell_args args = {.gates = u->gates,
                                  .c_prev = u->c,
                                  .peephole = u->peephole,
                                  .c = u->c,
                                  .h = u->h,
                                  .hidden = h,
                                  .gates_stride = n,
                                  .c_prev_stride = h,
                                  .c_stride = h,
                                  .h_stride = h,
                                  .input_forget = s->rnn.is_coupled};
  s->row->cell.lstm(&args, 0, s->rnn.batch);
}

static void step_gru(const unit *u, const double *x_gates, int64_t x_stride) {
  const state *s = u->s;
  const int64_t h = s->rnn.hidden, n = 3 * h;
  const double *bias = u->packed + s->h_bias_at;
  double *reset = u->c; /* GRU has no other use for it */
  const hn_gru_cell_args args = {.x_gates = x_gates,
                                 .h_gates = u->gates,
                                 .h_prev = u->h,
                                 .h = u->h,
                                 .z = u->z,
                                 .reset = reset,
                                 .hidden = h,
                                 .x_gates_stride = x_stride,
                                 .h_gates_stride = n,
                                 .h_prev_stride = h,
                                 .h_stride = h,
                                 .z_stride = h,
                                 .reset_stride = h,
                                 .clip = s->clip};
  if (s->rnn.is_linear_first) {
    recur(u, u->h, u->packed + s->r_at, 0, n, bias, NULL, 0);
    s->row->cell.gru(&args, 0, s->rnn.batch);
    return;
  }
  recur(u, u->h, u->packed + s->r_at, 0, 2 * h, bias, NULL, 0);
  s->row->cell.gru_gates(&args, 0, s->rnn.batch);
  recur(u, reset, u->packed + s->candidate_at, 2 * h, h, bias + 2 * h, NULL, 0);
  s->row->cell.gru_output(&args, 0, s->rnn.batch);
}

typedef struct job {
  const state *s;
  const hone_launch *launch;
  double *x_gates, *units, *workers;
  int64_t direction; /* of the product of the inputs */
  hn_cpu_rnn_lengths lengths;
  hn_stop *stop;
} job;

/* Rows of a state tensor from or to rows of `hidden`. */
static void copy_state(const hn_cpu_rnn *r, int64_t direction, double *tensor, double *rows, bool to_tensor) {
  for (int64_t i = 0; i < r->batch; ++i) {
    double *at = tensor + (r->batch_first ? i * r->directions + direction : direction * r->batch + i) * r->hidden;
    double *row = rows + i * r->hidden;
    memcpy(to_tensor ? at : row, to_tensor ? row : at, (size_t)r->hidden * sizeof *at);
  }
}

/* The states of sequences that a step does not concern, put aside and brought back. */
static void keep_ended(const job *j, const unit *u, int64_t time, bool brings_back) {
  const int64_t h = j->s->rnn.hidden, batch = j->s->rnn.batch;
  const size_t bytes = (size_t)h * sizeof(double);
  for (int64_t i = 0; j->lengths.of && i < batch; ++i) {
    if (!hn_cpu_rnn_is_behind(&j->lengths, i, time)) continue;
    double *h_row = u->h + i * h, *c_row = u->c + i * h, *kept = u->kept + i * h;
    memcpy(brings_back ? h_row : kept, brings_back ? kept : h_row, bytes);
    memcpy(brings_back ? c_row : kept + batch * h, brings_back ? kept + batch * h : c_row, bytes);
  }
}

static void store_step(const job *j, const unit *u, int64_t direction, int64_t time, double *y) {
  const hn_cpu_rnn *r = &j->s->rnn;
  const size_t bytes = (size_t)r->hidden * sizeof *y;
  for (int64_t i = 0; i < r->batch; ++i) {
    double *to = y + hn_cpu_rnn_y_at(r, time, direction, i);
    if (hn_cpu_rnn_is_behind(&j->lengths, i, time))
      memset(to, 0, bytes);
    else
      memcpy(to, u->h + i * r->hidden, bytes);
  }
}

static void run_direction(const job *j, int64_t direction) {
  const state *s = j->s;
  const hn_cpu_rnn *r = &s->rnn;
  const hone_launch *l = j->launch;
  const int64_t h = r->hidden, n = r->gates * h, size = r->batch * h;
  unit u = {.s = s, .packed = (const double *)l->packed + direction * s->direction_doubles};
  u.h = j->units + direction * s->unit_doubles;
  u.c = u.h + size, u.z = u.c + size, u.gates = u.z + size, u.scratch = u.gates + r->gates * size;
  u.kept = u.scratch + s->recur.block_rows * h;
  if (r->given[HN_RNN_PEEPHOLE]) u.peephole = (const double *)l->in[HN_RNN_PEEPHOLE].data + direction * 3 * h;
  memset(u.h, 0, (size_t)(2 * size) * sizeof *u.h);
  if (r->given[HN_RNN_INITIAL_H]) copy_state(r, direction, l->in[HN_RNN_INITIAL_H].data, u.h, false);
  if (r->given[HN_RNN_INITIAL_C]) copy_state(r, direction, l->in[HN_RNN_INITIAL_C].data, u.c, false);
  const bool is_backwards = r->is_reverse || direction == 1;
  const double *x_gates = j->x_gates + direction * s->gates_doubles;
  double *y = r->wants[0] ? l->out[0].data : NULL;
  for (int64_t step = 0; step < j->lengths.longest && !hn_stop_now(j->stop); ++step) {
    const int64_t time = is_backwards ? j->lengths.longest - 1 - step : step;
    const double *x = x_gates + (r->batch_first ? time : time * r->batch) * n;
    const int64_t x_stride = r->batch_first ? r->time * n : n;
    keep_ended(j, &u, time, false);
    (s->row->cell.kind == HN_RNN_LSTM ? step_lstm : step_gru)(&u, x, x_stride);
    keep_ended(j, &u, time, true);
    if (y) store_step(j, &u, direction, time, y);
  }
  if (r->wants[1] && l->out[1].data) copy_state(r, direction, l->out[1].data, u.h, true);
  if (r->wants[2] && l->out[2].data) copy_state(r, direction, l->out[2].data, u.c, true);
}

static void body(void *arg, int worker, int64_t begin, int64_t end) {
  (void)worker;
  for (int64_t direction = begin; direction < end; ++direction) run_direction(arg, direction);
}

static void project_body(void *arg, int worker, int64_t begin, int64_t end) {
  const job *j = arg;
  const state *s = j->s;
  const double *packed = (const double *)j->launch->packed + j->direction * s->direction_doubles;
  hn_gemm_f64 g = s->project;
  g.a = j->launch->in[HN_RNN_X].data;
  g.b_packed = packed;
  g.c = j->x_gates + j->direction * s->gates_doubles;
  g.epilogue.bias = packed + s->x_bias_at;
  for (int64_t chunk = begin; chunk < end; ++chunk)
    s->row->gemm->run(&g, chunk * s->chunk, hn_cpu_lesser(g.m, (chunk + 1) * s->chunk), 0,
                      hn_gemm_f64_panels(g.n, s->row->gemm->panel), j->workers + worker * s->worker_doubles);
}

static hone_status launch(void *memory, hone_stream *stream, const hone_launch *launch) {
  const state *s = memory;
  hn_pool *pool = hn_stream_pool(stream);
  job j = {.s = s, .launch = launch, .x_gates = launch->scratch, .stop = pool->stop};
  j.units = j.x_gates + s->rnn.directions * s->gates_doubles;
  j.workers = j.units + s->rnn.directions * s->unit_doubles;
  HN_TRY(hn_cpu_rnn_read_lengths(&s->rnn, launch, &j.lengths));
  hn_cpu_rnn_clear_rest(&s->rnn, &j.lengths, sizeof(double), launch->out[0].data);
  for (; j.direction < s->rnn.directions; ++j.direction)
    hn_pool_run(pool, s->chunks, s->project_grain, project_body, &j);
  hn_pool_run(pool, s->rnn.directions, s->grain, body, &j);
  return HONE_OK;
}

#define COMMON                                                                                                         \
  .flags = HONE_TACTIC_REPEATABLE, .pack_mask = HN_RNN_PACKED, .storages = {{HONE_F64_PLAIN, HONE_F64_PLAIN}},         \
  .plan = plan, .pack = pack, .launch = launch
const hone_tactic hn_tactics_cpu_rnn_f64[] = {
#ifndef HONE_NO_AVX
    {sizeof(hone_tactic), .name = "cpu.lstm.f64.12x16.avx512", .version = 1, .op = "lstm", .isa = HONE_ISA_AVX512,
     .kernel =
         &(const row_kernel){{HN_RNN_LSTM, &hn_cpu_gemm_c, .lstm = hn_lstm_cell_f64_avx512}, &hn_cpu_gemm_f64_avx512},
     COMMON},
    {sizeof(hone_tactic), .name = "cpu.gru.f64.12x16.avx512", .version = 1, .op = "gru", .isa = HONE_ISA_AVX512,
     .kernel = &(const row_kernel){{HN_RNN_GRU, &hn_cpu_gemm_c, .gru = hn_gru_cell_f64_avx512,
                                    .gru_gates = hn_gru_gates_f64_avx512, .gru_output = hn_gru_output_f64_avx512},
                                   &hn_cpu_gemm_f64_avx512},
     COMMON},
    {sizeof(hone_tactic), .name = "cpu.lstm.f64.6x8.avx2", .version = 1, .op = "lstm", .isa = HONE_ISA_AVX2,
     .kernel = &(const row_kernel){{HN_RNN_LSTM, &hn_cpu_gemm_c, .lstm = hn_lstm_cell_f64_avx2}, &hn_cpu_gemm_f64_avx2},
     COMMON},
    {sizeof(hone_tactic), .name = "cpu.gru.f64.6x8.avx2", .version = 1, .op = "gru", .isa = HONE_ISA_AVX2,
     .kernel = &(const row_kernel){{HN_RNN_GRU, &hn_cpu_gemm_c, .gru = hn_gru_cell_f64_avx2,
                                    .gru_gates = hn_gru_gates_f64_avx2, .gru_output = hn_gru_output_f64_avx2},
                                   &hn_cpu_gemm_f64_avx2},
     COMMON},
#endif
    {sizeof(hone_tactic), .name = "cpu.lstm.f64.4x4.c", .version = 1, .op = "lstm", .isa = HONE_ISA_C,
     .kernel = &(const row_kernel){{HN_RNN_LSTM, &hn_cpu_gemm_c, .lstm = hn_lstm_cell_f64_c}, &hn_cpu_gemm_f64_c},
     COMMON},
    {sizeof(hone_tactic), .name = "cpu.gru.f64.4x4.c", .version = 1, .op = "gru", .isa = HONE_ISA_C,
     .kernel = &(const row_kernel){{HN_RNN_GRU, &hn_cpu_gemm_c, .gru = hn_gru_cell_f64_c,
                                    .gru_gates = hn_gru_gates_f64_c, .gru_output = hn_gru_output_f64_c},
                                   &hn_cpu_gemm_f64_c},
     COMMON},
    {0}};
