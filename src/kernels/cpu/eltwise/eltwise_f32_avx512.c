/* SPDX-License-Identifier: Apache-2.0 */
/* eltwise_f32_avx512.c - elementwise programs, 16 floats at a time. */
#include "kernels/cpu/eltwise/eltwise.h"

#define HN_SIMD_AVX512
#include "kernels/cpu/eltwise/eltwise_f32.inc.h"
