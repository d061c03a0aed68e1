/* SPDX-License-Identifier: Apache-2.0 */
/* grid_f32_avx512.c - planes read by a grid, 16 floats at a time. */
#include "kernels/cpu/sample/grid.h"

#define HN_SIMD_AVX512
#include "kernels/cpu/sample/grid_f32.inc.h"
