/* SPDX-License-Identifier: Apache-2.0 */
/* transpose_c.c - permutations of dimensions, portable, 4 floats at a time. */
#include "kernels/cpu/transpose/transpose.h"

#define HN_SIMD_C
#include "kernels/cpu/transpose/transpose.inc.h"
