/* SPDX-License-Identifier: Apache-2.0 */
/* rnn_f32_c.c - LSTM and GRU cells, portable, 4 floats at a time. */
#include "kernels/cpu/rnn/rnn.h"

#define HN_SIMD_C
#include "kernels/cpu/rnn/rnn_f32.inc.h"
