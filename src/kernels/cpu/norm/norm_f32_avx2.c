/* SPDX-License-Identifier: Apache-2.0 */
/* norm_f32_avx2.c - normalisation, 8 floats at a time. */
#include "kernels/cpu/norm/norm.h"

#define HN_SIMD_AVX2
#include "kernels/cpu/norm/norm_f32.inc.h"
