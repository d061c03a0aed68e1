/* SPDX-License-Identifier: Apache-2.0 */
/* rnn.h - the pointwise halves of LSTM and GRU cells on f32 or f64; the matrix products and the biases come in as
 * pre-activations. Gate order and equations are ONNX's, with sigmoid for the gates and tanh for the rest. */
#ifndef HN_KERNELS_CPU_RNN_H
#define HN_KERNELS_CPU_RNN_H

#include <stdint.h>

/* i, o, f, g = pre-activations; P the peepholes:
 *   i = sigmoid(i + Pi c_prev)   f = sigmoid(f + Pf c_prev)   c = f c_prev + i tanh(g)
 *   o = sigmoid(o + Po c)        h = o tanh(c)
 * What the pointers point to is of the kernel's type. Row r of a tensor begins at r * its stride. c may be c_prev and h
 * any memory but the others'. */
typedef struct {
  const void *gates;    /* rows x 4 * hidden, ordered i, o, f, g: X W + H R + both biases */
  const void *c_prev;   /* rows x hidden */
  const void *peephole; /* 3 * hidden, ordered i, o, f; or NULL */
  void *c, *h;          /* rows x hidden */
  int64_t hidden;
  int64_t gates_stride, c_prev_stride, c_stride, h_stride; /* elements */
  double clip;                                             /* pre-activations are cut to +-clip; 0: they are not */
  int32_t input_forget;                                    /* not 0: f = 1 - i */
} hn_lstm_cell_args;

/* Computes the rows (of the batch) [begin, end). */
typedef void hn_lstm_cell_fn(const hn_lstm_cell_args *args, int64_t begin, int64_t end);

hn_lstm_cell_fn hn_lstm_cell_f32_avx512, hn_lstm_cell_f32_avx2, hn_lstm_cell_f32_c;
hn_lstm_cell_fn hn_lstm_cell_f64_avx512, hn_lstm_cell_f64_avx2, hn_lstm_cell_f64_c;

/* z = sigmoid(xz + hz)   r = sigmoid(xr + hr)   h = (1 - z) n + z h_prev
 *   hn_gru_cell    (linear_before_reset)  n = tanh(xn + r hn), all in one call
 *   hn_gru_gates   writes z and reset = r h_prev; the caller multiplies reset by the recurrence of n
 *   hn_gru_output  n = tanh(xn + that product), in h_gates' n part; z from hn_gru_gates */
typedef struct {
  const void *x_gates; /* rows x 3 * hidden, ordered z, r, n: X W + its bias */
  const void *h_gates; /* rows x 3 * hidden, same order: H R + its bias; hn_gru_gates reads z, r and hn_gru_output n */
  const void *h_prev;  /* rows x hidden */
  void *h;             /* rows x hidden; may be h_prev; not touched by hn_gru_gates */
  void *z, *reset;     /* rows x hidden; not touched by hn_gru_cell */
  int64_t hidden;
  int64_t x_gates_stride, h_gates_stride, h_prev_stride, h_stride, z_stride, reset_stride; /* elements */
  double clip;                                                                             /* as for LSTM, on x + h */
} hn_gru_cell_args;

/* Computes the rows (of the batch) [begin, end). */
typedef void hn_gru_cell_fn(const hn_gru_cell_args *args, int64_t begin, int64_t end);

hn_gru_cell_fn hn_gru_cell_f32_avx512, hn_gru_cell_f32_avx2, hn_gru_cell_f32_c;
hn_gru_cell_fn hn_gru_cell_f64_avx512, hn_gru_cell_f64_avx2, hn_gru_cell_f64_c;
hn_gru_cell_fn hn_gru_gates_f32_avx512, hn_gru_gates_f32_avx2, hn_gru_gates_f32_c;
hn_gru_cell_fn hn_gru_gates_f64_avx512, hn_gru_gates_f64_avx2, hn_gru_gates_f64_c;
hn_gru_cell_fn hn_gru_output_f32_avx512, hn_gru_output_f32_avx2, hn_gru_output_f32_c;
hn_gru_cell_fn hn_gru_output_f64_avx512, hn_gru_output_f64_avx2, hn_gru_output_f64_c;

/* ---- one time step of a recurrent layer ----
 * The product with the state and the cell in one pass, for tiles of hidden units that threads may share. A tile is
 * HN_LANES hidden units. Its weights lie together in the order they are used, [k][gate][unit], so that a step reads the
 * recurrent matrix once, straight on; sums of all gates of a unit stay in registers until its cell is done. */
typedef struct {
  const void *packed;  /* hn_rnn_pack_f32_c's, or hn_rnn_pack_bf16_c's */
  const float *x;      /* rows x gates * hidden: X W + b; row r at r * x_stride */
  const float *h_bias; /* GRU: 3 * hidden, added to the state's products */
  const float *h_prev; /* rows x hidden: what the product is with */
  float *h;            /* rows x hidden; not h_prev's memory */
  const float *c_prev; /* LSTM: rows x hidden */
  float *c;            /* LSTM: rows x hidden; may be c_prev */
  const float *peephole;
  const float *carried; /* GRU: rows x hidden, the state before this step */
  float *z, *reset;     /* GRU: rows x hidden, written by hn_gru_gates_step, read by hn_gru_output_step */
  float *y;             /* where h is stored, too: row r at r * y_stride; or NULL */
  int64_t rows, hidden; /* of the batch; of the state */
  int64_t x_stride, y_stride;
  float clip;            /* pre-activations are cut to +-clip; 0: they are not */
  int32_t input_forget;  /* LSTM: not 0: f = 1 - i */
  int32_t is_relu;       /* plain cell: max(0, x) for tanh */
  int32_t from_the_back; /* tiles in descending order: what the step before read last is still in the cache */
} hn_rnn_step;

/* Computes the hidden units of tiles [begin, end) of all rows.
 *   hn_lstm_step        4 gates
 *   hn_gru_step         3 gates, with linear_before_reset
 *   hn_gru_gates_step   2 gates, z and r: writes z and reset = r * carried
 *   hn_gru_output_step  1 gate; h_prev is reset here
 *   hn_plain_step       1 gate */
typedef void hn_rnn_step_fn(const hn_rnn_step *step, int64_t begin, int64_t end);

/* The type is the weights'. bf16_avx512_bf16 and those on tiles, whose weights are of bf16 and 16 lanes, round the
 * state to bf16 where they multiply it, the others do not. */
#define HN_RNN_STEPS(suffix)                                                                                           \
  hn_rnn_step_fn hn_lstm_step_##suffix, hn_gru_step_##suffix, hn_gru_gates_step_##suffix, hn_gru_output_step_##suffix, \
      hn_plain_step_##suffix
HN_RNN_STEPS(f32_avx512);
HN_RNN_STEPS(f32_avx2);
HN_RNN_STEPS(f32_c);
HN_RNN_STEPS(bf16_avx512_bf16);
HN_RNN_STEPS(bf16_avx512);
HN_RNN_STEPS(bf16_avx2);
HN_RNN_STEPS(bf16_c);
HN_RNN_STEPS(f16_avx512);
HN_RNN_STEPS(f16_avx2);
HN_RNN_STEPS(f16_c);
HN_RNN_STEPS(tiles_amx_bf16);
HN_RNN_STEPS(tiles_c);

static inline int64_t hn_rnn_tiles(int64_t hidden, int64_t lanes) { return (hidden + lanes - 1) / lanes; }
static inline int64_t hn_rnn_packed_floats(int64_t hidden, int64_t gates, int64_t lanes) {
  return hn_rnn_tiles(hidden, lanes) * lanes * gates * hidden;
}
/* r: gates * hidden rows of hidden; `to` gets tiles of `lanes` units, zeros where a tile has fewer. */
void hn_rnn_pack_f32_c(const float *r, int64_t gates, int64_t hidden, int64_t lanes, float *to);
void hn_rnn_pack_f16_c(const float *r, int64_t gates, int64_t hidden, int64_t lanes, uint16_t *to); /* in f16 */
/* In bf16, [k / 2][gate][unit][k % 2], zeros behind an odd `hidden`. */
static inline int64_t hn_rnn_packed_pairs(int64_t hidden, int64_t gates, int64_t lanes) {
  return hn_rnn_tiles(hidden, lanes) * lanes * gates * ((hidden + 1) / 2);
}
void hn_rnn_pack_bf16_c(const float *r, int64_t gates, int64_t hidden, int64_t lanes, uint16_t *to);

#endif
