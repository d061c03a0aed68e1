/* SPDX-License-Identifier: Apache-2.0 */
/* reduce_f32_avx512.c - sums, products and extremes along an axis, 16 floats at a time. */
#include "kernels/cpu/reduce/reduce.h"

#define HN_SIMD_AVX512
#include "kernels/cpu/reduce/reduce_f32.inc.h"
