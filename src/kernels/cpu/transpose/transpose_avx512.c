/* SPDX-License-Identifier: Apache-2.0 */
/* transpose_avx512.c - permutations of dimensions, 16 floats at a time. */
#include "kernels/cpu/transpose/transpose.h"

#define HN_SIMD_AVX512
#include "kernels/cpu/transpose/transpose.inc.h"
