/* SPDX-License-Identifier: Apache-2.0 */
/* rotary_f32_avx512.c - turned pairs of features, 16 floats at a time. */
#include "kernels/cpu/attention/rotary.h"

#define HN_SIMD_AVX512
#include "kernels/cpu/attention/rotary_f32.inc.h"
