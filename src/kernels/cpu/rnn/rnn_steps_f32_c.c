/* SPDX-License-Identifier: Apache-2.0 */
/* rnn_steps_f32_c.c - recurrent steps in tiles of 4 hidden units. */
#include "kernels/cpu/rnn/rnn_steps.h"

#define HN_SIMD_C
#include "kernels/cpu/rnn/rnn_steps_f32.inc.h"
