/* SPDX-License-Identifier: Apache-2.0 */
/* rnn_f32_avx2.c - LSTM and GRU cells, 8 floats at a time. */
#include "kernels/cpu/rnn/rnn.h"

#define HN_SIMD_AVX2
#include "kernels/cpu/rnn/rnn_f32.inc.h"
