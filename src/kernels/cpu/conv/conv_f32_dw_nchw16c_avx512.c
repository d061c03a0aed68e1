/* SPDX-License-Identifier: Apache-2.0 */
/* conv_f32_dw_nchw16c_avx512.c - depthwise convolution on blocks of 16 channels. */
#define HN_LANES 16
#define HN_BLOCK 16
#define HN_CONV_DW hn_conv_f32_dw_nchw16c_avx512
#include "kernels/cpu/conv/conv_f32_dw.inc.h"
