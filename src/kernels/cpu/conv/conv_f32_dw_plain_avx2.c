/* SPDX-License-Identifier: Apache-2.0 */
/* conv_f32_dw_plain_avx2.c - depthwise convolution of plain planes, 8 floats at a time. */
#define HN_LANES 8
#define HN_CONV_DW_PLAIN hn_conv_f32_dw_plain_avx2
#include "kernels/cpu/conv/conv_f32_dw_plain.inc.h"
