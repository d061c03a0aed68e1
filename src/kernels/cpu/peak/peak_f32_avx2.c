/* SPDX-License-Identifier: Apache-2.0 */
/* peak_f32_avx2.c - the loops of peak_f32.inc.h, AVX2. */
#define HN_SIMD_AVX2
#include "kernels/cpu/peak/peak_f32.inc.h"
