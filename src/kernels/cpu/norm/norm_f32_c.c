/* SPDX-License-Identifier: Apache-2.0 */
/* norm_f32_c.c - normalisation, portable, 4 floats at a time. */
#include "kernels/cpu/norm/norm.h"

#define HN_SIMD_C
#include "kernels/cpu/norm/norm_f32.inc.h"
