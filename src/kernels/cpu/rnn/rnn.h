/* SPDX-License-Identifier: Apache-2.0 */
/* rnn.h - the pointwise halves of LSTM and GRU cells on f32; the matrix products and the biases come in as
 * pre-activations. Gate order and equations are ONNX's, with sigmoid for the gates and tanh for the rest. */
#ifndef HN_KERNELS_CPU_RNN_H
#define HN_KERNELS_CPU_RNN_H

#include <stdint.h>

/* i, o, f, g = pre-activations; P the peepholes:
 *   i = sigmoid(i + Pi c_prev)   f = sigmoid(f + Pf c_prev)   c = f c_prev + i tanh(g)
 *   o = sigmoid(o + Po c)        h = o tanh(c)
 * Row r of a tensor begins at r * its stride. c may be c_prev and h any memory but the others'. */
typedef struct {
  const float *gates;    /* rows x 4 * hidden, ordered i, o, f, g: X W + H R + both biases */
  const float *c_prev;   /* rows x hidden */
  const float *peephole; /* 3 * hidden, ordered i, o, f; or NULL */
  float *c, *h;          /* rows x hidden */
  int64_t hidden;
  int64_t gates_stride, c_prev_stride, c_stride, h_stride; /* elements */
  float clip;                                              /* pre-activations are cut to +-clip; 0: they are not */
  int32_t input_forget;                                    /* not 0: f = 1 - i */
} hn_lstm_cell_args;

/* Computes the rows (of the batch) [begin, end). */
typedef void hn_lstm_cell_f32_fn(const hn_lstm_cell_args *args, int64_t begin, int64_t end);

hn_lstm_cell_f32_fn hn_lstm_cell_f32_avx512, hn_lstm_cell_f32_avx2, hn_lstm_cell_f32_c;

/* z = sigmoid(xz + hz)   r = sigmoid(xr + hr)   h = (1 - z) n + z h_prev
 *   hn_gru_cell    (linear_before_reset)  n = tanh(xn + r hn), all in one call
 *   hn_gru_gates   writes z and reset = r h_prev; the caller multiplies reset by the recurrence of n
 *   hn_gru_output  n = tanh(xn + that product), in h_gates' n part; z from hn_gru_gates */
typedef struct {
  const float *x_gates; /* rows x 3 * hidden, ordered z, r, n: X W + its bias */
  const float *h_gates; /* rows x 3 * hidden, same order: H R + its bias; hn_gru_gates reads z, r and hn_gru_output n */
  const float *h_prev;  /* rows x hidden */
  float *h;             /* rows x hidden; may be h_prev; not touched by hn_gru_gates */
  float *z, *reset;     /* rows x hidden; not touched by hn_gru_cell */
  int64_t hidden;
  int64_t x_gates_stride, h_gates_stride, h_prev_stride, h_stride, z_stride, reset_stride; /* elements */
  float clip;                                                                              /* as for LSTM, on x + h */
} hn_gru_cell_args;

/* Computes the rows (of the batch) [begin, end). */
typedef void hn_gru_cell_f32_fn(const hn_gru_cell_args *args, int64_t begin, int64_t end);

hn_gru_cell_f32_fn hn_gru_cell_f32_avx512, hn_gru_cell_f32_avx2, hn_gru_cell_f32_c;
hn_gru_cell_f32_fn hn_gru_gates_f32_avx512, hn_gru_gates_f32_avx2, hn_gru_gates_f32_c;
hn_gru_cell_f32_fn hn_gru_output_f32_avx512, hn_gru_output_f32_avx2, hn_gru_output_f32_c;

#endif
