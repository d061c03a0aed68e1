/* SPDX-License-Identifier: Apache-2.0 */
/* winograd_f32_nchw16c_avx512.c - 3x3 convolution by minimal filtering on blocks of 16 channels. */
#define HN_LANES 16
#define HN_BLOCK 16
#define HN_WINOGRAD_PATCHES hn_winograd_f32_patches_nchw16c_avx512
#define HN_WINOGRAD_OUTPUTS hn_winograd_f32_outputs_nchw16c_avx512
#include "kernels/cpu/conv/winograd_f32.inc.h"
