/* SPDX-License-Identifier: Apache-2.0 */
/* transpose_avx2.c - permutations of dimensions, 8 floats at a time. */
#include "kernels/cpu/transpose/transpose.h"

#define HN_SIMD_AVX2
#include "kernels/cpu/transpose/transpose.inc.h"
