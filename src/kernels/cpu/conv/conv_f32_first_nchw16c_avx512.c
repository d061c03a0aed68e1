/* SPDX-License-Identifier: Apache-2.0 */
/* conv_f32_first_nchw16c_avx512.c - first layer, plain NCHW to blocks of 16 channels. */
#define HN_LANES 16
#define HN_BLOCK 16
#define HN_CONV_FIRST hn_conv_f32_first_nchw16c_avx512
#include "kernels/cpu/conv/conv_f32_first.inc.h"
