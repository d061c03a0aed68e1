/* SPDX-License-Identifier: Apache-2.0 */
/* winograd_f32_nchw8c_c.c - 3x3 convolution by minimal filtering on blocks of 8 channels. */
#define HN_LANES 4
#define HN_BLOCK 8
#define HN_WINOGRAD_PATCHES hn_winograd_f32_patches_nchw8c_c
#define HN_WINOGRAD_OUTPUTS hn_winograd_f32_outputs_nchw8c_c
#include "kernels/cpu/conv/winograd_f32.inc.h"
