/* SPDX-License-Identifier: Apache-2.0 */
/* conv_f32_first_nchw8c_c.c - first layer, plain NCHW to blocks of 8 channels. */
#define HN_LANES 4
#define HN_BLOCK 8
#define HN_CONV_FIRST hn_conv_f32_first_nchw8c_c
#include "kernels/cpu/conv/conv_f32_first.inc.h"
