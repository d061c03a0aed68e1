/* SPDX-License-Identifier: Apache-2.0 */
/* conv_transpose_f32_nchw16c_avx512.c - transposed convolution on blocks of 16 channels. */
#define HN_LANES 16
#define HN_BLOCK 16
#define HN_CONV_TRANSPOSE hn_conv_transpose_f32_nchw16c_avx512
#include "kernels/cpu/conv/conv_transpose_f32.inc.h"
