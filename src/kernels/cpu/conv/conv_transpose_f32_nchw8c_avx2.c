/* SPDX-License-Identifier: Apache-2.0 */
/* conv_transpose_f32_nchw8c_avx2.c - transposed convolution on blocks of 8 channels. */
#define HN_LANES 8
#define HN_BLOCK 8
#define HN_CONV_TRANSPOSE hn_conv_transpose_f32_nchw8c_avx2
#include "kernels/cpu/conv/conv_transpose_f32.inc.h"
