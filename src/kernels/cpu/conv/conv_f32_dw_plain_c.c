/* SPDX-License-Identifier: Apache-2.0 */
/* conv_f32_dw_plain_c.c - depthwise convolution of plain planes, 4 floats at a time. */
#define HN_LANES 4
#define HN_CONV_DW_PLAIN hn_conv_f32_dw_plain_c
#include "kernels/cpu/conv/conv_f32_dw_plain.inc.h"
