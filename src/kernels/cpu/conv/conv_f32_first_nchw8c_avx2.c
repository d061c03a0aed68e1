/* SPDX-License-Identifier: Apache-2.0 */
/* conv_f32_first_nchw8c_avx2.c - first layer, plain NCHW to blocks of 8 channels. */
#define HN_LANES 8
#define HN_BLOCK 8
#define HN_CONV_FIRST hn_conv_f32_first_nchw8c_avx2
#include "kernels/cpu/conv/conv_f32_first.inc.h"
