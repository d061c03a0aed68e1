/* SPDX-License-Identifier: Apache-2.0 */
/* norm_f32_avx512.c - normalisation, 16 floats at a time. */
#include "kernels/cpu/norm/norm.h"

#define HN_SIMD_AVX512
#include "kernels/cpu/norm/norm_f32.inc.h"
