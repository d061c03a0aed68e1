/* SPDX-License-Identifier: Apache-2.0 */
/* rnn_steps_f32_avx512.c - recurrent steps in tiles of 16 hidden units. */
#include "kernels/cpu/rnn/rnn_steps.h"

#define HN_SIMD_AVX512
#include "kernels/cpu/rnn/rnn_steps_f32.inc.h"
