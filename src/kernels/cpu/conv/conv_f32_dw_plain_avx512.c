/* SPDX-License-Identifier: Apache-2.0 */
/* conv_f32_dw_plain_avx512.c - depthwise convolution of plain planes, 16 floats at a time. */
#define HN_LANES 16
#define HN_CONV_DW_PLAIN hn_conv_f32_dw_plain_avx512
#include "kernels/cpu/conv/conv_f32_dw_plain.inc.h"
