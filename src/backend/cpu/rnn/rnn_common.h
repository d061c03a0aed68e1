/* SPDX-License-Identifier: Apache-2.0 */
/* rnn_common.h - recurrent layers on f32: the inputs of all time steps are one matrix product; then each step is a
 * small product with the state and a pointwise cell. Sequences of a batch and directions are independent units. */
#ifndef HN_BACKEND_CPU_RNN_COMMON_H
#define HN_BACKEND_CPU_RNN_COMMON_H

#include "kernels/cpu/rnn/rnn.h"
#include "backend/cpu/gemm/gemm_common.h"
#include "backend/cpu/gemm/product_half.h"

/* Ports of lstm and gru. */
enum { HN_RNN_X, HN_RNN_W, HN_RNN_R, HN_RNN_B, HN_RNN_LENGTHS, HN_RNN_INITIAL_H, HN_RNN_INITIAL_C, HN_RNN_PEEPHOLE };
enum { HN_RNN_PORTS = 8, HN_RNN_OUTPUTS = 3 };

typedef struct hn_cpu_rnn_unit hn_cpu_rnn_unit;

typedef enum hn_cpu_rnn_kind { HN_RNN_LSTM, HN_RNN_GRU, HN_RNN_PLAIN } hn_cpu_rnn_kind;

/* A row's kernel: a cell in one instruction set. */
typedef struct hn_cpu_rnn_cell hn_cpu_rnn_cell;
struct hn_cpu_rnn_cell {
  hn_cpu_rnn_kind kind;
  const hn_cpu_gemm_kernel *gemm;
  /* Of lstm.c and gru.c: the pointwise kernels, and the step that uses them. */
  hn_lstm_cell_fn *lstm;
  hn_gru_cell_fn *gru, *gru_gates, *gru_output;
  void (*step)(const hn_cpu_rnn_unit *unit, const float *x_gates);
  /* Of rnn_steps.c: hidden units of a tile, and the kernels of a whole step, or, where GRU's candidate waits for the
   * reset, of its gates and of its candidate. lanes 0: the state's weights are packed for products. */
  int lanes;
  hn_rnn_step_fn *whole, *before_reset, *after_reset;
  const hn_cpu_rnn_cell *few; /* NULL, or whose kernels do a step of one or two rows, over the same packed weights */
  /* What the state's weights are held in, bf16 or f16 (NONE: f32); the inputs' product is one of bf16, too, where it
   * has a kernel. */
  hone_dtype held;
  const hn_cpu_half_kernel *tiles;
};

typedef struct hn_cpu_rnn {
  const hn_cpu_rnn_cell *cell;
  hn_cpu_product project; /* of one direction */
  hn_cpu_half tiles;      /* the same where the cell has tiles */
  hn_gemm_f32 recur;      /* of one unit: m, k, tiles */
  int64_t time, batch, input, hidden, directions, gates;
  bool batch_first, is_reverse, is_linear_first, is_coupled, is_relu;
  bool waits; /* GRU's candidate multiplies r h, not h, unless linear_before_reset: its rows are packed apart */
  float clip;
  /* Packed, for each direction: w, r (without the candidate's rows where those wait), the candidate's rows, the biases
   * of inputs and of the state. */
  int64_t r_at, candidate_at, x_bias_at, h_bias_at, direction_floats;
  int64_t rows, chunks, units, grain; /* rows of the batch in a unit */
  bool splits_steps;                  /* one unit, so large that its products are worth several threads */
  int64_t gates_floats, project_floats, unit_floats;
  int64_t kept_floats; /* of a unit: room for the states of sequences that have ended; 0: they have no lengths */
  bool given[HN_RNN_PORTS], wants[HN_RNN_OUTPUTS];
} hn_cpu_rnn;

/* One unit at work. Buffers have `rows` rows. */
struct hn_cpu_rnn_unit {
  const hn_cpu_rnn *rnn;
  hn_pool *pool; /* NULL: alone */
  int64_t direction, rows;
  const float *packed, *peephole; /* of the direction */
  float *h, *c, *z, *gates, *scratch, *kept;
};

/* c[rows x n] = a[rows x hidden] times packed columns, plus bias and residual where given. */
void hn_cpu_rnn_recur(const hn_cpu_rnn_unit *unit, const float *a, const float *b_packed, int64_t n, const float *bias,
                      const float *residual, int64_t residual_stride, float *c, int64_t c_stride);
int64_t hn_cpu_rnn_x_stride(const hn_cpu_rnn *rnn); /* floats between a unit's rows of x_gates */

/* What rnn_steps.c needs, too: all of a query but what depends on the machine, or why not; the plan of the inputs'
 * product; that of all directions, into x_gates with the product's scratch behind; rows of a state tensor from or to
 * rows of `hidden`. */
const char *hn_cpu_rnn_read(const hone_query *query, hn_cpu_rnn *rnn);
void hn_cpu_rnn_plan_project(hn_cpu_rnn *rnn, const hone_facts *facts);
void hn_cpu_rnn_project(const hn_cpu_rnn *rnn, hone_stream *stream, const hone_launch *launch, float *x_gates);
void hn_cpu_rnn_copy_state(const hn_cpu_rnn *rnn, int64_t direction, int64_t first, int64_t count, float *tensor,
                           float *rows, bool to_tensor);

/* How long each sequence of the batch is. In time steps behind its end, which a backward direction meets first, a
 * sequence keeps its state and gives zeros; no step of any is at `longest` or later. */
typedef struct hn_cpu_rnn_lengths {
  const int32_t *of; /* NULL: all are `longest` */
  int64_t longest;
} hn_cpu_rnn_lengths;
static inline bool hn_cpu_rnn_is_behind(const hn_cpu_rnn_lengths *lengths, int64_t sequence, int64_t time) {
  return lengths->of && time >= lengths->of[sequence];
}
/* Reads a launch's lengths. MALFORMED: one is not of 0 to the time steps that there are. */
hone_status hn_cpu_rnn_read_lengths(const hn_cpu_rnn *rnn, const hone_launch *launch, hn_cpu_rnn_lengths *out);
/* Sequences of [first, first + count) up to the last that a step at `time` concerns. */
int64_t hn_cpu_rnn_rows_at(const hn_cpu_rnn_lengths *lengths, int64_t first, int64_t count, int64_t time);
/* Where [time, direction, sequence, :] begins in y, in elements. */
int64_t hn_cpu_rnn_y_at(const hn_cpu_rnn *rnn, int64_t time, int64_t direction, int64_t sequence);
/* Zeros in y behind the longest sequence, where no step comes. */
void hn_cpu_rnn_clear_rest(const hn_cpu_rnn *rnn, const hn_cpu_rnn_lengths *lengths, size_t element, void *y);

/* Of the rows; pack is all files'. */
enum { HN_RNN_PACKED = 1 << HN_RNN_W | 1 << HN_RNN_R | 1 << HN_RNN_B };
const char *hn_cpu_rnn_plan(const hone_query *query, void *state, hone_needs *needs);
hone_status hn_cpu_rnn_pack(const hone_query *query, void *to);
hone_status hn_cpu_rnn_launch(void *state, hone_stream *stream, const hone_launch *launch);

#endif
