/* SPDX-License-Identifier: Apache-2.0 */
/* rnn_f16.cu - recurrent layers held in f16, by the groups of 128 columns of the state and of
 * the inputs whose weights stay in registers (0: any number that do not), and by the sequences of a cluster. */
#include "kernels/cuda/rnn/rnn.cuh"

typedef f16 held;

#define KERNEL(threads) extern "C" __global__ void __launch_bounds__(threads, 1)

KERNEL(512)
hn_lstm_f16_1_2_1(const __grid_constant__ hn_cuda_rnn a, const held *x, const float *packed, const held *h0,
                  const held *c0, held *y, held *y_h, held *y_c) {
  recur<held, true, 1, 2, 16, 1>(a, x, packed, h0, c0, y, y_h, y_c);
}
KERNEL(512)
hn_lstm_f16_2_2_1(const __grid_constant__ hn_cuda_rnn a, const held *x, const float *packed, const held *h0,
                  const held *c0, held *y, held *y_h, held *y_c) {
  recur<held, true, 2, 2, 16, 1>(a, x, packed, h0, c0, y, y_h, y_c);
}
KERNEL(512)
hn_lstm_f16_2_0_1(const __grid_constant__ hn_cuda_rnn a, const held *x, const float *packed, const held *h0,
                  const held *c0, held *y, held *y_h, held *y_c) {
  recur<held, true, 2, 0, 16, 1>(a, x, packed, h0, c0, y, y_h, y_c);
}
KERNEL(512)
hn_lstm_f16_0_0_1(const __grid_constant__ hn_cuda_rnn a, const held *x, const float *packed, const held *h0,
                  const held *c0, held *y, held *y_h, held *y_c) {
  recur<held, true, 0, 0, 16, 1>(a, x, packed, h0, c0, y, y_h, y_c);
}
KERNEL(512)
hn_lstm_f16_2_0_4(const __grid_constant__ hn_cuda_rnn a, const held *x, const float *packed, const held *h0,
                  const held *c0, held *y, held *y_h, held *y_c) {
  recur<held, true, 2, 0, 16, 4>(a, x, packed, h0, c0, y, y_h, y_c);
}
KERNEL(512)
hn_lstm_f16_0_0_4(const __grid_constant__ hn_cuda_rnn a, const held *x, const float *packed, const held *h0,
                  const held *c0, held *y, held *y_h, held *y_c) {
  recur<held, true, 0, 0, 16, 4>(a, x, packed, h0, c0, y, y_h, y_c);
}
KERNEL(512)
hn_gru_f16_1_2_1(const __grid_constant__ hn_cuda_rnn a, const held *x, const float *packed, const held *h0,
                 const held *c0, held *y, held *y_h, held *y_c) {
  recur<held, false, 1, 2, 16, 1>(a, x, packed, h0, c0, y, y_h, y_c);
}
KERNEL(512)
hn_gru_f16_2_2_1(const __grid_constant__ hn_cuda_rnn a, const held *x, const float *packed, const held *h0,
                 const held *c0, held *y, held *y_h, held *y_c) {
  recur<held, false, 2, 2, 16, 1>(a, x, packed, h0, c0, y, y_h, y_c);
}
KERNEL(512)
hn_gru_f16_2_0_1(const __grid_constant__ hn_cuda_rnn a, const held *x, const float *packed, const held *h0,
                 const held *c0, held *y, held *y_h, held *y_c) {
  recur<held, false, 2, 0, 16, 1>(a, x, packed, h0, c0, y, y_h, y_c);
}
KERNEL(512)
hn_gru_f16_0_0_1(const __grid_constant__ hn_cuda_rnn a, const held *x, const float *packed, const held *h0,
                 const held *c0, held *y, held *y_h, held *y_c) {
  recur<held, false, 0, 0, 16, 1>(a, x, packed, h0, c0, y, y_h, y_c);
}
KERNEL(512)
hn_gru_f16_2_0_4(const __grid_constant__ hn_cuda_rnn a, const held *x, const float *packed, const held *h0,
                 const held *c0, held *y, held *y_h, held *y_c) {
  recur<held, false, 2, 0, 16, 4>(a, x, packed, h0, c0, y, y_h, y_c);
}
KERNEL(512)
hn_gru_f16_0_0_4(const __grid_constant__ hn_cuda_rnn a, const held *x, const float *packed, const held *h0,
                 const held *c0, held *y, held *y_h, held *y_c) {
  recur<held, false, 0, 0, 16, 4>(a, x, packed, h0, c0, y, y_h, y_c);
}
