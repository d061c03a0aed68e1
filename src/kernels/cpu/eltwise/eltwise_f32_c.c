/* SPDX-License-Identifier: Apache-2.0 */
/* eltwise_f32_c.c - elementwise programs, portable, 4 floats at a time. */
#include "kernels/cpu/eltwise/eltwise.h"

#define HN_SIMD_C
#include "kernels/cpu/eltwise/eltwise_f32.inc.h"
