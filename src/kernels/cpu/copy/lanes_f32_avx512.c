/* SPDX-License-Identifier: Apache-2.0 */
/* lanes_f32_avx512.c - lanes of nChw16c tensors moved. */
#define HN_SIMD_AVX512
#include "kernels/cpu/copy/lanes_f32.inc.h"
