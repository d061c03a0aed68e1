/* SPDX-License-Identifier: Apache-2.0 */
/* grid_f32_c.c - planes read by a grid, 4 floats at a time. */
#include "kernels/cpu/sample/grid.h"

#define HN_SIMD_C
#include "kernels/cpu/sample/grid_f32.inc.h"
