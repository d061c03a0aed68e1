/* SPDX-License-Identifier: Apache-2.0 */
/* rnn_steps_f32_avx2.c - recurrent steps in tiles of 8 hidden units. */
#include "kernels/cpu/rnn/rnn_steps.h"

#define HN_SIMD_AVX2
#include "kernels/cpu/rnn/rnn_steps_f32.inc.h"
