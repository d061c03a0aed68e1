/* SPDX-License-Identifier: Apache-2.0 */
/* grid_f32_avx2.c - planes read by a grid, 8 floats at a time. */
#include "kernels/cpu/sample/grid.h"

#define HN_SIMD_AVX2
#include "kernels/cpu/sample/grid_f32.inc.h"
