/* SPDX-License-Identifier: Apache-2.0 */
/* peak_f32_avx512.c - the loops of peak_f32.inc.h, AVX-512. */
#define HN_SIMD_AVX512
#include "kernels/cpu/peak/peak_f32.inc.h"
