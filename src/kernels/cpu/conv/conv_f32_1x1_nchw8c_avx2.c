/* SPDX-License-Identifier: Apache-2.0 */
/* conv_f32_1x1_nchw8c_avx2.c - 1x1 convolution on blocks of 8 channels. */
#define HN_LANES 8
#define HN_BLOCK 8
#define HN_CONV_1X1 hn_conv_f32_1x1_nchw8c_avx2
#include "kernels/cpu/conv/conv_f32_1x1.inc.h"
