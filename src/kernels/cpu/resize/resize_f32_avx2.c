/* SPDX-License-Identifier: Apache-2.0 */
/* resize_f32_avx2.c - resizing by tables, 8 floats at a time. */
#include "kernels/cpu/resize/resize.h"

#define HN_SIMD_AVX2
#include "kernels/cpu/resize/resize_f32.inc.h"
