/* SPDX-License-Identifier: Apache-2.0 */
/* conv_f32_dw_nchw8c_avx2.c - depthwise convolution on blocks of 8 channels. */
#define HN_LANES 8
#define HN_BLOCK 8
#define HN_CONV_DW hn_conv_f32_dw_nchw8c_avx2
#include "kernels/cpu/conv/conv_f32_dw.inc.h"
