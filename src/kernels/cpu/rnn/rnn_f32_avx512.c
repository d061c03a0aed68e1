/* SPDX-License-Identifier: Apache-2.0 */
/* rnn_f32_avx512.c - LSTM and GRU cells, 16 floats at a time. */
#include "kernels/cpu/rnn/rnn.h"

#define HN_SIMD_AVX512
#include "kernels/cpu/rnn/rnn_f32.inc.h"
