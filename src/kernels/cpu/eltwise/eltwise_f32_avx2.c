/* SPDX-License-Identifier: Apache-2.0 */
/* eltwise_f32_avx2.c - elementwise programs, 8 floats at a time. */
#include "kernels/cpu/eltwise/eltwise.h"

#define HN_SIMD_AVX2
#include "kernels/cpu/eltwise/eltwise_f32.inc.h"
