/* SPDX-License-Identifier: Apache-2.0 */
/* reduce_f32_avx2.c - sums, products and extremes along an axis, 8 floats at a time. */
#include "kernels/cpu/reduce/reduce.h"

#define HN_SIMD_AVX2
#include "kernels/cpu/reduce/reduce_f32.inc.h"
