/* SPDX-License-Identifier: Apache-2.0 */
/* resize_f32_avx512.c - resizing by tables, 16 floats at a time. */
#include "kernels/cpu/resize/resize.h"

#define HN_SIMD_AVX512
#include "kernels/cpu/resize/resize_f32.inc.h"
