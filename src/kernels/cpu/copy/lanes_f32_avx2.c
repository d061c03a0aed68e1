/* SPDX-License-Identifier: Apache-2.0 */
/* lanes_f32_avx2.c - lanes of nChw8c tensors moved. */
#define HN_SIMD_AVX2
#include "kernels/cpu/copy/lanes_f32.inc.h"
