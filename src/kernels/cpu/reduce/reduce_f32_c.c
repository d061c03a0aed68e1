/* SPDX-License-Identifier: Apache-2.0 */
/* reduce_f32_c.c - sums, products and extremes along an axis, portable, 4 floats at a time. */
#include "kernels/cpu/reduce/reduce.h"

#define HN_SIMD_C
#include "kernels/cpu/reduce/reduce_f32.inc.h"
